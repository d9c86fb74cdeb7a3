"""What stands under the control plane and is missing or not well: advice, which nothing waits for."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import MESSAGE_LIMIT, TopologyPair
from topology_controller.checks import advisories, machine_advisories
from topology_controller.observe import facts

from . import machine_worlds as under
from . import worlds

if TYPE_CHECKING:
    from topology_api.types import Advisory

MISSING, TROUBLE, BEHIND = "ControlPlaneMachineMissing", "ControlPlaneHostTrouble", "EtcdReplicasBehind"
ALL = {MISSING, TROUBLE, BEHIND}


def advised(known: facts.Facts, target: TopologyPair = worlds.HA) -> dict[str, Advisory]:
    found = [one for one in advisories.advise(known, target, worlds.MATRIX, None, worlds.NOW) if one.name in ALL]
    names = [one.name for one in found]
    assert names == [name for name in (MISSING, TROUBLE, BEHIND) if name in names]
    assert all(len(one.message) <= MESSAGE_LIMIT and one.command.startswith("oc ") for one in found)
    return {one.name: one for one in found}


def wants(count: int | None) -> dict[str, Any]:
    return {"etcd": dataclasses.replace(worlds.etcd(), desired_replicas=count)}


def test_a_cluster_whose_nodes_all_have_a_machine_that_is_well_has_none() -> None:
    assert advised(under.known(*under.three(), **wants(3))) == {}


@pytest.mark.parametrize(
    "third", [{"addresses": ()}, {"addresses": ("192.0.2.99",)}, {"name": "x", "node": None, "addresses": ()}]
)
def test_a_node_whose_address_no_machine_has_is_named(third: dict[str, Any]) -> None:
    advisory = advised(under.known(*under.three(**third)))[MISSING]
    assert "node-2" in advisory.message
    assert "node-1" not in advisory.message
    selector = "-l 'machine.openshift.io/cluster-api-machine-role in (master,arbiter)'"
    assert f"get machines.machine.openshift.io {selector}" in advisory.command


def test_a_missing_machine_is_not_made_up() -> None:
    broken = facts.Unobserved("machines/odd", "malformed: odd")
    assert advised(under.known(*under.three()[:2], broken)) == {}, "it may be the one"
    node = worlds.node(2, master=False)
    assert advised(under.known(*under.three()[:2], control_plane_nodes=(worlds.node(0), worlds.node(1), node))) == {}


@pytest.mark.parametrize(
    ("third", "host", "words", "command"),
    [
        (
            {"phase": "Failed", "trouble": "no such host"}, under.host(2),
            "Machine machine-2 of node node-2 is Failed: no such host",
            "oc -n openshift-machine-api describe machines.machine.openshift.io machine-2",
        ),
        (
            {}, under.host(2, failed=True, trouble="management controller is gone"),
            "BareMetalHost host-2 of Machine machine-2, node node-2, is in error: management controller is gone",
            "oc -n openshift-machine-api describe baremetalhost host-2",
        ),
        (
            {}, under.host(2, powered_on=False),
            "BareMetalHost host-2 of Machine machine-2, node node-2, is powered off, and the node is Ready",
            "oc -n openshift-machine-api describe baremetalhost host-2",
        ),
    ],
    ids=["failed", "error", "off"],
)  # fmt: skip
def test_what_is_not_well_under_a_node_is_named(third: Any, host: Any, words: str, command: str) -> None:
    known = under.known(*under.on_hosts(*under.three(**third)), hosts=(host,))
    advisory = advised(known)[TROUBLE]
    assert words in advisory.message
    assert advisory.command == command


def test_a_host_that_is_off_under_a_node_that_is_down_is_no_contradiction() -> None:
    nodes = (worlds.node(0), worlds.node(1), worlds.node(2, ready="False"))
    listed = under.on_hosts(*under.three())
    known = under.known(*listed, hosts=(under.host(2, powered_on=False),), control_plane_nodes=nodes)
    assert advised(known) == {}


def test_what_is_under_no_control_plane_node_needs_no_advice() -> None:
    spare = under.machine(0, name="spare", phase="Failed", addresses=(), node=None)
    assert advised(under.known(*under.three(), spare)) == {}


def test_an_etcd_operator_that_wants_fewer_members_than_there_will_be() -> None:
    advisory = advised(under.known(*under.three(), **wants(1)))[BEHIND]
    assert "wants 1 member:" in advisory.message
    assert advisory.command == "oc -n kube-system get configmap cluster-config-v1 -o yaml"
    assert advised(under.known(*under.three(), **wants(None))) == {}
    arbiter = TopologyPair(control_plane="HighlyAvailableArbiter", infrastructure="HighlyAvailable")
    assert advised(under.known(*under.three(), **wants(2)), arbiter) == {}


@pytest.mark.parametrize(
    "listed",
    [(), tuple(dataclasses.replace(one, phase="Provisioned", addresses=()) for one in under.three()), None],
    ids=["none", "none runs", "not served"],
)
def test_where_machines_are_not_in_use_there_is_no_advice_about_them(listed: Any) -> None:
    known = worlds.healthy() if listed is None else under.known(*listed)
    known = dataclasses.replace(known, **wants(1), hosts=(under.host(0, failed=True),))
    assert advised(known) == {}
    assert list(machine_advisories.advise(facts.Facts(), worlds.HA)) == []
