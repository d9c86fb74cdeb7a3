"""When Machines and hosts are read: not a request more where there are none, live where there is one.

An operator in virtual time on a cluster in memory, from the request to the change.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from . import worlds
from .clusters import Cluster, running

pytestmark = pytest.mark.looptime

NAMESPACE = "openshift-machine-api"
UNDER = {"machines", "baremetalhosts"}


def machine(index: int, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "labels": {"machine.openshift.io/cluster-api-machine-role": "master"},
            "annotations": {"metal3.io/BareMetalHost": f"{NAMESPACE}/host-{index}"},
            **more,
        },
        "spec": {"lifecycleHooks": {"preDrain": [{"name": "EtcdQuorumOperator", "owner": "clusteroperator/etcd"}]}},
        "status": {
            "phase": "Running",
            "nodeRef": {"name": worlds.NAMES[index]},
            "addresses": [{"type": "InternalIP", "address": worlds.ADDRESSES[index]}],
        },
    }


def host(state: str) -> dict[str, Any]:
    return {"status": {"provisioning": {"state": state}}}


def with_machines(cluster: Cluster) -> Cluster:
    for index in range(3):
        cluster.put(("machines", NAMESPACE, f"machine-{index}"), machine(index))
        cluster.put(("baremetalhosts", NAMESPACE, f"host-{index}"), host("provisioned"))
    return cluster


def reads_of_the_change(cluster: Cluster) -> list[str]:
    """What was read between the record of the attempt and the change of the topology."""
    asked = cluster.asked
    writes = [place for place, entry in enumerate(asked) if entry == ("write", "infrastructures/cluster")]
    return [what for verb, what in asked[writes[-2] : writes[-1]] if verb in {"get", "list"}]


def check(cluster: Cluster, name: str = "ControlPlaneMachines") -> dict[str, Any]:
    return next(one for one in cluster.record["checks"] if one["name"] == name)


async def test_with_machines_on_hosts_both_are_read_live() -> None:
    cluster = with_machines(Cluster())
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert cluster.topology == "HighlyAvailable"
        assert cluster.watched >= UNDER
        read = reads_of_the_change(cluster)
        assert sorted(UNDER.intersection(read)) == sorted(UNDER)
        assert len(read) == 13 + 2
        cluster.follow()
        await asyncio.sleep(70)
        assert cluster.phase == "Completed"
        await asyncio.sleep(60)
        assert not cluster.watched & UNDER, "what follows from a source ends with it"


async def test_a_machine_that_only_the_live_read_sees_leaving_keeps_the_change_back() -> None:
    cluster = with_machines(Cluster())

    def deleted_meanwhile(what: str) -> None:
        """The moment at which the last reads begin; no watch hears of it."""
        if what.startswith("clusterversions/") and cluster.phase == "Admitting":
            metadata = cluster.objects["machines", NAMESPACE, "machine-1"]["metadata"]
            metadata["deletionTimestamp"] = "2026-03-01T12:00:00Z"

    async with running(cluster):
        await asyncio.sleep(1)
        cluster.latency = lambda: 0.01
        cluster.before_get = deleted_meanwhile
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        assert (cluster.phase, cluster.topology, cluster.changes) == ("Pending", "SingleReplica", 0)
        assert check(cluster)["status"] == "Unmet"
        cluster.before_get = lambda _: None
        cluster.put(("machines", NAMESPACE, "machine-1"), machine(1))
        await asyncio.sleep(70)
        assert cluster.topology == "HighlyAvailable"
