"""Admitting: the echo, the attempt, what holds it back, the change, and what is recorded with it to measure by."""

import dataclasses
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test import sentences

from topology_api.types import Baseline, OperandBaseline
from topology_api.vocabulary import CheckName, ConditionType, EventReason, Phase, Reason
from topology_controller.decide import baseline, leader
from topology_controller.decide.state import Decision, Step
from topology_controller.definitions import model, registry
from topology_controller.observe import catalog, facts

from . import operand_worlds, worlds
from .worlds import WELL, F, failing, reasons, row, said


def test_an_echo_that_does_not_come_in_eight_minutes_ends_the_admission_and_is_named() -> None:
    before = worlds.admitting()
    silent = worlds.version(None)

    def at(seconds: float) -> Decision:
        now = worlds.NOW + timedelta(seconds=seconds)
        known = dataclasses.replace(worlds.healthy(now), cluster_version=silent)
        return worlds.decide(worlds.recorded(known, before), worlds.term(attempt="mine"), now)

    assert at(479).phase is Phase.ADMITTING
    found = at(480)
    assert found.phase is Phase.PENDING
    assert failing(found.record) == [CheckName.UPGRADES_BLOCKED]
    assert said(found, ConditionType.PROGRESSING) == (F, Reason.PREFLIGHT_UNMET)
    assert reasons(found) == [EventReason.TRANSITION_BLOCKED]
    assert found.upgrade_block == worlds.BLOCK


@pytest.mark.parametrize(
    ("after", "echo", "phase"),
    [(1, True, Phase.PENDING), (59, True, Phase.PENDING), (60, True, Phase.ADMITTING), (3600, False, Phase.PENDING)],
)
def test_after_a_timeout_it_backs_off_and_then_waits_for_the_echo(*, after: float, echo: bool, phase: Phase) -> None:
    now = worlds.NOW + timedelta(minutes=8)
    silent = dataclasses.replace(worlds.healthy(now), cluster_version=worlds.version(None))
    pending = worlds.decide(worlds.recorded(silent, worlds.admitting()), worlds.term(attempt="mine"), now).record
    later = now + timedelta(seconds=after)
    known = worlds.healthy(later, cluster_version=worlds.version() if echo else worlds.version(None))
    found = worlds.decide(worlds.recorded(known, pending), worlds.term(attempt="mine"), later)
    assert found.phase is phase
    if phase is Phase.ADMITTING:
        assert worlds.record_of(found).attempt == "next"


def test_the_slowest_of_three_readings_is_what_is_said_of_the_api_server() -> None:
    known = worlds.recorded(worlds.healthy(), worlds.admitting())
    term = worlds.term(attempt="mine", voids=(11.2, 12.5, 40.0))
    assert "reading the evidence took up to 40 s" in worlds.decide(known, term).note


def test_a_foreign_attempt_is_never_taken_over() -> None:
    """A new leader writes an attempt of its own before anything else, so that every older write conflicts."""
    known = worlds.recorded(worlds.healthy(), worlds.admitting(attempt="theirs"))
    for live in (False, True):
        found = worlds.decide(dataclasses.replace(known, live=live), worlds.term(attempt=None))
        assert found.steps[0] is Step.SAVE
        assert Step.CHANGE not in found.steps
        assert worlds.record_of(found).attempt == "next"


@pytest.mark.parametrize(
    "changes",
    [
        {"live": False},
        {"live": True, "own_operator": worlds.own(paused=True)},
        {"live": True, "cluster_version": worlds.version(None)},
    ],
)
def test_no_change_without_live_facts_while_paused_or_without_the_echo(changes: dict[str, Any]) -> None:
    known = dataclasses.replace(worlds.recorded(worlds.healthy(), worlds.admitting()), **changes)
    assert Step.CHANGE not in worlds.decide(known, worlds.term(attempt="mine")).steps


LONG_NAMED = worlds.pool(configuration="x" * 254, wanted_configuration="x" * 254)


