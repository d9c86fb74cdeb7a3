"""Workloads: as many replicas as the target implies, and what a cluster does not have need not follow."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import OperandBaseline
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus
from topology_controller.observe import facts

from . import measuring, operand_worlds, worlds

CONSOLE, ROUTER = CheckName.CONSOLE_REPLICAS, CheckName.ROUTER_REPLICAS
REGISTRY, SERVERS = CheckName.IMAGE_REGISTRY_REPLICAS, CheckName.API_SERVER_REPLICAS
OAUTH = "deployments.apps/openshift-oauth-apiserver/apiserver"
GONE = facts.Unobserved("it", "NotFound", missing=True)


def console(**changes: Any) -> tuple[CheckStatus, str]:
    found = dataclasses.replace(operand_worlds.workload(2), **changes)
    return measuring.followed().having(measuring.CONSOLE, found).ask(CONSOLE)


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
    status, message = console(**changes)
    assert status is CheckStatus.UNMET
    assert message == (
        f"Wanted: {measuring.CONSOLE} with 2 ready replicas. Found: {measuring.CONSOLE} {reason}. "
        "Look at oc -n openshift-console get deployments.apps console"
    )


def test_more_than_implied_is_fine_and_no_news() -> None:
    three = {"wanted": 3, "updated": 3, "ready": 3, "available": 3}
    assert console(**three)[0] is CheckStatus.MET
    assert console(**{**three, "ready": 2}) == console(**three) == console()


def test_all_that_fall_short_are_named_together() -> None:
    short = dataclasses.replace(operand_worlds.workload(2), ready=1)
    cluster = measuring.followed().having(measuring.CONSOLE, short)
    _, message = cluster.having("deployments.apps/openshift-console/downloads", GONE).ask(CONSOLE)
    assert (
        f"{measuring.CONSOLE} has 1 of 2 ready; deployments.apps/openshift-console/downloads does not exist" in message
    )


def test_what_cannot_be_told_is_said_beside_what_is_wrong() -> None:
    short = dataclasses.replace(operand_worlds.workload(2), ready=1)
    cluster = measuring.followed().having("deployments.apps/openshift-console/downloads", worlds.BROKEN)
    assert cluster.ask(CONSOLE)[0] is CheckStatus.UNKNOWN
    status, message = cluster.having(measuring.CONSOLE, short).ask(CONSOLE)
    assert status is CheckStatus.UNMET
    assert f"and it cannot be told: {worlds.BROKEN}" in message


def test_a_server_on_every_control_plane_node_as_found() -> None:
    fourth = worlds.node(2, name="node-3", addresses=("192.0.2.13",), observed_topology="HighlyAvailable")
    cluster = measuring.followed()
    assert isinstance(cluster.known.control_plane_nodes, tuple)
    cluster = cluster.but(control_plane_nodes=(*cluster.known.control_plane_nodes, fourth))
    status, message = cluster.ask(SERVERS)
    assert status is CheckStatus.UNMET
    assert "deployments.apps/openshift-apiserver/apiserver asks for 3" in message
    assert f"{OAUTH} with 4 ready replicas" in message
    for nobody in (worlds.BROKEN, (), (worlds.BROKEN,)):
        assert cluster.but(control_plane_nodes=nobody).ask(SERVERS)[0] is CheckStatus.UNKNOWN


def test_operators_count_the_nodes_labelled_master() -> None:
    """One that has only the newer label never gets a server, so it must not be waited for."""
    cluster = measuring.followed()
    assert isinstance(cluster.known.control_plane_nodes, tuple)
    newer = worlds.node(2, name="node-3", master=False)
    assert (
        cluster.but(control_plane_nodes=(*cluster.known.control_plane_nodes, newer)).ask(SERVERS)[0] is CheckStatus.MET
    )
    older = facts.OtherNode("node-3", master=True, arbiter=False)
    status, message = cluster.but(other_nodes=(older,)).ask(SERVERS)
    assert status is CheckStatus.UNMET
    assert "with 4 ready replicas" in message
    assert cluster.but(other_nodes=worlds.BROKEN).ask(SERVERS)[0] is CheckStatus.UNKNOWN
    assert cluster.but(other_nodes=(worlds.BROKEN,)).ask(SERVERS)[0] is CheckStatus.UNKNOWN


def test_what_the_cluster_does_not_have_is_met_with_that_reason() -> None:
    version = dataclasses.replace(worlds.version(), known_capabilities=frozenset({"Console"}))
    cluster = measuring.followed().having(measuring.CONSOLE, GONE)
    status, message = cluster.but(cluster_version=version).ask(CONSOLE)
    assert status is CheckStatus.MET
    assert "capability Console is not enabled" in message
    enabled = dataclasses.replace(version, enabled_capabilities=frozenset({"Console"}))
    assert cluster.but(cluster_version=enabled).ask(CONSOLE)[0] is CheckStatus.UNMET
    assert cluster.but(cluster_version=worlds.version()).ask(CONSOLE)[0] is CheckStatus.UNMET, "it knows none"
    assert cluster.but(cluster_version=worlds.BROKEN).ask(CONSOLE)[0] is CheckStatus.UNKNOWN


def test_what_is_not_managed_is_met_or_left_to_its_person() -> None:
    gone = measuring.followed().having(measuring.REGISTRY, GONE)

    def managed(state: str, replicas: int | None = None) -> measuring.Cluster:
        return gone.having(measuring.REGISTRY_CONFIGURATION, facts.Managed(state, replicas))

    status, message = managed("Removed").ask(REGISTRY)
    assert status is CheckStatus.MET
    assert f"{measuring.REGISTRY_CONFIGURATION} has managementState Removed" in message
    assert managed("Managed").ask(REGISTRY)[0] is CheckStatus.UNMET
    alone = managed("Unmanaged").having(measuring.REGISTRY, operand_worlds.workload(1))
    status, message = alone.ask(REGISTRY)
    assert status is CheckStatus.UNMET
    assert "leaves it alone" in message
    assert "scale it yourself" in message
    assert gone.having(measuring.REGISTRY_CONFIGURATION, worlds.BROKEN).ask(REGISTRY)[0] is CheckStatus.UNKNOWN
    assert gone.having(measuring.REGISTRY_CONFIGURATION, GONE).ask(REGISTRY)[0] is CheckStatus.UNMET


def test_what_may_be_missing_and_was_missing_at_the_flip_need_not_follow() -> None:
    gone = measuring.followed().having(OAUTH, GONE)
    status, message = gone.ask(SERVERS)
    assert status is CheckStatus.UNMET
    assert f"{OAUTH} does not exist any more" in message
    status, message = gone.measured_by(operands=(OperandBaseline(name=OAUTH, missing=True),)).ask(SERVERS)
    assert status is CheckStatus.MET
    assert f"{OAUTH} did not exist when the topology moved either" in message


def test_what_may_be_missing_is_unknown_where_nobody_recorded_how_it_was() -> None:
    for cluster in (measuring.followed().unmeasured(), measuring.followed().measured_by(operands=())):
        assert cluster.ask(SERVERS)[0] is CheckStatus.MET, "it is there: nothing has to be measured"
        status, message = cluster.having(OAUTH, GONE).ask(SERVERS)
        assert status is CheckStatus.UNKNOWN
        assert "oc edit infrastructure cluster --subresource=status" in message


def test_what_may_not_be_missing_is_unmet_whatever_was_recorded() -> None:
    gone = measuring.followed().having(measuring.CONSOLE, GONE)
    recorded = gone.measured_by(operands=(OperandBaseline(name=measuring.CONSOLE, missing=True),))
    for cluster in (gone, recorded, gone.unmeasured()):
        status, message = cluster.ask(CONSOLE)
        assert status is CheckStatus.UNMET
        assert f"{measuring.CONSOLE} does not exist" in message


@pytest.mark.parametrize(
    ("asks", "available", "status", "reason"),
    [
        (None, 2, CheckStatus.MET, ""),
        (2, 2, CheckStatus.MET, ""),
        (5, 3, CheckStatus.MET, ""),
        (None, 1, CheckStatus.UNMET, "has 1 of 2 available"),
        (3, 1, CheckStatus.UNMET, "has 1 of 2 available"),
        (1, 1, CheckStatus.UNMET, "asks for 1 explicitly, which nobody will change"),
        (1, 2, CheckStatus.UNMET, "asks for 1 explicitly, which nobody will change"),
        (0, 0, CheckStatus.UNMET, "asks for 0 explicitly, which nobody will change"),
    ],
)
def test_routers(asks: int | None, available: int, status: CheckStatus, reason: str) -> None:
    found, message = measuring.followed().having(measuring.ROUTER, facts.IngressController(asks, available)).ask(ROUTER)
    assert found is status
    assert reason in message
    pinned = asks is not None and asks < 2
    assert (AdvisoryName.ROUTER_REPLICAS_PINNED in message) is pinned
    assert measuring.ROUTER in message


def test_a_registry_with_a_fixed_number_names_its_advisory() -> None:
    one = measuring.followed().having(measuring.REGISTRY, operand_worlds.workload(1))
    status, message = one.having(measuring.REGISTRY_CONFIGURATION, facts.Managed("Managed", 1)).ask(REGISTRY)
    assert status is CheckStatus.UNMET
    assert AdvisoryName.IMAGE_REGISTRY_REPLICAS_FIXED in message
    _, message = one.having(measuring.REGISTRY_CONFIGURATION, facts.Managed("Managed", 2)).ask(REGISTRY)
    assert "advisory" not in message


def test_an_operand_of_a_startup_reader_names_the_advisory_that_starts_it() -> None:
    _, message = measuring.followed().having(OAUTH, operand_worlds.workload(1)).ask(SERVERS)
    assert "Operator authentication reads the topology only when it starts" in message
    assert AdvisoryName.TOPOLOGY_READ_AT_START in message


def test_a_matrix_that_knows_nothing_of_it_lets_nothing_pass() -> None:
    empty = dataclasses.replace(measuring.followed().yardstick, matrix=type(worlds.MATRIX)())
    cluster = dataclasses.replace(measuring.followed(), yardstick=empty)
    assert CONSOLE in cluster.unmet()
    assert cluster.ask(CONSOLE)[0] is CheckStatus.UNKNOWN


NUMBER = st.integers(0, 4)
WORKLOAD = st.builds(
    facts.Workload, NUMBER, observed=st.booleans(), wanted=NUMBER, updated=NUMBER, ready=NUMBER, available=NUMBER
)


@measuring.PATIENT
@given(WORKLOAD, st.none() | NUMBER)
def test_met_means_asked_for_updated_ready_and_available(found: facts.Workload, fixed: int | None) -> None:
    cluster = measuring.followed().having(measuring.REGISTRY_CONFIGURATION, facts.Managed("Managed", fixed))
    status, _ = cluster.having(measuring.REGISTRY, found).ask(REGISTRY)
    enough = min(found.wanted, found.updated, found.ready, found.available) >= 2
    assert (status is CheckStatus.MET) is (found.observed and enough)
