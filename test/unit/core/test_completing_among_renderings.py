"""Whatever renders again, lags and flaps: once every operand is level and quiet, the transition completes.

Every write of Infrastructure comes back: the machine config operator renders again (a new generation that is observed
later, now and then Failing for a moment), and the console operator starts its pods again. Others annotate
Infrastructure meanwhile, nodes drain and come back. None of this may keep a level cluster from Completed, and the
operator must not feed it: it writes Infrastructure ten times at most from the request on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from datetime import datetime
from typing import TYPE_CHECKING

import looptime
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from . import cluster_objects, raw_operands, worlds
from .clusters import INFRASTRUCTURE, MASTER_POOL, Cluster, running, virtual_now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .clusters import Key, Raw

SETTLE = 60.0
BOUND = 5.0
"""Seconds: times of the record are whole, and news take a moment."""
MOST_WRITES = 10
CONFIG: Key = ("controllerconfigs", None, "machine-config-controller")
CONSOLE: Key = ("deployments", "openshift-console", "console")
CHANGED = 5.0
"""When the topology has changed: seconds of the loop. All times of a story count from then."""
OPERATOR: Key = ("clusteroperators", None, "console")


@dataclasses.dataclass(frozen=True)
class Rendering:
    """What one write of Infrastructure sets off: seconds until it begins, and how long each part of it lasts."""

    after: float
    lasting: float
    failing: float
    console: float


@dataclasses.dataclass(frozen=True)
class Story:
    """All that is drawn: renderings in turn, annotations, how long each node is drained, when operands follow."""

    renderings: tuple[Rendering, ...]
    annotated: tuple[float, ...]
    drains: tuple[float, float, float]
    operators: tuple[float, ...]

    @property
    def level(self) -> float:
        """When everything has followed. Who annotates Infrastructure is not waited for."""
        return max(sum(self.drains), *self.operators)


def seconds(low: int, high: int) -> st.SearchStrategy[float]:
    # A little off the whole second, so that two things that happen never wait for each other's order.
    return st.integers(low, high).map(lambda number: number + 0.25)


AWAY = seconds(20, 480)
RENDERINGS = st.builds(Rendering, seconds(0, 30), seconds(1, 50), st.just(0.0) | seconds(1, 10), seconds(5, 70))
STORIES = st.builds(
    Story,
    renderings=st.lists(RENDERINGS, min_size=1, max_size=6).map(tuple),
    annotated=st.lists(seconds(1, 1500), max_size=12).map(tuple),
    drains=st.tuples(AWAY, AWAY, AWAY),
    operators=st.lists(seconds(1, 900), min_size=1, max_size=6).map(tuple),
)


class Rendered(Cluster):
    """A cluster in which every write of Infrastructure comes back."""

    def __init__(self, story: Story) -> None:
        self.comes_back: Iterator[Rendering] | None = None
        self.story = story
        self.rendering = self.failing = self.restarting = 0
        super().__init__()
        self.limit = 20_000
        self.comes_back = itertools.cycle(story.renderings)

    def put(self, key: Key, raw: Raw) -> Raw:
        made = super().put(key, raw)
        if key == INFRASTRUCTURE and self.comes_back is not None:
            coming = next(self.comes_back)
            asyncio.get_running_loop().call_later(coming.after, self.begin, coming)
        return made

    def begin(self, coming: Rendering) -> None:
        """The machine config operator renders, now and then in vain at first, and the console starts again."""
        for key in (CONFIG, CONSOLE):
            self.change(key, {"metadata": {"generation": self.objects[key]["metadata"]["generation"] + 1}})
        self.change(CONFIG, {"spec": {"infra": {"status": {"controlPlaneTopology": self.topology}}}})
        loop = asyncio.get_running_loop()
        for part, lasting in (
            ("rendering", coming.lasting),
            ("failing", coming.failing),
            ("restarting", coming.console),
        ):
            if lasting:
                self.count(part, 1)
                loop.call_later(lasting, self.count, part, -1)

    def count(self, part: str, more: int) -> None:
        setattr(self, part, getattr(self, part) + more)
        self.show()

    def show(self) -> None:
        """What both operators say of it."""
        config, console = self.objects[CONFIG], self.objects[CONSOLE]
        completed = raw_operands.conditions(TemplateControllerCompleted=str(not self.rendering))
        failing = self.since(CONFIG, "TemplateControllerFailing", str(self.failing > 0))
        observed = config["status"]["observedGeneration"] if self.rendering else config["metadata"]["generation"]
        self.change(CONFIG, {"status": {"observedGeneration": observed, "conditions": [*completed, failing]}})
        there, busy = console["spec"]["replicas"] - bool(self.restarting), self.restarting > 0
        counts = dict.fromkeys(("updatedReplicas", "readyReplicas", "availableReplicas"), there)
        self.change(CONSOLE, {"status": {**counts, "observedGeneration": console["metadata"]["generation"] - busy}})
        rest = raw_operands.conditions(Available="True", Degraded="False")
        progressing = {**self.since(OPERATOR, "Progressing", str(busy)), "reason": "SyncLoopRefresh_InProgress"}
        self.change(OPERATOR, {"status": {"conditions": [*rest, progressing]}})

    def since(self, key: Key, type_: str, status: str) -> Raw:
        """A condition that keeps its time while its status stays."""
        before = next(item for item in self.objects[key]["status"]["conditions"] if item["type"] == type_)
        moved = before["status"] != status
        return {
            **before,
            "status": status,
            **({"lastTransitionTime": raw_operands.stamp(virtual_now())} if moved else {}),
        }

    async def annotate(self) -> None:
        for number, moment in enumerate(sorted(self.story.annotated)):
            await until(moment)
            self.change(INFRASTRUCTURE, {"metadata": {"annotations": {"example.org/seen": str(number)}}})

    async def drain(self) -> None:
        """One node after the other is cordoned, away, and back."""
        for name, lasting in zip(worlds.NAMES, self.story.drains, strict=True):
            key: Key = ("nodes", None, name)
            away = raw_operands.conditions(Ready="Unknown")
            self.change(key, {"spec": {"unschedulable": True}, "status": {"conditions": away}})
            await asyncio.sleep(lasting)
            back = {"annotations": {cluster_objects.OBSERVED: "HighlyAvailable"}}
            there = raw_operands.conditions(Ready="True")
            self.change(key, {"metadata": back, "spec": {"unschedulable": None}, "status": {"conditions": there}})
        self.put(MASTER_POOL, cluster_objects.pool("rendered-2"))

    async def operators(self) -> None:
        """Each object follows at one of the moments that were drawn."""
        keys = sorted((key for key in raw_operands.objects(worlds.HA) if key != CONFIG), key=str)
        moments = dict(zip(keys, itertools.cycle(self.story.operators), strict=False))
        for moment in sorted(set(self.story.operators)):
            await until(moment)
            wanted = raw_operands.objects(worlds.HA, fresh=1, settled=virtual_now())
            for key in (key for key in keys if moments[key] == moment):
                self.put(key, wanted[key])
            self.show()


async def until(moment: float) -> None:
    """Wait for a time of the story."""
    await asyncio.sleep(max(0.0, CHANGED + moment - asyncio.get_running_loop().time()))


async def told(story: Story) -> tuple[Rendered, int]:
    """Play a story to its bound; return the cluster, and how often Infrastructure was written since the request."""
    cluster = Rendered(story)
    async with running(cluster):
        await asyncio.sleep(1)
        before = len([where for where, _ in cluster.writes if where == "infrastructures/cluster"])
        cluster.ask_for("HighlyAvailable")
        await until(0)
        assert cluster.phase == "Converging", cluster.record
        async with asyncio.TaskGroup() as group:
            for part in (cluster.annotate, cluster.drain, cluster.operators):
                group.create_task(part())
        await until(story.level + SETTLE + BOUND)
        return cluster, len([where for where, _ in cluster.writes if where == "infrastructures/cluster"]) - before


@given(STORIES)
@settings(
    max_examples=12,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_level_cluster_completes_whatever_is_rendered_again(story: Story) -> None:
    loop = looptime.new_event_loop()
    try:
        cluster, writes = loop.run_until_complete(told(story))
    finally:
        loop.close()
    unmet = [check for check in cluster.record["checks"] if check["status"] != "Met"]
    assert cluster.phase == "Completed", (cluster.record["progress"], unmet)
    level = worlds.NOW.timestamp() + CHANGED + story.level
    completed = datetime.fromisoformat(cluster.record["completedTime"]).timestamp()
    assert level + SETTLE - 1 <= completed <= level + SETTLE + BOUND
    assert writes <= MOST_WRITES


KUBE_API_SERVER: Key = ("kubeapiservers", None, "cluster")


@pytest.mark.looptime
async def test_there_and_back_within_half_a_minute_completes() -> None:
    """Another client set HighlyAvailable back a moment ago, and the revision of the way back is still to be made.

    Were the topology changed before that, no revision above the newest would ever come.
    """
    cluster = Cluster()
    now = virtual_now().strftime("%Y-%m-%dT%H:%M:%SZ")
    by_operator = {"manager": "m", "time": now, "fieldsV1": {"f:spec": {"f:observedConfig": {}}}}
    cluster.change(KUBE_API_SERVER, {"metadata": {"managedFields": [by_operator]}})
    before = cluster.objects[KUBE_API_SERVER]["status"]["latestAvailableRevision"]
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(40)
        assert (cluster.phase, cluster.changes) == ("Admitting", 0)
        made = before + 1
        nodes = [{"nodeName": name, "currentRevision": made, "targetRevision": 0} for name in worlds.NAMES]
        cluster.change(KUBE_API_SERVER, {"status": {"latestAvailableRevision": made, "nodeStatuses": nodes}})
        await asyncio.sleep(139)
        assert (cluster.phase, cluster.changes) == ("Admitting", 0)
        await asyncio.sleep(3)
        assert (cluster.phase, cluster.changes) == ("Converging", 1)
        measured = {item["name"]: item.get("revision") for item in cluster.record["baseline"]["operands"]}
        assert measured["kubeapiservers.operator.openshift.io/cluster"] == made
        cluster.follow()
        cluster.follow()
        await asyncio.sleep(SETTLE + BOUND)
        assert cluster.phase == "Completed"
