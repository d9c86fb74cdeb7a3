"""The native controller changed the topology, and its gate went off before the end: this operator follows it.

What proves that such a transition is under way, what its record is made of, what becomes of it in virtual time; its
process, seen by its Lease; and a definition that hides a request.
"""

import asyncio
import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from topology_api import crd
from topology_api.types import Baseline
from topology_api.vocabulary import ConditionType, Phase, Reason
from topology_controller.decide import baseline
from topology_controller.decide.state import Decision, Step
from topology_controller.observe import facts

from . import operand_worlds, worlds
from .clusters import INFRASTRUCTURE, NATIVE, Cluster, Key, Raw, running, virtual_now

MOVING = "TopologyTransitionInProgress"
BEGUN = worlds.NOW - timedelta(minutes=2)
ATTEMPT = "native-20260301T115800Z"
OFF, ON = (facts.FeatureGates((("4.20.1", on),)) for on in (False, True))
KUBE_API_SERVER = "kubeapiservers.operator.openshift.io/cluster"
SPOILT = facts.Unobserved("configs.operator.openshift.io/cluster", "Forbidden")
pytestmark = pytest.mark.looptime


def native(
    upgradeable: tuple[str, str] | None = ("False", MOVING), progressing: tuple[str, str] | None = ("True", MOVING)
) -> facts.NativeController:
    found = (("Upgradeable", upgradeable), ("Progressing", progressing))
    kept = [facts.Condition(f"TopologyTransitionController{name}", *one) for name, one in found if one is not None]
    since = BEGUN if progressing is not None and progressing[0] == "True" else None
    return facts.NativeController(present=True, conditions=facts.Conditions(tuple(kept)), moving_since=since)


def changed(**changes: Any) -> facts.Facts:
    """It has just changed the topology, nothing has followed, and its gate is off."""
    known = worlds.moved(worlds.healthy(native_controller=native(), feature_gates=OFF), None)
    known = worlds.with_infrastructure(known, desired=None, native_desired="HighlyAvailable")
    return dataclasses.replace(known, **changes)


def followed(known: facts.Facts) -> Decision:
    found = worlds.decide(known)
    assert (found.phase, worlds.record_of(found).by_native) == (Phase.CONVERGING, True)
    return found


@pytest.mark.parametrize(
    ("native", "follows"),
    [
        (native(), True),
        # The newer version writes this one only.
        (native(progressing=None), True),
        (native(upgradeable=None), True),
        (native(("True", "TopologyTransitionComplete"), ("False", "TopologyTransitionComplete")), False),
        # A Progressing that it forgot.
        (native(("True", "AsExpected")), False),
        (native(("False", "PreflightCheckFailed"), ("False", "PreflightCheckFailed")), False),
        (native(("Unknown", MOVING), None), False),
        (native(("True", MOVING), None), False),
        (native(None, ("False", MOVING)), False),
        (facts.NativeController(present=False), False),
        (SPOILT, False),
    ],
)
def test_its_conditions_say_that_it_is_under_way(native: facts.Fact[facts.NativeController], *, follows: bool) -> None:
    found = worlds.decide(changed(native_controller=native))
    assert (found.phase is Phase.CONVERGING) is follows


@pytest.mark.parametrize(
    "known",
    [
        changed(feature_gates=ON),
        changed(feature_gates=worlds.BROKEN),
        # On for one of two, and which runs is not known.
        changed(feature_gates=facts.FeatureGates((("4.20.1", False), ("4.21.0", True))), cluster_version=worlds.BROKEN),
        worlds.with_infrastructure(changed(), control_plane="SingleReplica", infrastructure="SingleReplica"),
        # Half of the way is no change of it.
        worlds.with_infrastructure(changed(), infrastructure="SingleReplica"),
        worlds.with_infrastructure(changed(), control_plane="SingleReplica"),
        worlds.with_infrastructure(changed(), control_plane="HighlyAvailableArbiter"),
        worlds.with_infrastructure(changed(), platform="AWS"),
    ],
)
def test_where_anything_else_may_be_so_it_is_not_followed(known: facts.Facts) -> None:
    found = worlds.decide(known)
    assert found.phase is not Phase.CONVERGING or found.disabled is not None
    assert found.record is None or found.record.phase is not Phase.CONVERGING


