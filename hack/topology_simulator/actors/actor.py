"""What all actors share: an endless look-and-act over a mirror, and waiting that is a figure instead of a sleep.

`step` is called after every change and whenever a waiting is over; it must bear being called at any time. A step
that fails at the API is tried again after `pace.retry`: an actor that gave up would be a different fault than the
one a scenario asked for. Only a write of a field that its definition does not have ends it: that is a mistake here.
`Waits` remembers since when something holds, so that a step can say "once this has been so for two seconds" without
holding up everything else.
"""

from __future__ import annotations

import abc
import asyncio
import logging
from collections.abc import Collection, Hashable, Iterable
from typing import Any, ClassVar

from topology_simulator import client, conditions, kinds, mirror, pace

_LOG = logging.getLogger(__name__)


class Troubles:
    """What does not work as it should: operators that do not react, and degraded pools. One for all actors.

    Names are those of ClusterOperators, or namespace/name of one workload; of pools in `degraded`.
    """

    def __init__(self) -> None:
        self.held: set[str] = set()
        self.degraded: set[str] = set()

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
        self.mirror = mirror.Mirror(kind for kind in self.watched if kind not in absent)
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
        self,
        kind: kinds.Kind,
        obj: dict[str, Any] | None,
        wanted: Iterable[conditions.Condition],
        **status: Any,
    ) -> None:
        """Write conditions, and other fields of status, where they differ; an object that is gone is let go."""
        if obj is None:
            return
        present = obj.get("status") or {}
        change = {name: value for name, value in status.items() if present.get(name) != value}
        if (changed := conditions.merged(obj, wanted)) is not None:
            change["conditions"] = changed
        if change:
            await self.patch(kind, obj, {"status": change}, "status")

    async def say_operator(self, name: str, *wanted: conditions.Condition) -> None:
        """Write conditions of a ClusterOperator where they differ."""
        await self.say(kinds.CLUSTER_OPERATORS, self.mirror.get(kinds.CLUSTER_OPERATORS, name), wanted)

    @property
    def topology(self) -> str:
        """The control-plane topology that Infrastructure shows, or an empty string."""
        status = (self.mirror.get(kinds.INFRASTRUCTURES, "cluster") or {}).get("status") or {}
        return str(status.get("controlPlaneTopology") or "")

    def nodes_with(self, role: str) -> list[dict[str, Any]]:
        """Return the nodes that carry a role's label, by name."""
        label = f"node-role.kubernetes.io/{role}"
        return [node for node in self.mirror.all(kinds.NODES) if label in (node["metadata"].get("labels") or {})]
