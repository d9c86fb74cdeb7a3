"""`status.topologyTransition.message`: one sentence for each phase, the same that Progressing says."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import MESSAGE_LIMIT, Advisory, LastTransition
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, ConditionType, EventReason, Phase, Stage
from topology_controller.checks.result import CheckResult, Count, Finding
from topology_controller.decide import assessment, convergence, phases
from topology_controller.decide.decision import Step
from topology_controller.definitions import registry
from topology_controller.observe import facts
from topology_controller.report import conditions

from . import worlds

if TYPE_CHECKING:
    from topology_controller.decide.decision import Decision

AFTER = worlds.NOW + timedelta(minutes=2)
TWO = facts.EtcdEndpoints(tuple(zip(worlds.MEMBERS[:2], worlds.ADDRESSES[:2], strict=True)))
PINNED = facts.IngressController(1, 1)
DANGER = "etcd has two voting members, and the loss of either one stops the cluster"
DRAINED = (worlds.node(0), worlds.node(1), worlds.node(2, cordoned=True))


def sentence(decision: Decision) -> str:
    """The message of the record, which Progressing says, too."""
    assert decision.record is not None
    assert decision.record.message is not None
    progressing = next(item for item in conditions.of(decision) if item.type is ConditionType.PROGRESSING)
    assert progressing.message == decision.record.message
    return decision.record.message


def following(**changes: Any) -> facts.Facts:
    known = worlds.moved(worlds.converged(worlds.healthy(AFTER)), worlds.converging())
    return dataclasses.replace(known, **changes)


# In each phase


def test_idle_says_whether_anything_is_requested() -> None:
    idle = worlds.with_infrastructure(worlds.healthy(), desired=None)
    assert sentence(worlds.decide(idle, worlds.term(available=()))) == "No topology is requested"
    there = worlds.with_infrastructure(worlds.healthy(), desired="SingleReplica")
    fulfilled = worlds.decide(there, worlds.term(available=()))
    assert fulfilled.phase is Phase.IDLE
    assert sentence(fulfilled) == "The cluster has the desired topology SingleReplica"


def test_unsupported_says_what_would_be_legal() -> None:
    found = worlds.decide(worlds.with_infrastructure(worlds.healthy(), desired="DualReplica"))
    assert sentence(found).startswith(
        "No transition leads from SingleReplica/SingleReplica to DualReplica on platform "
    )
    assert "From here: HighlyAvailable (sno-to-ha-compact, " in sentence(found)


def test_pending_names_each_check_with_how_far_it_is_and_what_is_not_known() -> None:
    found = worlds.decide(worlds.healthy(control_plane_nodes=DRAINED, scheduler=worlds.BROKEN))
    expected = "2 of 10 preflight checks not met: ControlPlaneNodes (2 of 3), MastersSchedulable (unknown)"
    assert sentence(found) == expected
    event = next(item for item in found.happened if item.reason is EventReason.TRANSITION_BLOCKED)
    assert event.note == expected, "the event says how far each check is, too"


def test_admitting_says_what_it_waits_for() -> None:
    found = worlds.decide(worlds.healthy(cluster_version=worlds.version(None)))
    assert found.phase is Phase.ADMITTING
    assert sentence(found).startswith("All preflight checks are met; once ClusterVersion blocks upgrades, ")


def test_converging_begins_with_the_components_and_how_long_it_usually_takes() -> None:
    found = worlds.decide(following(ingress_controller=facts.IngressController(None, 1)), now=AFTER)
    assert sentence(found) == (
        "23 of 24 components updated (since 2026-03-01T12:00:00Z, typically 25-75 min). "
        "1 of 20 convergence checks not met: RouterReplicas (1 of 2)"
    )
    changed = worlds.converging()
    assert changed.message is not None
    assert changed.message.startswith("7 of 24 components updated (since 2026-03-01T12:00:00Z, typically 25-75 min). ")
    assert " convergence checks not met: " in changed.message


def test_converging_says_for_how_long_all_has_to_stay_met() -> None:
    assert sentence(worlds.decide(following(), now=AFTER)).endswith(
        "All convergence checks are met; waiting 60 s for all of them to stay met"
    )
    override = worlds.decide(following(), worlds.term(settle_seconds=5), AFTER)
    assert override.phase is Phase.CONVERGING
    assert sentence(override).endswith("; waiting 5 s for all of them to stay met")


def test_completed_says_what_is_left_to_do() -> None:
    first = worlds.decide(following(), now=AFTER)
    again = worlds.recorded(following(), first.record)
    done = worlds.decide(again, now=AFTER + timedelta(seconds=62))
    assert done.phase is Phase.COMPLETED
    assert sentence(done) == (
        "The transition to HighlyAvailable/HighlyAvailable is completed. Left to do: "
        "TopologyReadAtStart, EtcdBackupOutdated (see status.topologyTransition.advisories)"
    )
    kept = worlds.decide(worlds.recorded(again, done.record), worlds.term(advisories=()), AFTER)
    assert sentence(kept) == "The transition to HighlyAvailable/HighlyAvailable is completed"


def test_disabled_says_why_in_the_record_of_the_request_that_it_clears() -> None:
    waiting = worlds.decide(worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))).record
    known = worlds.recorded(worlds.healthy(), waiting, image_based_install=True)
    found = worlds.decide(known)
    assert found.disabled is not None
    assert found.record is not None
    assert found.record.phase is Phase.IDLE
    assert found.record.message == found.disabled.message
    assert "image" in found.disabled.message


def test_what_another_controller_does_goes_on_changing_and_is_not_in_the_record() -> None:
    waiting = worlds.decide(worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))).record
    gates = facts.FeatureGates((("4.20.1", True),))
    native = facts.NativeController(present=True)
    found = worlds.decide(worlds.recorded(worlds.healthy(feature_gates=gates, native_controller=native), waiting))
    assert found.disabled is not None
    assert found.record is not None
    assert found.record.message is not None
    assert found.disabled.message.startswith(found.record.message)
    assert "Its transition is " in found.disabled.message
    assert "Its transition is " not in found.record.message


def test_a_topology_that_was_set_back_says_what_happened_who_did_it_and_what_to_do() -> None:
    known = worlds.recorded(worlds.healthy(), worlds.converging(), topology_writer="kubectl-edit")
    assert sentence(worlds.decide(known)) == (
        "Stopped: Status topology was HighlyAvailable/HighlyAvailable and is SingleReplica/SingleReplica now; it was "
        "written by field manager kubectl-edit. Find out why. Nothing is written until the request is removed and made "
        'again. Remove it with: oc patch infrastructure cluster --type merge -p \'{"spec":{"desiredTopology":null}}\''
    )


@pytest.mark.parametrize(
    ("here", "platform"), [("HighlyAvailableArbiter", "None"), ("DualReplica", "None"), ("SingleReplica", "AWS")]
)
def test_where_no_transition_leads_from_it_nobody_is_sent_to_make_the_request_again(here: str, platform: str) -> None:
    known = worlds.recorded(
        worlds.healthy(), worlds.converging(), control_plane=here, infrastructure="SingleReplica", platform=platform
    )
    text = sentence(worlds.decide(known))
    assert (
        f"removed; no transition leads from {here}/SingleReplica to HighlyAvailable. Remove it with: oc patch" in text
    )
    assert "again" not in text


# Danger, and what has to be done


def test_two_voters_are_said_at_once_before_and_after_the_change() -> None:
    before = worlds.decide(worlds.healthy(etcd_endpoints=TWO))
    assert before.phase is Phase.PENDING
    assert sentence(before).endswith(f"EtcdVotingMembers (2 of 3). {DANGER}")
    after = worlds.decide(following(etcd_endpoints=TWO), now=AFTER)
    assert f"min). {DANGER}. 2 of 20 convergence checks not met: " in sentence(after)
    assert DANGER not in sentence(worlds.decide(worlds.healthy(control_plane_nodes=DRAINED)))


def test_the_command_that_a_check_waits_for_stands_last_and_whole() -> None:
    """Also where an upgrade has begun: who copies the rest of the line has the command and nothing else."""
    version = worlds.version(progressing="True")
    found = worlds.decide(following(ingress_controller=PINNED, cluster_version=version, etcd_endpoints=TWO), now=AFTER)
    assert found.record is not None
    pinned = next(item for item in found.record.advisories if item.name == AdvisoryName.ROUTER_REPLICAS_PINNED)
    assert "An upgrade from 4.20.1 to 4.20.1 is under way. 1 action required: " in sentence(found)
    assert sentence(found).endswith(f": {pinned.command}")


def test_what_nothing_waits_for_is_no_action_required() -> None:
    found = worlds.decide(following(etcd=worlds.etcd(8, EtcdMembersDegraded="True")), now=AFTER)
    assert found.record is not None
    assert [item.name for item in found.record.advisories] != []
    assert "action" not in sentence(found)


def test_what_waits_for_other_checks_asks_for_no_action_of_its_own() -> None:
    """Right after the deadline nothing may have begun: restarting three operators is not what helps then."""
    late = worlds.DEADLINE
    known = worlds.moved(worlds.healthy(late), worlds.converging())
    found = worlds.decide(known, now=late)
    assert found.record is not None
    assert AdvisoryName.TOPOLOGY_READ_AT_START in [item.name for item in found.record.advisories]
    stable = next(result for result in found.results if result.name is CheckName.CLUSTER_OPERATORS_STABLE)
    assert not stable.met
    assert assessment.required(found.record.advisories, found.results) == ""
    assert "action" not in sentence(found)


def test_half_a_command_is_never_printed() -> None:
    long = Advisory(name=AdvisoryName.ROUTER_REPLICAS_PINNED, message="m", command="oc x " * 300)
    waits = CheckResult(CheckName.ROUTER_REPLICAS, CheckStatus.UNMET, f"see advisory {long.name}")
    assert assessment.required([long], [waits]) == "1 action required: see advisory RouterReplicasPinned"
    other = Advisory(name=AdvisoryName.TOPOLOGY_READ_AT_START, message="m", command="oc delete")
    both = dataclasses.replace(waits, message=f"see {other.name} and {long.name}")
    assert assessment.required([other, long], [both]) == "2 actions required, first: oc delete"
    assert assessment.required([other], [waits]) == ""


def test_the_check_with_a_known_action_is_named_although_another_has_failed_for_longer() -> None:
    late = worlds.DEADLINE
    console = next(key for key in following().operands if "console/console" in key)
    ill = dict(following().operands)
    ill[console] = dataclasses.replace(ill[console], ready=0, available=0)  # type: ignore[type-var] # a workload
    first = worlds.decide(following(operands=ill), now=AFTER)
    known = worlds.recorded(following(operands=ill, ingress_controller=PINNED), first.record)
    lease = worlds.healthy(late).etcd_lease
    found = worlds.decide(dataclasses.replace(known, etcd_lease=lease), worlds.term(since=AFTER), late)
    assert found.degraded is not None
    assert found.record is not None
    assert found.record.problem is not None
    assert found.record.problem.message == found.degraded.message
    pinned = next(item for item in found.record.advisories if item.name == AdvisoryName.ROUTER_REPLICAS_PINNED)
    assert "Blocked by RouterReplicas: " in found.degraded.message
    assert found.degraded.message.endswith(f". Action required: {pinned.command}")


def test_an_event_has_the_whole_command_or_none() -> None:
    """Its note is cut at 1024 bytes."""
    late = worlds.DEADLINE
    first = worlds.decide(following(ingress_controller=PINNED), now=AFTER)
    lease = worlds.healthy(late).etcd_lease
    known = dataclasses.replace(worlds.recorded(following(ingress_controller=PINNED), first.record), etcd_lease=lease)
    found = worlds.decide(known, worlds.term(since=AFTER), late)
    note = next(item.note for item in found.happened if item.reason is EventReason.TRANSITION_STUCK)
    assert found.degraded is not None
    assert (note, len(note.encode()) <= 1024) == (found.degraded.message, True)
    long = f"Overdue. Blocked by A: {'m' * 900}. Action required: {'oc ' * 50}"
    assert convergence._noted(long) == f"Overdue. Blocked by A: {'m' * 900}"


# How far a check is


def finding(name: str, have: int, wanted: int, status: CheckStatus = CheckStatus.UNMET) -> Finding:
    return Finding("Deployment", name, status, "text", count=Count(have, wanted, "replicas"))


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ((finding("a", 1, 2), finding("b", 5, 2, CheckStatus.MET)), " (3 of 4)"),
        ((finding("a", 2, 2),), ""),
        ((finding("a", 1, 2), Finding("PodDisruptionBudget", "b", CheckStatus.UNMET, "text")), ""),
        ((finding("empty", 0, 0, CheckStatus.MET), finding("a", 0, 3)), " (0 of 3)"),
        ((), ""),
    ],
    ids=["too many make up for nothing", "all there and still not met", "no number", "nothing to count", "no objects"],
)
def test_a_check_is_as_far_as_its_objects_are_together(findings: tuple[Finding, ...], expected: str) -> None:
    answer = CheckResult(CheckName.CONSOLE_REPLICAS, CheckStatus.UNMET, "m", findings)
    assert assessment.unmet([answer], "convergence") == f"1 of 1 convergence checks not met: ConsoleReplicas{expected}"


# How often it is written


def test_time_alone_never_changes_the_sentence() -> None:
    """One that did would be a write of Infrastructure by the minute."""
    for known in (worlds.healthy(AFTER, control_plane_nodes=DRAINED), following(ingress_controller=PINNED)):
        first = worlds.decide(known, now=AFTER)
        later = worlds.decide(worlds.recorded(known, first.record), now=AFTER + timedelta(seconds=100))
        assert (later.steps, sentence(later)) == ((Step.REPORT,), sentence(first))


def test_a_newer_sentence_waits_for_its_minute_and_is_shown_at_once() -> None:
    known = following(ingress_controller=PINNED)
    first = worlds.decide(known, now=AFTER)
    assert first.record is not None
    moved = worlds.recorded(following(ingress_controller=facts.IngressController(None, 1)), first.record)
    term = worlds.term(writes=dataclasses.replace(worlds.term().writes, at=AFTER), latest=first.record)
    soon = AFTER + timedelta(seconds=10)
    found = worlds.decide(moved, term, soon)
    assert sentence(found) != sentence(first)
    assert found.steps == (Step.REPORT,)
    assert found.look_again == pytest.approx(50.05)
    due = worlds.decide(moved, term, AFTER + timedelta(seconds=61))
    assert due.steps == (Step.SAVE, Step.REPORT)


def test_it_always_fits_the_record() -> None:
    asked = [check for check in CheckName if Stage.CONVERGENCE in registry.TRAITS[check].stages]
    results = [CheckResult(check, CheckStatus.UNKNOWN, "m" * MESSAGE_LIMIT) for check in asked]
    left = [Advisory(name=name, message="m", command="c" * 1024) for name in AdvisoryName]
    named = [dataclasses.replace(result, message=" ".join(AdvisoryName)) for result in results]
    text = assessment.sentences(
        assessment.unmet(results, "convergence"), assessment.TWO_VOTERS, assessment.required(left, named)
    )
    assert len(text) < MESSAGE_LIMIT / 2, "there is room for all the rest, so no command is cut"


# How long it usually takes


def test_this_cluster_s_own_last_time_wins_over_the_estimate() -> None:
    compact = worlds.COMPACT
    last = LastTransition(
        name=compact.name, admitted_time=worlds.NOW, completed_time=worlds.NOW + timedelta(minutes=41, seconds=20)
    )
    assert assessment.typical(compact, last) == "41 min the last time"
    assert assessment.typical(compact, last.model_copy(update={"name": "other"})) == "typically 25-75 min"
    unknown = compact.convergence.model_copy(update={"typical_minutes": None})
    assert assessment.typical(compact.model_copy(update={"convergence": unknown}), None) == ""
    assert assessment.typical(None, last) == ""


def test_while_the_evidence_is_on_its_way_nothing_is_claimed() -> None:
    unread = facts.Unobserved("nodes", "not read yet", awaited=True)
    found = phases.decide(worlds.healthy(control_plane_nodes=unread), worlds.ONLY_COMPACT, worlds.term(), worlds.NOW)
    assert (found.steps, found.note) == ((), "Reading what the checks ask about")
