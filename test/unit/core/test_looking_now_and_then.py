"""What an idle operator reads now and then: what is left to do after a transition, and whose gate counts."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from topology_controller.kube import errors

from . import raw_operands, worlds
from .clusters import BACKENDS, INFRASTRUCTURE, OPERATOR, VERSION, Cluster, accept, running, virtual_now

if TYPE_CHECKING:
    from .clusters import Key, Raw, Running

DNSMASQ: Key = ("machineconfigs", None, "50-master-dnsmasq-configuration")
GATES: Key = ("featuregates", None, "cluster")
NATIVE: Key = ("configs", None, "cluster")
pytestmark = pytest.mark.looptime


def advised(cluster: Cluster) -> list[str]:
    return [item["name"] for item in cluster.record.get("advisories", [])]


async def completed(cluster: Cluster) -> None:
    await asyncio.sleep(1)
    cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(2)
    cluster.follow()
    await asyncio.sleep(65)
    assert cluster.phase == "Completed"


def restart_the_readers(cluster: Cluster) -> None:
    for reader in worlds.MATRIX.startup_readers:
        cluster.delete(("pods", reader.namespace, f"{reader.operator}-1"))
        label, _, value = reader.selector.partition("=")
        metadata = {"labels": {label: value}, "creationTimestamp": raw_operands.stamp(virtual_now())}
        cluster.put(("pods", reader.namespace, f"{reader.operator}-2"), {"metadata": metadata})


async def test_what_is_left_to_do_is_looked_at_hourly_until_it_is_done() -> None:
    cluster = Cluster()
    cluster.put(DNSMASQ, {})
    async with running(cluster):
        await completed(cluster)
        left = ["DnsmasqConfigurationLeft", "TopologyReadAtStart", "EtcdBackupOutdated"]
        assert advised(cluster) == left
        cluster.delete(DNSMASQ)
        await asyncio.sleep(3500)
        assert advised(cluster) == left, "nothing is watched for it"
        await asyncio.sleep(200)
        assert advised(cluster) == left[1:]
        restart_the_readers(cluster)
        said = f"{virtual_now() - timedelta(seconds=5):%Y-%m-%dT%H:%M:%SZ}"
        annotations = {"topology.openshift.io/etcd-backup-taken": said}
        cluster.change(OPERATOR, {"metadata": {"annotations": annotations}})
        await asyncio.sleep(3700)
        assert advised(cluster) == []
        asked, writes = len(cluster.asked), len(cluster.writes)
        await asyncio.sleep(2 * 3600)
        assert len(cluster.writes) == writes
        assert ("list", "pods") not in cluster.asked[asked:], "what is done is not looked at again"


async def test_a_look_without_infrastructure_is_repeated_soon() -> None:
    cluster = Cluster()

    def refuse(where: str) -> None:
        # Not what a new leader reads first.
        if where.startswith("infrastructures/") and cluster.asked.count(("get", "infrastructures")) > 1:
            raise cluster.error(errors.Forbidden, 403, "get")

    cluster.before_get = refuse
    async with running(cluster):
        await asyncio.sleep(59)
        assert cluster.asked.count(("get", "infrastructures")) <= 4, "not more often than every 30 s"
        assert "available" not in cluster.record
        cluster.before_get = accept
        await asyncio.sleep(30)
        assert [item["available"] for item in cluster.record["available"]] == [True]


def gates(**versions: bool) -> Raw:
    name = [{"name": "MutableTopology"}]
    entries = [
        {"version": version.replace("v", "").replace("_", "."), "enabled": name if on else []}
        for version, on in versions.items()
    ]
    return {"status": {"featureGates": entries}}


def native(reason: str, status: str) -> Raw:
    type_ = "TopologyTransitionControllerUpgradeable"
    return {"status": {"conditions": [{"type": type_, "status": status, "reason": reason, "message": "m"}]}}


def disabled(cluster: Cluster) -> tuple[str, str]:
    return cluster.condition("Disabled")


async def test_which_version_runs_is_asked_once_and_hourly_and_not_at_all_without_need() -> None:
    cluster = Cluster()

    def asked() -> int:
        return sum(one == ("get", "clusterversions") for one in cluster.asked)

    async with running(cluster):
        await asyncio.sleep(1)
        before = asked()
        cluster.change(GATES, gates(v4_21_0=True, v4_20_1=False))
        cluster.change(NATIVE, native("AsExpected", "True"))
        await asyncio.sleep(1)
        read = asked()
        assert 1 <= read - before <= 3
        for number in range(20):
            cluster.change(INFRASTRUCTURE, {"metadata": {"annotations": {"news": str(number)}}})
            await asyncio.sleep(10)
        assert asked() == read
        # Nobody tells when only ClusterVersion changes; the hourly look does.
        cluster.change(VERSION, {"status": {"desired": {"version": "4.21.0"}}})
        await asyncio.sleep(3700)
        assert disabled(cluster) == ("True", "NativeControllerActive")


def unready(cluster: Cluster, *, ready: bool = False) -> None:
    """A node fails: nothing of that is watched while nothing is requested."""
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    cluster.change(("nodes", None, worlds.NAMES[1]), {"status": {"conditions": conditions}})


def blockers(operator: Running) -> list[str]:
    """What the page shows as blocking, which may be newer than what is written."""
    snapshot = operator.latest.snapshot
    assert snapshot is not None
    assert snapshot.decision.record is not None
    (item,) = snapshot.decision.record.available
    return [blocker.name for blocker in item.blockers]


async def test_evidence_is_read_again_when_somebody_looks_once_a_minute_at_most() -> None:
    cluster = Cluster()
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        unready(cluster)
        asked = len(cluster.asked)
        for _ in range(58):
            operator.latest.wanted()
            await asyncio.sleep(1)
        assert blockers(operator) == []
        assert len(cluster.asked) == asked, "the last look is less than a minute old"
        await asyncio.sleep(2)
        assert blockers(operator) == ["ControlPlaneNodes"]
        price = len(cluster.asked) - asked
        for _ in range(600):
            operator.latest.wanted()
            await asyncio.sleep(1)
        looks = (len(cluster.asked) - asked) / price
        assert 9 <= looks <= 11, "however often it is asked for"
        writes = len(cluster.writes)
        await asyncio.sleep(3000)
        assert len(cluster.asked) - asked <= 12 * price, "and none any more when nobody looks"
        assert len(cluster.writes) == writes


async def test_nothing_is_read_for_a_look_while_a_request_is_watched_or_nothing_can_be_read() -> None:
    cluster = Cluster()
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(70)
        assert cluster.phase == "Pending"
        asked = len(cluster.asked)
        for _ in range(300):
            operator.latest.wanted()
            await asyncio.sleep(1)
        assert len(cluster.asked) == asked
        cluster.ask_for(None)
        await asyncio.sleep(70)

        def refuse(where: str) -> None:
            if where.startswith("infrastructures/"):
                raise cluster.error(errors.Forbidden, 403, "get")

        cluster.before_get = refuse
        asked = len(cluster.asked)
        for _ in range(300):
            operator.latest.wanted()
            await asyncio.sleep(1)
        assert cluster.asked[asked:].count(("get", "infrastructures")) <= 10, "a look that fails is none for free"


async def test_a_process_that_does_not_lead_any_more_reads_nothing_for_a_reader() -> None:
    cluster = Cluster()
    async with running(cluster) as operator:
        await asyncio.sleep(61)
        operator.latest.clear()
        asked = len(cluster.asked)
        operator.latest.wanted()
        await asyncio.sleep(5)
        assert len(cluster.asked) == asked


def forgotten() -> Cluster:
    """A cluster whose load balancer is not confirmed."""
    cluster = Cluster()
    cluster.annotations = {}
    return cluster


def confirm(cluster: Cluster, *addresses: str) -> None:
    annotation = ",".join(addresses) or None
    cluster.change(OPERATOR, {"metadata": {"annotations": {BACKENDS: annotation}}})


async def test_a_load_balancer_that_was_forgotten_is_told_until_it_is_confirmed_and_again_after_that() -> None:
    """The annotation is watched always: what it says is seen at once, also long after the request is removed."""
    cluster = forgotten()
    async with running(cluster):
        await completed(cluster)
        assert "LoadBalancerBackendsUnconfirmed" in advised(cluster)
        cluster.ask_for(None)
        await asyncio.sleep(70)
        assert (cluster.phase, "LoadBalancerBackendsUnconfirmed" in advised(cluster)) == ("Idle", True)
        confirm(cluster, *worlds.ADDRESSES)
        await asyncio.sleep(5)
        assert "LoadBalancerBackendsUnconfirmed" not in advised(cluster)
        # The record is written once a minute, and less often when nothing but this changes in it.
        await asyncio.sleep(130)
        confirm(cluster)
        await asyncio.sleep(5)
        assert "LoadBalancerBackendsUnconfirmed" in advised(cluster)
