"""List, then watch from there, without end: a state machine that yields events, which `reflector` keeps.

A watch that ends in its own time is opened again at once. Everything else is trouble: it yields `Disturbed`, waits, and
goes on from the last version. A version that the server no longer keeps (410), or has not reached, sends it back to the
list. The pause grows with every failure, and shrinks only after a stretch of health: a server that answers 200 and
hangs up is in as much trouble as one that answers 503.

kube-apiserver opens a watch from a version of the future, left over where etcd was restored from a backup, and is
silent. So a watch that is opened again is followed by a list of one object, whose version is that of the store. Where
only one object is watched that list comes first: the store's versions may have grown past ours, the object's has not.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import client, errors, queue
from . import resource as resources

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

_LOG = logging.getLogger(__name__)
Raw = dict[str, Any]
Key = tuple[str | None, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timing:
    """All figures of a watch, in seconds."""

    shortest: float = 45 * 60.0  # how long the server is asked to keep a watch open
    longest: float = 60 * 60.0
    silence: float = 150.0  # a peer that sends no byte for so long is dead (a bookmark comes about once a minute)
    first: float = 1.0  # and `cap`: the pauses after failures
    cap: float = 20.0
    healthy: float = 60.0  # a watch that has worked for so long has ended the trouble
    settle: float = 2.0  # an opened watch that is still open then counts as working
    grace: float = 60.0  # trouble shorter than this does not make a store useless
    listing: float = 60.0  # the budget of one list
    unserved: float = 300.0  # until a kind that the server does not serve is asked for again, varied by a fifth


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """One object: its (namespace, name), its resourceVersion, and what it was reduced to."""

    key: Key
    version: str
    value: T


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """All there is. Replaces what was known, `after` at the newest, before the list `began` (the loop's time)."""

    entries: tuple[Entry[T], ...]
    resource_version: str
    began: float = field(default=0.0, compare=False)
    after: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Opened:
    """The server has begun to answer a watch. It may still hang up."""


@dataclass(frozen=True, slots=True)
class Applied(Generic[T]):
    """An object was added, or is now so."""

    entry: Entry[T]


@dataclass(frozen=True, slots=True)
class Deleted(Generic[T]):
    """An object is gone, or no longer selected; this was its last state."""

    entry: Entry[T]


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing has happened up to this version, and the server is alive."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Disturbed:
    """Something went wrong, and what is known may be out of date. The next attempt is in `pause` seconds."""

    error: errors.KubeError
    pause: float


@dataclass(frozen=True, slots=True)
class Unserved:
    """The server does not know this kind, so there is none of it. It is asked again in `pause` seconds."""

    pause: float


Event = Listed[T] | Opened | Applied[T] | Deleted[T] | Bookmark | Disturbed | Unserved


async def watch(
    source: client.Client,
    selection: resources.Selection,
    reduce: Callable[[Raw], T],
    *,
    timing: Timing,
    newest: Callable[[], str] = lambda: "",
) -> AsyncGenerator[Event[T], None]:
    """Yield events until cancelled or closed; never raises a KubeError, but what `reduce` raises.

    `newest` is the newest version that is known otherwise, as of a write.
    """
    state = _State(selection, timing)

    def entry(raw: Raw) -> Entry[T]:
        key, version = state.judged(raw)
        return Entry(key, version, reduce(raw))

    while True:
        trouble: Disturbed | Unserved | None
        try:
            resumed = state.version is not None
            if state.version is None:
                began, after = asyncio.get_running_loop().time(), newest()
                listing = await source.list(selection, entry, timeout=timing.listing, retry=False)
                state.version = listing.resource_version
                yield Listed(listing.items, listing.resource_version, began, after)
            version, lasting = state.version, queue.uniform(timing.shortest, timing.longest)
            async with source.open_watch(selection, version, lasting, timing.silence) as events:
                state.opened()
                _LOG.debug("the watch of %(object)s is open", {"object": selection, "version": version})
                yield Opened()
                if resumed:
                    written = newest()
                    state.reached(await client.newest(source, selection), written)
                async for kind, raw in events:
                    if kind == "BOOKMARK":
                        yield Bookmark(state.bookmarked(state.judged(raw, named=False)[1]))
                        continue
                    changed = entry(raw)
                    state.moved(changed.version)
                    yield Deleted(changed) if kind == "DELETED" else Applied(changed)
            trouble = state.ended(lasting)
        except errors.KubeError as error:
            unserved = await client.is_unserved(source, selection, error)
            trouble = state.unserved(error) if unserved else state.failed(error)
        state.forget_one()
        _LOG.debug("the watch of %(object)s has ended: %(how)s", {"object": selection, "how": trouble or "in order"})
        if trouble is not None:
            yield trouble
            await asyncio.sleep(trouble.pause)
            # An error keeps its traceback, and that keeps every frame of the attempt: not while the next watch lasts.
            trouble = None


class _State:
    """What a watch remembers from one attempt to the next: the version, and how things have been going."""

    def __init__(self, selection: resources.Selection, timing: Timing) -> None:
        self.version: str | None = None
        self._selection, self._timing = selection, timing
        self._backoff = queue.Backoff(timing.first, timing.cap)
        # The pauses where a list does not help against a version that is gone.
        self._gone = queue.Backoff(timing.first, timing.cap)
        self._clock = asyncio.get_running_loop().time
        self._gone_at = float("-inf")
        self._opened_at: float | None = None
        self._heard_at = 0.0

    def judged(self, raw: Raw, *, named: bool = True) -> tuple[Key, str]:
        """Read key and version of an object, the version alone of what has no name; raises Malformed without them."""
        try:
            return resources.key_of(raw) if named else (None, ""), resources.version_of(raw)
        except ValueError as error:
            raise self._error(errors.Malformed, "NotAnObject", str(error)) from error

    def forget_one(self) -> None:
        """Begin again with a list where one object is watched: it shows what its version alone cannot."""
        if self._selection.name is not None:
            self.version = None

    def opened(self) -> None:
        self._opened_at = self._heard_at = self._clock()

    def reached(self, version: str, written: str) -> None:
        """Raise Gone when the version of the store is behind ours or what was `written`, as only a restored one is."""
        for known in (self.version or "", written):
            if resources.is_older(version, known):
                raise self._error(errors.Gone, "HistoryWentBack", f"from version {known} to {version}")

    def moved(self, version: str) -> None:
        """Take the version of an event about an object."""
        self._heard_at = self._clock()
        if self.version is None or not resources.is_older(version, self.version):
            self.version = version

    def bookmarked(self, version: str) -> str:
        """Take the version of a bookmark; raises Gone as `reached` does."""
        self._heard_at = self._clock()
        self.reached(version, "")
        self.version = version
        return version

    def ended(self, lasting: float) -> Disturbed | None:
        """The server ended the watch in good order: its own time, or a server that is being replaced."""
        lasted = self._clock() - (self._opened_at or 0.0)
        self._opened_at = None
        if lasted >= min(self._timing.healthy, 0.9 * lasting):
            self._backoff.reset()
            return None
        error = self._error(errors.Unreachable, "ClosedEarly", "the server ended the watch long before its time")
        return Disturbed(error, self._backoff.next())

    def failed(self, error: errors.KubeError) -> Disturbed | None:
        """Return how to go on after an error; None is at once."""
        if self._opened_at is not None and self._heard_at - self._opened_at >= self._timing.healthy:
            self._backoff.reset()
        self._opened_at = None
        if isinstance(error, errors.Gone):
            if not self._lists_at_once():
                return Disturbed(error, self._gone.next(error.retry_after))
            # A server that says so answers: the pauses of one that did not are over.
            self._backoff.reset()
            self._gone.reset()
            return None
        return Disturbed(error, self._backoff.next(error.retry_after))

    def unserved(self, error: errors.KubeError) -> Disturbed | Unserved | None:
        """Return how to go on when the server knows no such kind; None is at once."""
        if self.version is not None:
            # A list says whether it still is there; but a list that says yes every time is trouble after all.
            self._opened_at = None
            return None if self._lists_at_once() else self.failed(error)
        self._backoff.reset()
        return Unserved(self._timing.unserved * queue.uniform(0.8, 1.2))

    def _lists_at_once(self) -> bool:
        """Forget the version, which a restarted server may not know; list at once unless that did not help just now."""
        had_one, self.version = self.version is not None, None
        before, self._gone_at = self._gone_at, self._clock()
        return had_one and self._gone_at - before >= self._timing.healthy

    def _error(self, kind: type[errors.KubeError], reason: str, message: str) -> errors.KubeError:
        about = self._selection
        return kind("watch", about.resource, about.namespace, about.name, 0, reason, message)