@pytest.mark.parametrize(
    ("known", "term", "text"),
    [
        (worlds.healthy(own_operator=worlds.own(paused=True)), worlds.term(), "Paused: no transition begins. "),
        (worlds.healthy(), worlds.term(hold_until=worlds.NOW + timedelta(seconds=5)), "waiting a moment"),
        (worlds.healthy(feature_gates=worlds.BROKEN), worlds.term(), "native controller"),
        (worlds.healthy(native_controller=worlds.BROKEN), worlds.term(), "native controller"),
        (worlds.healthy(machine_config_pools=(LONG_NAMED,)), worlds.term(), "cannot be read"),
        (worlds.healthy(controller_config=worlds.BROKEN), worlds.term(), f"cannot be read now: {worlds.BROKEN}"),
        (worlds.healthy(disturbed=("nodes",)), worlds.term(), "may be old: waiting for the watch of nodes"),
        (worlds.healthy(disturbed=("nodes",), live=True), worlds.term(), "may be old: waiting for the watch of nodes"),
        (
            worlds.healthy(feature_gates=facts.FeatureGates((("4.20.1", True),))),
            worlds.term(since=worlds.NOW - timedelta(seconds=100)),
            "native controller shows up",
        ),
    ],
)
def test_held_back_although_every_check_is_met(known: facts.Facts, term: Any, text: str) -> None:
    found = worlds.decide(known, term)
    assert found.phase is Phase.PENDING
    assert text in found.note
    assert failing(found.record) == []
    assert Step.GATHER not in found.steps


@pytest.mark.parametrize("key", sorted(worlds.healthy().operands.keys() - {source.key for source in catalog.ALL}))
def test_whatever_convergence_would_be_measured_against_has_to_be_read_first(key: str) -> None:
    """Each operand on its own, watched and live; what is asked of it only afterwards needs no figure from before."""
    unread = {**worlds.healthy().operands, key: dataclasses.replace(worlds.BROKEN, what=key)}
    known = worlds.healthy(operands=unread)
    found = worlds.decide(known)
    assert found.phase is Phase.PENDING
    assert key in found.note
    assert row(found) == WELL | {
        "Progressing": (F, Reason.PREFLIGHT_UNMET),
        "Upgradeable": (F, Reason.TRANSITION_PENDING),
    }
    live = dataclasses.replace(worlds.recorded(known, worlds.admitting()), live=True)
    late = worlds.decide(live, worlds.term(attempt="mine"))
    assert (late.phase, Step.CHANGE in late.steps) == (Phase.PENDING, False)
    assert worlds.decide(worlds.recorded(worlds.healthy(), found.record)).phase is Phase.ADMITTING


@pytest.mark.parametrize(("settle", "seconds"), [(None, 60), (600, 60), (5, 5), (0, 1)])
def test_what_the_last_reads_showed_is_believed_for_a_minute(settle: int | None, seconds: float) -> None:
    """Each time anew, and as long each time; shorter only where the settle time is, but never nothing."""
    first = leader.disagreed(worlds.term(settle_seconds=settle), worlds.NOW)
    assert first.hold_until == worlds.NOW + timedelta(seconds=seconds)
    assert first.misled
    later = worlds.NOW + timedelta(minutes=2)
    again = leader.disagreed(first, later)
    assert again.hold_until == later + timedelta(seconds=seconds)


KUBE_API_SERVER = "kubeapiservers.operator.openshift.io/cluster"


def observed(seconds: float, key: str = KUBE_API_SERVER) -> facts.Facts:
    """Everything holds, was read live and is admitted; that operator observed another configuration so long ago."""
    healthy = worlds.healthy()
    pods = dataclasses.replace(
        operand_worlds.static_pods(operand_worlds.REVISION), observed_time=worlds.NOW - timedelta(seconds=seconds)
    )
    known = dataclasses.replace(healthy, operands={**healthy.operands, key: pods}, live=True)
    return worlds.recorded(known, worlds.admitting())


