"""When Machines and hosts are read: not a request more where there are none, live where there is one.

An operator in virtual time on a cluster in memory, from the request to the change.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from topology_controller.kube import errors

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


async def test_without_machines_the_change_costs_no_request_more() -> None:
    cluster = Cluster()
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert cluster.topology == "HighlyAvailable"
        assert cluster.watched & UNDER == {"machines"}
    read = reads_of_the_change(cluster)
    assert not UNDER.intersection(read)
    assert len(read) == 13, "the twelve, and Infrastructure"


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


async def test_hosts_are_watched_once_a_machine_names_one() -> None:
    cluster = Cluster()
    bare = machine(0)
    del bare["metadata"]["annotations"]
    cluster.put(("machines", NAMESPACE, "machine-0"), bare)
    cluster.change(("nodes", None, "node-2"), {"spec": {"unschedulable": True}})
    async with running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert cluster.watched & UNDER == {"machines"}
        with_machines(cluster)
        await asyncio.sleep(1)
        assert cluster.watched >= UNDER
        assert check(cluster)["status"] == "Met"
        cluster.put(("baremetalhosts", NAMESPACE, "host-1"), host("deprovisioning"))
        # What changes again so soon is shown at once, and recorded within a minute.
        await asyncio.sleep(60)
        assert check(cluster)["status"] == "Unmet"
        assert "host-1" in check(cluster)["message"]


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


async def test_a_right_that_lacks_holds_and_heals_without_a_restart() -> None:
    cluster, refusing = Cluster(), [True]
    listing = cluster.list

    async def refused(kind: Any, **options: Any) -> Any:
        if kind.plural == "machines" and refusing:
            raise cluster.error(errors.Forbidden, 403, "list")
        return await listing(kind, **options)

    cluster.list = refused  # type: ignore[method-assign]  # a fault of this one list
    async with running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        assert (cluster.phase, check(cluster)["status"]) == ("Pending", "Unknown")
        assert "machines.machine.openshift.io in namespace openshift-machine-api" in check(cluster)["message"]
        refusing.clear()
        await asyncio.sleep(120)
        assert cluster.topology == "HighlyAvailable"


async def test_what_is_refused_and_not_even_served_holds_nothing() -> None:
    cluster = Cluster()
    cluster.unserved = {"machines"}
    async with running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        assert cluster.topology == "HighlyAvailable"
