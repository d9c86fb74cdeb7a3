"""What `plan` prints is what the operator would publish: the same checks, answers, messages, whatever the cluster."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from topology_api.vocabulary import Phase, Stage, Topology
from topology_controller.decide import discovery, phases
from topology_controller.observe import facts
from topology_controller.plugin import errors, simulate

from ..core import worlds
from ..core.strategies import terms, worlds_of_any_kind
from . import replies

if TYPE_CHECKING:
    from topology_controller.decide import leader

TARGETS = st.just("HighlyAvailable") | st.sampled_from([topology.value for topology in Topology])


def _requested(known: facts.Facts, target: str) -> facts.Facts:
    assert isinstance(known.infrastructure, facts.Infrastructure)
    return worlds.with_infrastructure(known, desired=target)


@given(known=worlds_of_any_kind(), term=terms(), target=TARGETS)
def test_the_checks_that_are_planned_are_those_that_the_operator_decides(
    known: facts.Facts, term: leader.LeaderState, target: str
) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    # What a leader holds back for a moment, because its watches were behind, is nothing that a person could ask about;
    # nor is an admission of its own that is about to end with the change.
    leader = dataclasses.replace(term, hold_until=None, attempt=None)
    decided = phases.decide(_requested(known, target), worlds.TRANSITIONS, leader, worlds.NOW)
    own = known.own_operator
    assume(not isinstance(own, facts.Unobserved) or own.missing)
    try:
        found = simulate.requested(known, worlds.TRANSITIONS, target, worlds.NOW)
    except errors.PluginError:
        assert isinstance(known.installed, facts.Installed)
        assert known.installed.lacks
        return
    event(found.verdict.value)
    if decided.phase in {Phase.PENDING, Phase.ADMITTING} and decided.definition is not None:
        assert found.definition == decided.definition
        assert found.results == decided.results
        assert decided.record is not None
        published = [(one.name, one.status.value) for one in decided.record.checks if one.stage is Stage.PREFLIGHT]
        shown = replies.planned(known, target)["checks"]
        assert [(one["name"], one["status"]) for one in shown] == published
        assert [one["message"] for one in shown] == [one.message for one in decided.results]
    else:
        assert found.results == ()
        assert found.verdict is not simulate.Verdict.POSSIBLE
    if decided.disabled is not None:
        # The phase is that of the record then, which is left as it is; what counts is why nothing is done here.
        assert found.verdict is simulate.Verdict.UNSUPPORTED
        assert found.message.startswith(decided.disabled.message)
    elif decided.phase is Phase.UNSUPPORTED and decided.degraded is None:
        assert (found.verdict, found.message) == (simulate.Verdict.UNSUPPORTED, decided.note)
    assert (found.verdict is simulate.Verdict.POSSIBLE) <= all(one.met for one in found.results)


def test_nothing_is_planned_where_the_api_lacks_our_fields() -> None:
    known = dataclasses.replace(worlds.healthy(), installed=facts.Installed("spec.desiredTopology is missing"))
    with pytest.raises(errors.PluginError):
        simulate.requested(known, worlds.TRANSITIONS, "HighlyAvailable", worlds.NOW)


@given(known=worlds_of_any_kind())
def test_what_could_be_asked_for_is_what_the_operator_discovers(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    discovered = discovery.available(known, worlds.TRANSITIONS, worlds.NOW) or ()
    ways = [one for one in replies.overview(known)["transitions"] if not one["elsewhere"]]
    assert [(one["name"], one["verdict"] == "Possible") for one in ways] == [
        (one.name, one.available) for one in discovered
    ]
    assert [one["blockers"] for one in ways] == [
        [{"name": why.name, "status": why.status.value, "message": why.message} for why in one.blockers]
        for one in discovered
    ]


@pytest.mark.parametrize(
    ("known", "target", "verdict", "code"),
    [
        pytest.param(replies.WITHOUT_REQUEST, "HighlyAvailable", "Possible", 0, id="possible"),
        pytest.param(worlds.healthy(), "HighlyAvailable", "Possible", 0, id="requested-already"),
        pytest.param(worlds.healthy(scheduler=worlds.BROKEN), "HighlyAvailable", "CannotTell", 1, id="unreadable"),
        pytest.param(
            worlds.healthy(scheduler=worlds.BROKEN, control_plane_nodes=()), "HighlyAvailable", "Blocked", 3,
            id="unreadable-and-blocked-anyway",
        ),
        pytest.param(replies.WITHOUT_REQUEST, "SingleReplica", "Fulfilled", 0, id="fulfilled"),
        pytest.param(replies.WITHOUT_REQUEST, "DualReplica", "Unsupported", 4, id="no-definition"),
        pytest.param(
            worlds.with_infrastructure(worlds.healthy(), platform="AWS"), "HighlyAvailable", "Unsupported", 4,
            id="another-platform",
        ),
        pytest.param(
            worlds.with_infrastructure(worlds.healthy(), control_plane="External"), "HighlyAvailable", "Unsupported", 4,
            id="hosted",
        ),
        pytest.param(replies.in_phase(Phase.CONVERGING), "HighlyAvailable", "UnderWay", 0, id="under-way"),
        pytest.param(replies.in_phase(Phase.CONVERGING), "SingleReplica", "Blocked", 3, id="no-way-back"),
        pytest.param(replies.in_phase(Phase.COMPLETED), "HighlyAvailable", "Fulfilled", 0, id="completed"),
        pytest.param(
            worlds.healthy(own_operator=worlds.own(paused=True)), "HighlyAvailable", "Blocked", 3, id="paused"
        ),
        pytest.param(
            worlds.recorded(worlds.healthy(), worlds.completed()), "HighlyAvailable", "Blocked", 3, id="overwritten"
        ),
        pytest.param(
            worlds.healthy(own_operator=worlds.BROKEN), "HighlyAvailable", "CannotTell", 1, id="own-operator-unreadable"
        ),
    ],
)  # fmt: skip
def test_every_verdict_has_its_exit_code(known: facts.Facts, target: str, verdict: str, code: int) -> None:
    found = simulate.requested(known, worlds.TRANSITIONS, target, worlds.NOW)
    assert (found.verdict.value, found.verdict.exit_code) == (verdict, code), found.message
    assert found.message


PINNED = facts.IngressController(1, 1)
ROUTERS = (
    """oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{"spec":{"replicas":2}}'"""
)