@pytest.mark.parametrize("seconds", [-180, 0, 30, 179])
def test_a_configuration_that_has_just_been_observed_is_waited_for_while_admitting(seconds: float) -> None:
    found = worlds.decide(observed(seconds), worlds.term(attempt="mine"))
    assert found.phase is Phase.ADMITTING
    assert Step.CHANGE not in found.steps
    assert Step.GATHER not in found.steps
    assert f"the configuration of {KUBE_API_SERVER} has just changed" in found.note
    assert found.look_again is not None
    assert found.look_again <= 180 - seconds + 0.05
    for since, waits in ((1, True), (2, False)):
        short = worlds.decide(observed(since), worlds.term(attempt="mine", settle_seconds=2))
        assert (Step.CHANGE not in short.steps) is waits, "who shortens the settle time waits no longer"


def test_an_operator_that_has_not_observed_where_the_change_starts_is_waited_for() -> None:
    """It was stopped while the topology went back: a change now would leave it nothing to do, and no newer revision."""
    known = observed(10_000)
    pods = known.operands[KUBE_API_SERVER]
    assert isinstance(pods, facts.StaticPods)

    def decided(*, single: bool | None) -> Decision:
        changed = dataclasses.replace(pods, observed_single=single)
        operands = {**known.operands, KUBE_API_SERVER: changed}
        return worlds.decide(dataclasses.replace(known, operands=operands), worlds.term(attempt="mine"))

    found = decided(single=False)
    assert found.phase is Phase.ADMITTING
    assert Step.CHANGE not in found.steps
    assert Step.GATHER not in found.steps
    assert f"the operator of {KUBE_API_SERVER} has not observed the current topology yet" in found.note
    assert Step.CHANGE in decided(single=True).steps
    assert Step.CHANGE in decided(single=None).steps, "who says nothing of it is not waited for"


FULL = [*sorted(registry.OPERAND_CHECKS), CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED]
CONSOLE = "deployments.apps/openshift-console/console"
ROUTER = "ingresscontrollers.operator.openshift.io/openshift-ingress-operator/default"
ETCD = "etcds.operator.openshift.io/cluster"


def asking(*checks: CheckName) -> model.Definition:
    """The first definition, with these convergence checks."""
    asked = tuple(model.CheckSpec.model_construct(check=check) for check in checks)
    convergence = worlds.COMPACT.convergence.model_copy(update={"checks": asked})
    return worlds.COMPACT.model_copy(update={"convergence": convergence})


EVERYTHING = asking(*FULL)


def capture(known: facts.Facts, definition: model.Definition = EVERYTHING) -> Baseline | tuple[facts.Unobserved, ...]:
    return baseline.capture(worlds.context(known), definition)


def captured(known: facts.Facts, definition: model.Definition = EVERYTHING) -> Baseline:
    found = capture(known, definition)
    assert isinstance(found, Baseline), str(found)
    return found


def refused(known: facts.Facts, definition: model.Definition = EVERYTHING) -> list[str]:
    found = capture(known, definition)
    assert isinstance(found, tuple), found
    return [str(one) for one in found]


def with_operand(known: facts.Facts, key: str, found: Any) -> facts.Facts:
    return dataclasses.replace(known, operands={**known.operands, key: found})


def operand(found: Baseline, key: str) -> OperandBaseline | None:
    return next((one for one in found.operands if one.name == key), None)


def test_a_healthy_cluster_is_captured_whole():
    found = captured(worlds.healthy())
    assert found.version == "4.20.1"
    assert found.control_plane_observed == "SingleReplica"
    assert [pool.name for pool in found.machine_config_pools] == ["master", "worker"]
    assert found.machine_config_pools[0].configuration == "rendered-master-1"
    assert operand(found, CONSOLE) == OperandBaseline(name=CONSOLE, generation=1, replicas=1, ready=1)
    assert operand(found, ETCD) == OperandBaseline(name=ETCD, revision=operand_worlds.REVISION)
    assert operand(found, ROUTER) == OperandBaseline(name=ROUTER, ready=1)
    budgets = [one.name for one in found.operands if one.name.startswith("poddisruption")]
    assert budgets == [], "what is not there on a single node is nothing to measure against"
    assert {one.name for one in found.cluster_operators} == {
        name for group in worlds.MATRIX.groups for name in group.operators
    }
    assert all(one.settled_time == operand_worlds.LONG_AGO for one in found.cluster_operators)


