"""What the status page shows in every state: what was decided, and nothing besides."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import prometheus_client
import pytest
from hypothesis import event, given

from topology_api.types import AvailableTransition, Blocker
from topology_controller.checks import catalog
from topology_controller.decide import context as contexts
from topology_controller.observe import facts
from topology_controller.report import latest, metrics, view

from . import page_state, worlds
from .strategies import terms, worlds_of_any_kind

if TYPE_CHECKING:
    from topology_controller.decide import leader

IDLE = dataclasses.replace(
    worlds.healthy(),
    infrastructure=worlds.infrastructure(desired=None, cluster_name="edge-7f4kd"),
    control_plane_nodes=facts.NOT_READ,
    other_nodes=facts.NOT_READ,
    etcd_endpoints=facts.NOT_READ,
    operands={},
)


def moved() -> facts.Facts:
    """Right after the change: nobody has followed."""
    return worlds.moved(worlds.healthy(), worlds.converging())


def test_an_idle_cluster_says_what_could_be_asked_for_and_what_is_not_watched():
    term = worlds.term(available=(_available(),))
    shown = page_state.led(IDLE, term=term)
    assert (shown["phase"], shown["stage"], shown["checks"], shown["progress"]) == ("Idle", None, [], None)
    assert shown["cluster"] == {
        "name": "edge-7f4kd",
        "platform": "None",
        "topology": {"controlPlane": "SingleReplica", "infrastructure": "SingleReplica"},
    }
    assert (shown["desired"], shown["cancel"], shown["transition"]) == (None, None, None)
    (way,) = shown["available"]
    assert (way["name"], way["available"]) == ("sno-to-ha-compact", False)
    assert way["summary"] == worlds.COMPACT.summary
    assert way["command"].endswith("""-p '{"spec":{"desiredTopology":"HighlyAvailable"}}'""")
    assert [blocker["name"] for blocker in way["blockers"]] == ["ControlPlaneNodes"]
    for part in ("nodes", "etcd", "operands"):
        assert shown[part] == {"items": [], "said": "Not watched while nothing is in progress"}


def _available() -> AvailableTransition:
    return AvailableTransition(
        name="sno-to-ha-compact",
        target=worlds.HA,
        available=False,
        blockers=(Blocker(name="ControlPlaneNodes", message="Wanted: 3"),),
        evaluated_time=worlds.NOW,
    )


def test_live_is_only_what_is_watched():
    assert page_state.led(moved())["live"] is True
    assert page_state.led(worlds.healthy())["live"] is True
    assert page_state.led(IDLE)["live"] is False, "what could be requested was evaluated some time ago"
    assert page_state.led(dataclasses.replace(moved(), disturbed=("nodes",)))["live"] is False
    assert page_state.standing_by(moved())["live"] is False


def test_learners_are_seen_where_etcd_itself_is_asked():
    ids = sorted(zip(worlds.MEMBERS, worlds.NAMES, strict=True))
    listed = (
        *(facts.EtcdMember(id_, name) for id_, name in ids[:2]),
        facts.EtcdMember(ids[2][0], ids[2][1], learner=True),
    )
    voices = worlds.voices(members=listed)[:2]
    published = facts.EtcdEndpoints(
        tuple((id_, address) for id_, address in zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True) if id_ != ids[2][0])
    )
    known = worlds.healthy(etcd_members=facts.EtcdMembers(voices), etcd_endpoints=published)
    shown = page_state.led(known, transitions=worlds.DIRECTLY)
    assert [(one["name"], one["role"]) for one in shown["etcd"]["items"]][-1] == (ids[2][1], "learner")
    assert sum(one["role"] == "voter" for one in shown["etcd"]["items"]) == 2
    assert shown["etcd"]["said"] == ""


def test_members_that_cannot_be_told_say_why():
    by_name = facts.EtcdEndpoints(tuple(zip(worlds.NAMES, worlds.ADDRESSES, strict=True)))
    shown = page_state.led(worlds.healthy(etcd_endpoints=by_name))
    assert shown["etcd"]["items"] == []
    assert "is a node name" in shown["etcd"]["said"]
    for node in shown["nodes"]["items"]:
        assert (node["eligible"], "is a node name" in node["why"]) == (None, True), node


def test_converging_counts_every_operand_and_says_what_its_check_says():
    shown = page_state.led(moved())
    assert (shown["phase"], shown["stage"], shown["stuck"]) == ("Converging", "Convergence", False)
    assert shown["cancel"] is None, "the topology has moved"
    expected = {
        "master": (0, 3, "machines", "Unmet"),
        "kube-apiserver": (0, 3, "nodes", "Unmet"),
        "etcd": (3, 3, "nodes", "Met"),
        "openshift-console/console": (1, 2, "replicas", "Unmet"),
        "openshift-ingress-operator/default": (1, 2, "replicas", "Unmet"),
        "openshift-apiserver/apiserver": (3, 3, "replicas", "Met"),
        "openshift-etcd/etcd-guard-pdb": (None, None, "", "Unmet"),
    }
    for name, (have, wanted, unit, status) in expected.items():
        found = page_state.row(shown, "operands", name)
        assert (found["have"], found["wanted"], found["unit"], found["status"]) == (have, wanted, unit, status), found
    asked = {spec.check.value for spec in worlds.COMPACT.convergence.checks}
    assert {one["check"] for one in shown["operands"]["items"]} == {
        group.check.value for group in worlds.MATRIX.groups if group.check.value in asked
    }


def test_a_problem_has_its_time_and_the_runbook_where_an_address_is_configured():
    known = moved()
    stuck = latest.Snapshot(worlds.decide(known, now=worlds.DEADLINE), known)
    shown = view.look(stuck, known, page_state.about(runbooks="https://docs.example/runbooks/"))
    assert shown["problem"] is not None
    assert (shown["problem"]["reason"], shown["problem"]["since"]) == ("Stuck", "2026-03-01T14:00:00Z")
    assert shown["runbook"] == "https://docs.example/runbooks/TopologyTransitionStuck.md"
    assert view.look(stuck, known, page_state.about())["runbook"] is None
    well = latest.Snapshot(worlds.decide(known), known)
    assert view.look(well, known, page_state.about(runbooks="https://docs.example/"))["runbook"] is None


@pytest.mark.parametrize(
    ("started", "deadline"),
    [("2026-03-01T12:00:00Z", True), ("9999-12-31T23:59:59Z", False)],
    ids=["known", "nonsense"],
)
def test_a_record_without_a_deadline_is_given_that_of_its_definition(started, deadline):
    admitted = datetime.fromisoformat(started)
    record = worlds.converging().model_copy(update={"deadline_time": None, "admitted_time": admitted})
    shown = page_state.standing_by(worlds.moved(worlds.healthy(), record))["transition"]
    assert (shown["deadline"] is not None) is deadline


def test_a_problem_and_the_last_transition_are_shown_as_they_are_recorded():
    late = worlds.NOW + timedelta(hours=1)
    broken = worlds.healthy(etcd=worlds.BROKEN, scheduler=facts.Scheduler(masters_schedulable=False))
    first = page_state.led(broken)
    assert (first["problem"], first["lastTransition"]) == (None, None)
    record = worlds.decide(broken).record
    assert record is not None
    known = worlds.recorded(
        dataclasses.replace(broken, etcd_lease=worlds.healthy(late).etcd_lease),
        record.model_copy(update={"last_transition": contexts.completed(worlds.completed())}),
    )
    shown = page_state.led(known, late)
    assert (shown["problem"]["reason"], shown["problem"]["since"]) == ("EvidenceUnreadable", "2026-03-01T13:00:00Z")
    assert worlds.BROKEN.what in shown["problem"]["message"]
    last = shown["lastTransition"]
    assert (last["name"], last["completed"], last["accepted"]) == ("sno-to-ha-compact", "2026-03-01T12:00:00Z", [])
    assert last["target"] == {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}


def test_a_standby_tells_what_the_leader_has_written():
    led = page_state.led(moved(), worlds.NOW + timedelta(minutes=61))
    written = [{**one, "lastTransitionTime": "2026-03-01T13:01:00Z"} for one in led["conditions"]]
    record = worlds.decide(moved(), now=worlds.NOW + timedelta(minutes=61)).record
    known = dataclasses.replace(worlds.moved(IDLE, record), own_operator=worlds.own(status={"conditions": written}))
    shown = page_state.standing_by(known)
    assert shown["leads"] is False
    for part in ("phase", "since", "stuck", "degraded", "headline", "stage", "checks", "progress", "transition"):
        assert shown[part] == led[part], part
    assert shown["advisories"] == led["advisories"]
    assert {one["since"] for one in shown["conditions"]} == {"2026-03-01T13:01:00Z"}
    for part in ("nodes", "etcd", "operands"):
        assert shown[part] == {"items": [], "said": "Shown by the operator process that leads"}


_STATUSES = {"Met", "Unmet", "Unknown"}


@given(known=worlds_of_any_kind(), term=terms())
def test_whatever_is_decided_can_be_shown(known: facts.Facts, term: leader.LeaderState) -> None:
    decided = worlds.decide(known, term)
    shown = page_state.led(known, term=term)
    event(f"{shown['phase']}{' stuck' if shown['stuck'] else ''}{' disabled' if shown['disabled'] else ''}")
    assert shown["phase"] == decided.phase.value
    assert (shown["disabled"] is None) is (decided.disabled is None)
    assert (shown["degraded"] is None) is (decided.degraded is None)
    for check in shown["checks"]:
        assert check["status"] in _STATUSES
    for one in shown["operands"]["items"]:
        assert one["status"] in _STATUSES
        assert (one["have"] is None) is (one["wanted"] is None) is (one["unit"] == ""), one
        assert one["have"] is None or one["have"] >= 0, one
    for part in ("nodes", "etcd"):
        assert shown[part]["items"] or shown[part]["said"], f"an empty list of {part} says why"


@pytest.mark.parametrize("known", [worlds.healthy(), worlds.moved(worlds.healthy(), worlds.converging())])
def test_neither_the_page_nor_a_scrape_asks_a_check(known: facts.Facts, monkeypatch: pytest.MonkeyPatch):
    decided = worlds.decide(known)
    assert decided.results
    measured = metrics.Metrics(worlds.ONLY_COMPACT, lease="l")
    monkeypatch.setattr(catalog, "CHECKS", {})
    shown = view.look(latest.Snapshot(decided, known), known, page_state.about())
    measured.decided(decided, known)
    scraped = prometheus_client.generate_latest(measured.registry).decode()
    assert [one["eligible"] for one in shown["nodes"]["items"]] == [True, True, True]
    assert 'topology_control_plane_nodes{state="eligible"} 3.0' in scraped