@pytest.mark.parametrize("make", [worlds.converging, worlds.completed])
def test_a_record_of_ours_stays_the_only_one(make: Any) -> None:
    known = worlds.with_infrastructure(worlds.moved(changed(), make()), desired="HighlyAvailable")
    found = worlds.decide(known)
    assert (worlds.record_of(found).attempt, found.phase) == ("mine", make().phase)
    gone = dataclasses.replace(worlds.moved(changed(), None), own_operator=worlds.copy_of(worlds.converging()))
    rebuilt = worlds.record_of(worlds.decide(gone))
    assert rebuilt.attempt == "mine"


@pytest.mark.parametrize(("ago", "follows"), [(0, False), (120, False), (121, True), (86400, True)])
def test_what_was_completed_here_since_is_not_followed_again(ago: int, *, follows: bool) -> None:
    """Its conditions stay for ever: they are old once a transition has ended here."""
    ended = worlds.completed(worlds.NOW - timedelta(seconds=ago))
    idle = worlds.record_of(worlds.decide(worlds.moved(changed(native_controller=worlds.MISSING), ended)))
    assert (idle.phase, idle.last_transition is not None) == (Phase.IDLE, True)
    for record in (ended, idle):
        assert (worlds.decide(worlds.moved(changed(), record)).phase is Phase.CONVERGING) is follows
    # Where the record was dropped, this leader knows it still.
    lost = worlds.decide(changed(), worlds.term(latest=idle))
    assert (lost.phase is Phase.CONVERGING) is follows
    untimed = worlds.decide(worlds.moved(changed(native_controller=native(progressing=None)), idle))
    assert untimed.phase is Phase.IDLE, "since when is not known"


def test_its_record_is_like_any_other_and_says_who_began() -> None:
    found = followed(changed())
    record = worlds.record_of(found)
    assert (record.name, record.source, record.target) == ("sno-to-ha-compact", worlds.SNO, worlds.HA)
    assert (record.attempt, record.admitted_time, record.phase_transition_time) == (ATTEMPT, BEGUN, BEGUN)
    assert record.deadline_time == BEGUN + timedelta(minutes=30 + 3 * 30)
    assert (found.steps, found.watch, record.problem) == ((Step.SAVE, Step.REPORT), True, None)
    assert [one.reason.value for one in found.happened] == ["TopologyChanged"]
    assert "by the native controller" in found.happened[0].note
    assert worlds.said(found, ConditionType.UPGRADEABLE) == (worlds.F, Reason.TRANSITION_IN_PROGRESS)
    assert "NativeConditionsLeft" in [one.name for one in record.advisories]
    # The record alone goes on, whatever becomes of the conditions.
    clean = changed(native_controller=facts.NativeController(present=False))
    again = followed(worlds.moved(clean, record))
    assert Step.CHANGE not in again.steps


def pods(revision: int, observed: Any) -> facts.StaticPods:
    return dataclasses.replace(operand_worlds.static_pods(revision), observed_time=observed)


def measured(known: facts.Facts) -> Baseline:
    return baseline.afterwards(worlds.context(known), worlds.COMPACT, BEGUN)


@pytest.mark.parametrize(
    ("observed", "revision"),
    [(BEGUN - timedelta(seconds=1), 7), (BEGUN, None), (BEGUN + timedelta(seconds=1), None), (None, None)],
)
def test_a_revision_counts_where_the_change_has_not_been_observed(observed: Any, revision: int | None) -> None:
    known = changed()
    known = dataclasses.replace(known, operands={**known.operands, KUBE_API_SERVER: pods(7, observed)})
    recorded = {one.name: one.revision for one in measured(known).operands}
    assert recorded[KUBE_API_SERVER] == revision
    assert not [name for name, number in recorded.items() if number is not None and name != KUBE_API_SERVER]


def test_what_cannot_be_read_is_left_out() -> None:
    known = worlds.unread(changed(), "cluster_version", "controller_config", "machine_config_pools")
    assert measured(known).version is None
    record = worlds.record_of(followed(known))
    assert record.baseline is not None


