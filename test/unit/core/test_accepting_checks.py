"""What somebody declares not to come: past the deadline a transition is completed without it, and says so for ever."""

from __future__ import annotations

import dataclasses
import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import Accepted
from topology_api.vocabulary import CheckName, ConditionType, Phase, Reason
from topology_controller.definitions.registry import ACCEPTABLE_CHECKS
from topology_controller.observe import facts, parse
from topology_controller.report import conditions, log

from . import operand_worlds, worlds
from .outcomes import T, failing, said

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyTransition
    from topology_controller.decide.decision import Decision

DEADLINE = worlds.DEADLINE
LATER = DEADLINE + timedelta(minutes=5)
PINNED = facts.IngressController(1, 1)
ROUTER = CheckName.ROUTER_REPLICAS


def entry(check: str = ROUTER, attempt: str = "mine", reason: str = "one router is enough here") -> facts.Acceptance:
    return facts.Acceptance(check, attempt, reason)


def asked(*items: facts.Acceptance) -> facts.Acceptances:
    return facts.Acceptances(items or (entry(),))


def followed(record: TopologyTransition | None, now: datetime, **changes: Any) -> facts.Facts:
    """Everybody has followed long ago, but for what the changes say."""
    known = worlds.moved(worlds.converged(worlds.healthy(now)), record)
    return dataclasses.replace(known, **changes)


def stuck(now: datetime = LATER, **changes: Any) -> tuple[TopologyTransition, facts.Facts]:
    """A router that is pinned, found out a minute after the change: the record, and what is known now."""
    early = worlds.NOW + timedelta(minutes=1)
    changes = {"ingress_controller": PINNED, **changes}
    quiet = {name: value for name, value in changes.items() if name not in {"acceptances", "disturbed"}}
    record = worlds.decide(followed(worlds.converging(), early, **quiet), now=early).record
    assert record is not None
    return record, followed(record, now, **changes)


def message(decision: Decision, type_: ConditionType = ConditionType.PROGRESSING) -> str:
    return next(one.message for one in conditions.of(decision) if one.type is type_)


def accepted(decision: Decision) -> list[str]:
    assert decision.record is not None
    return [one.name for one in decision.record.accepted]


def test_before_the_deadline_nothing_is_taken_up_and_it_is_looked_at_again_when_that_has_passed() -> None:
    at = DEADLINE - timedelta(seconds=10)
    _, known = stuck(at, acceptances=asked())
    found = worlds.decide(known, now=at)
    assert found.phase is Phase.CONVERGING
    assert accepted(found) == []
    (sentence,) = found.ignored
    assert sentence == "RouterReplicas in ConfigMap topology-accepted-checks is ignored: the deadline has not passed"
    assert found.look_again == pytest.approx(10.05)


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        (entry(attempt="another"), "it is for attempt another, and mine is under way"),
        (entry(CheckName.CONSOLE_REPLICAS), "it is Met"),
        (facts.Acceptance(ROUTER, wrong="it is nonsense"), "it is nonsense"),
        *(
            (entry(name), "only APIServerReplicas, RouterReplicas, ")
            for name in sorted(set(CheckName) - {*ACCEPTABLE_CHECKS})
        ),
        (entry("no-check-at-all"), "only APIServerReplicas, RouterReplicas, "),
    ],
    ids=lambda one: f"{one.check}-{one.attempt}" if isinstance(one, facts.Acceptance) else "",
)
def test_anything_else_is_ignored_and_the_reason_is_told(given_: facts.Acceptance, why: str) -> None:
    _, known = stuck(acceptances=asked(given_))
    found = worlds.decide(known, now=LATER)
    assert accepted(found) == []
    assert said(found, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)
    (sentence,) = found.ignored
    assert f" in ConfigMap topology-accepted-checks is ignored: {why}" in sentence


def test_nothing_of_the_control_plane_can_be_accepted() -> None:
    """Said by hand: a check that is added has to be thought about here."""
    assert {str(name) for name in ACCEPTABLE_CHECKS} == {
        "APIServerReplicas", "RouterReplicas", "ConsoleReplicas", "OAuthReplicas", "MonitoringReplicas",
        "ImageRegistryReplicas", "PackageServerReplicas", "MultusAdmissionReplicas", "GuardPodDisruptionBudgets",
    }  # fmt: skip


