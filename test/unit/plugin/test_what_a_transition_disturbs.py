"""What to expect and what to see to: from the definition and the matrix, for this very cluster."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

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


def test_infrastructure_alone_restarts_nothing_and_needs_no_load_balancer() -> None:
    definition = worlds.named("infra-to-ha")
    known = worlds.ready_for(definition)
    found = replies.planned(dataclasses.replace(known))
    assert found["transition"]["name"] == "infra-to-ha"
    expected = _named(found["expected"])
    assert "NoReboots" in expected
    assert not {"Reboots", "Revisions"} & set(expected)
    assert "oauth" not in expected["Replicas"]
    assert list(_named(found["checklist"])) == ["EtcdBackup"]
    assert [one["field"] for one in found["changes"]] == ["status.infrastructureTopology"]


@pytest.mark.parametrize(("count", "words"), [(0, "no voters"), (1, "one voter. "), (2, "two voters. "), (3, None)])
def test_two_voters_are_warned_of_until_there_are_three(count: int, words: str | None) -> None:
    entries = tuple(zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True))[:count]
    found = replies.planned(dataclasses.replace(replies.WITHOUT_REQUEST, etcd_endpoints=facts.EtcdEndpoints(entries)))
    told = _named(found["expected"]).get("TwoVoters")
    assert (told is None) if words is None else (words in (told or ""))


def test_voters_that_cannot_be_counted_are_no_reason_to_be_silent() -> None:
    found = replies.planned(dataclasses.replace(replies.WITHOUT_REQUEST, etcd_endpoints=worlds.BROKEN))
    assert "is not known" in _named(found["expected"])["TwoVoters"]


def test_the_newest_backup_that_is_known_of_is_named() -> None:
    old, new = worlds.NOW - timedelta(days=9), worlds.NOW - timedelta(hours=3)
    etcd = facts.ClusterOperator("etcd", worlds.conditions(), backup_time=new)
    known = dataclasses.replace(
        replies.WITHOUT_REQUEST, own_operator=worlds.own(backup_time=old), cluster_operators=(etcd,)
    )
    assert _named(replies.planned(known)["checklist"])["EtcdBackup"].endswith("2026-03-01T09:00:00Z")
    assert _named(replies.planned(replies.WITHOUT_REQUEST)["checklist"])["EtcdBackup"].endswith("No backup is known")


def test_an_operand_that_was_removed_follows_nothing() -> None:
    def replicas(state: str) -> str:
        managed = {"consoles.operator.openshift.io/cluster": facts.Managed(state, None)}
        known = dataclasses.replace(replies.WITHOUT_REQUEST, operands={**replies.WITHOUT_REQUEST.operands, **managed})
        return _named(replies.planned(known)["expected"])["Replicas"]

    assert "openshift-console/console: 1 to 2" in replicas("Managed")
    assert "openshift-console/console" not in replicas("Removed")
    assert "image-registry" not in replicas("Managed"), "topology implies no number for it"


@pytest.mark.parametrize("target", ["DualReplica", "SingleReplica"])
def test_where_no_way_leads_nothing_is_expected_and_no_command_given(target: str) -> None:
    found = replies.planned(replies.WITHOUT_REQUEST, target)
    assert [found[part] for part in ("expected", "checklist", "changes", "checks", "command")] == [[], [], [], [], None]


def test_the_command_is_the_request_and_is_not_given_twice() -> None:
    assert replies.planned(replies.WITHOUT_REQUEST)["command"].endswith(
        """-p '{"spec":{"desiredTopology":"HighlyAvailable"}}'"""
    )
    assert replies.planned(worlds.healthy())["command"] is None


def test_what_will_not_happen_by_itself_is_not_promised() -> None:
    pinned = worlds.healthy(ingress_controller=facts.IngressController(1, 1))
    rows = _named(replies.planned(pinned)["expected"])["Replicas"].splitlines()
    router = "openshift-ingress-operator/default: 1 to 2, once advisory RouterReplicasPinned is seen to"
    assert router in rows
    assert [row for row in rows if "advisory" in row] == [router]


def test_a_row_for_each_workload_fits_a_terminal() -> None:
    found = replies.planned(replies.WITHOUT_REQUEST)
    assert max(len(item["message"]) for item in found["expected"] if item["name"] == "Replicas") < 110
    text = replies.printed(found)
    assert text.count("Replicas  ") == 1, "its name is not repeated"


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


def test_who_has_accepted_it_reads_it_in_the_plan_nevertheless() -> None:
    own = worlds.own(router_drain_accepted=True)
    alone = facts.IngressController(1, 1)
    known = dataclasses.replace(replies.WITHOUT_REQUEST, ingress_controller=alone, own_operator=own)
    assert "LoneRouter" in _named(replies.planned(known)["expected"])


def test_a_control_plane_that_stays_drains_no_router() -> None:
    known = dataclasses.replace(
        worlds.ready_for(worlds.named("infra-to-ha")), ingress_controller=facts.IngressController(1, 1)
    )
    assert "LoneRouter" not in _named(replies.planned(known)["expected"])
