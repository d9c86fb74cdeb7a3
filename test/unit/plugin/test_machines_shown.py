"""`machines[]` of `plan` and `status`, and the table that people see where Machines are in use."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import Phase
from topology_controller.kube import errors as kube
from topology_controller.observe import catalog, live
from topology_controller.plugin import cluster

from ..core import machine_worlds as under
from ..core import worlds
from . import replies
from .test_answers_and_their_schemas import conforms

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_controller.observe import facts

ANSWERS = [replies.planned, replies.told]
TITLE = "Machines of the control plane"


def pending(*listed: Any, **changes: Any) -> facts.Facts:
    return dataclasses.replace(replies.in_phase(Phase.PENDING), machines=listed, **changes)


@pytest.mark.parametrize("answer", ANSWERS)
def test_each_machine_says_whose_it_is_and_how_far(answer: Callable[[facts.Facts], dict[str, Any]]) -> None:
    listed = (
        *under.on_hosts(under.machine(0)),
        under.machine(1, addresses=(), deleting=True, authority="MachineAPI"),
        under.machine(2, phase="Provisioning", addresses=(), node=None, host="host-2"),
    )
    found = answer(pending(*listed, hosts=(under.host(0),)))
    conforms(found)
    assert found["machines"] == [
        {
            "node": "node-0", "machine": "machine-0", "phase": "Running", "authority": None, "boundBy": "Address",
            "leaving": False, "host": "host-0", "hostState": "provisioned", "voter": True,
        },
        {
            "node": "node-1", "machine": "machine-1", "phase": "Running", "authority": "MachineAPI",
            "boundBy": "NodeRef", "leaving": True, "host": None, "hostState": None, "voter": True,
        },
        {
            "node": None, "machine": "machine-2", "phase": "Provisioning", "authority": None, "boundBy": None,
            "leaving": False, "host": "host-2", "hostState": None, "voter": False,
        },
    ]  # fmt: skip
    printed = " ".join(replies.printed(found).split())
    assert TITLE in printed
    assert "machine-1 leaving node-1 (by nodeRef only)" in printed
    assert "machine-2 Provisioning no node host-2 (no state)" in printed


@pytest.mark.parametrize("answer", ANSWERS)
def test_where_machines_are_not_in_use_people_see_no_table(answer: Any) -> None:
    found = answer(pending(under.machine(0, phase="Provisioned")))
    assert (len(found["machines"]), TITLE in replies.printed(found)) == (1, False)
    found = answer(replies.in_phase(Phase.PENDING))
    assert (found["machines"], TITLE in replies.printed(found)) == ([], False)


@pytest.mark.parametrize("source", [catalog.UNDER_NODES, catalog.UNDER_MACHINES])
def test_who_may_not_read_them_is_told_which_right_lacks(source: catalog.Source) -> None:
    error = kube.Forbidden("list", source.selection.resource, source.selection.namespace, None, 403, "Forbidden", "")
    known = pending(*under.on_hosts(*under.three()))
    known = dataclasses.replace(known, **{source.field: live.unobserved(source.what, error)})  # type: ignore[arg-type]
    listed = (*catalog.EVIDENCE, catalog.UNDER_NODES)
    snapshot = cluster.assembled(known, replies.LEASE, listed, "ns", worlds.NOW)
    kind = source.selection.resource.label
    right = f"list {kind} in namespace openshift-machine-api"
    assert [one["right"] for one in snapshot.unread] == [right]
    found = replies.planned(snapshot.known, unread=snapshot.unread)
    check = next(one for one in found["checks"] if one["name"] == "ControlPlaneMachines")
    assert check["status"] == "Unknown"
    assert f"forbidden: you need permission to {right}" in check["message"]
