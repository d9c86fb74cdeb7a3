"""What all actors share: a mirror of what they know, an endless look-and-act over it, and waiting that is a figure.

`Mirror` keeps the objects of a few kinds current and wakes its actor when they change; an actor works by level, not by
event, and `step` must bear being called at any time. A step that fails at the API is tried again after `pace.retry`:
only a write of a field that its definition does not have ends it, a mistake here. `Waits` remembers since when
something holds, so that a step can say "once this has been so for two seconds" without holding up everything else.
"""

import abc
import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Collection, Hashable, Iterable
from typing import Any, ClassVar

from topology_simulator import client, conditions, kinds, pace

_LOG = logging.getLogger(__name__)


class Troubles:
    """What does not work as it should, each a set of names. One for all actors; `hub.Actors.order` has the words."""

    def __init__(self) -> None:
        self.off: set[str] = set()
        """Nodes without power."""
        self.learners: set[str] = set()
        """Nodes whose etcd member stays a learner."""
        self.silent: set[str] = set()
        """Hosts whose management controller does not answer, which is no error of what runs on them."""
        self.held: set[str] = set()
        """Operators that do not react to a new topology: ClusterOperators, or namespace/name of one workload."""
        self.degraded: set[str] = set()
        """Machine config pools that their first node degrades."""
        self.upgrades: set[str] = set()
        """ClusterVersion, while an upgrade goes on."""

    def holds(self, *names: str) -> bool:
        """Whether any of these does not react to a new topology."""
        return not self.held.isdisjoint(names)


class Waits:
    """Since when things hold, and when the next of them is due."""

    def __init__(self) -> None:
        self._since: dict[Hashable, float] = {}
        self._soonest: float | None = None

    def due(self, key: Hashable, seconds: float) -> bool:
        """Whether this has been asked for `seconds`, counted from the first time (or from `clear`)."""
        now = asyncio.get_running_loop().time()
        left = self._since.setdefault(key, now) + seconds - now
        if left <= 0:
            return True
        self._soonest = left if self._soonest is None else min(left, self._soonest)
        return False

    def clear(self, *keys: Hashable) -> None:
        """Forget: the next `due` counts from then."""
        for key in keys:
            self._since.pop(key, None)

    def start(self, key: Hashable, seconds: float) -> None:
        """Count from now: `due` in so many seconds, whatever was counted before."""
        self.clear(key)
        self.due(key, seconds)

    def over(self, key: Hashable, seconds: float) -> bool:
        """Whether it is due; what is over is forgotten."""
        over = self.due(key, seconds)
        if over:
            self.clear(key)
        return over

    def every(self, key: Hashable, seconds: float) -> bool:
        """Whether so many seconds have passed since the last time that they had."""
        over = self.due(key, seconds)
        if over:
            self.start(key, seconds)
        return over

    def take(self) -> float | None:
        """Return in how many seconds the next waiting is over, and start collecting anew."""
        soonest, self._soonest = self._soonest, None
        return soonest


