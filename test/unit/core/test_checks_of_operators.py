"""The other operators: are they at rest, and, after the change, have they been seen to react?"""

from __future__ import annotations

import dataclasses

import pytest

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.checks import catalog, operators
from topology_controller.observe import facts

from . import measured_cluster, operand_worlds, worlds


def ask(check: CheckName, known: facts.Facts) -> tuple[CheckStatus, str]:
    found = catalog.CHECKS[check](worlds.question(known, check))
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


RESTARTING = "SyncLoopRefresh_InProgress"
"""Why the console operator is Progressing after each write of Infrastructure, ours too."""


def progressing(name: str, reason: str, **statuses: str) -> facts.ClusterOperator:
    rest = operator(name, **statuses).conditions
    kept = tuple(one for one in rest if one.type != "Progressing")
    return facts.ClusterOperator(
        name,
        facts.Conditions((*kept, facts.Condition("Progressing", "True", reason))),
        settled_time=operand_worlds.REACTED,
    )


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (progressing("console", "DownloadsDeploymentSync_Failed"), "console (Progressing=True)"),
        (progressing("console", f"RouteSync_Waiting::{RESTARTING}"), "console (Progressing=True)"),
        (progressing("console", RESTARTING, Available="False"), "console (Available=False)"),
        (progressing("console", RESTARTING, Degraded="True"), "console (Degraded=True)"),
        (progressing("dns", RESTARTING), "dns (Progressing=True)"),
    ],
)
def test_whatever_else_it_says_counts(found: facts.ClusterOperator, why: str) -> None:
    status, message = stable(operator(), found)
    assert status is CheckStatus.UNMET
    assert f"Found: {why}." in message


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


STABLE = CheckName.CLUSTER_OPERATORS_STABLE


def test_after_the_change_quiet_is_not_enough() -> None:
    """Nothing is Progressing, and one operator has not looked yet."""
    cluster = measured_cluster.followed().having(measured_cluster.CONSOLE, operand_worlds.workload(1))
    assert cluster.ask(STABLE)[0] is CheckStatus.MET, "it has been busy since: its own check waits for the rest"
    status, message = cluster.without_reaction().ask(STABLE)
    assert status is CheckStatus.UNMET
    assert f"console (has not reacted yet: {measured_cluster.CONSOLE} asks for 1 of 2)" in message


@pytest.mark.parametrize("state", ["Removed", "Unmanaged"])
def test_an_operator_that_was_told_to_keep_off_need_not_react(state: str) -> None:
    cluster = (
        measured_cluster.followed().without_reaction().having(measured_cluster.CONSOLE, operand_worlds.workload(1))
    )
    managed = facts.Managed(state, None)
    assert STABLE not in cluster.having("consoles.operator.openshift.io/cluster", managed).unmet()


def test_static_pods_that_must_get_a_new_revision_show_the_reaction() -> None:
    before = operand_worlds.static_pods(operand_worlds.REVISION)
    cluster = measured_cluster.followed().without_reaction().having(measured_cluster.KUBE_API_SERVER, before)
    assert cluster.unmet() == {CheckName.KUBE_API_SERVER_REVISION, STABLE}
    assert f"{measured_cluster.KUBE_API_SERVER} is still at revision 7" in cluster.ask(STABLE)[1]
    cluster = (
        measured_cluster.followed().without_reaction().having("kubeschedulers.operator.openshift.io/cluster", before)
    )
    assert cluster.unmet() == set(), "no topology makes a new revision of these"


def test_an_upgrade_after_the_change_holds_it_back_and_is_said_when_it_is_over() -> None:
    cluster = measured_cluster.followed()
    status, message = cluster.but(cluster_version=worlds.version(progressing="True")).ask(STABLE)
    assert status is CheckStatus.UNMET
    assert "an upgrade is under way: Because" in message
    for unclear in (
        worlds.version(progressing="Unknown"),
        worlds.BROKEN,
        facts.ClusterVersion("1", facts.Conditions()),
    ):
        assert cluster.but(cluster_version=unclear).ask(STABLE)[0] is CheckStatus.UNKNOWN
    over = dataclasses.replace(worlds.version(), newest="4.20.2")
    status, message = cluster.but(cluster_version=over).ask(STABLE)
    assert status is CheckStatus.MET
    assert "went from version 4.20.1 to 4.20.2" in message
