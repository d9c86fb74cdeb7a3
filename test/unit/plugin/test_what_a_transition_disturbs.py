"""What to expect and what to see to: from the definition and the matrix, for this very cluster."""

from __future__ import annotations

import dataclasses

import pytest

from topology_controller.checks import router
from topology_controller.observe import facts
from topology_controller.plugin import document, printing
from topology_controller.plugin.commands import set as setting

from ..core import worlds
from . import replies


def _named(found: list[dict[str, str]]) -> dict[str, str]:
    """The messages of each name, one a line."""
    messages: dict[str, str] = {}
    for item in found:
        before = messages.get(item["name"])
        messages[item["name"]] = item["message"] if before is None else f"{before}\n{item['message']}"
    return messages


def test_a_single_node_that_grows_restarts_its_nodes_and_needs_a_load_balancer() -> None:
    found = replies.planned(replies.WITHOUT_REQUEST)
    expected, checklist = _named(found["expected"]), _named(found["checklist"])
    assert expected["Reboots"].endswith("In pool master they are node-0, node-1, node-2 now")
    assert expected["Revisions"].startswith("kube-apiserver: ")
    assert "openshift-console/console: 1 to 2" in expected["Replicas"]
    assert "Deadline: 120 min after" in expected["Duration"]
    assert "TwoVoters" not in expected, "etcd has three voters already"
    assert list(checklist) == ["EtcdBackup", "LoadBalancer", "DNS"]
    assert found["changes"] == [
        {"field": "status.controlPlaneTopology", "now": "SingleReplica", "then": "HighlyAvailable"},
        {"field": "status.infrastructureTopology", "now": "SingleReplica", "then": "HighlyAvailable"},
    ]


@pytest.mark.parametrize(("count", "words"), [(0, "no voters"), (1, "one voter. "), (2, "two voters. "), (3, None)])
def test_two_voters_are_warned_of_until_there_are_three(count: int, words: str | None) -> None:
    entries = tuple(zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True))[:count]
    found = replies.planned(dataclasses.replace(replies.WITHOUT_REQUEST, etcd_endpoints=facts.EtcdEndpoints(entries)))
    told = _named(found["expected"]).get("TwoVoters")
    assert (told is None) if words is None else (words in (told or ""))


def test_an_operand_that_was_removed_follows_nothing() -> None:
    def replicas(state: str) -> str:
        managed = {"consoles.operator.openshift.io/cluster": facts.Managed(state, None)}
        known = dataclasses.replace(replies.WITHOUT_REQUEST, operands={**replies.WITHOUT_REQUEST.operands, **managed})
        return _named(replies.planned(known)["expected"])["Replicas"]

    assert "openshift-console/console: 1 to 2" in replicas("Managed")
    assert "openshift-console/console" not in replicas("Removed")
    assert "image-registry" not in replicas("Managed"), "topology implies no number for it"


@pytest.mark.parametrize(("routers", "warned"), [(1, True), (2, False), (None, False)])
def test_a_single_router_that_will_be_drained_is_expected_and_set_warns_of_it(
    routers: int | None,
    warned: bool,  # noqa: FBT001 - a column of the table
) -> None:
    known = dataclasses.replace(replies.WITHOUT_REQUEST, ingress_controller=facts.IngressController(routers, 1))
    lone = [item for item in replies.planned(known)["expected"] if item["name"] == "LoneRouter"]
    assert [item["command"] for item in lone] == ([router.two_routers()] if warned else [])
    answer, _ = setting.judged(replies.seen(known), worlds.TRANSITIONS, setting.Asked("HighlyAvailable", confirm=True))
    assert any("ingress is gone" in warning for warning in answer["warnings"]) is warned
    assert all(warning.endswith(router.two_routers()) for warning in answer["warnings"] if "ingress" in warning)
    sheet = document.Document(0, colour=False)
    printing.request(sheet, answer)
    commands = [line.strip() for line in sheet.text().partition("Warning")[2].splitlines() if "patch ingress" in line]
    assert (router.two_routers() in commands) is warned, "on a line of its own, to be pasted"


def test_a_control_plane_that_stays_drains_no_router() -> None:
    known = dataclasses.replace(
        worlds.ready_for(worlds.named("infra-to-ha")), ingress_controller=facts.IngressController(1, 1)
    )
    assert "LoneRouter" not in _named(replies.planned(known)["expected"])
