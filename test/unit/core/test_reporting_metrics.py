"""What Prometheus scrapes: numbers follow from the last decision, its facts, and what was told since the start."""

from __future__ import annotations

import dataclasses
import functools
from datetime import timedelta
from typing import Any

import pytest

from topology_api.types import AvailableTransition, TopologyTransition
from topology_api.vocabulary import CheckStatus, Phase, Stage
from topology_controller.definitions import load
from topology_controller.observe import facts
from topology_controller.report import metrics

from . import machine_worlds, worlds

LATER = worlds.NOW + timedelta(minutes=7)
ROUTE = {"source": "SingleReplica/SingleReplica", "target": "HighlyAvailable/HighlyAvailable"}


def registry(**more: Any) -> metrics.Metrics:
    return metrics.Metrics(worlds.ONLY_COMPACT, lease="lease", **more)


def value(found: metrics.Metrics, name: str, /, **labels: str) -> float | None:
    return found.registry.get_sample_value(name, labels)


def series(found: metrics.Metrics, name: str) -> dict[tuple[str, ...], float]:
    """All series of a metric by the values of their labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in found.registry.collect()
        for sample in family.samples
        if sample.name == name
    }


def decided(known: facts.Facts, **more: Any) -> metrics.Metrics:
    found = registry()
    found.decided(worlds.decide(known, **more), known)
    return found


# From the start


def test_counters_and_phase_start_at_zero_and_gauges_of_facts_are_absent() -> None:
    found = registry()
    for phase in Phase:
        assert value(found, "topology_transition_phase", phase=phase.value) == 0
    rejected = {"source": "SingleReplica/SingleReplica", "target": "DualReplica"}
    assert value(found, "topology_transition_rejected_total", **rejected) == 0
    for counter in ("started", "completed", "cancelled"):
        assert value(found, f"topology_transition_{counter}_total", **ROUTE) == 0, counter
    for phase in (Phase.PENDING, Phase.ADMITTING, Phase.CONVERGING):
        assert value(found, "topology_transition_phase_duration_seconds_count", phase=phase.value) == 0
    for result in ("success", "error"):
        assert value(found, "controller_runtime_reconcile_total", controller="topology", result=result) == 0
    assert value(found, "controller_runtime_reconcile_errors_total", controller="topology") == 0
    for name in ("workqueue_adds_total", "workqueue_retries_total", "workqueue_depth"):
        assert value(found, name, name="topology") == 0, name
    for result in ("success", "error"):
        assert value(found, "topology_watch_requests_total", result=result) == 0
    assert value(found, "leader_election_master_status", name="lease") == 0
    assert value(found, "topology_store_restored_total") == 0
    assert value(found, "topology_transition_stuck") == 0
    assert value(found, "topology_transition_started_timestamp_seconds") == 0
    for absent in (
        "topology_control_plane_nodes",
        "topology_etcd_members",
        "topology_info",
        "topology_transition_check_status",
        "topology_transition_progress_ratio",
        "topology_transition_available",
    ):
        assert series(found, absent) == {}, absent


def test_every_request_that_can_be_rejected_has_a_counter_from_the_start() -> None:
    """Wherever the cluster is: an alert on the first rejection must not miss it."""
    found = series(registry(), "topology_transition_rejected_total")
    assert ("HighlyAvailable/HighlyAvailable", "DualReplica") in found
    assert ("DualReplica/HighlyAvailable", "HighlyAvailable") in found
    assert not any(source.partition("/")[0] == target for source, target in found), "that is no request"
    assert set(found.values()) == {0}


# From a decision


def test_a_decision_is_shown_and_replaced_by_the_next() -> None:
    known = worlds.healthy(etcd=facts.Etcd(facts.Conditions()))
    found = decided(known)
    assert value(found, "topology_transition_phase", phase="Pending") == 1
    assert value(found, "topology_transition_phase", phase="Idle") == 0
    check = {"check": "EtcdHealthy", "stage": Stage.PREFLIGHT.value}
    assert value(found, "topology_transition_check_status", status=CheckStatus.UNKNOWN.value, **check) == 1
    assert value(found, "topology_transition_check_status", status=CheckStatus.MET.value, **check) == 0
    assert value(found, "topology_transition_progress_ratio", stage="Preflight") == 9 / 10
    assert value(found, "topology_control_plane_nodes", state="ready") == 3
    assert value(found, "topology_etcd_members", role="voter") == 3
    idle = worlds.healthy(
        infrastructure=worlds.infrastructure(desired=None),
        control_plane_nodes=facts.NOT_READ,
        etcd_endpoints=facts.NOT_READ,
    )
    found.decided(worlds.decide(idle), idle)
    assert value(found, "topology_transition_phase", phase="Idle") == 1
    assert value(found, "topology_transition_phase", phase="Pending") == 0
    for absent in ("transition_check_status", "transition_progress_ratio", "control_plane_nodes", "etcd_members"):
        assert series(found, f"topology_{absent}") == {}, absent


@pytest.mark.parametrize(("possible", "shown"), [((), None), ((False,), 0), ((True,), 1), ((False, True), 1)])
def test_whether_a_transition_is_possible_is_told_apart_from_whether_there_is_one(
    possible: tuple[bool, ...], shown: float | None
) -> None:
    shipped = load.load(worlds.BINDATA / "transitions")
    ways = [definition for definition in shipped.definitions if definition.source == worlds.COMPACT.source]
    available = tuple(
        AvailableTransition(name=way.name, target=way.target.pair, available=now, evaluated_time=worlds.NOW)
        for way, now in zip(ways, possible, strict=False)
    )
    assert len(available) == len(possible)
    known = worlds.healthy(infrastructure=worlds.infrastructure(desired=None))
    found = registry()
    found.decided(worlds.decide(known, worlds.term(available=available), transitions=shipped), known)
    assert value(found, "topology_transition_phase", phase="Idle") == 1
    assert value(found, "topology_transition_available") == shown


def test_one_that_does_not_lead_any_more_says_nothing_of_the_cluster() -> None:
    """Of two replicas only one speaks, so that `max` over both is what that one says."""
    standby = registry()
    silent = {name: series(standby, name) for name in GAUGES}
    found = decided(worlds.healthy())
    found.leading(leads=True)
    assert value(found, "leader_election_master_status", name="lease") == 1
    assert sum(series(found, "topology_transition_phase").values()) == 1
    found.leading(leads=False)
    assert {name: series(found, name) for name in GAUGES} == silent
    assert sum(series(found, "topology_transition_phase").values()) == 0
    found.decided(worlds.decide(worlds.healthy()), worlds.healthy())
    found.leading(leads=False)
    assert {name: series(found, name) for name in GAUGES} == silent, "not even what nobody has scraped yet"


GAUGES = (
    "topology_transition_phase",
    "topology_transition_check_status",
    "topology_transition_progress_ratio",
    "topology_transition_stuck",
    "topology_transition_started_timestamp_seconds",
    "topology_transition_available",
    "topology_control_plane_nodes",
    "topology_etcd_members",
    "topology_info",
    "leader_election_master_status",
)


# From the facts


@pytest.mark.parametrize(
    ("broken", "states"),
    [
        ((), {"present": 3, "ready": 3, "schedulable": 3, "eligible": 3}),
        ((worlds.node(2, ready="Unknown"),), {"present": 3, "ready": 2, "schedulable": 3, "eligible": 2}),
        ((worlds.node(2, cordoned=True),), {"present": 3, "ready": 3, "schedulable": 2, "eligible": 2}),
        (
            (worlds.node(2, taints=(facts.Taint("a", "", "NoSchedule"),)),),
            {"present": 3, "ready": 3, "schedulable": 2, "eligible": 2},
        ),
        ((worlds.node(2, cpus=2.0),), {"present": 3, "ready": 3, "schedulable": 3, "eligible": 2}),
        ((worlds.BROKEN,), {"present": 3, "ready": 2, "schedulable": 2}),
    ],
    ids=["well", "not ready", "cordoned", "tainted", "small", "malformed"],
)
def test_nodes_by_what_they_are_fit_for(broken: tuple[Any, ...], states: dict[str, float]) -> None:
    nodes = (*(worlds.node(index) for index in range(3 - len(broken))), *broken)
    found = decided(worlds.healthy(control_plane_nodes=nodes))
    assert series(found, "topology_control_plane_nodes") == {(state,): count for state, count in states.items()}


LEARNER = facts.EtcdMember("d00d", "node-3", learner=True)
LISTED = worlds.voices()[0].members


@pytest.mark.parametrize(
    ("said", "published", "roles"),
    [
        (facts.NO_ETCD_ACCESS, None, {"voter": 3}),
        (worlds.voices(), None, {"voter": 3, "learner": 0}),
        (worlds.voices(members=(*LISTED, LEARNER)), None, {"voter": 3, "learner": 1}),
        (worlds.voices(members=(*LISTED[:2], LEARNER)), facts.NOT_READ, {"voter": 2, "learner": 1}),
        (worlds.voices(members=(*LISTED, LEARNER), confirmed=False), None, {"voter": 3}),
        ((*worlds.voices()[:2], *worlds.voices(members=LISTED[:2])[2:]), None, {"voter": 3}),
        (facts.NO_ETCD_ACCESS, facts.NOT_READ, {}),
        (facts.NO_ETCD_ACCESS, facts.EtcdEndpoints((("node-0", worlds.ADDRESSES[0]),)), {}),
    ],
    ids=["published", "asked", "learner", "only asked", "no quorum", "no agreement", "neither", "names for ids"],
)
def test_members_of_etcd_as_far_as_they_are_known(said: Any, published: Any, roles: dict[str, float]) -> None:
    members = facts.EtcdMembers(said) if isinstance(said, tuple) else said
    known = worlds.healthy(etcd_members=members)
    if published is not None:
        known = dataclasses.replace(known, etcd_endpoints=published)
    found = decided(known)
    assert series(found, "topology_etcd_members") == {(role,): count for role, count in roles.items()}


IDLE = {"control_plane_nodes": facts.NOT_READ, "other_nodes": facts.NOT_READ, "scheduler": facts.NOT_READ}


@pytest.mark.parametrize(
    ("infrastructure", "others", "info"),
    [
        ({"desired": None}, IDLE, ("", "SingleReplica", "SingleReplica", "single-node")),
        ({}, {}, ("HighlyAvailable", "SingleReplica", "SingleReplica", "unclassified")),
        (
            {},
            {"control_plane_nodes": (worlds.node(),)},
            ("HighlyAvailable", "SingleReplica", "SingleReplica", "single-node"),
        ),
        (
            {"control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable", "record": worlds.converging()},
            {},
            ("HighlyAvailable", "HighlyAvailable", "HighlyAvailable", "compact"),
        ),
        (
            {"desired": None, "control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable"},
            IDLE,
            ("", "HighlyAvailable", "HighlyAvailable", ""),
        ),
        (
            {"desired": "Mine", "control_plane": "Odd", "infrastructure": "DualReplica"},
            IDLE,
            ("other", "other", "other", "unclassified"),
        ),
        ({"control_plane": None, "infrastructure": None}, IDLE, ("HighlyAvailable", "", "", "")),
        ({"control_plane": "External"}, IDLE, ("HighlyAvailable", "External", "SingleReplica", "unclassified")),
    ],
)
def test_the_topology_is_told_in_labels(
    infrastructure: dict[str, Any], others: dict[str, Any], info: tuple[str, ...]
) -> None:
    found = decided(worlds.with_infrastructure(worlds.healthy(**others), **infrastructure))
    assert series(found, "topology_info") == {info: 1}


def test_a_master_without_the_newer_label_is_a_node_of_the_control_plane() -> None:
    other = facts.OtherNode("node-9", master=True, arbiter=False)
    pair = {"control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}
    two = tuple(worlds.node(index) for index in range(2))
    known = worlds.moved(worlds.healthy(control_plane_nodes=two, other_nodes=(other,)), worlds.converging())
    assert value(decided(known), "topology_info", desired="HighlyAvailable", shape="compact", **pair) == 1


def test_an_infrastructure_that_cannot_be_read_has_no_topology() -> None:
    assert series(decided(worlds.healthy(infrastructure=worlds.BROKEN)), "topology_info") == {}


# Counted


def test_a_transition_is_counted_once_also_when_its_record_was_lost_and_rebuilt() -> None:
    found = registry()
    found.changed(worlds.admitting(), worlds.converging(), "HighlyAvailable", LATER)
    assert value(found, "topology_transition_started_total", **ROUTE) == 1
    assert value(found, "topology_transition_phase_duration_seconds_sum", phase="Admitting") == 420
    found.changed(None, worlds.converging(), "HighlyAvailable", LATER)
    found.changed(worlds.converging(), worlds.converging(), "HighlyAvailable", LATER)
    assert value(found, "topology_transition_started_total", **ROUTE) == 1
    found.changed(worlds.converging(), worlds.completed(), "HighlyAvailable", LATER)
    assert value(found, "topology_transition_completed_total", **ROUTE) == 1
    idle = TopologyTransition(phase=Phase.IDLE)
    found.changed(worlds.admitting(), idle, None, LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 1
    found.changed(worlds.completed(), idle, None, LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 1


UNSUPPORTED = TopologyTransition(phase=Phase.UNSUPPORTED, source=worlds.SNO, phase_transition_time=worlds.NOW)


@pytest.mark.parametrize(
    ("source", "desired", "labels"),
    [
        (worlds.SNO, "DualReplica", ("SingleReplica/SingleReplica", "DualReplica")),
        (worlds.SNO, "HighlyAvailable", ("SingleReplica/SingleReplica", "HighlyAvailable")),
        (worlds.HA, "SingleReplica", ("HighlyAvailable/HighlyAvailable", "SingleReplica")),
        (worlds.HA, "Mine", ("other", "other")),
        (None, "DualReplica", ("other", "other")),
    ],
)
def test_a_request_that_leads_nowhere_is_counted_as_rejected(
    source: Any, desired: str, labels: tuple[str, str]
) -> None:
    found = registry()
    found.changed(None, UNSUPPORTED.model_copy(update={"source": source}), desired, LATER)
    counted = {key: number for key, number in series(found, "topology_transition_rejected_total").items() if number}
    assert counted == {labels: 1}


def test_a_request_that_somebody_else_fulfilled_was_not_cancelled() -> None:
    found = registry()
    idle = TopologyTransition(phase=Phase.IDLE)
    found.changed(worlds.admitting(), idle, "HighlyAvailable", LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 0
    found.changed(worlds.admitting(), idle, "SingleReplica", LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 1


# Work


# Traffic


@pytest.mark.parametrize(
    ("verb", "code", "labels"),
    [
        ("get", "200", {"code": "200", "method": "GET"}),
        ("list", "403", {"code": "403", "method": "GET"}),
        ("watch", "410", {"code": "410", "method": "GET"}),
        ("create", "201", {"code": "201", "method": "POST"}),
        ("update", "409", {"code": "409", "method": "PUT"}),
        ("patch", "422", {"code": "422", "method": "PATCH"}),
        ("patch", "error", {"code": "<error>", "method": "PATCH"}),
        ("get", "599", {"code": "other", "method": "GET"}),
    ],
)
def test_requests_have_the_labels_of_client_go(verb: str, code: str, labels: dict[str, str]) -> None:
    found = registry(server="https://name:secret@api.example.org:6443/prefix")
    found.request(verb, "nodes", code, 0.1)
    assert value(found, "rest_client_requests_total", host="api.example.org:6443", **labels) == 1
    assert sum(series(found, "rest_client_requests_total").values()) == 1


def test_openings_of_watches_are_told_apart() -> None:
    found = registry()
    for code in ("200", "200", "410", "403", "error"):
        found.request("watch", "nodes", code, 0.1)
    found.request("list", "nodes", "410", 0.1)
    assert series(found, "topology_watch_requests_total") == {("success",): 2, ("error",): 3}


def test_the_end_of_a_token_is_shown_as_it_is_now_and_only_where_it_is_known() -> None:
    name = "topology_credential_expiry_timestamp_seconds"
    shown, ends = registry(), {"target": 1_700_000_000.0, "lease": None}
    assert series(shown, name) == {}
    for kubeconfig in ends:
        shown.expires(kubeconfig, functools.partial(ends.__getitem__, kubeconfig))
    assert series(shown, name) == {("target",): 1_700_000_000.0}
    ends |= {"target": 1_707_776_000.0, "lease": 1_700_000_001.0}
    assert series(shown, name) == {("target",): 1_707_776_000.0, ("lease",): 1_700_000_001.0}


def test_requests_to_etcd_are_counted_from_zero_where_etcd_is_asked() -> None:
    name = "topology_etcd_requests_total"
    assert series(registry(), name) == {}
    found = metrics.Metrics(worlds.DIRECTLY, lease="lease")
    assert series(found, name) == {("200",): 0, ("<error>",): 0}
    for code in ("200", "503", "error", "418"):
        found.etcd_request(code)
    assert series(found, name) == {("200",): 1, ("<error>",): 1, ("503",): 1, ("other",): 1}


def machines_shown(*listed: Any, **changes: Any) -> dict[tuple[str, ...], float]:
    known = machine_worlds.known(*listed, **changes)
    return series(decided(known), "topology_control_plane_machines")


def test_machines_are_counted_where_they_are_in_use():
    spare = machine_worlds.machine(0, name="spare", phase="Provisioning", addresses=(), node=None)
    going = machine_worlds.machine(1, deleting=True)
    assert machines_shown(machine_worlds.machine(0), going, spare) == {
        ("present",): 3,
        ("running",): 2,
        ("leaving",): 1,
        ("without_node",): 1,
        ("missing",): 1,
    }
