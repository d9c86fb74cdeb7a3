"""The seconds that etcd had exactly two voters: what the alert shows while it is so, and before a request too."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.observe import catalog, facts
from topology_controller.report import metrics

from . import worlds
from .clusters import INFRASTRUCTURE, Cluster, running

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clusters import Running

HA = "HighlyAvailable"
VOTERS = catalog.Sources.etcd_endpoints


def voters(number: int) -> facts.Facts:
    listed = tuple(zip(worlds.MEMBERS[:number], worlds.ADDRESSES[:number], strict=True))
    return worlds.healthy(etcd_endpoints=facts.EtcdEndpoints(listed))


TWO, THREE = voters(2), voters(3)
CUT = dataclasses.replace(TWO, disturbed=("configmaps/etcd-endpoints",))
UNREAD = worlds.healthy(etcd_endpoints=worlds.BROKEN)
AFTER = worlds.moved(TWO, worlds.converging())
DONE = dataclasses.replace(AFTER, infrastructure=worlds.infrastructure(control_plane=HA, desired=None))


@pytest.mark.parametrize(
    ("looks", "seconds"),
    [
        pytest.param([AFTER, AFTER], 20, id="after the change, until it is scraped"),
        pytest.param([AFTER, AFTER, DONE, DONE], 10, id="until it is completed"),
        pytest.param([TWO, UNREAD, TWO, THREE], 10, id="not readable in between"),
        pytest.param([TWO, CUT, TWO, THREE], 10, id="a watch was cut"),
        pytest.param([TWO, None, TWO, THREE], 10, id="another process led"),
    ],
)
def test_it_is_counted_while_it_is_known(looks: list[facts.Facts | None], seconds: float) -> None:
    """A look every 10 s, then a scrape; None: at that moment the lease is lost, and won again."""
    clock = iter(range(0, 1000, 10))
    measured = metrics.Metrics(worlds.ONLY_COMPACT, lease="l", clock=lambda: float(next(clock)))
    for known in looks:
        if known is None:
            next(clock)
            measured.leading(leads=False)
            measured.leading(leads=True)
        else:
            measured.decided(worlds.decide(known), known)
    assert counted(measured) == seconds


def counted(measured: metrics.Metrics) -> float | None:
    return measured.registry.get_sample_value("topology_etcd_two_voters_seconds_total")


def publish(cluster: Cluster, *keys: str) -> None:
    data = dict(zip(keys, worlds.ADDRESSES, strict=False))
    cluster.put(("configmaps", "openshift-etcd", "etcd-endpoints"), {"data": data})


@pytest.mark.looptime
@pytest.mark.parametrize("by", [timedelta(), timedelta(hours=1), timedelta(hours=-1)])
@pytest.mark.parametrize("desired", [(None,) * 4, (None, None, HA, HA), (HA,) * 4, (HA, HA, None, None)])
async def test_it_goes_by_no_clock_that_is_set(cluster: Cluster, by: timedelta, desired: Any) -> None:
    """Machines join before, around and after a request, and a scrape a second has what lasted until then."""
    seconds = 0
    async with running(cluster) as shown:
        for request, number, lasts in zip(desired, (1, 2, 2, 3), (31, 100, 150, 1), strict=True):
            publish(cluster, *worlds.MEMBERS[:number])
            cluster.ask_for(request)
            for _ in range(lasts):
                await asyncio.sleep(1)
                seconds += number == 2
                assert counted(shown.metrics) == pytest.approx(seconds, abs=0.5)
            cluster.skew += by if number == 2 else timedelta()
        assert cluster.asked.count(("watch", "configmaps")) == 1, "it is not closed with those of a request"


def becomes(topology: str) -> Callable[[Cluster], object]:
    return lambda cluster: cluster.change(INFRASTRUCTURE, {"status": {"controlPlaneTopology": topology}})


def trouble(cluster: Cluster) -> None:
    cluster.deaf.add("configmaps")
    publish(cluster, *worlds.MEMBERS[:2])


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("event", "watches"),
    [
        pytest.param(becomes(HA), (), id="three nodes"),
        pytest.param(becomes("DualReplica"), (), id="two nodes for ever"),
        pytest.param(becomes("External"), (), id="hosted"),
        pytest.param(Cluster.native_appears, (), id="it stands down"),
        pytest.param(lambda cluster: publish(cluster, *worlds.NAMES[:2]), (VOTERS,), id="names of nodes"),
        pytest.param(lambda cluster: publish(cluster, "a1b2c3", worlds.NAMES[1]), (VOTERS,), id="one name"),
        pytest.param(trouble, (VOTERS,), id="a watch in trouble"),
    ],
)
async def test_idle_it_is_counted_on_a_single_node_that_lists_its_members(
    cluster: Cluster, event: Callable[[Cluster], object], watches: tuple[catalog.Source, ...]
) -> None:
    """Nothing rests on it: no gauge, no node that is watched for it, no alert and no state of a watch in trouble."""
    publish(cluster, *worlds.MEMBERS[:2])
    async with running(cluster) as shown:
        await asyncio.sleep(60)
        before = counted(shown.metrics)
        assert before == pytest.approx(60, abs=0.5)
        assert watched(shown) == {*catalog.IDLE, VOTERS}
        assert shown.metrics.registry.get_sample_value("topology_etcd_members", {"role": "voter"}) is None
        event(cluster)
        await asyncio.sleep(600)
        assert (counted(shown.metrics), watched(shown)) == (before, {*catalog.IDLE, *watches})
        assert (VOTERS.key in shown.watches.last_activity(), shown.watches.troubles) == (False, ())
        assert cluster.condition("Degraded")[0] == "False"


def watched(shown: Running) -> set[catalog.Source]:
    return {one.source for one in shown.watches._watches.values()}


@pytest.mark.looptime
async def test_two_voters_of_a_cancelled_request_are_no_problem_of_the_next(cluster: Cluster) -> None:
    """A quarter of an hour is of what is decided from: without a request voters are only counted."""
    publish(cluster, *worlds.MEMBERS[:2])
    async with running(cluster) as shown:
        for desired in (HA, None, HA):
            cluster.ask_for(desired)
            await asyncio.sleep(600)
        assert cluster.record.get("problem") is None
        assert VOTERS.key in shown.watches.last_activity()
        await asyncio.sleep(301)
        assert cluster.record["problem"]["reason"] == "TwoVoters"
