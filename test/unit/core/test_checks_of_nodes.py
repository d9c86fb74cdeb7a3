"""Who may carry the control plane: one node has to pass every question, and the message names its first failure."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.checks import catalog, result
from topology_controller.checks import nodes as nodes_module
from topology_controller.observe import facts

from . import worlds

if TYPE_CHECKING:
    from topology_controller.definitions import model

GIB = 2**30


def ask(check: CheckName, known: facts.Facts, **spec: Any) -> tuple[CheckStatus, str]:
    found = catalog.CHECKS[check](worlds.question(known, check, **spec))
    assert found.name is check
    return found.status, found.message


def nodes(known: facts.Facts, **spec: Any) -> tuple[CheckStatus, str]:
    return ask(CheckName.CONTROL_PLANE_NODES, known, **spec)


def with_third(**changes: Any) -> facts.Facts:
    third = worlds.node(2, **changes)
    return dataclasses.replace(worlds.healthy(), control_plane_nodes=(worlds.node(0), worlds.node(1), third))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"master": False}, "lacks label node-role.kubernetes.io/master"),
        ({"deleting": True}, "is being deleted"),
        ({"ready": "False"}, "Ready=False"),
        ({"ready": "absent"}, "Ready=absent"),
        ({"cordoned": True}, "is cordoned"),
        ({"pressure": ("DiskPressure", "PIDPressure")}, "DiskPressure=True, PIDPressure=True"),
        ({"kubelet_version": None}, "kubelet version is not known"),
        ({"kubelet_version": "v1.\u00b2.3"}, "kubelet version is not known"),
        ({"kubelet_version": "v1.33.9"}, "kubelet 1.33 while others have 1.34"),
        ({"memory_bytes": None}, "capacity is not known"),
        ({"cpus": 3.5}, "has 3.5 of 4 CPUs"),
        ({"memory_bytes": 8 * GIB}, "has 8.0 of 14.5 GiB memory"),
        ({"addresses": ("192.0.2.99",)}, "has no voting etcd member"),
        ({"worker": False}, "lacks label node-role.kubernetes.io/worker"),
        (
            {"taints": (facts.Taint("node-role.kubernetes.io/master", "", "NoSchedule"),)},
            "has taint node-role.kubernetes.io/master:NoSchedule",
        ),
        (
            {"master": False, "master_has_value": True},
            "label node-role.kubernetes.io/master has a value, operators select it without one",
        ),
    ],
)
def test_the_first_reason_of_a_node_that_falls_short_is_named(changes: dict[str, Any], reason: str) -> None:
    status, message = nodes(with_third(**changes))
    assert status is CheckStatus.UNMET
    assert f"node-2 ({reason})" in message
    assert message.startswith("Wanted: 3 eligible control-plane nodes. Found: 2: node-0, node-1. Not eligible: node-2 ")


NOT_COMPACT = [one for one in worlds.TRANSITIONS.definitions if one.workers.max != 0]
RESERVED = facts.Taint("node-role.kubernetes.io/infra", "reserved", "NoExecute")


@pytest.mark.parametrize("definition", NOT_COMPACT, ids=lambda one: one.name)
def test_other_taints_only_matter_where_the_control_plane_carries_workloads(definition: model.Definition) -> None:
    asked = next(one for one in definition.preflight if one.check is CheckName.CONTROL_PLANE_NODES)
    tainted = result.CheckContext(with_third(taints=(RESERVED,)), asked, definition, worlds.NOW)
    found = nodes_module.candidates(tainted)
    assert isinstance(found, dict)
    assert found["node-2"] is None


def test_three_ready_and_three_schedulable_need_not_be_the_same_three() -> None:
    """Upstream counts each quality for itself; four nodes with one fault each would pass there."""
    four = (
        worlds.node(0, ready="False"),
        worlds.node(1, cordoned=True),
        worlds.node(2),
        dataclasses.replace(worlds.node(2), name="node-3", addresses=("192.0.2.13",)),
    )
    status, _ = nodes(dataclasses.replace(worlds.healthy(), control_plane_nodes=four))
    assert status is CheckStatus.UNMET


def test_a_candidate_whose_master_label_has_a_value_is_named_and_is_no_worker() -> None:
    known = dataclasses.replace(
        worlds.healthy(),
        control_plane_nodes=(worlds.node(0), worlds.node(1)),
        other_nodes=(facts.OtherNode("node-2", master=False, arbiter=False, master_has_value=True),),
    )
    status, message = nodes(known)
    assert status is CheckStatus.UNMET
    assert "node-2 (label node-role.kubernetes.io/master has a value, operators select it without one)" in message
    assert ask(CheckName.DEDICATED_WORKERS, known)[0] is CheckStatus.MET


def workers(known: facts.Facts, at_least: int = 2) -> tuple[CheckStatus, str]:
    return ask(CheckName.ELIGIBLE_WORKERS, known, atLeast=at_least)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"deleting": True, "ready": "False"}, "is being deleted"),
        ({"pressure": ("DiskPressure",)}, "DiskPressure=True"),
        (
            {"taints": (RESERVED,)},
            f"has taint {RESERVED}, which IngressController default does not tolerate",
        ),
    ],
)
def test_a_worker_that_cannot_carry_infrastructure_is_named_with_its_first_reason(
    changes: dict[str, Any], reason: str
) -> None:
    known = dataclasses.replace(
        worlds.healthy(),
        control_plane_nodes=(worlds.node(0, worker=False),),
        workers=(worlds.worker("w-0"), worlds.worker("w-1", **changes)),
    )
    status, message = workers(known)
    assert status is CheckStatus.UNMET
    assert f"Found: 1: w-0. Not eligible: w-1 ({reason}). Look at" in message
    assert "node-0" not in message, "it is no candidate"
    assert "mastersSchedulable=true" in message


INFRA = "node-role.kubernetes.io/infra="
EXISTS = facts.Toleration("node-role.kubernetes.io/infra", "Exists", "", "")


def set_aside(
    *tolerations: facts.Toleration,
    selector: frozenset[str] = frozenset(),
    taints: tuple[facts.Taint, ...] = (RESERVED,),
) -> facts.Facts:
    """Two infra nodes with these taints and nothing else that could carry infrastructure."""
    infra = [worlds.worker(f"infra-{index}", taints=taints, labels=("disk=fast", INFRA)) for index in range(2)]
    return dataclasses.replace(
        worlds.healthy(),
        control_plane_nodes=(worlds.node(0, worker=False),),
        workers=tuple(infra),
        ingress_controller=facts.IngressController(None, 1, tolerations, selector),
    )


@pytest.mark.parametrize(
    ("selector", "lacks"),
    [
        (frozenset({INFRA}), ""),
        (frozenset({INFRA, "disk=fast"}), ""),
        (frozenset({INFRA, "disk=slow"}), "disk=slow"),
        (frozenset({"disk In (fast, slow)"}), "disk In (fast, slow)"),
    ],
)
def test_a_tainted_node_counts_where_routers_select_it(selector: frozenset[str], lacks: str) -> None:
    status, message = workers(set_aside(EXISTS, selector=selector))
    assert status is (CheckStatus.UNMET if lacks else CheckStatus.MET)
    if lacks:
        assert f"infra-0 (lacks label {lacks}, by which IngressController default selects nodes)" in message


@pytest.mark.parametrize("unread", [worlds.BROKEN, worlds.MISSING, facts.NOT_READ])
def test_while_the_placement_is_not_read_tainted_nodes_do_not_count_and_others_do(unread: facts.Unobserved) -> None:
    known = dataclasses.replace(set_aside(EXISTS), ingress_controller=unread)
    status, message = workers(known)
    assert status is CheckStatus.UNMET, "never Unknown for that"
    assert f"infra-0 (has taint {RESERVED})" in message
    assert workers(dataclasses.replace(worlds.healthy(), ingress_controller=unread))[0] is CheckStatus.MET


KEYS = st.sampled_from(("a", "b", "node.kubernetes.io/not-ready"))
EFFECTS = st.sampled_from(("NoSchedule", "NoExecute"))
TAINTS = st.lists(st.builds(facts.Taint, KEYS, st.sampled_from(("", "x")), EFFECTS), max_size=3).map(tuple)
TOLERATIONS = st.builds(
    facts.Toleration,
    st.just("") | KEYS,
    st.sampled_from(("Exists", "Equal", "Lt")),
    st.sampled_from(("", "x")),
    st.just("") | EFFECTS,
)


@given(TAINTS, st.lists(TOLERATIONS, max_size=3), TOLERATIONS)
def test_another_toleration_never_takes_a_node_away_nor_excuses_its_state(
    taints: tuple[facts.Taint, ...], tolerations: list[facts.Toleration], more: facts.Toleration
) -> None:
    fewer = workers(set_aside(*tolerations, taints=taints))[0]
    status = workers(set_aside(*tolerations, more, taints=taints))[0]
    if fewer is CheckStatus.MET:
        assert status is CheckStatus.MET
    if any(taint.of_node_state for taint in taints):
        assert status is CheckStatus.UNMET
    elif not taints:
        assert fewer is CheckStatus.MET


@pytest.mark.parametrize("field", ["control_plane_nodes", "other_nodes"])
def test_one_malformed_node_makes_it_unknown(field: str) -> None:
    known = worlds.healthy()
    for unread in (field, "etcd_endpoints"):
        assert nodes(worlds.unread(known, unread))[0] is CheckStatus.UNKNOWN
    changes: dict[str, Any] = {field: (*getattr(known, field), worlds.BROKEN)}
    status, message = nodes(dataclasses.replace(known, **changes))
    assert status is CheckStatus.UNKNOWN
    assert worlds.BROKEN.what in message
