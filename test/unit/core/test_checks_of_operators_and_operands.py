"""The other operators and what they run; and what holds for the words of every check."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import Baseline, PoolBaseline
from topology_api.vocabulary import CheckName, CheckStatus, Stage
from topology_controller.checks import catalog, operators, result
from topology_controller.observe import facts
from topology_controller.transitions import model

from . import worlds
from .strategies import worlds_of_any_kind


def ask(check: CheckName, known: facts.Facts, baseline: Baseline | None = None) -> tuple[CheckStatus, str]:
    asked = dataclasses.replace(worlds.question(known, check), yardstick=result.Yardstick(baseline))
    found = catalog.CHECKS[check](asked)
    return found.status, found.message


def stable(*found: facts.Fact[facts.ClusterOperator]) -> tuple[CheckStatus, str]:
    return ask(CheckName.CLUSTER_OPERATORS_STABLE, worlds.healthy(cluster_operators=found))


def operator(name: str = "dns", **statuses: str) -> facts.ClusterOperator:
    return facts.ClusterOperator(
        name, worlds.conditions(**{"Available": "True", "Progressing": "False", "Degraded": "False", **statuses})
    )


@pytest.mark.parametrize(
    ("type_", "status"),
    [
        ("Available", "False"),
        ("Available", "Unknown"),
        ("Progressing", "True"),
        ("Degraded", "True"),
        ("Degraded", "Unknown"),
    ],
)
def test_an_operator_that_is_not_stable_is_named(type_: str, status: str) -> None:
    found, message = stable(operator(), operator("etcd", **{type_: status}))
    assert found is (CheckStatus.UNKNOWN if status == "Unknown" else CheckStatus.UNMET)
    assert f"etcd ({type_}={status})" in message
    assert "dns" not in message


def test_an_operator_that_never_spoke_proves_nothing() -> None:
    mute = facts.ClusterOperator("mute", facts.Conditions())
    found, message = stable(operator(), mute)
    assert found is CheckStatus.UNKNOWN
    assert "mute (Available=absent, Progressing=absent, Degraded=absent)" in message
    found, message = stable(operator("dns", Progressing="True"), mute)
    assert found is CheckStatus.UNMET, "one that says no is enough to know"
    assert "dns (Progressing=True)" in message
    assert "mute (" in message


def test_our_own_operator_does_not_count() -> None:
    assert stable(operator(), operator("topology", Progressing="True"))[0] is CheckStatus.MET
    assert stable(operator("topology"))[0] is CheckStatus.UNKNOWN


def test_no_operators_or_unreadable_ones_prove_nothing() -> None:
    assert stable()[0] is CheckStatus.UNKNOWN
    assert stable(operator(), worlds.BROKEN)[0] is CheckStatus.UNKNOWN
    known = worlds.healthy(cluster_operators=worlds.BROKEN)
    assert ask(CheckName.CLUSTER_OPERATORS_STABLE, known)[0] is CheckStatus.UNKNOWN


def upgrade(found: facts.Fact[facts.ClusterVersion]) -> tuple[CheckStatus, str]:
    return ask(CheckName.NO_UPGRADE_IN_PROGRESS, worlds.healthy(cluster_version=found))


def test_an_upgrade_holds_it_back() -> None:
    status, message = upgrade(worlds.version())
    assert status is CheckStatus.MET
    assert "z-stream" in message
    status, message = upgrade(worlds.version(progressing="True"))
    assert status is CheckStatus.UNMET
    assert "(Because)" in message
    assert upgrade(worlds.version(progressing="Unknown"))[0] is CheckStatus.UNKNOWN
    assert upgrade(facts.ClusterVersion("4.20.1", facts.Conditions()))[0] is CheckStatus.UNKNOWN
    assert upgrade(worlds.BROKEN)[0] is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (worlds.BLOCK, CheckStatus.MET),
        (f"Cluster operator dns should not be upgraded; topology: {worlds.BLOCK}\n* and more", CheckStatus.MET),
        ("Cluster operator dns should not be upgraded", CheckStatus.UNMET),
        (operators.block_message("sno-to-ha-compact", "DualReplica"), CheckStatus.UNMET),
        (operators.block_message("another", "HighlyAvailable"), CheckStatus.UNMET),
        ("", CheckStatus.UNMET),
        (None, CheckStatus.UNMET),
    ],
)
def test_the_echo_is_ours_or_none(message: str | None, status: CheckStatus) -> None:
    assert operators.upgrades_blocked(worlds.version(message), worlds.BLOCK).status is status


@pytest.mark.parametrize("status", ["True", "Unknown"])
def test_our_message_without_the_status_is_no_echo(status: str) -> None:
    said = facts.Condition("Upgradeable", status, "", worlds.BLOCK)
    found = facts.ClusterVersion("4.20.1", facts.Conditions((said,)))
    assert operators.upgrades_blocked(found, worlds.BLOCK).status is CheckStatus.UNMET


def test_without_cluster_version_the_echo_is_unknown() -> None:
    assert operators.upgrades_blocked(worlds.BROKEN, worlds.BLOCK).status is CheckStatus.UNKNOWN


BASELINE = Baseline(machine_config_pools=(PoolBaseline(name="master", configuration="rendered-master-1"),))


def pools(*found: facts.Fact[facts.MachineConfigPool], baseline: Baseline | None = BASELINE) -> tuple[CheckStatus, str]:
    return ask(CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT, worlds.healthy(machine_config_pools=found), baseline)


NEW = {"wanted_configuration": "rendered-master-2", "configuration": "rendered-master-2"}


def test_a_pool_that_is_equal_to_itself_may_not_have_heard_of_the_flip() -> None:
    status, message = pools(worlds.pool())
    assert status is CheckStatus.UNMET
    assert "still at rendered-master-1" in message
    assert pools(worlds.pool(**NEW))[0] is CheckStatus.MET


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"degraded": 1}, "1 degraded machines"),
        ({"observed": False}, "has not seen its newest generation"),
        ({"configuration": ""}, "no rendered configuration"),
        ({"wanted_configuration": "", "configuration": ""}, "no rendered configuration"),
        (
            {"configuration": "rendered-master-1", "updated": 1},
            "rolling out rendered-master-2, 1 of 3 machines updated",
        ),
        ({"updated": 2}, "2 of 3 machines updated"),
        ({"ready": 2}, "2 of 3 machines ready"),
    ],
)
def test_a_pool_that_has_not_rolled_out_says_why(changes: dict[str, Any], reason: str) -> None:
    status, message = pools(worlds.pool(**{**NEW, **changes}))
    assert status is CheckStatus.UNMET
    assert reason in message


def test_the_worker_pool_need_not_change_but_must_be_rolled_out() -> None:
    assert pools(worlds.pool(**NEW), worlds.pool("worker", machines=0, updated=0, ready=0))[0] is CheckStatus.MET
    assert pools(worlds.pool(**NEW), worlds.pool("worker", ready=0))[0] is CheckStatus.UNMET


def test_pools_that_are_not_there_or_cannot_be_read_prove_nothing() -> None:
    assert pools()[0] is CheckStatus.UNKNOWN
    assert pools(worlds.pool("worker"))[0] is CheckStatus.UNKNOWN
    assert pools(worlds.pool(**NEW), worlds.BROKEN)[0] is CheckStatus.UNKNOWN
    known = worlds.healthy(machine_config_pools=worlds.BROKEN)
    assert ask(CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT, known)[0] is CheckStatus.UNKNOWN


def routers(found: facts.Fact[facts.IngressController]) -> tuple[CheckStatus, str]:
    return ask(CheckName.ROUTER_REPLICAS, worlds.healthy(ingress_controller=found))


def test_routers() -> None:
    assert routers(facts.IngressController(None, 2))[0] is CheckStatus.MET
    assert routers(facts.IngressController(1, 2))[0] is CheckStatus.MET
    status, message = routers(facts.IngressController(None, 1))
    assert status is CheckStatus.UNMET
    assert "oc " not in message
    status, message = routers(facts.IngressController(1, 1))
    assert status is CheckStatus.UNMET
    assert """patch ingresscontroller default --type merge -p '{"spec":{"replicas":2}}'""" in message
    assert routers(worlds.BROKEN)[0] is CheckStatus.UNKNOWN


def test_every_check_that_a_definition_may_ask_has_an_answer() -> None:
    assert set(catalog.CHECKS) == set(model.STAGES)
    (definition,) = worlds.DIRECTLY.definitions
    asked = {spec.check for stage in Stage for spec in definition.stages[stage]}
    assert asked == set(catalog.CHECKS)


def test_checks_do_not_stop_each_other() -> None:
    """Everything unread: as many answers as questions, in their order, none of them Met."""
    for stage in Stage:
        found = catalog.ask(stage, worlds.COMPACT, facts.Facts(), worlds.NOW)
        assert [answer.name for answer in found] == [spec.check for spec in worlds.COMPACT.stages[stage]]
        assert {answer.status for answer in found} == {CheckStatus.UNKNOWN}


@given(worlds_of_any_kind(), st.integers(0, 10**6), st.sampled_from(Stage))
def test_the_same_verdict_has_the_same_words_whenever_it_is_asked(known: facts.Facts, later: int, stage: Stage) -> None:
    """No age, counter or time is in a message: nothing is rewritten without news."""
    first = catalog.ask(stage, worlds.COMPACT, known, worlds.NOW, result.Yardstick(BASELINE))
    second = catalog.ask(
        stage, worlds.COMPACT, known, worlds.NOW + timedelta(seconds=later), result.Yardstick(BASELINE)
    )
    for one, other in zip(first, second, strict=True):
        assert one.name is other.name
        if one.status is other.status and one.name is not CheckName.ETCD_OPERATOR_ALIVE:
            assert one.message == other.message
        if one.name is CheckName.ETCD_OPERATOR_ALIVE and one.status is other.status is not CheckStatus.UNKNOWN:
            # Unknown may mean the future at first and the past later.
            assert one.message == other.message