def test_only_what_the_definition_asks_is_captured_or_needed():
    unread = ("machine_config_pools", "controller_config", "cluster_operators")
    known = worlds.unread(worlds.healthy(operands={}), *unread)
    found = captured(known, asking(CheckName.CLUSTER_OPERATORS_STABLE))
    assert found == Baseline(version="4.20.1")


def missing(key: str) -> facts.Unobserved:
    return facts.Unobserved(key, sentences.MISSING, kind=facts.Kind.MISSING)


def test_an_operand_that_is_another_kind_is_no_measure():
    found = with_operand(worlds.healthy(), CONSOLE, facts.Managed("Managed", 1))
    assert refused(found) == [f"{CONSOLE}: is no Deployment"]


def test_what_the_cluster_does_not_have_is_recorded_as_missing():
    without = dataclasses.replace(worlds.version(), lacks=frozenset({"Console"}))
    known = dataclasses.replace(worlds.healthy(), cluster_version=without)
    found = captured(with_operand(known, CONSOLE, missing(CONSOLE)))
    assert operand(found, CONSOLE) == OperandBaseline(name=CONSOLE, missing=True)
    registry = "deployments.apps/openshift-image-registry/image-registry"
    known = with_operand(
        worlds.healthy(), "configs.imageregistry.operator.openshift.io/cluster", facts.Managed("Removed", None)
    )
    found = captured(with_operand(known, registry, missing(registry)))
    assert operand(found, registry) == OperandBaseline(name=registry, missing=True)


def test_what_would_be_larger_than_allowed_is_refused_and_says_so(monkeypatch: pytest.MonkeyPatch):
    size = len(json.dumps(captured(worlds.healthy()).to_api()))
    monkeypatch.setattr(baseline, "LARGEST", size)
    captured(worlds.healthy())
    monkeypatch.setattr(baseline, "LARGEST", size - 1)
    assert refused(worlds.healthy()) == [f"the baseline: would be larger than {size - 1} bytes"]


NAMES = st.text(max_size=300)


def test_the_control_plane_s_pool_is_kept_among_many_with_long_names() -> None:
    many = tuple(worlds.pool(f"a{index:02}-" + "x" * 200, configuration="r" * 250) for index in range(40))
    kept = captured(worlds.healthy(machine_config_pools=(*many, worlds.pool())))
    assert kept.machine_config_pools[0].name == "master"
    assert 1 < len(kept.machine_config_pools) < 20
    assert len(json.dumps(kept.to_api())) < baseline.LARGEST
    short = tuple(worlds.pool(f"a{index:02}") for index in range(40))
    kept = captured(worlds.healthy(machine_config_pools=(*short, worlds.pool())))
    assert len(kept.machine_config_pools) == 16, "as many as the schema allows"


NUMBERS = st.integers(-(10**3), 10**20)
ODD = st.one_of(
    st.builds(facts.Workload, NUMBERS, st.booleans(), NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.builds(facts.StaticPods, NUMBERS, st.just(())),
)


@given(st.lists(NAMES, max_size=30), NAMES, NAMES, NAMES, ODD)
def test_whatever_the_cluster_looks_like_it_is_small_or_refused(
    names: list[str], configuration: str, version: str, topology: str, odd: facts.Operand
) -> None:
    known = worlds.healthy()
    operands = {key: odd if isinstance(found, type(odd)) else found for key, found in known.operands.items()}
    known = dataclasses.replace(
        known,
        cluster_version=dataclasses.replace(worlds.version(), newest=version or None),
        controller_config=dataclasses.replace(worlds.controller_config("x"), control_plane=topology or None),
        machine_config_pools=tuple(worlds.pool(name, configuration=configuration) for name in ("master", *names)),
        operands=operands,
    )
    found = capture(known)
    if isinstance(found, Baseline):
        assert len(json.dumps(found.to_api())) <= baseline.LARGEST
        assert Baseline.model_validate(found.to_api()) == found
    else:
        assert found
        assert str(found)
