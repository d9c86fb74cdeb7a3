"""Keeps what a watch yields: a store of reduced objects, and whether it is current.

`on_change` is called when a value or the state of the store (synced, in trouble) has changed, not for a heartbeat.
Trouble never empties the store: the reader decides what old facts are worth.

The answer to our own write comes at once (`apply`), its event later. The newer version wins. What was read live while
the watch was behind is kept where it is newer (`learn`, `learn_list`, `learn_missing`), until the watch lists again.

Versions of a store only grow, and a list, or one object, is never older than what was known before it was asked for.
One that is shows that the store was restored from a backup: it is the truth, and `on_restored` is called.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import errors, watch
from . import resource as resources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from . import client as clients

Raw = dict[str, Any]
T = TypeVar("T")


class Reflector(Generic[T]):
    """A store of objects as `reduce` makes them: values that can be compared. Run `run()` as a task.

    When it raises, what `malformed` makes of (name, exception) is kept. `on_restored` gets the reason. Neither that nor
    `on_change` may block.
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
        self.last_activity = 0.0  # Unix time of the last sign of life from the server; 0 before the first
        self._client = client
        self._reduce, self._malformed = reduce, malformed
        self._on_change, self._on_restored = on_change, on_restored
        self._timing = timing or watch.Timing()
        self._entries: dict[watch.Key, watch.Entry[T]] = {}
        # When (loop time) answers to our own writes came that the watch has not confirmed.
        self._own: dict[watch.Key, float] = {}
        self._missed: dict[watch.Key, str] = {}  # the versions of what a live read did not find, but the watch has
        self._newest = ""  # the newest version that this store has given
        # The version that the watch has come to; that of a live list which is ahead of it, while it is.
        self._version = ""
        self._ahead = ""
        self.steps = 0  # how often what is kept has been written: the same number is the same store, versions included
        self.synced, self.served = False, True  # was a first list complete? has the server the kind?
        self.error: errors.KubeError | None = None  # of the watch
        self._trouble_since = 0.0
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

    @property
    def objects(self) -> dict[watch.Key, T]:
        """What is known now."""
        return {key: entry.value for key, entry in self._entries.items()}

    @property
    def alive(self) -> bool:
        """Whether the store can be relied on: synced, and not in trouble for longer than the grace."""
        if not self.synced:
            return False
        return self.error is None or self._now() - self._trouble_since <= self._timing.grace

    def apply(self, raw: Raw) -> None:
        """Take the object that the server returned for a write of ours. Raises ValueError when it is no object."""
        entry = self.entry(raw)
        if self._outlives(entry) and self._is_newer(entry):
            self._own[entry.key] = self._now()
            self._note(entry.version)
            self._put(entry)

    def entry(self, raw: Raw) -> watch.Entry[T]:
        """Reduce an object as the watch does. Raises ValueError when it is no object."""
        return watch.Entry(resources.key_of(raw), resources.version_of(raw), self._value(raw))

    def learn(self, entry: watch.Entry[T]) -> None:
        """Take one object that was read live, where it is newer than what is kept."""
        known = self._entries.get(entry.key)
        if self._outlives(entry) and (known is None or resources.is_older(known.version, entry.version)):
            self._note(entry.version)
            self._put(entry)

    def learn_live(self, entry: watch.Entry[T], steps: int) -> None:
        """Take the object of this selection as it was read live; `steps` is what it was before the server was asked.

        Where nothing has come since and a newer state is known, that state was restored away.
        """
        known = self._entries.get(entry.key)
        if known is not None and steps == self.steps and entry.version == known.version:
            # The same state: what the server shows of it depends on the definition, which has another version.
            if entry.value != known.value:
                self._put(entry)
            return
        # What was not there when it was read live may be there again, as it was: the watch has not seen it go.
        gone = self._missed.get(entry.key) or self._ahead or self._version
        newer = gone if known is None else known.version
        if steps != self.steps or not resources.is_older(entry.version, newer):
            self.learn(entry)
            return
        self._own.pop(entry.key, None)
        self._put(entry)
        self._on_restored(f"{self.selection.describe()} went back from version {newer} to {entry.version}")

    def learn_list(self, entries: tuple[watch.Entry[T], ...], version: str) -> None:
        """Take a whole list that was read live, where it is newer than all that the watch has brought."""
        if not self.synced or not self.served or not resources.is_older(self._ahead or self._version, version):
            return
        fresh = {entry.key: entry for entry in entries}
        for key, known in self._entries.items():
            listed = fresh.get(key)
            if not resources.is_older(known.version, version if listed is None else listed.version):
                fresh[key] = known
        self._own = {key: answered for key, answered in self._own.items() if key in fresh}
        self._ahead = version
        self._note(version)
        self._replace(fresh)

    def learn_missing(self, steps: int) -> None:
        """Take that the server does not have the one object, unless the store has changed since `steps`."""
        for entry in tuple(self._entries.values()) if steps == self.steps else ():
            self._own.pop(entry.key, None)
            self._remove(entry)
            self._missed[entry.key] = entry.version

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
            case watch.Listed():
                self._version, self._ahead = event.resource_version, ""
                self._listed(event)
            case watch.Opened():
                self._settle_later()
            case watch.Unserved():
                # The server has answered, so whatever the trouble was, it is over.
                self._settled()
                self._listed(watch.Listed((), "", self._now()), served=False)
            case watch.Bookmark(version):
                self._settled()
                self._reached(version)
            case watch.Applied(entry) | watch.Deleted(entry):
                self._settled()
                if self._reached(entry.version) and self._is_newer(entry):
                    self._own.pop(entry.key, None)
                    (self._put if isinstance(event, watch.Applied) else self._remove)(entry)

    def _note(self, version: str) -> None:
        """Keep the newest version that the store has given."""
        if not resources.is_older(version, self._newest):
            self._newest = version

    def _reached(self, version: str) -> bool:
        """Note how far the watch has come; return whether that is news beside a list that was read live."""
        self._version = version
        self._note(version)
        if self._ahead and not resources.is_older(self._ahead, version):
            return False
        self._ahead = ""
        return True

    def _outlives(self, entry: watch.Entry[T]) -> bool:
        """Whether it is no state of an object that is gone by now, as the watch, which has come further, shows."""
        reached = self._ahead or self._version
        past = entry.version == reached or resources.is_older(entry.version, reached)
        return entry.key in self._entries or not past

    def _is_newer(self, entry: watch.Entry[T]) -> bool:
        known = self._entries.get(entry.key)
        return known is None or not resources.is_older(entry.version, known.version)

    def _put(self, entry: watch.Entry[T]) -> None:
        known = self._entries.get(entry.key)
        self.steps += 1
        self._entries[entry.key] = entry
        if known is None or known.value != entry.value:
            self._on_change()

    def _remove(self, entry: watch.Entry[T]) -> None:
        self.steps += 1
        self._missed.pop(entry.key, None)
        if self._entries.pop(entry.key, None) is not None:
            self._on_change()

    def _listed(self, listed: watch.Listed[T], *, served: bool = True) -> None:
        fresh = {entry.key: entry for entry in listed.entries}
        restored = self._restored(listed, fresh)
        # A list may be older than what we wrote while it was on its way: the watch from it brings that write.
        self._newest = listed.resource_version
        for key, answered in tuple(self._own.items()):
            kept = self._entries[key]
            if answered < listed.began or not resources.is_older(listed.resource_version, kept.version):
                del self._own[key]
                continue
            fresh[key] = kept
            self._note(kept.version)
        first = not self.synced or served is not self.served
        self.synced, self.served = True, served
        self._replace(fresh, first=first)
        if restored:
            self._on_restored(f"{self.selection.describe()}: {restored}")

    def _replace(self, fresh: dict[watch.Key, watch.Entry[T]], *, first: bool = False) -> None:
        before, self._entries = self._entries, fresh
        self._missed.clear()
        self.steps += 1
        values = ({key: entry.value for key, entry in entries.items()} for entries in (before, fresh))
        if first or next(values) != next(values):
            self._on_change()

    def _restored(self, listed: watch.Listed[T], fresh: Mapping[watch.Key, watch.Entry[T]]) -> str:
        """Return how a list shows that its store was put back; empty where it does not."""
        if resources.is_older(listed.resource_version, listed.after):
            return f"its version went back from {listed.after} to {listed.resource_version}"
        for key, known in self._entries.items():
            entry = fresh.get(key)
            # What came while the list was on its way may be newer than it, and shows nothing.
            if entry is None or resources.is_older(listed.after, known.version):
                continue
            if resources.is_older(entry.version, known.version):
                name = "/".join(part for part in key if part)
                return f"{name} went back from version {known.version} to {entry.version}"
        return ""

    def _disturbed(self, error: errors.KubeError) -> None:
        self._stop_settling()
        before, self.error = self.error, error
        if before is None:
            self._trouble_since = self._now()
            # No event tells when what is kept is too old.
            asyncio.get_running_loop().call_later(self._timing.grace + 1, self._on_change)
        if before is None or before.same_as != error.same_as:
            self._on_change()

    def _settle_later(self) -> None:
        """End a trouble when the watch is still open in a while; after a silent peer, only an event does."""
        self._stop_settling()
        if self.error is None:
            return
        if isinstance(self.error, errors.TimedOut) and self.error.verb == "watch":
            return
        self._settling = asyncio.get_running_loop().call_later(self._timing.settle, self._settled)

    def _settled(self) -> None:
        if self.error is not None:
            self.error = None
            self._on_change()

    def _stop_settling(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
