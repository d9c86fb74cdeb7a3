"""The loop when writes and reads fail, conflict, get lost or come late: topology moves once all the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from topology_api import vocabulary
from topology_controller.kube import errors
from topology_controller.observe import catalog, facts

from . import raw_operands, worlds
from .clusters import INFRASTRUCTURE, OPERATOR, VERSION, Cluster, Lease, accept, running

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clusters import Raw

MOVED = {"TransitionRequested", "TransitionAdmitted", "TopologyChanged"}
pytestmark = pytest.mark.looptime


def is_change(body: Raw) -> bool:
    return "controlPlaneTopology" in body.get("status", {})


def phase_of(body: Raw) -> str | None:
    found = (body.get("status") or {}).get("topologyTransition") or {}
    return found.get("phase")


async def test_a_conflict_is_read_again_and_decided_again_at_once(cluster: Cluster) -> None:
    """Somebody cancels the request right before the change is sent."""
    since: list[int] = []

    def cancel(where: str, body: Raw) -> None:
        if is_change(body):
            cluster.fault = accept
            cluster.ask_for(None)
            since.append(len(cluster.asked))

    cluster.fault = cancel
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        assert cluster.changes == 0
        assert cluster.topology == "SingleReplica"
        assert cluster.phase == "Idle"
        assert operator.retries == 0
        assert "TransitionCancelled" in operator.told.reasons
        assert cluster.asked[since[0]] == ("get", "infrastructures"), "a watch may be behind"


async def test_a_status_writer_that_is_in_the_way_for_a_moment_costs_no_back_off(cluster: Cluster) -> None:
    left = 19

    def storm(where: str, body: Raw) -> None:
        nonlocal left
        if where == "infrastructures/cluster" and left:
            left -= 1
            cluster.change(INFRASTRUCTURE, {"status": {"noise": left}})

    cluster.fault = storm
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(0.5)
        assert cluster.topology == "HighlyAvailable"
        assert cluster.changes == 1
        assert operator.retries == 0


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("kind", [errors.TimedOut, errors.ServerError, errors.Unreachable, errors.Malformed])
@pytest.mark.parametrize("which", ["Admitting", "Converging"])
async def test_a_write_with_an_unknown_outcome_is_read_live_before_anything_is_written(
    cluster: Cluster, *, which: str, kind: type[errors.KubeError], happened: bool
) -> None:
    """Whether it has happened or not, and whichever of the two writes it was: topology moves, once.

    Whatever was on its way belongs to an attempt that is over.
    """
    since: list[int] = []

    def lose(where: str, body: Raw) -> None:
        if not since and phase_of(body) == which:
            since.append(len(cluster.asked))
            raise cluster.error(kind)

    if happened:
        cluster.after = lose
    else:
        cluster.fault = lose
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(30)
        assert since
        afterwards = cluster.asked[since[0] :]
        first_write = next(index for index, (verb, _) in enumerate(afterwards) if verb == "write")
        assert ("get", "infrastructures") in afterwards[:first_write]
        assert (cluster.phase, cluster.topology) == ("Converging", "HighlyAvailable")
        assert cluster.changes == 1
        assert operator.retries == 1
        assert "TopologyChanged" in operator.told.reasons
        if which == "Admitting" and happened:
            records = [(body.get("status") or {}).get("topologyTransition") or {} for _, body in cluster.writes]
            first, second = (record["attempt"] for record in records if "attempt" in record)
            assert first != second == cluster.record["attempt"]


@pytest.mark.parametrize(
    ("requests", "phase", "counter", "reasons"),
    [
        (("HighlyAvailable",), "Converging", "started", MOVED),
        (("HighlyAvailable",), "Completed", "completed", {"TransitionCompleted"}),
        (("HighlyAvailable", None), "Idle", "cancelled", {"TransitionCancelled"}),
        (("DualReplica",), "Unsupported", "rejected", {"TransitionRequested", "TransitionBlocked"}),
    ],
)
async def test_a_write_that_happened_without_an_answer_counts_and_has_its_events(
    cluster: Cluster, requests: tuple[str | None, ...], phase: str, counter: str, reasons: set[str]
) -> None:
    made: list[str | None] = []
    lost: list[str] = []

    def lose(_: str, body: Raw) -> None:
        if not lost and len(made) == len(requests) and phase_of(body) == phase:
            lost.append(phase)
            raise cluster.error(errors.TimedOut)

    cluster.after, cluster.echo = lose, None not in requests
    async with running(cluster) as operator:
        for request in requests:
            made.append(request)
            cluster.ask_for(request)
            await asyncio.sleep(20)
        cluster.follow()
        await asyncio.sleep(300)
        samples = [sample for family in operator.metrics.registry.collect() for sample in family.samples]
        total = sum(sample.value for sample in samples if sample.name == f"topology_transition_{counter}_total")
        assert (lost, total, reasons - set(operator.told.reasons)) == ([phase], 1, set())


async def test_two_operators_that_admit_at_once_do_not_write_against_each_other(cluster: Cluster) -> None:
    """Each has a Lease of its own, and ClusterVersion does not echo: whoever is overtaken waits a minute."""
    cluster.echo, cluster.latency = False, lambda: 0.01
    async with running(cluster), running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(300)
        assert Counter(where for where, _ in cluster.writes)["infrastructures/cluster"] <= 9
        cluster.echo = True
        cluster._echo()
        await asyncio.sleep(120)
    assert (cluster.phase, cluster.changes) == ("Converging", 1)


async def test_nothing_is_completed_by_watches_that_have_gone_silent(cluster: Cluster) -> None:
    """The API server hangs for less than a watch may be silent, and two nodes are gone meanwhile."""
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(20)
        cluster.follow()
        await asyncio.sleep(5)
        cluster.flowing.clear()
        for name in ("node-1", "node-2"):
            cluster.delete(("nodes", None, name))
        await asyncio.sleep(100)
        assert (cluster.phase, cluster.condition("Degraded")) == ("Converging", ("True", "RedundancyLost"))
        cluster.flowing.set()
        await asyncio.sleep(200)
        assert cluster.record["problem"]["reason"] == "RedundancyLost"


async def test_a_refusal_is_not_told_any_more_once_nothing_is_left_to_record(cluster: Cluster) -> None:
    """What was refused is taken back by itself, before the right is given again."""

    def refuse(where: str, _: Raw) -> None:
        if where == "infrastructures/cluster":
            raise cluster.error(errors.Forbidden, 403)

    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        for cluster.fault, cordoned in ((accept, ["node-2"]), (refuse, ["node-1", "node-2"]), (refuse, ["node-2"])):
            for name in worlds.NAMES:
                cluster.change(("nodes", None, name), {"spec": {"unschedulable": name in cordoned}})
            await asyncio.sleep(300)
            assert operator.latest.snapshot is not None
            told = "Nothing can be recorded" in operator.latest.snapshot.decision.note
            assert told is ("node-1" in cordoned), operator.latest.snapshot.decision.note


async def test_a_report_that_is_refused_keeps_topology_from_moving(cluster: Cluster) -> None:
    """Without our word in ClusterOperator nobody holds upgrades back."""
    cluster.fault = cluster.refusal("clusteroperators")
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(600)
        assert cluster.changes == 0
        assert len(cluster.asked) < 200, "no hot loop"
        assert operator.retries > 3


SCHEDULER = ("schedulers", None, "cluster")
WORKER: Raw = {
    "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
    "status": {"conditions": raw_operands.conditions(Ready="True"), "nodeInfo": {"kubeletVersion": "v1.34.2"}},
}


def _workers_join(cluster: Cluster) -> None:
    for name in ("worker-0", "worker-1"):
        cluster.put(("nodes", None, name), WORKER)


def _echo_stops(cluster: Cluster) -> None:
    cluster.echo = False
    cluster.change(VERSION, {"status": {"conditions": raw_operands.conditions(Progressing="False")}})


def _infrastructure(patch: Raw) -> Callable[[Cluster], None]:
    return lambda cluster: accept(cluster.change(INFRASTRUCTURE, patch))


def _record(record: Raw | None) -> Callable[[Cluster], None]:
    return _infrastructure({"status": {"topologyTransition": record}})


LAST_READS = {
    "a check that is not met": (
        lambda cluster: cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}}), "Pending", "SingleReplica",
    ),
    "a node that is gone": (
        lambda cluster: cluster.delete(("nodes", None, worlds.NAMES[2])), "Pending", "SingleReplica",
    ),
    "an object that is gone": (lambda cluster: cluster.delete(SCHEDULER), "Pending", "SingleReplica"),
    "workers that joined, so that another definition fits": (_workers_join, "Pending", "SingleReplica"),
    "the native controller in charge": (Cluster.native_appears, "Idle", "SingleReplica"),
    "a hosted control plane": (
        _infrastructure({"status": {"controlPlaneTopology": "External"}}), "Admitting", "External",
    ),
    "a record of a newer version": (
        _record({"phase": "Verifying", "phaseTransitionTime": "2026-03-01T12:00:00Z"}), "Verifying", "SingleReplica",
    ),
    "a record that was dropped": (_record(None), "Converging", "HighlyAvailable"),
    "no request": (lambda cluster: cluster.ask_for(None), "Idle", "SingleReplica"),
    "another request": (lambda cluster: cluster.ask_for("DualReplica"), "Unsupported", "SingleReplica"),
    "the topology that is requested": (
        _infrastructure({"status": {"controlPlaneTopology": "HighlyAvailable",
                                    "infrastructureTopology": "HighlyAvailable"}}), "Idle", "HighlyAvailable",
    ),
    "the mark of an image-based installation": (
        _infrastructure({"metadata": {"labels": {vocabulary.IMAGE_BASED_INSTALL_LABEL: ""}}}), "Idle", "SingleReplica",
    ),
    "a pause": (
        lambda cluster: cluster.change(OPERATOR, {"metadata": {"annotations": {vocabulary.PAUSED_ANNOTATION: ""}}}),
        "Pending", "SingleReplica",
    ),
    "our ClusterOperator gone": (lambda cluster: cluster.delete(OPERATOR), "Converging", "HighlyAvailable"),
    "no echo": (_echo_stops, "Admitting", "SingleReplica"),
}  # fmt: skip
"""What happens, which phase it leads to within 50 s, and with which topology of the control plane."""


@pytest.mark.parametrize("shown", LAST_READS)
async def test_live_evidence_that_differs_holds_it_without_a_hot_loop(shown: str) -> None:
    """The watches are behind and say that all is well; what is read live says otherwise, and is believed."""
    happens, phase, topology = LAST_READS[shown]
    cluster = Cluster()
    began: list[int] = []

    def behind(where: str) -> None:
        if not began and where == "clusterversions/version":
            cluster.flowing.clear()
            happens(cluster)
            began.append(len(cluster.writes))

    async with running(cluster, transitions=worlds.TRANSITIONS) as operator:
        await asyncio.sleep(1)
        cluster.before_get = behind
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(50)
        assert began
        assert (cluster.phase, cluster.topology) == (phase, topology)
        assert len(cluster.writes) - began[0] <= 10, cluster.writes[began[0] :]
        phases = [phase_of(body) for where, body in cluster.writes if where == "infrastructures/cluster"]
        assert len(phases) <= 6, phases
        assert operator.latest.number < 40
        cluster.flowing.set()
        await asyncio.sleep(1)
        assert (cluster.phase, cluster.topology) == (phase, topology), "what the watches bring late is no news"


async def test_what_was_read_live_is_kept_and_what_was_held_begins_again_after_a_minute(cluster: Cluster) -> None:
    """Workers joined while the watches are behind: the definition that fits is admitted without them."""
    joined = False

    def behind(where: str) -> None:
        nonlocal joined
        if not joined and where == "clusterversions/version":
            joined = True
            cluster.flowing.clear()
            _workers_join(cluster)

    async with running(cluster, transitions=worlds.TRANSITIONS) as operator:
        await asyncio.sleep(1)
        cluster.before_get = behind
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert (cluster.phase, cluster.record["name"]) == ("Pending", "sno-to-ha-with-workers")
        joined_nodes = operator.watches.known().other_nodes
        assert isinstance(joined_nodes, tuple)
        assert len(joined_nodes) == 2
        await asyncio.sleep(61)
        assert (cluster.phase, cluster.record["name"]) == ("Admitting", "sno-to-ha-with-workers")
        cluster.flowing.set()
        await asyncio.sleep(62)
        assert (cluster.phase, cluster.record["name"]) == ("Converging", "sno-to-ha-with-workers")


async def test_once_the_last_reads_differed_all_that_forbids_is_read_again_before_the_next_decision(
    cluster: Cluster,
) -> None:
    """The native controller appears after it was read; the watches, which are late, do not say so."""

    def behind(where: str) -> None:
        if cluster.flowing.is_set() and where == "clusterversions/version":
            cluster.flowing.clear()
            cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
        elif not cluster.flowing.is_set() and where == "infrastructures/cluster":
            cluster.before_get = accept
            cluster.native_appears()

    async with running(cluster):
        await asyncio.sleep(1)
        cluster.before_get = behind
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert cluster.condition("Disabled") == ("True", "NativeControllerActive")
        assert cluster.phase == "Idle"
        asked = Counter(what for verb, what in cluster.asked if verb == "get")
        await asyncio.sleep(50)
        assert Counter(what for verb, what in cluster.asked if verb == "get") == asked, "and once only"


async def test_a_live_answer_that_there_is_no_such_object_clears_the_store(cluster: Cluster) -> None:
    """Infrastructure is deleted and no watch says so; the conflict makes the loop look."""

    def vanish(where: str, _: Raw) -> None:
        if where == "infrastructures/cluster" and cluster.flowing.is_set():
            cluster.flowing.clear()
            cluster.delete(INFRASTRUCTURE)
            raise cluster.error(errors.Conflict, 409)

    cluster.ask_for("HighlyAvailable")
    cluster.fault = vanish
    async with running(cluster) as operator:
        await asyncio.sleep(2)
        assert not cluster.flowing.is_set()
        assert isinstance(operator.watches.known().infrastructure, facts.Unobserved)
        assert cluster.condition("Degraded") == ("True", "InfrastructureMissing")
        assert operator.retries == 0


async def test_after_a_conflict_an_older_live_answer_ends_the_decisions_of_this_term(cluster: Cluster) -> None:
    """A backup was restored under watches that are silent: nothing is decided from what never happened."""

    def restore(where: str, _: Raw) -> None:
        if where == "infrastructures/cluster" and cluster.flowing.is_set():
            cluster.flowing.clear()
            cluster.objects[INFRASTRUCTURE]["metadata"]["resourceVersion"] = "1"
            del cluster.objects[INFRASTRUCTURE]["spec"]["desiredTopology"]
            raise cluster.error(errors.Conflict, 409)

    async with running(cluster) as operator:
        await asyncio.sleep(1)
        cluster.fault = restore
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(30)
        assert operator.watches.restored.is_set()
        before = operator.latest.number, len(cluster.writes)
        known = operator.watches.known().infrastructure
        assert not isinstance(known, facts.Unobserved)
        assert known.desired is None, "the live answer is believed although it is older"
        await asyncio.sleep(300)
        assert (operator.latest.number, len(cluster.writes)) == before


async def test_a_version_that_a_restored_store_gives_out_again_guards_no_write(cluster: Cluster) -> None:
    """Infrastructure of the backup has the version of the record in hand, and its watch is put off still."""
    cluster.echo = False
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(5)
        assert (cluster.phase, cluster.topology) == ("Admitting", "SingleReplica")
        version = cluster.objects[INFRASTRUCTURE]["metadata"]["resourceVersion"]
        cluster.deaf = {"infrastructures"}
        LAST_READS["the topology that is requested"][0](cluster)
        _record({"phase": "Converging", "attempt": "of-the-backup"})(cluster)
        cluster.objects[INFRASTRUCTURE]["metadata"]["resourceVersion"] = version
        await asyncio.sleep(0.1)
        cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
        for cluster.deaf in ({"infrastructures"}, set()):
            await asyncio.sleep(60)
            assert (cluster.phase, cluster.record.get("attempt")) == ("Converging", "of-the-backup"), cluster.record
            assert (cluster.topology, cluster.changes) == ("HighlyAvailable", 0)


async def test_a_refusal_that_comes_while_the_server_goes_away_is_tried_again(cluster: Cluster) -> None:
    def leave() -> float:
        if cluster.asked[-1] == ("write", "infrastructures/cluster") and not cluster.deaf:
            cluster.deaf = {"infrastructures"}
            cluster.change(INFRASTRUCTURE, {"status": {"noise": 1}})
        return 0.01

    cluster.ask_for("HighlyAvailable")
    cluster.latency, cluster.fault = leave, cluster.refusal("infrastructures/cluster")
    async with running(cluster):
        await asyncio.sleep(30)
        assert (cluster.phase, cluster.deaf) == (None, {"infrastructures"})
        cluster.latency, cluster.fault, cluster.deaf = (lambda: 0.0), accept, set()
        await asyncio.sleep(90)
        assert (cluster.phase, cluster.changes) == ("Converging", 1)


async def test_a_last_read_that_fails_for_a_while_is_tried_again_by_itself(cluster: Cluster) -> None:
    """No watch brings news meanwhile: nobody but the loop can ask again."""
    tries: list[float] = []

    def away(where: str) -> None:
        if where == "clusterversions/version":
            tries.append(asyncio.get_running_loop().time())
        if where == "infrastructures/cluster":
            raise errors.Forbidden("get", catalog.INFRASTRUCTURES, None, "cluster", 403, "Forbidden", "refused")

    async with running(cluster):
        await asyncio.sleep(1)
        cluster.before_get = away
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(120)
        assert (cluster.phase, cluster.changes) == ("Admitting", 0)
        assert 2 <= len(tries) < 20, tries
        assert tries[1] - tries[0] < 3, "at once, and then ever more seldom"
        cluster.before_get = accept
        await asyncio.sleep(61)
        assert (cluster.phase, cluster.changes) == ("Converging", 1)


async def test_a_lease_about_to_run_out_voids_the_change_and_a_later_try_succeeds() -> None:
    cluster, lease = Cluster(), Lease()

    def running_out(where: str) -> None:
        if where == "infrastructures/cluster":
            lease.left = 3.0

    async with running(cluster, lease) as operator:
        await asyncio.sleep(1)
        cluster.before_get = running_out
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(20)
        assert (cluster.phase, cluster.changes) == ("Admitting", 0)
        assert "TopologyChanged" not in operator.told.reasons
        assert operator.metrics.registry.get_sample_value("topology_transition_phase", {"phase": "Converging"}) == 0
        assert operator.metrics.registry.get_sample_value("topology_transition_started_timestamp_seconds") == 0
        cluster.before_get = accept
        lease.left = 100.0
        await asyncio.sleep(61)
        assert cluster.changes == 1
        assert set(operator.told.reasons) == MOVED


async def test_a_new_leader_reads_what_the_last_one_wrote_and_waits_for_it(cluster: Cluster) -> None:
    """Its watch may lag behind. What it cannot read and has from before it does not believe."""
    async with running(cluster):
        await asyncio.sleep(1)
    cluster.before_get = cluster.refusal("clusteroperators/topology", errors.Unreachable)
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(10)
        assert (operator.latest.number, cluster.phase) == (0, "Idle")
        cluster.before_get = accept
        await asyncio.sleep(10)
        assert cluster.phase == "Converging"


async def test_a_pause_that_the_server_asks_for_is_obeyed_although_there_is_news(cluster: Cluster) -> None:
    asked: list[float] = []

    def throttle(where: str, _: Raw) -> None:
        if where == "infrastructures/cluster":
            asked.append(asyncio.get_running_loop().time())
            if len(asked) == 1:
                error = cluster.error(errors.Throttled, 429)
                error.retry_after = 20.0
                raise error

    cluster.fault = throttle
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        for number in range(50):
            cluster.change(INFRASTRUCTURE, {"metadata": {"annotations": {"news": str(number)}}})
            await asyncio.sleep(0.5)
        assert asked[1] - asked[0] >= 20
        assert (cluster.phase, cluster.changes) == ("Converging", 1)


@pytest.mark.parametrize("kind", [errors.Conflict, errors.TimedOut, errors.Throttled])
async def test_a_report_that_fails_after_the_change_loses_no_event(
    cluster: Cluster, kind: type[errors.KubeError]
) -> None:
    failed: list[str] = []

    def refuse(where: str, body: Raw) -> None:
        if where == "clusteroperators/topology" and cluster.changes and not failed:
            failed.append(where)
            raise cluster.error(kind)

    cluster.fault = refuse
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(30)
        assert failed
        assert set(operator.told.reasons) == MOVED
        assert len(operator.told.reasons) == 3
        assert cluster.condition("Progressing") == ("True", "TransitionConverging")