class Actor(abc.ABC):
    """One component of the cluster. Subclasses say what they watch and what they do next."""

    agent: ClassVar[str]
    watched: ClassVar[tuple[kinds.Kind, ...]]

    def __init__(
        self,
        api: client.Client,
        speeds: pace.Pace,
        troubles: Troubles | None = None,
        absent: Collection[kinds.Kind] = (),
    ) -> None:
        """`absent` are kinds that this cluster does not serve: there is none of them."""
        self.api = api
        self.pace = speeds
        self.troubles = troubles or Troubles()
        self.mirror = Mirror(kind for kind in self.watched if kind not in absent)
        self.waits = Waits()

    async def run(self) -> None:
        """Act until cancelled."""
        async with self.mirror.following(self.api, self.pace.retry):
            while True:
                pause = None
                if self.mirror.current:
                    try:
                        await self.step()
                        pause = self.waits.take()
                    except client.ClientError as error:
                        if isinstance(error, client.ApiError) and error.unknown_field:
                            raise
                        _LOG.info("%s: %s", self.agent, error)
                        pause = self.pace.retry
                await self.mirror.wait(pause)

    @abc.abstractmethod
    async def step(self) -> None:
        """Do what is to be done now. Raises ClientError when the API did not let it."""

    async def create(self, kind: kinds.Kind, obj: dict[str, Any]) -> None:
        """Create an object, then its status, and see the answers at once."""
        created = await self.api.create(kind, obj)
        self.mirror.keep(kind, created)
        if obj["status"]:
            await self.patch(kind, created, {"status": obj["status"]}, "status")

    async def patch(self, kind: kinds.Kind, obj: dict[str, Any], change: dict[str, Any], subresource: str = "") -> None:
        """Merge-patch an object of the mirror, and see the answer at once."""
        meta = obj["metadata"]
        done = await self.api.patch(kind, meta["name"], change, meta.get("namespace", ""), subresource)
        self.mirror.keep(kind, done)

    async def say(
        self, kind: kinds.Kind, obj: dict[str, Any] | None, wanted: Iterable[conditions.Condition], **status: Any
    ) -> None:
        """Write conditions, and other fields of status, where they differ; an object that is gone is let go."""
        if obj is None:
            return
        present = obj.get("status") or {}
        change = {name: value for name, value in status.items() if (present.get(name) or 0) != (value or 0)}
        if (changed := conditions.merged(obj, wanted)) is not None:
            change["conditions"] = changed
        if change:
            await self.patch(kind, obj, {"status": change}, "status")

    async def say_operator(self, name: str, *wanted: conditions.Condition) -> None:
        """Write conditions of a ClusterOperator where they differ."""
        await self.say(kinds.CLUSTER_OPERATORS, self.mirror.get(kinds.CLUSTER_OPERATORS, name), wanted)

    def risen(self, timer: Hashable, ready: int, wanted: int, seconds: float) -> int:
        """Return how many are ready now: what is too much goes at once, one more comes after so many seconds."""
        if ready >= wanted:
            self.waits.clear(timer)
            return wanted
        if self.waits.over(timer, seconds):
            ready += 1
            if ready < wanted:
                self.waits.due(timer, seconds)
        return ready

    @property
    def topology(self) -> str:
        """The control-plane topology that Infrastructure shows, or an empty string."""
        status = (self.mirror.get(kinds.INFRASTRUCTURES, "cluster") or {}).get("status") or {}
        return str(status.get("controlPlaneTopology") or "")

    @property
    def single(self) -> bool:
        """Is the control plane one of a single node?"""
        return self.topology == "SingleReplica"

    def nodes_with(self, role: str) -> list[dict[str, Any]]:
        """Return the nodes that carry a role's label, by name."""
        label = f"node-role.kubernetes.io/{role}"
        return [node for node in self.mirror.all(kinds.NODES) if label in (node["metadata"].get("labels") or {})]


class Mirror:
    """Objects by kind; `current` when every kind has been listed at least once."""

    def __init__(self, watched: Iterable[kinds.Kind]) -> None:
        self._objects: dict[kinds.Kind, dict[tuple[str, str], dict[str, Any]]] = {}
        self._watched = tuple(watched)
        self._news = asyncio.Event()

    @property
    def current(self) -> bool:
        """Whether every kind has been listed."""
        return len(self._objects) == len(self._watched)

    def get(self, kind: kinds.Kind, name: str, namespace: str = "") -> dict[str, Any] | None:
        """Return one object as it was last seen."""
        return self._objects.get(kind, {}).get((namespace, name))

    def all(self, kind: kinds.Kind) -> list[dict[str, Any]]:
        """Return every object of a kind, by name."""
        return [obj for _, obj in sorted(self._objects.get(kind, {}).items())]

    def keep(self, kind: kinds.Kind, obj: dict[str, Any]) -> None:
        """Take in the answer to a write of our own, so that the next look sees it.

        Another client may have written after us, and the news of that may have overtaken the answer: it stays.
        """
        objects = self._objects.setdefault(kind, {})
        known = objects.get(client.key(obj))
        if known is None or _version(known) <= _version(obj):
            objects[client.key(obj)] = obj

    def wake(self) -> None:
        """End the present wait: something that is not an object has changed."""
        self._news.set()

    async def wait(self, seconds: float | None) -> None:
        """Wait for news, at most that long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    @contextlib.asynccontextmanager
    async def following(self, api: client.Client, retry_seconds: float) -> AsyncIterator[None]:
        """Keep the mirror current inside this context."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._follow(api, kind, retry_seconds)) for kind in self._watched]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def _follow(self, api: client.Client, kind: kinds.Kind, retry_seconds: float) -> None:
        async for event in api.follow(kind, retry_seconds=retry_seconds):
            if isinstance(event, client.Listed):
                self._objects[kind] = {client.key(obj): obj for obj in event.objects}
            elif event.deleted:
                self._objects[kind].pop(client.key(event.obj), None)
            else:
                self._objects[kind][client.key(event.obj)] = event.obj
            self._news.set()


def _version(obj: dict[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])
