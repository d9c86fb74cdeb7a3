"""The loop on a cluster in memory, in virtual time: writes, reads, their order, and what an idle operator looks at."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.kube import errors
from topology_controller.observe import catalog, facts, watches

from . import raw_operands, worlds
from .clusters import BACKENDS, INFRASTRUCTURE, OPERATOR, VERSION, Cluster, Etcd, accept, running, virtual_now

if TYPE_CHECKING:
    from topology_controller.kube import resource

    from .clusters import Key, Raw, Running

pytestmark = pytest.mark.looptime


async def test_a_request_that_flips_opens_each_watch_once_and_is_reported(cluster: Cluster) -> None:
    """Sixty times in six seconds, on a server that needs time for each answer."""
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    cluster.latency = lambda: 0.02
    async with running(cluster):
        await asyncio.sleep(1)
        before, reports = len(cluster.asked), len(cluster.writes)
        for _ in range(30):
            cluster.ask_for("HighlyAvailable")
            await asyncio.sleep(0.1)
            cluster.ask_for(None)
            await asyncio.sleep(0.1)
        opened = Counter(what for verb, what in cluster.asked[before:] if verb == "watch")
        # Of some kinds there is more than one watch.
        at_once = Counter(selection.resource.plural for selection, _ in cluster._watching.values())
        wanted = {one.selection.resource.plural for one in catalog.watched(worlds.ONLY_COMPACT)}
        assert set(opened) >= wanted - {"configmaps"}, "the voters of a single node are watched anyway"
        assert all(count <= at_once[plural] for plural, count in opened.items()), opened
        assert any(where == "clusteroperators/topology" for where, _ in cluster.writes[reports:])
        await asyncio.sleep(2)
        assert cluster.phase == "Idle"
        assert cluster.condition("Progressing") == ("False", "AsExpected")


async def test_a_record_that_always_conflicts_keeps_no_report_back(cluster: Cluster) -> None:
    """Somebody writes Infrastructure right before each of our writes: that a request waits is said all the same."""
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.condition("Upgradeable") == ("True", "AsExpected")

        def storm(where: str, _: Raw) -> None:
            if where == "infrastructures/cluster":
                cluster.change(INFRASTRUCTURE, {"status": {"noise": cluster.version}})

        cluster.fault, cluster.limit = storm, 20_000
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(3)
        assert cluster.phase == "Idle", "nothing can be recorded"
        assert cluster.condition("Upgradeable")[0] == "False"
        assert cluster.objects[OPERATOR]["status"]["extension"]["phase"] == "Idle", "the copy is of what stands there"
        written = sum(where == "clusteroperators/topology" for where, _ in cluster.writes)
        await asyncio.sleep(10)
        assert sum(where == "clusteroperators/topology" for where, _ in cluster.writes) <= written + 1
        cluster.fault = accept
        await asyncio.sleep(61)
        assert cluster.phase == "Pending"


SILENT = facts.EtcdMembers(
    worlds.voices()[:2],
    (facts.EtcdSilence("https://192.0.2.12:2379", (worlds.MEMBERS[2],), "no answer in time", down=True),),
)


def check(cluster: Cluster) -> dict[str, Any]:
    """What the record says of the check."""
    found = cluster.objects[INFRASTRUCTURE]["status"]["topologyTransition"]["checks"]
    return next(one for one in found if one["name"] == "EtcdMembersDirect")


async def test_a_member_that_falls_silent_before_the_change_keeps_it_from_happening() -> None:
    """What was asked again and again was good; the live reading is not."""
    cluster, etcd = Cluster(), Etcd()

    def fall_silent() -> None:
        if len(etcd.asked) == 3:
            etcd.fact = SILENT

    etcd.before = fall_silent
    async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(130)
        assert cluster.changes == 0
        assert cluster.phase == "Pending"
        assert check(cluster)["status"] == "Unmet"
        assert "node-2 (cafe) at https://192.0.2.12:2379: no answer in time" in check(cluster)["message"]
        writes = len(cluster.writes)
        await asyncio.sleep(600)
        assert len(cluster.writes) == writes, "the same trouble is no news"
        etcd.fact = facts.EtcdMembers(worlds.voices())
        await asyncio.sleep(7)
        assert cluster.phase == "Converging"


async def test_evidence_that_took_more_than_two_seconds_moves_nothing() -> None:
    cluster, etcd = Cluster(), Etcd()
    etcd.lasting = 2.1
    cluster.ask_for("HighlyAvailable")
    async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY):
        await asyncio.sleep(300)
        assert cluster.changes == 0
        etcd.lasting = 1.0
        await asyncio.sleep(120)
        assert cluster.changes == 1


async def test_infrastructure_is_read_after_etcd_has_answered() -> None:
    cluster, etcd = Cluster(), Etcd()
    async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY):
        await asyncio.sleep(1)
        (published,) = etcd.published
        assert isinstance(published, tuple), "without watches its addresses are read before it is asked"
        cluster.ask_for("HighlyAvailable")
        etcd.lasting = 0.5
        read: list[float] = []
        cluster.before_get = lambda what: (
            read.append(asyncio.get_running_loop().time()) if what == "infrastructures/cluster" else None
        )
        await asyncio.sleep(3)
        assert cluster.changes == 1
        assert read[-1] >= etcd.asked[-1] + 0.5


async def test_a_bug_in_asking_ends_the_loop_instead_of_passing_for_silence() -> None:
    cluster, etcd = Cluster(), Etcd()

    def fail() -> None:
        if len(etcd.asked) > 1:
            raise RuntimeError("a bug")

    etcd.before = fail

    async def run() -> None:
        async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY):
            await asyncio.sleep(1)
            cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
            cluster.ask_for("HighlyAvailable")
            await asyncio.sleep(30)

    with pytest.raises(RuntimeError, match="a bug"):
        await run()


async def test_after_a_minute_of_trouble_a_fact_is_unobserved_until_the_watch_works_again(cluster: Cluster) -> None:
    client: Any = cluster
    async with watches.Watches(client, lambda: None, sources=catalog.watched(worlds.ONLY_COMPACT)) as watched:
        await watched.first_answers()
        assert watched.known().awaited is True, "nothing of a request is watched yet"
        watched.open()
        assert watched.known().awaited is True
        await watched.first_answers()
        assert not watched.known().awaited
        cluster.deaf = {"schedulers"}
        cluster.change(("schedulers", None, "cluster"), {"metadata": {"labels": {"a": "b"}}})
        await asyncio.sleep(59)
        known = watched.known()
        assert known.scheduler is True
        assert known.disturbed == ("schedulers.config.openshift.io/cluster",)
        await asyncio.sleep(2)
        unread = watched.known().scheduler
        assert isinstance(unread, facts.Unobserved)
        assert unread.why == "429 Throttled"
        cluster.deaf = set()
        await asyncio.sleep(40)
        assert watched.known().scheduler is True


class Faulty(Cluster):
    """A client with a bug: what lists one kind raises something that no client may raise."""

    def __init__(self, plural: str) -> None:
        super().__init__()
        self._plural = plural

    async def list(self, selection: resource.Selection, *reduce: Any, **options: Any) -> Any:
        if selection.resource.plural == self._plural:
            raise ZeroDivisionError("a bug")
        return await super().list(selection, *reduce, **options)


@pytest.mark.parametrize("plural", ["infrastructures", "schedulers"])
async def test_a_watch_that_dies_of_a_bug_wakes_whoever_waits_and_the_bug_comes_out(plural: str) -> None:
    """Also when it dies before its first answer, which is waited for at the start."""
    client: Any = Faulty(plural)
    woken: list[bool] = []
    sources = catalog.watched(worlds.ONLY_COMPACT)
    async with watches.Watches(client, lambda: woken.append(True), sources=sources) as watched:
        watched.open()
        async with asyncio.timeout(60):
            await watched.first_answers()
        assert woken
        with pytest.raises(ZeroDivisionError, match="a bug"):
            watched.raise_failed()


async def test_what_somebody_accepts_is_watched_only_as_long_as_it_is_asked_for(cluster: Cluster) -> None:
    client: Any = cluster
    sources = (catalog.acceptances("openshift-topology-operator"),)
    async with watches.Watches(client, lambda: None, sources=sources) as watched:
        await watched.first_answers()
        for wanted in (False, True, True, False, False):
            await watched.ask_for_acceptances(wanted=wanted)
            async with asyncio.timeout(60):
                await watched.first_answers()
            assert ("configmaps" in cluster.watched) is wanted
            assert "infrastructure" in watched.last_activity()
            assert (watched.known().acceptances == facts.NOT_READ) is not wanted


DNSMASQ: Key = ("machineconfigs", None, "50-master-dnsmasq-configuration")


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
        lease = raw_operands.held(f"{reader.operator}-2", 137)
        cluster.put(("leases", reader.namespace, f"{reader.operator}-lock"), lease)


async def test_what_is_left_to_do_is_looked_at_hourly_until_it_is_done(cluster: Cluster) -> None:
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
        await asyncio.sleep(700)
        assert advised(cluster) == ["EtcdBackupOutdated"], "Leases are listed every ten minutes"
        said = f"{virtual_now() - timedelta(seconds=5):%Y-%m-%dT%H:%M:%SZ}"
        annotations = {"topology.openshift.io/etcd-backup-taken": said}
        cluster.change(OPERATOR, {"metadata": {"annotations": annotations}})
        await asyncio.sleep(3700)
        assert advised(cluster) == []
        asked, writes = len(cluster.asked), len(cluster.writes)
        await asyncio.sleep(2 * 3600)
        assert len(cluster.writes) == writes
        assert ("list", "leases") not in cluster.asked[asked:], "what is done is not looked at again"


DRAINS: Key = ("sriovoperatorconfigs", "openshift-sriov-network-operator", "default")


async def test_settings_for_one_node_are_read_after_the_change_and_hourly_and_block_nothing(cluster: Cluster) -> None:
    cluster.put(DRAINS, {"spec": {"disableDrain": True}})
    cluster.unserved = {"multiclusterhubs"}
    forbidden = {"networks/cluster": errors.Forbidden, "secondaryschedulers/cluster": errors.ServerError}

    def refuse(where: str) -> None:
        if kind := forbidden.get(where):
            raise cluster.error(kind, 403 if kind is errors.Forbidden else 500, "get")

    cluster.before_get = refuse
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(2)
        assert (cluster.phase, cluster.asked.count(("list", "multiclusterhubs"))) == ("Converging", 1)
        await asyncio.sleep(3000)
        assert "SingleNodeSettings" in advised(cluster)
        assert cluster.asked.count(("list", "multiclusterhubs")) == 6, "every ten minutes while one was not answered"
        del forbidden["secondaryschedulers/cluster"]
        await asyncio.sleep(600)
        asked = cluster.asked.count(("list", "multiclusterhubs"))
        cluster.change(DRAINS, {"spec": {"disableDrain": False}})
        await asyncio.sleep(3500)
        assert cluster.asked.count(("list", "multiclusterhubs")) == asked, "and nothing more often than hourly"
        await asyncio.sleep(200)
        assert "SingleNodeSettings" not in advised(cluster)
        cluster.change(DRAINS, {"spec": {"disableDrain": True}})
        await asyncio.sleep(3700)
        cluster.follow()
        await asyncio.sleep(70)
        assert (cluster.phase, "SingleNodeSettings" in advised(cluster)) == ("Completed", True)
        cluster.delete(DRAINS)
        await asyncio.sleep(3700)
        assert "SingleNodeSettings" not in advised(cluster), "a right that lacks keeps nothing back"


@pytest.mark.parametrize("what", ["infrastructures/cluster", "schedulers/cluster"])
async def test_a_look_without_an_answer_is_repeated_soon(cluster: Cluster, what: str) -> None:

    def refuse(where: str) -> None:
        # Not what a new leader reads first.
        if where == what and cluster.writes:
            raise cluster.error(errors.Forbidden, 403, "get")

    cluster.before_get = refuse
    async with running(cluster):
        await asyncio.sleep(59)
        assert cluster.asked.count(("get", "infrastructures")) <= 4, "not more often than every 30 s"
        assert not any(item["available"] for item in cluster.record.get("available", ()))
        cluster.before_get = accept
        await asyncio.sleep(30)
        assert [item["available"] for item in cluster.record["available"]] == [True]


async def test_what_is_never_answered_is_read_hourly_in_the_end(cluster: Cluster) -> None:
    cluster.put(("schedulers", None, "cluster"), {"spec": 7})
    async with running(cluster):
        await asyncio.sleep(30)
        for looks in (2, 1, 1, 1):
            asked = len(cluster.asked)
            await asyncio.sleep(3600)
            assert len(cluster.asked) - asked == 11 * looks, "14 more are for watches, and 40 are promised"


async def test_which_version_runs_is_asked_once_and_hourly_and_not_at_all_without_need(cluster: Cluster) -> None:

    def asked() -> int:
        return sum(one == ("get", "clusterversions") for one in cluster.asked)

    async with running(cluster):
        await asyncio.sleep(1)
        before = asked()
        cluster.switch_gate(v4_21_0=True, v4_20_1=False)
        cluster.native_says()
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
        assert cluster.condition("Disabled") == ("True", "NativeControllerActive")


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


async def test_evidence_is_read_again_when_somebody_looks_once_a_minute_at_most(cluster: Cluster) -> None:
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


async def test_nothing_is_read_for_a_look_while_a_request_is_watched_or_nothing_can_be_read(cluster: Cluster) -> None:
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
        cluster.before_get = cluster.refusal("infrastructures/")
        asked = len(cluster.asked)
        for _ in range(300):
            operator.latest.wanted()
            await asyncio.sleep(1)
        assert cluster.asked[asked:].count(("get", "infrastructures")) <= 10, "a look that fails is none for free"


async def test_a_process_that_does_not_lead_any_more_reads_nothing_for_a_reader(cluster: Cluster) -> None:
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
