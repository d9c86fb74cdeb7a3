"""`status --watch`: the answer of `status`, again and again, as long as somebody looks.

The watches of the operator (`observe.watches`) bring the facts, `reading` and `status` make the answer of them that
`status` would give, and a sheet shows it: `live_screen` on a terminal, `live_lines` anywhere else. Nothing is asked
twice and nothing is judged here.

What is known stays on the sheet while the server cannot be reached: it says since when it is old, and the watches go on
by themselves. Only what cannot mend itself ends it: credentials that are not accepted any more, or a right that lacks.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn, Protocol, Self

from ..decide import records
from ..kube import errors as kube
from ..kube import reflector, watch
from ..observe import catalog, facts, watches
from ..observe import live as live_reads
from . import connection, errors, reading, status

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from topology_api.types import TopologyTransition

    from ..transitions import load
    from . import answers

TIMING = watch.Timing(silence=100.0, cap=5.0, grace=math.inf)
"""A person is waiting: it is tried again within seconds. What was known is kept, and its age is told."""
_PATIENCE = 5.0
"""Seconds. A watch that is cut goes on in less; only what lasts longer is called a loss of the connection."""
_DENIED = 10.0
"""Seconds. A server that is being replaced may refuse good credentials for a moment."""
_ANEW = 15.0
"""Seconds after which it is judged again without news: that nobody renews a Lease is no event."""
_FIRST = 15.0
"""Seconds that the first reading of what a wish needs may take before it is shown without that."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The server cannot be followed. `since` is aware UTC, `why` one line."""

    since: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What there is to be shown. `stale` names what cannot be followed although the server answers, and why."""

    answer: answers.Status
    lost: Lost | None = None
    stale: tuple[str, ...] = ()


class Sheet(Protocol):
    """Where it is shown. Entered before the first `show`, left however it ends.

    `tick`: seconds after which it wants to be shown again without news, None when it does not. `shortest`: seconds
    between two times. `whole`: it waits for everything that a new phase needs, instead of showing it as it arrives.
    """

    tick: float | None
    shortest: float
    whole: bool

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, shown: Shown, now: datetime) -> None:
        """Show it; `now` is aware UTC."""

    def signals(self, news: asyncio.Event) -> contextlib.AbstractContextManager[None]:
        """While entered, set `news` when the sheet itself has changed."""


def _utc() -> datetime:
    return datetime.now(UTC)


async def follow(
    made: connection.Connection,
    transitions: load.Transitions,
    namespace: str,
    sheet: Sheet,
    now: Callable[[], datetime] = _utc,
) -> NoReturn:
    """Show how it stands until cancelled. `now` tells the time of day, in aware UTC.

    Raises PluginError when the cluster cannot be asked, at the beginning or any more.
    """
    # What a person may have got wrong is told before the terminal is taken.
    await connection.infrastructure(made)
    loop = asyncio.get_running_loop()
    async with Following(made, transitions, namespace, whole=sheet.whole) as following:
        shown = await following.look(now())
        with sheet, sheet.signals(following.news):
            while True:
                sheet.show(shown, now())
                earliest = loop.time() + sheet.shortest
                latest = sheet.tick if sheet.tick is not None else following.pause
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(latest):
                        await following.news.wait()
                await asyncio.sleep(earliest - loop.time())
                shown = await following.look(now())


class Following:
    """The watches, and the answer that follows from them. Use with `async with`.

    Raises PluginError on entering when Infrastructure cannot be watched.
    """

    def __init__(
        self, made: connection.Connection, transitions: load.Transitions, namespace: str, *, whole: bool
    ) -> None:
        self.news = asyncio.Event()
        self._made = made
        self._transitions = transitions
        self._namespace = namespace
        self._whole = whole
        self._watches = watches.Watches(made.client, self.news.set, sources=catalog.watched(transitions), timing=TIMING)
        self._source = reading.lease(namespace)
        self._unread = facts.Unobserved(self._source.what, "not read yet", awaited=True)
        self._lease = reflector.Reflector(
            made.client,
            self._source.selection,
            self._source.reduce,
            self.news.set,
            malformed=lambda name, error: live_reads.malformed(f"{self._source.what} {name}", error),
            timing=TIMING,
        )
        self._task: asyncio.Task[None] | None = None
        self._answer: answers.Status | None = None
        self._judged = -math.inf
        self._lost: Lost | None = None
        self._lost_at = 0.0
        self._denied_at: float | None = None
        self._since: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        await self._watches.__aenter__()
        try:
            self._task = asyncio.create_task(self._lease.run(), name="watch the operator's Lease")
            await self._begin()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._watches.__aexit__()

    @property
    def pause(self) -> float:
        """Seconds until it may be worth another look without news."""
        return 1.0 if self._lost is not None or self._since else _ANEW

    async def _begin(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._made.client.request_timeout):
                await self._watches.first_answers()
                while self._operator() == self._unread:
                    self.news.clear()
                    await self.news.wait()
        self.news.set()
        known = self._watches.known()
        if isinstance(known.infrastructure, facts.Unobserved):
            self._cannot_watch(known.infrastructure)
        if self._record(known) is None:
            self._watches.installed = await live_reads.installed(self._made.client)
        else:
            self._watches.installed = facts.Installed()

    def _cannot_watch(self, found: facts.Unobserved) -> None:
        trouble = self._watches.trouble(catalog.INFRASTRUCTURE)
        if isinstance(trouble, kube.Forbidden):
            raise errors.PluginError(self._made.lacks(trouble), "Without --watch the right to get it is enough")
        raise errors.PluginError(f"{found} ({self._made.server})")

    def _record(self, known: facts.Facts) -> TopologyTransition | None:
        here = known.infrastructure
        return None if isinstance(here, facts.Unobserved) else records.recover(here, known.own_operator)

    async def look(self, now: datetime) -> Shown:
        """How it stands `now` (aware UTC). Raises PluginError when it cannot be followed any more."""
        loop = asyncio.get_running_loop()
        self._raise_failed()
        if self.news.is_set() or loop.time() - self._judged >= _ANEW:
            self.news.clear()
            self._judged = loop.time()
            await self._judge(now)
        await self._notice(now)
        if self._answer is None:
            raise errors.PluginError(f"Infrastructure of {self._made.server} makes no sense to watch")
        lost = self._lost
        lasting = lost is not None and loop.time() - self._lost_at >= _PATIENCE
        return Shown(self._answer, lost if lasting else None, self._stale() if lost is None else ())

    async def _judge(self, now: datetime) -> None:
        known = self._watches.known()
        if isinstance(known.infrastructure, facts.Unobserved):
            # Gone, or nonsense: what was known is kept, and `_stale` says so.
            return
        wanted = reading.about(self._record(known), self._transitions)
        if any(source in catalog.EVIDENCE for source in wanted):
            if not self._watches.is_open:
                self._watches.open()
                if self._whole:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_FIRST):
                            await self._watches.first_answers()
                known = self._watches.known()
        elif self._watches.is_open:
            await self._watches.close()
            known = self._watches.known()
        seen = reading.assembled(known, self._operator(), wanted, self._namespace, now)
        self._answer = status.status(seen, self._transitions)

    def _operator(self) -> facts.Fact[facts.EtcdLease]:
        snapshot = self._lease.snapshot()
        if snapshot.synced:
            found: facts.Fact[facts.EtcdLease] = live_reads.value(self._source, snapshot.objects.values())
            return found
        if snapshot.error is not None:
            return live_reads.unobserved(self._source.what, snapshot.error)
        return self._unread

    async def _notice(self, now: datetime) -> None:
        """Note since when the server cannot be followed; end when that is for good."""
        trouble = self._watches.trouble(catalog.INFRASTRUCTURE)
        if trouble is None:
            self._lost = self._denied_at = None
            return
        why = live_reads.unobserved("", trouble).why
        loop = asyncio.get_running_loop()
        if self._lost is None:
            self._lost, self._lost_at = Lost(now, why), loop.time()
        self._lost = dataclasses.replace(self._lost, why=why)
        if not isinstance(trouble, kube.Unauthorized | kube.Forbidden):
            self._denied_at = None
        elif self._denied_at is None:
            self._denied_at = loop.time()
        elif loop.time() - self._denied_at >= _DENIED:
            # Asked plainly once more, which says what is wrong; if nothing is, only watching is refused.
            await connection.infrastructure(self._made)
            if isinstance(trouble, kube.Forbidden):
                raise errors.PluginError(self._made.lacks(trouble), "Without --watch the right to get it is enough")
            self._denied_at = loop.time()

    def _stale(self) -> tuple[str, ...]:
        """Everything that is shown and cannot be followed, once that has lasted."""
        known = self._watches.known()
        found = list(known.disturbed)
        if isinstance(known.infrastructure, facts.Unobserved):
            found.append(str(known.infrastructure))
        now = asyncio.get_running_loop().time()
        self._since = {what: self._since.get(what, now) for what in found}
        return tuple(what for what, since in self._since.items() if now - since >= _PATIENCE)

    def _raise_failed(self) -> None:
        """Re-raise what ended a watch other than being stopped: a bug, which must not pass for silence."""
        self._watches.raise_failed()
        if self._task is not None and self._task.done():
            self._task.result()
