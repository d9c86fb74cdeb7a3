"""Whatever renders again, lags and flaps: once every operand is level and quiet, the transition completes.

Every write of Infrastructure comes back: the machine config operator renders again (a new generation that is observed
later, Completed False, now and then Failing for a moment), and the console operator starts its pods again. Others
annotate Infrastructure meanwhile, pools roll out when they like, nodes drain and come back one after the other. None of
this may keep a level cluster from Completed, and the operator must not feed it: it writes Infrastructure ten times at
most from the request on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from datetime import datetime, timedelta
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
CONSOLE_OPERATOR: Key = ("clusteroperators", None, "console")
POOL_OPERATOR: Key = ("clusteroperators", None, "machine-config")
GATEWAYS: Key = ("machineconfigpools", None, "gateways")
SPARE: Key = ("machineconfigpools", None, "spare")


@dataclasses.dataclass(frozen=True)
class Rendering:
    """What one write of Infrastructure sets off: seconds until it begins, and how long each part of it lasts."""

    after: float
    lasting: float
    failing: float
    console: float


@dataclasses.dataclass(frozen=True)
class Drain:
    """One node: seconds for which it is cordoned, not Ready, and Ready but still cordoned."""

    node: int
    cordoned: float
    away: float
    back: float

    @property
    def lasting(self) -> float:
        return self.cordoned + self.away + self.back


@dataclasses.dataclass(frozen=True)
class Story:
    """All that is drawn; every time is in seconds after the change of the topology."""

    renderings: tuple[Rendering, ...]
    annotated: tuple[float, ...]
    masters_begin: float
    drains: tuple[Drain, ...]
    gateways: tuple[float, float]
    spare: float
    operators: tuple[float, ...]

    @property
    def level(self) -> float:
        """When everything has followed. Who annotates Infrastructure, or has no machines, is not waited for."""
        masters = self.masters_begin + sum(drain.lasting for drain in self.drains)
        return max(masters, sum(self.gateways), *self.operators)


def seconds(low: int, high: int) -> st.SearchStrategy[float]:
    # A little off the whole second, so that two things that happen never wait for each other's order.
    return st.integers(low, high).map(lambda number: number + 0.25)


BRIEF = seconds(1, 90)
DRAINS = st.permutations(range(3)).flatmap(
    lambda order: st.tuples(*(st.builds(Drain, st.just(node), BRIEF, seconds(5, 480), BRIEF) for node in order))
)
FAILING = st.just(0.0) | seconds(1, 10)
STORIES = st.builds(
    Story,
    renderings=st.lists(
        st.builds(Rendering, seconds(0, 30), seconds(1, 50), FAILING, seconds(5, 70)), min_size=1, max_size=6
    ).map(tuple),
    annotated=st.lists(seconds(1, 2390), max_size=12).map(tuple),
    masters_begin=seconds(1, 400),
    drains=DRAINS,
    gateways=st.tuples(seconds(1, 1200), seconds(1, 1190)),
    spare=seconds(1, 2390),
    operators=st.lists(seconds(1, 900), min_size=1, max_size=6).map(tuple),
)


class Rendered(Cluster):
    """A cluster in which every write of Infrastructure comes back."""

    def __init__(self, story: Story) -> None:
        self.comes_back: Iterator[Rendering] | None = None
        self.story = story
        self.under_way = 0
        self.failing = 0
        self.restarting = 0
        self.generation = 1
        super().__init__()
        self.limit = 20_000
        self.put(GATEWAYS, pool("rendered-1", 2))
        self.put(SPARE, pool("rendered-1", 0))
        self.comes_back = itertools.cycle(story.renderings)

    def put(self, key: Key, raw: Raw) -> Raw:
        made = super().put(key, raw)
        if key == INFRASTRUCTURE and self.comes_back is not None:
            rendering = next(self.comes_back)
            loop = asyncio.get_running_loop()
            loop.call_later(rendering.after, self.render, rendering)
            loop.call_later(rendering.after, self.restart, rendering.console)
        return made

    # The machine config operator.
    def render(self, rendering: Rendering) -> None:
        self.under_way += 1
        self.failing += rendering.failing > 0
        self.generation += 1
        self.change(CONFIG, {"spec": {"infra": {"status": {"controlPlaneTopology": self.topology}}}})
        self.show_rendering()
        loop = asyncio.get_running_loop()
        loop.call_later(rendering.lasting, self.rendered)
        if rendering.failing:
            loop.call_later(rendering.failing, self.mended)

    def rendered(self) -> None:
        self.under_way -= 1
        self.show_rendering()

    def mended(self) -> None:
        self.failing -= 1
        self.show_rendering()

    def show_rendering(self) -> None:
        status = self.objects[CONFIG]["status"]
        before = {item["type"]: item for item in status["conditions"]}["TemplateControllerFailing"]
        failing = {**before, "status": str(self.failing > 0)}
        if failing != before:
            failing["lastTransitionTime"] = raw_operands.stamp(virtual_now())
        completed = raw_operands.conditions(TemplateControllerCompleted=str(not self.under_way))
        observed = status["observedGeneration"] if self.under_way else self.generation
        changes: Raw = {
            "metadata": {"generation": self.generation},
            "status": {"observedGeneration": observed, "conditions": [*completed, failing]},
        }
        self.change(CONFIG, changes)

    # The console operator.
    def restart(self, lasting: float) -> None:
        self.restarting += 1
        generation = self.objects[CONSOLE]["metadata"]["generation"] + 1
        self.change(CONSOLE, {"metadata": {"generation": generation}})
        self.show_console()
        asyncio.get_running_loop().call_later(lasting, self.restarted)

    def restarted(self) -> None:
        self.restarting -= 1
        self.show_console()

    def show_console(self) -> None:
        console = self.objects[CONSOLE]
        wanted, generation = console["spec"]["replicas"], console["metadata"]["generation"]
        there = wanted - bool(self.restarting)
        counts = dict.fromkeys(("updatedReplicas", "readyReplicas", "availableReplicas"), there)
        observed = generation - bool(self.restarting)
        self.change(CONSOLE, {"status": {**counts, "observedGeneration": observed}})
        self.progress(CONSOLE_OPERATOR, progressing=self.restarting > 0, reason="SyncLoopRefresh_InProgress")

    def progress(self, key: Key, *, progressing: bool, reason: str) -> None:
        said = raw_operands.conditions(Available="True", Progressing=str(progressing), Degraded="False")
        before = {item["type"]: item for item in self.objects[key]["status"]["conditions"]}["Progressing"]
        for item in said:
            same = item["type"] == "Progressing" and item["status"] == before["status"]
            item["lastTransitionTime"] = before["lastTransitionTime"] if same else raw_operands.stamp(virtual_now())
            item["reason"] = reason if item["status"] == "True" and item["type"] == "Progressing" else "AsExpected"
        self.change(key, {"status": {"conditions": said}})

    # Everybody else.
    async def annotate(self) -> None:
        for number, moment in enumerate(sorted(self.story.annotated)):
            await until(moment)
            self.change(INFRASTRUCTURE, {"metadata": {"annotations": {"example.org/seen": str(number)}}})

    async def masters(self) -> None:
        await until(self.story.masters_begin)
        self.progress(POOL_OPERATOR, progressing=True, reason="RollOut")
        self.put(MASTER_POOL, pool("rendered-2", 3, before="rendered-1", updated=0, ready=3))
        for updated, drain in enumerate(self.story.drains):
            key: Key = ("nodes", None, worlds.NAMES[drain.node])
            self.change(key, {"spec": {"unschedulable": True}})
            self.put(MASTER_POOL, pool("rendered-2", 3, before="rendered-1", updated=updated, ready=2))
            await asyncio.sleep(drain.cordoned)
            self.change(key, {"status": {"conditions": raw_operands.conditions(Ready="Unknown")}})
            await asyncio.sleep(drain.away)
            self.change(key, {"status": {"conditions": raw_operands.conditions(Ready="True")}})
            await asyncio.sleep(drain.back)
            annotations = {cluster_objects.OBSERVED: "HighlyAvailable"}
            self.change(key, {"metadata": {"annotations": annotations}, "spec": {"unschedulable": None}})
            self.put(MASTER_POOL, pool("rendered-2", 3, before="rendered-1", updated=updated + 1, ready=updated + 1))
        self.put(MASTER_POOL, pool("rendered-2", 3))
        self.progress(POOL_OPERATOR, progressing=False, reason="AsExpected")

    async def others(self) -> None:
        begin, lasting = self.story.gateways
        await until(begin)
        self.put(GATEWAYS, pool("rendered-2", 2, before="rendered-1", updated=1, ready=1))
        await until(begin + lasting)
        self.put(GATEWAYS, pool("rendered-2", 2))

    async def spares(self) -> None:
        await until(self.story.spare)
        self.put(SPARE, pool("rendered-2", 0))

    async def operators(self) -> None:
        """Each object follows at one of the moments that were drawn."""
        wanted = raw_operands.objects(worlds.HA, fresh=1)
        keys = sorted((key for key in wanted if key not in {CONFIG, POOL_OPERATOR}), key=str)
        moments = dict(zip(keys, itertools.cycle(self.story.operators), strict=False))
        for moment in sorted(set(self.story.operators)):
            await until(moment)
            for key in (key for key in keys if moments[key] == moment):
                raw = wanted[key]
                if key[0] == "clusteroperators":
                    raw = raw_operands.objects(worlds.HA, settled=virtual_now())[key]
                self.put(key, raw)
            self.show_console()


def pool(wanted: str, machines: int, *, before: str | None = None, updated: int = -1, ready: int = -1) -> Raw:
    """A pool on its way from one configuration to another; at rest where nothing is said of that."""
    counts = {
        "machineCount": machines,
        "updatedMachineCount": machines if updated < 0 else updated,
        "readyMachineCount": machines if ready < 0 else ready,
        "observedGeneration": 1,
    }
    return {
        "metadata": {"generation": 1},
        "spec": {"configuration": {"name": wanted}},
        "status": {"configuration": {"name": before or wanted}, **counts},
    }


async def until(moment: float) -> None:
    """Wait for a time of the story."""
    await asyncio.sleep(max(0.0, CHANGED + moment - asyncio.get_running_loop().time()))


CHANGED = 5.0
"""When the topology has changed: seconds of the loop."""


async def told(story: Story) -> tuple[Rendered, int]:
    """Play a story to its bound; return the cluster, and how often Infrastructure was written since the request."""
    cluster = Rendered(story)
    async with running(cluster):
        await asyncio.sleep(1)
        before = written(cluster)
        cluster.ask_for("HighlyAvailable")
        await until(0)
        assert cluster.phase == "Converging", cluster.record
        async with asyncio.TaskGroup() as group:
            for part in (cluster.annotate, cluster.masters, cluster.others, cluster.spares, cluster.operators):
                group.create_task(part())
        await until(story.level + SETTLE + BOUND)
        return cluster, written(cluster) - before


def written(cluster: Cluster) -> int:
    return sum(where == "infrastructures/cluster" for where, _ in cluster.writes)


def play(story: Story) -> tuple[Rendered, int]:
    loop = looptime.new_event_loop()
    try:
        return loop.run_until_complete(told(story))
    finally:
        loop.close()


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
    cluster, writes = play(story)
    unmet = [check for check in cluster.record["checks"] if check["status"] != "Met"]
    assert cluster.phase == "Completed", (cluster.record["progress"], unmet)
    level = worlds.NOW.timestamp() + CHANGED + story.level
    completed = datetime.fromisoformat(cluster.record["completedTime"]).timestamp()
    assert level + SETTLE - 1 <= completed <= level + SETTLE + BOUND
    assert writes <= MOST_WRITES


KUBE_API_SERVER: Key = ("kubeapiservers", None, "cluster")


@pytest.mark.looptime
@pytest.mark.parametrize("age", [None, timedelta(minutes=3), timedelta(days=30)])
async def test_on_a_quiet_cluster_nothing_but_the_echo_is_waited_for(age: timedelta | None) -> None:
    """What was observed when the object was made, or longer ago than its revisions take, delays no change."""
    cluster = Cluster()
    made = {"creationTimestamp": worlds.NOW.strftime("%Y-%m-%dT%H:%M:%SZ")}
    time = (worlds.NOW - (age or timedelta())).strftime("%Y-%m-%dT%H:%M:%SZ")
    by_operator = {"manager": "m", "time": time, "fieldsV1": {"f:spec": {"f:observedConfig": {}}}}
    cluster.change(KUBE_API_SERVER, {"metadata": {"managedFields": [by_operator], **({} if age else made)}})
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(0.01)
        assert (cluster.phase, cluster.changes) == ("Converging", 1), "in the same virtual second"


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