def test_it_is_not_completed_while_a_revision_may_be_in_the_making() -> None:
    """All are at the newest revision, and the operator has observed another configuration a moment ago."""
    known = worlds.converged(changed())
    observed = worlds.NOW - timedelta(seconds=20)
    known = dataclasses.replace(known, operands={**known.operands, KUBE_API_SERVER: pods(8, observed)})
    record = worlds.record_of(followed(known))
    for seconds, phase in ((62, Phase.CONVERGING), (159, Phase.CONVERGING), (161, Phase.COMPLETED)):
        now = worlds.NOW + timedelta(seconds=seconds)
        later = dataclasses.replace(worlds.recorded(known, record), etcd_lease=worlds.healthy(now).etcd_lease)
        assert worlds.decide(later, now=now).phase is phase


def test_where_its_gate_is_on_again_it_follows_itself() -> None:
    """Our record of it goes, and no topology is written."""
    record = worlds.record_of(followed(changed()))
    known = worlds.moved(changed(feature_gates=ON), record)
    found = worlds.decide(known)
    assert found.disabled is not None
    assert found.disabled.reason is Reason.NATIVE_CONTROLLER_ACTIVE
    assert (worlds.record_of(found).phase, found.steps) == (Phase.IDLE, (Step.SAVE, Step.REPORT))
    gone = dataclasses.replace(worlds.moved(known, None), own_operator=worlds.copy_of(record))
    assert worlds.decide(gone).disabled is not None
    assert worlds.decide(worlds.moved(known, found.record)).steps == (Step.REPORT,)


MOVED = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
ROUTE = {"source": "SingleReplica/SingleReplica", "target": "HighlyAvailable/HighlyAvailable"}


def is_moving(cluster: Cluster) -> None:
    """Both of its conditions, in one update."""
    stamp = f"{virtual_now():%Y-%m-%dT%H:%M:%SZ}"
    said = [
        {"type": f"TopologyTransitionController{name}", "status": status, "reason": MOVING, "lastTransitionTime": stamp}
        for name, status in (("Upgradeable", "False"), ("Progressing", "True"))
    ]
    cluster.change(NATIVE, {"status": {"conditions": said}})


def changes(cluster: Cluster) -> None:
    """As it does: its conditions, then a PUT of status by a type that does not know our record."""
    cluster.change(INFRASTRUCTURE, {"spec": {"controlPlaneTopology": "HighlyAvailable"}})
    is_moving(cluster)
    cluster.change(INFRASTRUCTURE, {"status": {**MOVED, "topologyTransition": None}})


def transitions(operator: Any) -> dict[str, float]:
    names = ("started", "completed", "cancelled")
    value = operator.metrics.registry.get_sample_value
    return {name: value(f"topology_transition_{name}_total", ROUTE) for name in names}


@pytest.mark.parametrize("watching", [True, False])
async def test_it_is_followed_to_its_end_and_counted_once(cluster: Cluster, *, watching: bool) -> None:
    """Seen from its request on, or found when this operator starts."""
    cluster.limit = 6000
    cluster.native_appears()
    if not watching:
        changes(cluster)
        cluster.switch_gate(v4_20_1=False)
    async with running(cluster) as operator:
        if watching:
            await asyncio.sleep(5)
            changes(cluster)
            await asyncio.sleep(30)
            started = operator.metrics.registry.get_sample_value("topology_transition_started_timestamp_seconds")
            assert started == pytest.approx(virtual_now().timestamp() - 30, abs=1), "of its transition"
            cluster.switch_gate(v4_20_1=False)
        await asyncio.sleep(5)
        assert cluster.phase == "Converging"
        assert cluster.condition("Upgradeable") == ("False", "TransitionInProgress")
        assert transitions(operator) == {"started": 1, "completed": 0, "cancelled": 0}
        await asyncio.sleep(300)
        assert cluster.phase == "Converging", "nobody has followed yet"
        cluster.follow()
        await asyncio.sleep(300)
        assert cluster.phase == "Completed"
        assert cluster.condition("Upgradeable") == ("True", "AsExpected")
        assert transitions(operator) == {"started": 1, "completed": 1, "cancelled": 0}
        cluster.change(INFRASTRUCTURE, {"spec": {"controlPlaneTopology": None}})
        await asyncio.sleep(4000)
        assert cluster.phase == "Idle", "its conditions are left over"
        assert transitions(operator) == {"started": 1, "completed": 1, "cancelled": 0}
        assert operator.told.reasons == ["TopologyChanged", "TransitionCompleted"]
    async with running(cluster):
        await asyncio.sleep(300)
        assert cluster.phase == "Idle"
    assert not [body for _, body in cluster.writes if set(MOVED) & set(body.get("status", {}))]


