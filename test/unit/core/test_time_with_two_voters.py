"""The seconds that etcd had exactly two voters: what the alert shows while it is so, added up from look to look."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from topology_controller.observe import facts
from topology_controller.report import metrics

from . import worlds
from .clusters import running

if TYPE_CHECKING:
    from .clusters import Cluster


def voters(number: int) -> facts.Facts:
    listed = tuple(zip(worlds.MEMBERS[:number], worlds.ADDRESSES[:number], strict=True))
    return worlds.healthy(etcd_endpoints=facts.EtcdEndpoints(listed))


TWO, THREE = voters(2), voters(3)
CUT = dataclasses.replace(TWO, disturbed=("configmaps/etcd-endpoints",))
UNREAD = worlds.healthy(etcd_endpoints=worlds.BROKEN)
CANCELLED = dataclasses.replace(TWO, infrastructure=worlds.infrastructure(desired=None))
AFTER = worlds.moved(TWO, worlds.converging())


@pytest.mark.parametrize(
    ("looks", "seconds"),
    [
        pytest.param([TWO, TWO, THREE, THREE], 20, id="until the third is seen"),
        pytest.param([AFTER, AFTER], 10, id="after the change"),
        pytest.param([TWO, UNREAD, TWO, THREE], 10, id="not readable in between"),
        pytest.param([TWO, CUT, TWO, THREE], 10, id="a watch was cut"),
        pytest.param([TWO, CANCELLED, TWO, TWO], 10, id="cancelled and requested again"),
        pytest.param([TWO, None, TWO, THREE], 10, id="another process led"),
    ],
)
def test_it_is_counted_while_it_is_known(looks: list[facts.Facts | None], seconds: float) -> None:
    """A look every 10 s; None: at that moment the lease is lost, and won again."""
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


@pytest.mark.looptime
@pytest.mark.parametrize("by", [timedelta(), timedelta(hours=1), timedelta(hours=-1)])
async def test_it_goes_by_no_clock_that_is_set(cluster: Cluster, by: timedelta) -> None:
    async with running(cluster) as shown:
        for number, seconds in ((1, 31), (2, 100), (2, 50), (3, 1)):
            data = dict(zip(worlds.MEMBERS[:number], worlds.ADDRESSES[:number], strict=True))
            shown.cluster.put(("configmaps", "openshift-etcd", "etcd-endpoints"), {"data": data})
            cluster.ask_for("HighlyAvailable")
            await asyncio.sleep(seconds)
            cluster.skew += by if number == 2 else timedelta()
        assert counted(shown.metrics) == pytest.approx(150, abs=1)
