"""How long an admission waits for a revision that is in the making, and that what came of it completes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from . import worlds
from .clusters import Cluster, running, virtual_now

if TYPE_CHECKING:
    from .clusters import Key

SETTLE = 60.0
BOUND = 5.0
"""Seconds: times of the record are whole, and news take a moment."""


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