@pytest.mark.parametrize("check", [*ACCEPTABLE_CHECKS], ids=str)
def test_each_of_the_others_can_be_accepted_also_when_its_operator_has_not_reacted(check: CheckName) -> None:
    """An operator that does nothing is what ClusterOperatorsStable would wait for instead."""
    group = worlds.MATRIX.group(check)
    assert group is not None
    early = worlds.NOW + timedelta(minutes=1)
    before = followed(worlds.converging(), early)
    silent = tuple(
        dataclasses.replace(one, settled_time=operand_worlds.LONG_AGO) if one.name in group.operators else one
        for one in worlds.cluster_operators(operand_worlds.REACTED)
    )
    behind = dict(before.operands)
    for key in {one.key for one in group.operands} & set(behind):
        found = behind[key]
        behind[key] = facts.DisruptionBudget(None)
        if isinstance(found, facts.Workload):
            behind[key] = dataclasses.replace(found, wanted=1, updated=1, ready=1, available=1)
    changes: dict[str, Any] = {"operands": behind, "cluster_operators": silent}
    if check is ROUTER:
        changes["ingress_controller"] = facts.IngressController(None, 1)
    first = worlds.decide(dataclasses.replace(before, **changes), now=early)
    # No operator reports guard budgets, and no topology makes the registry's react.
    unwatched = {CheckName.GUARD_POD_DISRUPTION_BUDGETS, CheckName.IMAGE_REGISTRY_REPLICAS}
    silent_too = [] if check in unwatched else [CheckName.CLUSTER_OPERATORS_STABLE]
    assert sorted(failing(first.record)) == sorted([check, *silent_too])
    taken = worlds.decide(followed(first.record, LATER, acceptances=asked(entry(check)), **changes), now=LATER)
    assert accepted(taken) == [check]
    # What waited for the operator to react was Unmet as well, and has to stay quiet first.
    end = LATER + timedelta(seconds=worlds.COMPACT.convergence.settle_seconds + 1)
    done = worlds.decide(followed(taken.record, end, **changes), now=end)
    assert done.phase is Phase.COMPLETED, message(done)
    assert failing(done.record) == [check]


@pytest.mark.parametrize(
    "unread",
    [
        worlds.MISSING,
        worlds.BROKEN,
        facts.NOT_READ,
        facts.Unobserved("configmaps/one", "malformed: data should be an object, found str", malformed=True),
    ],
    ids=lambda one: one.why[:9],
)
def test_what_cannot_be_read_accepts_nothing_and_is_no_trouble(unread: facts.Unobserved) -> None:
    _, known = stuck(acceptances=unread)
    found = worlds.decide(known, now=LATER)
    assert (found.phase, accepted(found), found.ignored) == (Phase.CONVERGING, [], ())
    assert said(found, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)


def read(**data: str) -> facts.Acceptances:
    return parse.acceptances({"metadata": {"name": "topology-accepted-checks"}, "data": data})


def test_an_entry_says_attempt_and_reason() -> None:
    value = json.dumps({"attempt": "mine", "reason": "one\nrouter  is enough", "more": 1})
    assert read(RouterReplicas=value).items == (facts.Acceptance("RouterReplicas", "mine", "one router is enough"),)
    assert read(RouterReplicas='{"attempt":"mine"}').items == (facts.Acceptance("RouterReplicas", "mine"),)
    assert parse.acceptances({"metadata": {}}).items == ()
    assert parse.acceptances({"metadata": {}, "data": None}).items == ()


@pytest.mark.parametrize(
    "value",
    ["", "mine", "[]", "null", "{}", '{"attempt":""}', '{"attempt":7}', '{"attempt":"mine","reason":[]}', "{",
     "[" * 100_000, '{"attempt":' + "9" * 5000 + "}"],
    ids=lambda value: value[:12],
)  # fmt: skip
def test_one_that_makes_no_sense_says_so_and_spoils_no_other(value: str) -> None:
    found = read(ConsoleReplicas=value, RouterReplicas='{"attempt":"mine"}')
    assert [one.wrong for one in found.items] == ['its value is not {"attempt": ..., "reason": ...} as JSON', ""]


def test_each_is_told_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    spoken = log.DecisionLog()

    def told(decision: Decision) -> list[str]:
        caplog.clear()
        spoken.decided(decision)
        return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]

    pools = (worlds.pool(),)
    wrong = entry(CheckName.ETCD_HEALTHY)
    _, known = stuck(machine_config_pools=pools, acceptances=asked(wrong))
    before = worlds.decide(known, now=LATER)
    assert len(told(before)) == 1
    assert told(before) == []
    taken = worlds.decide(dataclasses.replace(known, acceptances=asked(wrong, entry())), now=LATER)
    (sentence,) = told(taken)
    assert sentence.startswith(
        "check RouterReplicas is accepted and not waited for any more: one router is enough here; it says: Wanted: "
    )
    assert told(taken) == []
    # A successor finds it in the record: no news but what it ignores itself.
    known = followed(taken.record, LATER, ingress_controller=PINNED, machine_config_pools=pools, acceptances=asked())
    spoken = log.DecisionLog()
    assert told(worlds.decide(known, now=LATER)) == []


def test_a_record_that_somebody_has_tampered_with_goes_without_nothing_of_the_control_plane() -> None:
    """Whoever may write the record may do worse; but what it says must not be taken for acceptable."""
    record, _ = stuck()
    forged = Accepted(name=CheckName.ETCD_HEALTHY, message="", accepted_time=LATER)
    ill = worlds.etcd(8, EtcdMembersDegraded="True")
    found = worlds.decide(followed(record.model_copy(update={"accepted": (forged,)}), LATER, etcd=ill), now=LATER)
    assert found.phase is Phase.CONVERGING
    assert message(found).endswith(". 1 of 20 convergence checks not met: EtcdHealthy")