LEASE: Key = ("leases", "openshift-config-operator", "config-operator-lock")
CRD: Key = ("customresourcedefinitions", None, crd.NAME)


def renew(cluster: Cluster, holder: str = "it", behind: timedelta = timedelta()) -> None:
    """By its own clock, which may be behind ours."""
    stamp = f"{virtual_now() - behind:%Y-%m-%dT%H:%M:%S.%fZ}"
    cluster.put(LEASE, {"spec": {"holderIdentity": holder, "leaseDurationSeconds": 270, "renewTime": stamp}})


async def lives(cluster: Cluster, seconds: float, **how: Any) -> None:
    """It renews its Lease every minute for so long."""
    for _ in range(int(seconds // 60)):
        renew(cluster, **how)
        await asyncio.sleep(60)


@pytest.mark.parametrize("behind", [timedelta(), timedelta(hours=2), timedelta(hours=-2)])
async def test_one_that_dies_is_waited_for_from_its_last_sign_and_no_longer(
    cluster: Cluster, behind: timedelta
) -> None:
    """Whatever its clock says: only that its Lease is renewed is a sign."""
    renew(cluster, behind=behind)
    cluster.native_appears()
    async with running(cluster):
        await lives(cluster, 3600, behind=behind)
        cluster.ask_for("HighlyAvailable")
        assert cluster.condition("Disabled")[0] == "True"
        # The last renewal was a minute ago; when it was looked at last is not known to the second.
        await asyncio.sleep(295)
        assert (cluster.condition("Disabled")[0], cluster.topology) == ("True", "SingleReplica")
        await asyncio.sleep(400)
        assert (cluster.condition("Disabled")[0], cluster.topology) == ("False", "HighlyAvailable")


async def test_one_that_wakes_up_right_before_the_change_is_seen(cluster: Cluster) -> None:
    """Its conditions are what they were, so no watch has news: only the live read of its Lease shows it."""
    renew(cluster)
    cluster.native_appears()
    async with running(cluster):
        await asyncio.sleep(400)
        assert cluster.condition("Disabled")[0] == "False"
        cluster.before_get = lambda where: renew(cluster) if where.startswith("clusterversions/") else None
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(30)
        assert (cluster.condition("Disabled")[0], cluster.topology) == ("True", "SingleReplica")


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
async def test_a_request_that_is_hidden_with_its_record_is_not_taken_for_a_cancelled_one(
    cluster: Cluster, *, restarted: bool
) -> None:
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
    assert cluster.condition("Degraded") == ("True", "APINotInstalled")
    cluster.put(CRD, crd.infrastructure(()))
    shown = {"spec": {"desiredTopology": hidden["spec"]}, "status": {"topologyTransition": hidden["status"]}}
    cluster.change(INFRASTRUCTURE, shown)
    async with running(cluster):
        await asyncio.sleep(90)
        assert cluster.phase == "Pending"


async def test_a_definition_that_cannot_be_read_then_is_no_leave_to_write(cluster: Cluster) -> None:
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.phase == "Idle"
        cluster.before_get = cluster.refusal("customresourcedefinitions/")
        cluster.change(INFRASTRUCTURE, {"status": {"topologyTransition": None}})
        await asyncio.sleep(30)
        assert cluster.phase is None
        cluster.before_get = lambda _: None
        await asyncio.sleep(90)
        assert cluster.phase == "Idle"
