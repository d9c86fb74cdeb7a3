"""Nodes and the placement of routers as facts: what is kept of labels, taints, conditions and tolerations."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller.observe import facts, parse

if TYPE_CHECKING:
    from collections.abc import Callable

ROLE = "node-role.kubernetes.io/"


def raw_node(labels: dict[str, str] | None = None, taints: Any = None, **conditions: str) -> dict[str, Any]:
    said = [{"type": type_, "status": status, "reason": "R"} for type_, status in conditions.items()]
    return {
        "metadata": {"name": "n", "labels": {ROLE + "worker": "", **(labels or {})}},
        "spec": {"taints": taints},
        "status": {"conditions": [*said, {"type": "Ready", "status": "True"}]},
    }


@pytest.mark.parametrize(
    ("labels", "master", "has_value"),
    [
        ({}, False, False),
        ({ROLE + "master": ""}, True, False),
        ({ROLE + "master": "true"}, False, True),
    ],
)
def test_a_master_is_labelled_with_an_empty_value(labels: dict[str, str], *, master: bool, has_value: bool) -> None:
    node, other = parse.node(raw_node(labels)), parse.other_node(raw_node(labels))
    assert (node.master, node.master_has_value) == (master, has_value)
    assert (other.master, other.master_has_value) == (master, has_value)
    assert other.dedicated_worker is not (master or has_value), "a candidate whose label is wrong is no worker"


def placed(**placement: Any) -> facts.IngressController:
    return parse.ingress_controller({"spec": {"nodePlacement": placement}})


def test_a_toleration_that_ends_does_not_count() -> None:
    lasting = {"key": "k", "operator": "Exists"}
    found = placed(tolerations=[lasting, {**lasting, "effect": "NoExecute", "tolerationSeconds": 0}])
    assert found.tolerations == (facts.Toleration("k", "Exists", "", ""),)


WORDS = st.sampled_from(("", "a", "b"))
EFFECTS = st.sampled_from(("NoSchedule", "NoExecute"))
TAINTS = st.builds(facts.Taint, st.sampled_from(("a", "b")), WORDS, EFFECTS)


@given(TAINTS, st.sampled_from(("Exists", "Equal", "Lt", "Gt", "exists")), WORDS, WORDS, st.just("") | EFFECTS)
def test_a_toleration_never_covers_more_than_it_says(
    taint: facts.Taint, operator: str, key: str, value: str, effect: str
) -> None:
    tolerates = facts.Toleration(key, operator, value, effect).tolerates(taint)
    if effect and effect != taint.effect:
        assert not tolerates
    elif operator == "Exists":
        assert tolerates is (not key or key == taint.key)
    elif operator == "Equal":
        assert tolerates is (key == taint.key and value == taint.value)
    else:
        assert not tolerates


@pytest.mark.parametrize("reduce", [parse.node, parse.worker, parse.other_node])
def test_nothing_of_hostile_nodes_stays_in_memory(reduce: Callable[[dict[str, Any]], Any]) -> None:
    """A kubelet writes what it likes into its Node: what is kept or cached of it is bounded in length and number."""

    def hostile(number: int) -> dict[str, Any]:
        long = f"{number:08}" * 25_000
        return {
            "metadata": {
                "name": f"node-{number}",
                "labels": {f"{long}/label": long, "node-role.kubernetes.io/worker": ""},
                "annotations": {"machineconfiguration.openshift.io/controlPlaneTopology": long},
            },
            "spec": {"taints": [{"key": long, "value": long, "effect": "NoSchedule"}]},
            "status": {
                "conditions": [{"type": "Ready", "status": long}, {"type": long, "status": "True"}],
                "addresses": [{"type": "InternalIP", "address": long}],
                "nodeInfo": {"kubeletVersion": long},
                "capacity": {"cpu": "4", "memory": "16Gi"},
            },
        }

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        nodes = [reduce(hostile(number)) for number in range(100)]
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert kept < 512 * 1024, f"{kept} bytes stay of {len(nodes)} nodes of 1.4 MB each"