@pytest.mark.parametrize("desired", [None, "HighlyAvailable"], ids=["unasked", "asked already"])
def test_what_will_wait_for_a_person_is_told_before_the_topology_changes(desired: str | None) -> None:
    """Every real single node: the ingress operator writes spec.replicas when it makes the default controller."""
    known = worlds.with_infrastructure(worlds.healthy(ingress_controller=PINNED), desired=desired)
    found = replies.planned(known)
    assert {one["status"] for one in found["checks"]} == {"Met"}
    assert found["verdict"] == "Possible"
    assert simulate.requested(known, worlds.TRANSITIONS, "HighlyAvailable", worlds.NOW).verdict.exit_code == 0
    assert found["message"].startswith("Possible, but will not complete until: RouterReplicas is met")
    assert found["notCompleteUntil"] == [
        {"check": "RouterReplicas", "advisory": "RouterReplicasPinned", "command": ROUTERS}
    ]
    assert found["advisories"][0]["name"] == "RouterReplicasPinned"
    verdict = replies.printed(found).partition("Preflight")[0]
    assert "Possible, but will not complete until: RouterReplicas is met" in verdict
    assert ROUTERS in verdict


@pytest.mark.parametrize(
    "known",
    [
        worlds.healthy(),
        worlds.healthy(ingress_controller=facts.IngressController(2, 1)),
        worlds.healthy(ingress_controller=PINNED, scheduler=facts.Scheduler(masters_schedulable=False)),
        worlds.healthy(dnsmasq=facts.Present()),
    ],
    ids=["free", "as implied", "blocked anyway", "an advisory that no check waits for"],
)
def test_nothing_is_said_about_waiting_where_no_check_would(known: facts.Facts) -> None:
    found = replies.planned(known)
    assert "notCompleteUntil" not in found
    assert "will not complete" not in found["message"]


def test_one_router_is_no_reason_where_the_definition_does_not_ask_for_more() -> None:
    without = tuple(one for one in worlds.COMPACT.convergence.checks if "Router" not in one.check)
    convergence = worlds.COMPACT.convergence.model_copy(update={"checks": without})
    asked = worlds.COMPACT.model_copy(update={"convergence": convergence})
    known = worlds.healthy(ingress_controller=PINNED)
    found = simulate.requested(known, worlds.TRANSITIONS, "HighlyAvailable", worlds.NOW)
    assert found.left
    assert dataclasses.replace(found, definition=asked).left == ()


def test_a_pause_is_told_although_every_check_is_met() -> None:
    found = replies.planned(worlds.healthy(own_operator=worlds.own(paused=True)))
    assert {one["status"] for one in found["checks"]} == {"Met"}
    assert "topology.openshift.io/paused" in found["message"]


def test_without_the_right_to_read_our_own_operator_all_the_rest_is_still_told() -> None:
    found = replies.planned(worlds.healthy(own_operator=worlds.BROKEN))
    assert {one["status"] for one in found["checks"]} == {"Met"}
    assert "not all could" in found["message"]


def test_a_check_that_only_the_operator_can_ask_is_told_as_it_was_answered() -> None:
    known = worlds.healthy(etcd_members=facts.EtcdMembers(worlds.voices()), scheduler=worlds.BROKEN)
    record = worlds.decide(known, transitions=worlds.DIRECTLY).record
    found = replies.planned(worlds.recorded(worlds.healthy(scheduler=worlds.BROKEN), record))
    assert [(one["name"], one["status"]) for one in found["onlyOperator"]] == [("EtcdMembersDirect", "Met")]
    assert "EtcdMembersDirect" not in {one["name"] for one in found["checks"]}


def test_a_native_controller_that_has_not_shown_up_is_not_waited_for_by_somebody_who_only_asks() -> None:
    known = worlds.healthy(feature_gates=facts.FeatureGates((("4.20.1", True),)))
    assert replies.planned(known)["verdict"] == "Possible"


@pytest.mark.parametrize(
    ("control_plane", "infrastructure", "verdict"),
    [
        ("HighlyAvailable", "HighlyAvailable", "NothingToDo"),
        ("DualReplica", "HighlyAvailable", "NothingToDo"),
        ("HighlyAvailable", "SingleReplica", "Possible"),
        ("External", "HighlyAvailable", "Unsupported"),
    ],
)
def test_a_cluster_that_has_its_topology_has_nothing_to_do(
    control_plane: str, infrastructure: str, verdict: str
) -> None:
    known = worlds.with_infrastructure(
        replies.WITHOUT_REQUEST, control_plane=control_plane, infrastructure=infrastructure
    )
    found = replies.overview(known)
    assert found["verdict"] == verdict or (verdict == "Possible" and found["transitions"])
    assert simulate.Verdict(found["verdict"]).exit_code == {"NothingToDo": 0, "Unsupported": 4}.get(found["verdict"], 0)
    if verdict == "NothingToDo":
        assert "The cluster has its topology" in replies.printed(found)
