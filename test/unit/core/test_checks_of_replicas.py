"""Workloads: as many replicas as the target implies, and what a cluster does not have need not follow."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import OperandBaseline
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus
from topology_controller.observe import facts

from . import measured_cluster, operand_worlds, worlds

if TYPE_CHECKING:
    from topology_controller.definitions import operands as matrices

CONSOLE, ROUTER = CheckName.CONSOLE_REPLICAS, CheckName.ROUTER_REPLICAS
REGISTRY, SERVERS = CheckName.IMAGE_REGISTRY_REPLICAS, CheckName.API_SERVER_REPLICAS
DOWNLOADS = "deployments.apps/openshift-console/downloads"
OAUTH = "deployments.apps/openshift-oauth-apiserver/apiserver"
GONE = facts.Unobserved("it", "NotFound", missing=True)


def downloads(**changes: Any) -> tuple[CheckStatus, str]:
    found = dataclasses.replace(operand_worlds.workload(2), **changes)
    return measured_cluster.followed().having(DOWNLOADS, found).ask(CONSOLE)


def registry(configuration: facts.Fact[facts.Operand], found: facts.Fact[facts.Operand]) -> tuple[CheckStatus, str]:
    cluster = measured_cluster.followed().having(measured_cluster.REGISTRY_CONFIGURATION, configuration)
    return cluster.having(measured_cluster.REGISTRY, found).ask(REGISTRY)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"wanted": 1}, "asks for 1"),
        ({"observed": False}, "was changed, and its controller has not seen that yet"),
        ({"updated": 1}, "has 1 of 2 updated"),
        ({"ready": 1}, "has 1 of 2 ready"),
        ({"available": 0}, "has 0 of 2 available"),
        ({"wanted": 3, "updated": 3, "ready": 1, "available": 1}, "has 1 of 2 ready"),
    ],
)
def test_a_workload_that_falls_short_says_how(changes: dict[str, Any], reason: str) -> None:
    status, message = downloads(**changes)
    assert status is CheckStatus.UNMET
    assert message == (
        f"Wanted: {DOWNLOADS} with 2 ready replicas. Found: {DOWNLOADS} {reason}. "
        "Look at oc -n openshift-console get deployments.apps downloads"
    )


def test_what_cannot_be_told_is_said_beside_what_is_wrong() -> None:
    short = dataclasses.replace(operand_worlds.workload(2), ready=1)
    cluster = measured_cluster.followed().having(measured_cluster.CONSOLE, worlds.BROKEN)
    assert cluster.ask(CONSOLE)[0] is CheckStatus.UNKNOWN
    status, message = cluster.having(DOWNLOADS, short).ask(CONSOLE)
    assert status is CheckStatus.UNMET
    assert f"and cannot tell: {worlds.BROKEN}" in message


def test_a_server_on_every_control_plane_node_as_found() -> None:
    fourth = worlds.node(2, name="node-3", addresses=("192.0.2.13",), observed_topology="HighlyAvailable")
    cluster = measured_cluster.followed()
    assert isinstance(cluster.known.control_plane_nodes, tuple)
    cluster = cluster.but(control_plane_nodes=(*cluster.known.control_plane_nodes, fourth))
    status, message = cluster.ask(SERVERS)
    assert status is CheckStatus.UNMET
    assert "deployments.apps/openshift-apiserver/apiserver asks for 3" in message
    assert f"{OAUTH} with 4 ready replicas" in message
    for nobody in (worlds.BROKEN, (), (worlds.BROKEN,)):
        assert cluster.but(control_plane_nodes=nobody).ask(SERVERS)[0] is CheckStatus.UNKNOWN


def test_what_the_cluster_does_not_have_is_met_with_that_reason() -> None:
    version = dataclasses.replace(worlds.version(), known_capabilities=frozenset({"Console"}))
    cluster = measured_cluster.followed().having(measured_cluster.CONSOLE, GONE)
    status, message = cluster.but(cluster_version=version).ask(CONSOLE)
    assert status is CheckStatus.MET
    assert "capability Console is not enabled" in message
    enabled = dataclasses.replace(version, enabled_capabilities=frozenset({"Console"}))
    assert cluster.but(cluster_version=enabled).ask(CONSOLE)[0] is CheckStatus.UNMET
    assert cluster.but(cluster_version=worlds.version()).ask(CONSOLE)[0] is CheckStatus.UNMET, "it knows none"
    assert cluster.but(cluster_version=worlds.BROKEN).ask(CONSOLE)[0] is CheckStatus.UNKNOWN


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_registry_has_what_its_configuration_asks_for_whatever_the_topology(count: int) -> None:
    """On the platforms of the definitions its operator writes 1 at its creation, on every topology."""
    asks = facts.Managed("Managed", count)
    assert registry(asks, operand_worlds.workload(count))[0] is CheckStatus.MET
    status, message = registry(facts.Managed("Managed", count + 1), operand_worlds.workload(count))
    assert status is CheckStatus.UNMET
    noun = "replica" if count == 0 else "replicas"
    assert f"Wanted: {measured_cluster.REGISTRY} with {count + 1} ready {noun}. Found: " in message
    assert f"asks for {count}. Look at" in message


def test_a_registry_without_a_readable_number_is_unknown() -> None:
    one = operand_worlds.workload(1)
    for configuration in (worlds.BROKEN, GONE, facts.Managed("Managed", None)):
        assert registry(configuration, one)[0] is CheckStatus.UNKNOWN
    assert "does not say spec.replicas" in registry(facts.Managed("Managed", None), one)[1]
    assert registry(facts.Managed("Managed", 1), GONE)[0] is CheckStatus.UNMET


def test_what_may_be_missing_and_was_missing_at_the_change_need_not_follow() -> None:
    gone = measured_cluster.followed().having(OAUTH, GONE)
    status, message = gone.ask(SERVERS)
    assert status is CheckStatus.UNMET
    assert f"{OAUTH} does not exist any more" in message
    status, message = gone.measured_by(operands=(OperandBaseline(name=OAUTH, missing=True),)).ask(SERVERS)
    assert status is CheckStatus.MET
    assert f"{OAUTH} did not exist when the topology changed either" in message


def test_what_may_be_missing_is_unknown_where_the_record_has_lost_how_it_was() -> None:
    cluster = measured_cluster.followed().unmeasured()
    assert cluster.ask(SERVERS)[0] is CheckStatus.MET, "it is there: nothing has to be measured"
    status, message = cluster.having(OAUTH, GONE).ask(SERVERS)
    assert status is CheckStatus.UNKNOWN
    assert "oc edit infrastructure cluster --subresource=status" in message


@pytest.mark.parametrize(
    "operand",
    [operand for group in worlds.MATRIX.groups for operand in group.operands],
    ids=lambda operand: operand.key,
)
def test_what_a_baseline_does_not_mention_is_in_use_where_it_exists(operand: matrices.Operand) -> None:
    """A newer version has added it to the matrix since the topology changed. Guard budgets are never recorded."""
    group = next(group for group in worlds.MATRIX.groups if operand in group.operands)
    cluster = measured_cluster.followed().without_reaction()
    assert cluster.convergence.baseline is not None
    recorded = cluster.convergence.baseline.operands
    younger = cluster.measured_by(operands=tuple(entry for entry in recorded if entry.name != operand.key))
    assert younger.unmet() == set()
    status, message = younger.having(operand.key, GONE).ask(group.check)
    if operand.kind == "PodDisruptionBudget":
        assert status is CheckStatus.UNMET
        return
    assert status is CheckStatus.MET
    assert f"{operand.key} does not exist, and the record has no entry of it" in message
    assert younger.having(operand.key, GONE).unmet() == set()
    assert younger.having(operand.key, worlds.BROKEN).ask(group.check)[0] is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("asks", "available", "status", "reason"),
    [
        (None, 2, CheckStatus.MET, ""),
        (2, 2, CheckStatus.MET, ""),
        (5, 3, CheckStatus.MET, ""),
        (None, 1, CheckStatus.UNMET, "has 1 of 2 available"),
        (3, 1, CheckStatus.UNMET, "has 1 of 2 available"),
        (1, 1, CheckStatus.UNMET, "has spec.replicas set to 1, which no operator changes"),
        (1, 2, CheckStatus.UNMET, "has spec.replicas set to 1, which no operator changes"),
        (0, 0, CheckStatus.UNMET, "has spec.replicas set to 0, which no operator changes"),
    ],
)
def test_routers(asks: int | None, available: int, status: CheckStatus, reason: str) -> None:
    found, message = (
        measured_cluster.followed()
        .having(measured_cluster.ROUTER, facts.IngressController(asks, available))
        .ask(ROUTER)
    )
    assert found is status
    assert reason in message
    pinned = asks is not None and asks < 2
    assert (AdvisoryName.ROUTER_REPLICAS_PINNED in message) is pinned
    assert measured_cluster.ROUTER in message


def test_a_matrix_that_knows_nothing_of_it_lets_nothing_pass() -> None:
    empty = dataclasses.replace(measured_cluster.followed().convergence, matrix=type(worlds.MATRIX)())
    cluster = dataclasses.replace(measured_cluster.followed(), convergence=empty)
    assert CONSOLE in cluster.unmet()
    assert cluster.ask(CONSOLE)[0] is CheckStatus.UNKNOWN


def with_group(check: CheckName, **changes: Any) -> measured_cluster.MeasuredCluster:
    """A cluster that has followed, by a matrix in which one check has another entry."""
    cluster = measured_cluster.followed()
    groups = tuple(
        group.model_copy(update=changes) if group.check is check else group for group in worlds.MATRIX.groups
    )
    matrix = worlds.MATRIX.model_copy(update={"groups": groups})
    return dataclasses.replace(cluster, convergence=dataclasses.replace(cluster.convergence, matrix=matrix))


def test_a_configuration_of_another_kind_lets_nothing_pass() -> None:
    other = facts.StaticPods(1, ())
    cluster = measured_cluster.followed().having(measured_cluster.REGISTRY_CONFIGURATION, other)
    status, message = cluster.ask(CheckName.IMAGE_REGISTRY_REPLICAS)
    assert status is CheckStatus.UNKNOWN
    assert f"{measured_cluster.REGISTRY_CONFIGURATION}: is not a configuration with a managementState" in message


def test_an_entry_without_operands_lets_nothing_pass() -> None:
    status, message = with_group(CONSOLE, operands=()).ask(CONSOLE)
    assert status is CheckStatus.UNKNOWN
    assert "names no operand for ConsoleReplicas" in message


def test_a_topology_that_the_matrix_has_no_number_for_is_unknown() -> None:
    group = next(one for one in worlds.MATRIX.groups if one.check is CONSOLE)
    nameless = tuple(operand.model_copy(update={"replicas": {}}) for operand in group.operands)
    status, message = with_group(CONSOLE, operands=nameless).ask(CONSOLE)
    assert status is CheckStatus.UNKNOWN
    assert f"{DOWNLOADS}: the operand matrix does not say what topology HighlyAvailable implies for it" in message


NUMBER = st.integers(0, 4)
WORKLOAD = st.builds(
    facts.Workload, NUMBER, observed=st.booleans(), wanted=NUMBER, updated=NUMBER, ready=NUMBER, available=NUMBER
)


@measured_cluster.PATIENT
@given(WORKLOAD)
def test_met_means_asked_for_updated_ready_and_available(found: facts.Workload) -> None:
    status, _ = measured_cluster.followed().having(DOWNLOADS, found).ask(CONSOLE)
    enough = min(found.wanted, found.updated, found.ready, found.available) >= 2
    assert (status is CheckStatus.MET) is (found.observed and enough)
