"""The native controller's process, seen by its Lease in virtual time; and a definition that hides a request."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api import crd
from topology_controller.kube import errors

from .clusters import INFRASTRUCTURE, OPERATOR, Cluster, running, virtual_now

if TYPE_CHECKING:
    from .clusters import Key, Raw

pytestmark = pytest.mark.looptime
GATES: Key = ("featuregates", None, "cluster")
NATIVE: Key = ("configs", None, "cluster")
LEASE: Key = ("leases", "openshift-config-operator", "config-operator-lock")
BUDGET = 40 - 5
"""Requests an hour, of those that an idle operator may send; its own Lease is renewed besides."""
CRD: Key = ("customresourcedefinitions", None, crd.NAME)


def gate(cluster: Cluster, *, on: bool) -> None:
    enabled = [{"name": "MutableTopology"}] if on else []
    cluster.change(GATES, {"status": {"featureGates": [{"version": "4.20.1", "enabled": enabled}]}})


def says(cluster: Cluster, reason: str | None = "AsExpected") -> None:
    """Its conditions; None takes them away."""
    item = {"type": "TopologyTransitionControllerUpgradeable", "status": "True", "reason": reason}
    cluster.change(NATIVE, {"status": {"conditions": [] if reason is None else [item]}})


def renew(cluster: Cluster, holder: str = "it", behind: timedelta = timedelta()) -> None:
    """By its own clock, which may be behind ours."""
    stamp = f"{virtual_now() - behind:%Y-%m-%dT%H:%M:%S.%fZ}"
    cluster.put(LEASE, {"spec": {"holderIdentity": holder, "leaseDurationSeconds": 270, "renewTime": stamp}})


async def lives(cluster: Cluster, seconds: float, **how: Any) -> None:
    """It renews its Lease every minute for so long."""
    for _ in range(int(seconds // 60)):
        renew(cluster, **how)
        await asyncio.sleep(60)


def disabled(cluster: Cluster) -> str:
    conditions = {item["type"]: item for item in cluster.objects[OPERATOR]["status"]["conditions"]}
    return str(conditions["Disabled"]["status"])


def counted(cluster: Cluster) -> list[str]:
    """Each read of its Lease from now on."""
    reads: list[str] = []
    cluster.before_get = lambda where: reads.append(where) if "config-operator-lock" in where else None
    return reads


@pytest.mark.parametrize("behind", [timedelta(), timedelta(hours=2), timedelta(hours=-2)])
async def test_one_that_dies_is_waited_for_from_its_last_sign_and_no_longer(behind: timedelta) -> None:
    """Whatever its clock says: only that its Lease is renewed is a sign."""
    cluster = Cluster()
    renew(cluster, behind=behind)
    gate(cluster, on=True)
    says(cluster)
    async with running(cluster):
        await lives(cluster, 3600, behind=behind)
        cluster.ask_for("HighlyAvailable")
        assert disabled(cluster) == "True"
        # The last renewal was a minute ago; when it was looked at last is not known to the second.
        await asyncio.sleep(295)
        assert (disabled(cluster), cluster.topology) == ("True", "SingleReplica")
        await asyncio.sleep(400)
        assert (disabled(cluster), cluster.topology) == ("False", "HighlyAvailable")


async def test_one_that_wakes_up_right_before_the_change_is_seen() -> None:
    """Its conditions are what they were, so no watch has news: only the live read of its Lease shows it."""
    cluster = Cluster()
    renew(cluster)
    gate(cluster, on=True)
    says(cluster)
    async with running(cluster):
        await asyncio.sleep(400)
        assert disabled(cluster) == "False"
        cluster.before_get = lambda where: renew(cluster) if where.startswith("clusterversions/") else None
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(30)
        assert (disabled(cluster), cluster.topology) == ("True", "SingleReplica")


async def test_what_it_costs_to_stand_down() -> None:
    """Below the budget of an idle operator; nothing is read for it while the gate is off."""
    cluster = Cluster()
    renew(cluster)
    reads = counted(cluster)
    async with running(cluster):
        says(cluster)
        await asyncio.sleep(3600)
        assert reads == []
        gate(cluster, on=True)
        await lives(cluster, 600)
        before = len(cluster.asked)
        await lives(cluster, 3600)
        assert len(cluster.asked) - before <= BUDGET
        await asyncio.sleep(600)
        assert disabled(cluster) == "False"
        gate(cluster, on=False)
        await asyncio.sleep(10)
        assert reads
        reads.clear()
        await asyncio.sleep(7200)
        assert reads == []


# A definition that hides a request (reference: real-native 8)


def swapped(cluster: Cluster) -> Raw:
    """The payload's own definition: nobody sees our fields any more, and what is written takes them out for good."""
    definition = crd.infrastructure(())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    del schema["spec"]["properties"]["desiredTopology"], schema["status"]["properties"]["topologyTransition"]
    cluster.put(CRD, definition)
    hidden = cluster.objects[INFRASTRUCTURE]
    kept = {"spec": hidden["spec"]["desiredTopology"], "status": hidden["status"]["topologyTransition"]}
    cluster.change(INFRASTRUCTURE, {"spec": {"desiredTopology": None}, "status": {"topologyTransition": None}})
    return kept


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_request_that_is_hidden_with_its_record_is_not_taken_for_a_cancelled_one(restarted: bool) -> None:  # noqa: FBT001 - a column
    cluster = Cluster()
    cluster.change(("nodes", None, "node-2"), {"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        assert cluster.phase == "Pending"
        if not restarted:
            hidden = swapped(cluster)
            written = [where for where, _ in cluster.writes].count("infrastructures/cluster")
            await asyncio.sleep(30)
    if restarted:
        hidden = swapped(cluster)
        written = [where for where, _ in cluster.writes].count("infrastructures/cluster")
        async with running(cluster):
            await asyncio.sleep(30)
    assert [where for where, _ in cluster.writes].count("infrastructures/cluster") == written, "that would prune them"
    conditions = {item["type"]: item for item in cluster.objects[OPERATOR]["status"]["conditions"]}
    assert (conditions["Degraded"]["status"], conditions["Degraded"]["reason"]) == ("True", "APINotInstalled")
    cluster.put(CRD, crd.infrastructure(()))
    shown = {"spec": {"desiredTopology": hidden["spec"]}, "status": {"topologyTransition": hidden["status"]}}
    cluster.change(INFRASTRUCTURE, shown)
    async with running(cluster):
        await asyncio.sleep(90)
        assert cluster.phase == "Pending"


async def test_a_definition_that_cannot_be_read_then_is_no_leave_to_write() -> None:
    cluster = Cluster()
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.phase == "Idle"

        def refuse(where: str) -> None:
            if where.startswith("customresourcedefinitions/"):
                raise cluster.error(errors.Forbidden, 403, "get")

        cluster.before_get = refuse
        cluster.change(INFRASTRUCTURE, {"status": {"topologyTransition": None}})
        await asyncio.sleep(30)
        assert cluster.phase is None
        cluster.before_get = lambda _: None
        await asyncio.sleep(90)
        assert cluster.phase == "Idle"
