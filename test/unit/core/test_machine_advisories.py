"""What stands under the control plane and is missing or not well: advice, which nothing waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import MESSAGE_LIMIT
from topology_controller.checks import advisories
from topology_controller.observe import facts

from . import machine_worlds as under
from . import worlds

if TYPE_CHECKING:
    from topology_api.types import Advisory, TopologyPair

MISSING, TROUBLE, BEHIND = "ControlPlaneMachineMissing", "ControlPlaneHostTrouble", "EtcdReplicasBehind"
ALL = {MISSING, TROUBLE, BEHIND}


def advised(known: facts.Facts, target: TopologyPair = worlds.HA) -> dict[str, Advisory]:
    found = [one for one in advisories.advise(known, target, worlds.MATRIX, None, worlds.NOW) if one.name in ALL]
    names = [one.name for one in found]
    assert names == [name for name in (MISSING, TROUBLE, BEHIND) if name in names]
    assert all(len(one.message) <= MESSAGE_LIMIT and one.command.startswith("oc ") for one in found)
    return {one.name: one for one in found}


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
