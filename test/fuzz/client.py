"""One operator's way to the server: the methods of the real client, and everything that can happen on the way.

A `Fault` waits for the next request of its sort (a read, the record, the change, the report) and does one thing to it:
holds the operator right there, kills it, loses the request or its answer, lets it arrive long after it was given up,
or lets somebody else be faster. Streams can be late (what they carry waits) or lost (and cannot be opened again).

It also remembers what this operator can know: `view` is what its watches have brought, `reads` is what it has read
itself, with the moment at which it asked. `judge` compares what the operator does with that.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from topology_controller.kube import client as clients
from topology_controller.kube import errors, resource

from . import server as servers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from .server import Key, Objects, Raw

REQUEST_TIMEOUT = 10.0
SILENCE = 150.0


class Sort(enum.StrEnum):
    """What a request is for."""

    READ = "read"
    SAVE = "save"
    CHANGE = "change"
    REPORT = "report"


class Harm(enum.StrEnum):
    """What happens to it."""

    INTERJECTED = "interjected"
    """Something happens right before it arrives."""
    FOLLOWED = "followed"
    """Something happens right after it was carried out, before the answer."""
    LOST = "lost"
    UNANSWERED = "unanswered"
    LATE = "late"
    REFUSED = "refused"
    THROTTLED = "throttled"
    SLOW = "slow"
    FROZEN = "frozen"
    FROZEN_AFTER = "frozen after"
    KILLED = "killed"
    KILLED_AFTER = "killed after"


@dataclass(slots=True)
class Fault:
    """Harm for the request of that sort after `skip` others."""

    sort: Sort
    harm: Harm
    skip: int = 0
    what: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Read:
    """An answer to a live read: which objects of that selection there were, and when it was asked for.

    `order` counts answers; `view` is what the operator's watches had brought when it asked.
    """

    asked: float
    order: int
    objects: Objects
    view: Objects


@dataclass(frozen=True, slots=True)
class Write:
    """A write on its way, and what its operator knew when it left."""

    operator: str
    sort: Sort
    key: Key
    body: Raw
    sent: float
    reads: dict[resource.Selection, Read]
    view: Objects
    create: bool = False


class Authority(Protocol):
    """Who hears of every write of ours: when it leaves, and when it arrives."""

    def sent(self, write: Write) -> None:
        """It leaves its operator now."""

    def carry_out(self, write: Write) -> Raw:
        """It arrives at the server now. Raises server.Refused when it does not happen."""

    def answered(self, write: Write) -> None:
        """Its operator knows that it has happened."""

    def stirred(self) -> None:
        """Somebody else did something, or an operator gets news of it only now."""

    def begun(self, operator: str) -> None:
        """An operator begins to reconcile, and remembers nothing."""


class Client:
    """Made for one operator process."""

    request_timeout = REQUEST_TIMEOUT

    def __init__(self, name: str, server: servers.Server, authority: Authority) -> None:
        self.name = name
        self.view: Objects = {}
        self.news = 0
        self.answers = 0
        self.reads: dict[resource.Selection, Read] = {}
        self.faults: list[Fault] = []
        self.late: list[Write] = []
        self.killed = False
        self.frozen_at: float | None = None
        self.partitioned = False
        self.requests = 0
        self.busy = 0
        self.written: list[Write] = []
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._authority = authority
        self._streams: dict[int, _Stream] = {}
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._silent: asyncio.TimerHandle | None = None
        self._late_kinds: dict[str, tuple[asyncio.Event, asyncio.TimerHandle]] = {}
        self.lost: type[errors.KubeError] | None = None
        self.troubled = False
        server.told.append(self._happened)

    # What can be done to it.
    def freeze(self) -> None:
        """Stop the process; what is on its way stays there."""
        self.frozen_at = self._loop.time() if self.frozen_at is None else self.frozen_at
        self._thawed.clear()

    def thaw(self) -> None:
        """Let it go on, as if nothing had been."""
        self.frozen_at = None
        self._thawed.set()

    def delay(self) -> None:
        """What the watches bring waits from now on; when that lasts, they are given up as silent."""
        if self._flowing.is_set() and self.lost is None:
            self._flowing.clear()
            self._silent = self._loop.call_later(SILENCE, self.lose, errors.TimedOut)

    def delay_one(self, kind: str) -> None:
        """The same for the watches of one kind alone, by its label."""
        if kind not in self._late_kinds and self.lost is None:
            silent = self._loop.call_later(SILENCE, self._give_up, kind)
            self._late_kinds[kind] = (asyncio.Event(), silent)

    def _give_up(self, kind: str) -> None:
        self.troubled = True
        for stream in self._streams.values():
            if stream.selection.resource.label == kind:
                stream.cut(self._error(errors.TimedOut, stream.selection.resource, stream.selection.name, "watch"))
        self._come(kind)

    def _come(self, kind: str) -> None:
        flowing, silent = self._late_kinds.pop(kind)
        silent.cancel()
        flowing.set()
        self._authority.stirred()

    def lose(self, why: type[errors.KubeError] = errors.Unreachable) -> None:
        """Cut every watch, and let none be opened."""
        self._stop_waiting()
        self.lost, self.troubled = why, True
        for stream in self._streams.values():
            stream.cut(self._error(why, stream.selection.resource, stream.selection.name, "watch"))
        self._flowing.set()

    def come_back(self) -> None:
        """Watches flow again; what waited arrives now."""
        self._stop_waiting()
        self.lost = None
        self._flowing.set()
        self._authority.stirred()

    def cut_off(self) -> None:
        """The server ends every connection, and with it what was on its way or waited."""
        self._stop_waiting()
        self.late.clear()
        for stream in self._streams.values():
            stream.cut(self._error(errors.Unreachable, stream.selection.resource, stream.selection.name, "watch"))
        self._flowing.set()

    @property
    def delayed(self) -> bool:
        """Does what happened wait somewhere?"""
        return not self._flowing.is_set() or bool(self._late_kinds)

    @property
    def undisturbed(self) -> bool:
        """Does everything that happens reach the operator at once?"""
        return not (self.killed or self.delayed or self.lost or self._away or self.busy or self.frozen_at is not None)

    @property
    def _away(self) -> bool:
        return self.partitioned or self._loop.time() < self._server.answers_from

    @property
    def streams(self) -> int:
        """How many watches are open."""
        return len(self._streams)

    def close(self) -> None:
        """Hear no more."""
        self._stop_waiting()
        if self._happened in self._server.told:
            self._server.told.remove(self._happened)

    # The methods of the real client.
    async def get(self, kind: resource.Resource, name: str, *, namespace: str | None = None, **_: Any) -> Raw:
        """Read one object."""
        selection = resource.Selection(kind, namespace, name)
        asked = (self._loop.time(), dict(self.view))
        found = await self._pass(Sort.READ, kind, name, "get", lambda: self._select(selection))
        self._remember(selection, asked, found)
        if not found:
            raise self._error(errors.NotFound, kind, name, "get", 404)
        return next(iter(found.values()))

    async def list(
        self,
        selection: resource.Selection,
        reduce: Callable[[Raw], Any] = lambda raw: raw,
        *,
        retry: bool = True,
        **options: Any,
    ) -> clients.Listing[Any]:
        """Read a list; what a watch begins with is a list without retries, and without an end before its end."""
        kind, name, partial = selection.resource, selection.name, selection.metadata_only
        asked = (self._loop.time(), dict(self.view))
        if retry:
            found = await self._pass(Sort.READ, kind, name, "list", lambda: self._select(selection))
        else:
            await self._reachable(kind, name, "list")
            await self._open(kind, name, "list")
            found = self._select(selection)
            if "enough" not in options:
                self._see(selection, found)
        if retry:
            self._remember(selection, asked, found)
        version = str(self._server.version)
        return clients.Listing(tuple(reduce(_shown(raw, partial=partial)) for raw in found.values()), version)

    async def serves(self, kind: resource.Resource) -> bool:
        """Discovery: every kind is there."""
        await self._reachable(kind, None, "get")
        return True

    @contextlib.asynccontextmanager
    async def open_watch(
        self, selection: resource.Selection, version: str, *_: Any
    ) -> AsyncIterator[AsyncIterator[tuple[str, Raw]]]:
        """Watch from a version on."""
        await self._reachable(selection.resource, selection.name, "watch")
        await self._open(selection.resource, selection.name, "watch")
        stream = _Stream(selection, int(version))
        try:
            for change in self._server.since(stream.since):
                stream.hear(change)
        except servers.Refused as refused:
            raise self._error(errors.Gone, selection.resource, selection.name, "watch", refused.status) from None
        self._streams[id(stream)] = stream
        if self.troubled:
            # After silence only a sign of life will do; a server sends one about once a minute.
            self._loop.call_later(5.0, stream.bookmark, self._server)
        try:
            yield self._lines(stream)
        finally:
            self._streams.pop(id(stream), None)

    async def create(self, kind: resource.Resource, body: Raw, *, namespace: str | None = None, **_: Any) -> Raw:
        """Create an object."""
        return await self._write(kind, namespace, body["metadata"]["name"], body, create=True)

    async def merge_patch(self, kind: resource.Resource, name: str, body: Raw, **options: Any) -> Raw:
        """Patch a status."""
        assert options.get("subresource") == "status", f"only a status may be patched: {kind.label}/{name}"
        # The client gives up then, and the server leaves undone what has waited for so long.
        within = options.get("executed_within")
        try:
            async with asyncio.timeout(within):
                return await self._write(kind, options.get("namespace"), name, body, create=False)
        except TimeoutError:
            await self._thaw_awaited()
            raise self._error(errors.TimedOut, kind, name, "patch") from None

    # The way.
    async def _write(
        self, kind: resource.Resource, namespace: str | None, name: str, body: Raw, *, create: bool
    ) -> Raw:
        key = (kind.label, namespace, name)
        sort = Sort.REPORT
        if key == servers.INFRASTRUCTURE:
            moves = {"controlPlaneTopology", "infrastructureTopology"} & set(body.get("status", {}))
            sort = Sort.CHANGE if moves else Sort.SAVE
        write = Write(self.name, sort, key, body, self._loop.time(), dict(self.reads), dict(self.view), create)
        self._authority.sent(write)
        verb = "create" if create else "patch"
        made: Raw = await self._pass(sort, kind, name, verb, lambda: self._authority.carry_out(write), write)
        self._authority.answered(write)
        self.view[key] = made
        self.news += 1
        return made

    async def _pass(  # noqa: PLR0917 - what is asked, for a message, and how it is carried out
        self,
        sort: Sort,
        kind: resource.Resource,
        name: str | None,
        verb: str,
        carry_out: Callable[[], Any],
        write: Write | None = None,
    ) -> Any:
        """Take one request to the server and its answer back, through whatever waits for it."""
        self.busy += 1
        self.requests += 1
        restarts = self._server.restarts
        try:
            fault = self._due(sort)
            await self._before(fault, kind, name, verb, write)
            if self._server.restarts != restarts:
                raise self._error(errors.Unreachable, kind, name, verb)
            try:
                made = carry_out()
            except servers.Refused as refused:
                wanted = errors.class_for(refused.status, str(refused))
                raise self._error(wanted, kind, name, verb, refused.status) from None
            if write is not None:
                self.written.append(write)
            await self._after(fault, kind, name, verb)
            return made
        finally:
            self.busy -= 1

    async def _before(
        self, fault: Fault | None, kind: resource.Resource, name: str | None, verb: str, write: Write | None
    ) -> None:
        harm, restarts = None if fault is None else fault.harm, self._server.restarts
        if fault is not None and harm is Harm.INTERJECTED:
            fault.what()
        elif harm is Harm.SLOW:
            await asyncio.sleep(3.0)
        elif harm is Harm.FROZEN:
            self.freeze()
        elif harm is Harm.KILLED:
            self.killed = True
        elif harm is Harm.REFUSED:
            raise self._error(errors.ServerError, kind, name, verb, 503)
        elif harm is Harm.THROTTLED:
            raise self._error(errors.Throttled, kind, name, verb, 429)
        elif harm in {Harm.LOST, Harm.LATE}:
            try:
                await asyncio.sleep(REQUEST_TIMEOUT)
            finally:
                # Given up, when its time is over or sooner.
                if harm is Harm.LATE and write is not None and self._server.restarts == restarts:
                    self.late.append(write)
            raise self._error(errors.TimedOut, kind, name, verb)
        await self._reachable(kind, name, verb)

    async def _after(self, fault: Fault | None, kind: resource.Resource, name: str | None, verb: str) -> None:
        harm = None if fault is None else fault.harm
        if fault is not None and harm is Harm.FOLLOWED:
            fault.what()
        elif harm is Harm.UNANSWERED:
            await asyncio.sleep(REQUEST_TIMEOUT)
            raise self._error(errors.TimedOut, kind, name, verb)
        elif harm is Harm.FROZEN_AFTER:
            self.freeze()
        elif harm is Harm.KILLED_AFTER:
            self.killed = True
        await self._thaw_awaited()

    async def _reachable(self, kind: resource.Resource, name: str | None, verb: str) -> None:
        await self._thaw_awaited()
        if self._away:
            await asyncio.sleep(1.0)
            raise self._error(errors.Unreachable, kind, name, verb)

    async def _open(self, kind: resource.Resource, name: str | None, verb: str) -> None:
        lost = self.lost
        if lost is not None:
            await asyncio.sleep(0.5)
            raise self._error(lost, kind, name, verb)

    async def _thaw_awaited(self) -> None:
        if self.killed:
            await self._loop.create_future()  # nobody is there any more; the machine clears it away
        await self._thawed.wait()

    def _due(self, sort: Sort) -> Fault | None:
        for fault in self.faults:
            if fault.sort is sort:
                if fault.skip:
                    fault.skip -= 1
                    return None
                self.faults.remove(fault)
                return fault
        return None

    def _error(
        self, kind: type[errors.KubeError], about: resource.Resource, name: str | None, verb: str, status: int = 0
    ) -> errors.KubeError:
        return kind(verb, about, None, name, status, kind.__name__, "")

    # What it knows.
    def versions(self, selection: resource.Selection) -> dict[tuple[str | None, str], str]:
        """What there is now of a selection: the version by namespace and name."""
        found = self._select(selection)
        return {(key[1], key[2]): raw["metadata"]["resourceVersion"] for key, raw in found.items()}

    def _select(self, selection: resource.Selection) -> Objects:
        found = self._server.objects
        if selection.name is not None:
            key = (selection.resource.label, selection.namespace, selection.name)
            return {key: found[key]} if key in found else {}
        return {key: raw for key, raw in found.items() if servers.selects(selection, key, raw)}

    def _remember(self, selection: resource.Selection, asked: tuple[float, Objects], found: Objects) -> None:
        self.answers += 1
        when, view = asked
        self.reads[selection] = Read(when, self.answers, found, view)

    def _see(self, selection: resource.Selection, found: Objects) -> None:
        for key in [key for key, raw in self.view.items() if servers.selects(selection, key, raw)]:
            del self.view[key]
        self.view |= found
        self.news += 1

    def _happened(self, change: servers.Change) -> None:
        for stream in self._streams.values():
            stream.hear(change)

    async def _lines(self, stream: _Stream) -> AsyncIterator[tuple[str, Raw]]:
        while True:
            await stream.ready.wait()
            await self._flowing.wait()
            if (late := self._late_kinds.get(stream.selection.resource.label)) is not None:
                await late[0].wait()
            await self._thaw_awaited()
            if stream.error is not None:
                raise stream.error
            if not stream.waiting:
                stream.ready.clear()
                continue
            kind, key, raw, whole = stream.waiting.popleft()
            if key is not None:
                self.news += 1
                if whole is None:
                    self.view.pop(key, None)
                else:
                    self.view[key] = whole
            yield kind, raw

    def _stop_waiting(self) -> None:
        for kind in tuple(self._late_kinds):
            self._come(kind)
        if self._silent is not None:
            self._silent.cancel()
            self._silent = None


class _Stream:
    """An open watch: what it has to bring, in order. `whole` is the object after the change, None when it is gone.

    One from a version of the future brings nothing until that is past: no server says that it is.
    """

    def __init__(self, selection: resource.Selection, since: int) -> None:
        self.selection = selection
        self.since = since
        self.waiting: deque[tuple[str, Key | None, Raw, Raw | None]] = deque()
        self.error: errors.KubeError | None = None
        self.ready = asyncio.Event()

    def hear(self, change: servers.Change) -> None:
        if change.key[0] != self.selection.resource.label or change.version <= self.since:
            return
        seen = change.seen_by(self.selection)
        if seen is not None:
            kind, raw = seen
            partial = self.selection.metadata_only
            self.waiting.append((kind, change.key, _shown(raw, partial=partial), change.after))
            self.ready.set()

    def bookmark(self, server: servers.Server) -> None:
        self.waiting.append(("BOOKMARK", None, {"metadata": {"resourceVersion": str(server.version)}}, None))
        self.ready.set()

    def cut(self, error: errors.KubeError) -> None:
        self.waiting.clear()
        self.error = error
        self.ready.set()


def _shown(raw: Raw, *, partial: bool) -> Raw:
    return {"metadata": raw["metadata"]} if partial else raw
