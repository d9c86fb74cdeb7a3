"""What etcd and the watch cache are to the real server: objects, one ordered log, one resourceVersion.

Every write takes the next revision, is appended to the log and handed to the subscribers of its store in the same step.
An object is never changed after it was stored, so that many readers share it, its encoded form too (`Item`). What is
older than the log, which is bounded and can be compacted, is `Compacted`, a 410 for clients. A change carries the state
before it, so that any state which the log covers can be rebuilt: paged lists are of one moment.
"""

import bisect
import collections
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Compacted(Exception):  # noqa: N818  # the word that the field uses for it, not an error of ours
    """The log does not reach back to a revision."""


class FutureRevision(Exception):  # noqa: N818  # as above
    """A client wants a revision that was not handed out yet."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"Too large resource version: {revision}, current: {current}")


def encode(value: Any) -> bytes:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(slots=True, eq=False)
class Item:
    """One version of one object. `obj` must not be changed. `encoded` remembers its wire forms by their name."""

    obj: dict[str, Any]
    revision: int
    encoded: dict[str, bytes] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """Namespace ("" for cluster-scoped kinds) and name: the order of every list."""
        meta = self.obj["metadata"]
        return meta.get("namespace", ""), meta["name"]

    def wire(self, form: str, convert: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
        """Return the object encoded in a wire form; `convert` makes it the first time."""
        data = self.encoded.get(form)
        if data is None:
            data = self.encoded[form] = encode(convert(self.obj))
        return data


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the log. `item` is the state after it (for DELETED the last state, with the delete's revision)."""

    revision: int
    store: str
    type: str
    item: Item
    previous: Item | None


class Subscriber(Protocol):
    """Receives every change of a store, in order, in the same step as the write; must not block."""

    def offer(self, change: Change) -> None:
        """Take one change."""

    def close(self) -> None:
        """End once all that was offered has been delivered."""


class Storage:
    """All objects of the cluster, by store (`group/plural`), and the log of their changes."""

    def __init__(self, history: int = 4096) -> None:
        self._history = max(history, 1)
        self._stores: dict[str, dict[tuple[str, str], Item]] = collections.defaultdict(dict)
        self._order: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
        self._log: collections.deque[Change] = collections.deque()
        self._subscribers: dict[str, dict[Subscriber, None]] = collections.defaultdict(dict)
        self.revision = 1
        """The revision of the latest write."""
        self._compacted = 1

    def get(self, store: str, namespace: str, name: str) -> Item | None:
        """Return the object, or None."""
        return self._stores[store].get((namespace, name))

    def items(self, store: str, namespace: str = "", *, at: int | None = None) -> list[Item]:
        """Return the objects of a store, or of one namespace of it, by namespace and name.

        `at` asks for the state at an earlier revision; raises Compacted or FutureRevision.
        """
        if at is None or at == self.revision:
            objects, order = self._stores[store], self._order[store]
        else:
            objects = self._rebuild(store, at)
            order = sorted(objects)
        if namespace:
            first = bisect.bisect_left(order, (namespace, ""))
            order = order[first : bisect.bisect_left(order, (namespace + "\0", ""))]
        return [objects[key] for key in order]

    def _check(self, revision: int) -> None:
        """Raise Compacted or FutureRevision unless the log covers everything after `revision`."""
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision < self._compacted:
            raise Compacted(f"too old resource version: {revision} ({self._compacted})")

    def _rebuild(self, store: str, at: int) -> dict[tuple[str, str], Item]:
        objects = dict(self._stores[store])
        for change in reversed(self.since(store, at)):
            if change.previous is None:
                objects.pop(change.item.key, None)
            else:
                objects[change.item.key] = change.previous
        return objects

    def put(self, store: str, obj: dict[str, Any]) -> Item:
        """Store a new object or a new state of one, and return it; sets `metadata.resourceVersion` in place."""
        revision = self.revision + 1
        obj["metadata"]["resourceVersion"] = str(revision)
        item = Item(obj, revision)
        key = item.key
        previous = self._stores[store].get(key)
        self._stores[store][key] = item
        if previous is None:
            bisect.insort(self._order[store], key)
        self._commit(Change(revision, store, ADDED if previous is None else MODIFIED, item, previous))
        return item

    def remove(self, store: str, obj: dict[str, Any]) -> Item:
        """Delete an object; `obj` is its last state, which watchers see with the revision of the delete."""
        revision = self.revision + 1
        last = Item({**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}, revision)
        previous = self._stores[store].pop(last.key)
        order = self._order[store]
        del order[bisect.bisect_left(order, last.key)]
        self._commit(Change(revision, store, DELETED, last, previous))
        return last

    def _commit(self, change: Change) -> None:
        self.revision = change.revision
        self._log.append(change)
        while len(self._log) > self._history:
            self._compacted = self._log.popleft().revision
        for subscriber in tuple(self._subscribers[change.store]):
            subscriber.offer(change)

    def since(self, store: str, revision: int) -> list[Change]:
        """Return the changes of a store after `revision`, oldest first. Raises Compacted or FutureRevision."""
        self._check(revision)
        later = itertools.takewhile(lambda change: change.revision > revision, reversed(self._log))
        return [change for change in later if change.store == store][::-1]

    def compact(self) -> None:
        """Forget the log."""
        self._log.clear()
        self._compacted = self.revision

    def dump(self) -> str:
        """Return all objects as JSON, for `load`; the log is left out."""
        return json.dumps({store: [item.obj for item in objects.values()] for store, objects in self._stores.items()})

    def load(self, dumped: str, revision: int | None = None) -> None:
        """Hold what was dumped and nothing else, with a log that begins after it. There may be no subscriber.

        `revision` is where it goes on from; None where no client may see that it goes back.
        """
        self._stores.clear()
        self._order.clear()
        for store, objects in json.loads(dumped).items():
            items = [Item(obj, int(obj["metadata"]["resourceVersion"])) for obj in objects]
            self._stores[store] = {item.key: item for item in items}
            self._order[store] = sorted(self._stores[store])
            self.revision = max([self.revision, *(item.revision for item in items)])
        self.revision = self.revision if revision is None else revision
        self.compact()

    def subscribe(self, store: str, subscriber: Subscriber) -> None:
        """Offer `subscriber` every later change of a store, in order, in the same step as the write."""
        self._subscribers[store][subscriber] = None

    def dismiss(self, store: str) -> None:
        """Let every subscriber of a store end."""
        for subscriber in tuple(self._subscribers[store]):
            subscriber.close()

    def unsubscribe(self, store: str, subscriber: Subscriber) -> None:
        """Stop telling; harmless when it was not subscribed."""
        self._subscribers[store].pop(subscriber, None)
