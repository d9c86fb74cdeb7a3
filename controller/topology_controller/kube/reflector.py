"""Keeps what a watch yields: a store of reduced objects, and whether it is current.

Objects are reduced to values the moment they arrive, and only the values are kept: a node of 16 KB becomes the few
fields that are asked about. `on_change` is called when a value or the state of the store itself (synced, in trouble)
has changed, and not for a heartbeat.

Readers take a `Snapshot`, which is replaced in one step after a new list. Trouble never empties it: it is in `error`,
and the reader decides what old facts are worth.

Our own writes come back as the answer to the write, at once (`apply`), and as an event, later. The newer version wins,
so that nothing is decided from a state that we ourselves have changed.

Versions of a store only grow, and a list is never older than what was known before it was asked for. One that is shows
that the store was restored from a backup: it is the truth, and `on_restored` is called.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import errors, watch
from . import resource as resources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from . import client as clients

Raw = dict[str, Any]
T = TypeVar("T")

_TOMBSTONES = 256


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[T]):
    """What is known at one moment: `objects` by (namespace, name), and whether a first list was complete (`synced`).

    `error` is None while the watch works. `since`: when `synced` or `error` last changed, in seconds of the loop.
    `served` is False while the server does not have the kind: that is no trouble, and there are no objects.
    """

    objects: Mapping[watch.Key, T]
    synced: bool
    error: errors.KubeError | None
    since: float
    served: bool = True


class Reflector(Generic[T]):
    """A store of reduced objects.

    `reduce` turns a raw object into a value that can be compared; when it raises, the object is kept as what
    `malformed` makes of (its name, the exception), so that one bad object is a fact and not a failure. `on_change` is
    called in the loop and must not block; neither must `on_restored`, which gets the reason. Run `run()` as a task; the
    rest may be called at any time.
    """

    def __init__(  # noqa: PLR0913 - what is watched, how it is reduced, who is woken
        self,
        client: clients.Client,
        selection: resources.Selection,
        reduce: Callable[[Raw], T],
        on_change: Callable[[], None],
        *,
        malformed: Callable[[str, Exception], T],
        on_restored: Callable[[str], None] = lambda _: None,
        timing: watch.Timing | None = None,
    ) -> None:
        self.selection = selection
        # Unix time of the last sign of life from the server; 0 before the first.
        self.last_activity = 0.0
        self._client = client
        self._reduce = reduce
        self._malformed = malformed
        self._on_change = on_change
        self._on_restored = on_restored
        self._timing = timing or watch.Timing()
        self._entries: dict[watch.Key, watch.Entry[T]] = {}
        # When (loop time) answers to our own writes came that the watch has not confirmed.
        self._own: dict[watch.Key, float] = {}
        # The newest version that this store has given.
        self._newest = ""
        self._deleted: dict[watch.Key, str] = {}
        self._synced = False
        self._served = True
        self._error: errors.KubeError | None = None
        self._since = 0.0
        self._trouble_since = 0.0
        self._snapshot: Snapshot[T] | None = None
        self._settling: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Keep the store current until cancelled."""
        events = watch.watch(
            self._client, self.selection, self._value, timing=self._timing, newest=lambda: self._newest
        )
        try:
            async with contextlib.aclosing(events):
                async for event in events:
                    self._take(event)
        finally:
            self._stop_settling()

    def snapshot(self) -> Snapshot[T]:
        """Return what is known now: the same object as before, if nothing has changed."""
        if self._snapshot is None:
            objects = {key: entry.value for key, entry in self._entries.items()}
            objects_ = types.MappingProxyType(objects)
            self._snapshot = Snapshot(objects_, self._synced, self._error, self._since, self._served)
        return self._snapshot

    @property
    def alive(self) -> bool:
        """Whether the store can be relied on: synced, and not in trouble for longer than the grace."""
        if not self._synced:
            return False
        return self._error is None or self._now() - self._trouble_since <= self._timing.grace

    def apply(self, raw: Raw) -> None:
        """Take the object that the server returned for a write of ours. Raises ValueError when it is no object."""
        entry = watch.Entry(resources.key_of(raw), resources.version_of(raw), self._value(raw))
        # Events come in order; only an answer to our own write can be overtaken by a deletion.
        gone = self._deleted.get(entry.key)
        if (gone is None or resources.is_older(gone, entry.version)) and self._is_newer(entry):
            self._own[entry.key] = self._now()
            self._note(entry.version)
            self._put(entry)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _value(self, raw: Raw) -> T:
        try:
            return self._reduce(raw)
        except Exception as error:  # noqa: BLE001 - an object may be anything; it is reported as a value
            return self._malformed("/".join(part for part in resources.key_of(raw) if part), error)

    def _take(self, event: watch.Event[T]) -> None:
        if not isinstance(event, watch.Disturbed):
            self.last_activity = time.time()
        match event:
            case watch.Disturbed(error):
                self._disturbed(error)
            case watch.Listed(entries, version, began):
                self._listed(entries, version, began)
            case watch.Opened():
                self._settle_later()
            case watch.Unserved():
                # No kind, no objects; and the server has answered, so whatever the trouble was, it is over.
                self._settled()
                self._listed((), "", self._now(), served=False)
            case watch.Bookmark(version):
                self._settled()
                self._note(version)
            case watch.Applied(entry) | watch.Deleted(entry):
                self._settled()
                self._note(entry.version)
                if self._is_newer(entry):
                    self._own.pop(entry.key, None)
                    (self._put if isinstance(event, watch.Applied) else self._remove)(entry)

    def _note(self, version: str) -> None:
        """Keep the newest version that the store has given."""
        if not resources.is_older(version, self._newest):
            self._newest = version

    def _is_newer(self, entry: watch.Entry[T]) -> bool:
        known = self._entries.get(entry.key)
        return known is None or not resources.is_older(entry.version, known.version)

    def _put(self, entry: watch.Entry[T]) -> None:
        known = self._entries.get(entry.key)
        self._deleted.pop(entry.key, None)
        self._entries[entry.key] = entry
        if known is None or known.value != entry.value:
            self._changed()

    def _remove(self, entry: watch.Entry[T]) -> None:
        self._deleted[entry.key] = entry.version
        if len(self._deleted) > _TOMBSTONES:
            del self._deleted[next(iter(self._deleted))]
        if self._entries.pop(entry.key, None) is not None:
            self._changed()

    def _listed(self, entries: tuple[watch.Entry[T], ...], version: str, began: float, *, served: bool = True) -> None:
        fresh = {entry.key: entry for entry in entries}
        restored = self._restored(fresh, version, began) if served else ""
        # A list may be older than what we wrote while it was on its way: the watch from it brings that write.
        self._own = {key: answered for key, answered in self._own.items() if self._outweighs(key, version, began)}
        fresh |= {key: self._entries[key] for key in self._own}
        self._newest = version
        for key in self._own:
            self._note(fresh[key].version)
        first = not self._synced or served is not self._served
        before = {key: entry.value for key, entry in self._entries.items()}
        self._entries = fresh
        self._deleted.clear()
        if first:
            self._synced, self._served, self._since = True, served, self._now()
        if first or before != {key: entry.value for key, entry in fresh.items()}:
            self._changed()
        if restored:
            self._on_restored(f"{self.selection.describe()}: {restored}")

    def _outweighs(self, key: watch.Key, version: str, began: float) -> bool:
        """Whether our own write of this object was answered after a list began that is older than it."""
        answered, known = self._own.get(key), self._entries[key]
        return answered is not None and answered >= began and resources.is_older(version, known.version)

    def _restored(self, fresh: dict[watch.Key, watch.Entry[T]], version: str, began: float) -> str:
        """Return how a list shows that its store was put back; empty where it does not."""
        if resources.is_older(version, self._newest) and not any(
            self._outweighs(key, version, began) for key in self._own
        ):
            return f"its version went back from {self._newest} to {version}"
        for key, known in self._entries.items():
            listed = fresh.get(key)
            if listed is None or self._outweighs(key, version, began):
                continue
            if resources.is_older(listed.version, known.version):
                name = "/".join(part for part in key if part)
                return f"{name} went back from version {known.version} to {listed.version}"
        return ""

    def _disturbed(self, error: errors.KubeError) -> None:
        self._stop_settling()
        before, self._error = self._error, error
        if before is None:
            self._trouble_since = self._now()
        self._snapshot = None
        if before is None or before.same_as != error.same_as:
            self._since = self._now()
            self._changed()

    def _settle_later(self) -> None:
        """End the trouble when the watch is still open in a while; after a silent peer, only an event does."""
        self._stop_settling()
        if isinstance(self._error, errors.TimedOut) and self._error.verb == "watch":
            return
        self._settling = asyncio.get_running_loop().call_later(self._timing.settle, self._settled)

    def _settled(self) -> None:
        self._stop_settling()
        if self._error is not None:
            self._error, self._since = None, self._now()
            self._changed()

    def _stop_settling(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None

    def _changed(self) -> None:
        self._snapshot = None
        self._on_change()
