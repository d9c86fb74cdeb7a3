"""What Prometheus scrapes: numbers follow from the last decision, its facts, and what was told since the start.

Somebody pays for each series: 300 on one cluster at most, whatever happens in it; docs/api.md names each metric.
"""

from __future__ import annotations

import dataclasses
import functools
from datetime import timedelta
from typing import Any

import prometheus_client
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology_api.types import AvailableTransition, TopologyPair, TopologyTransition
from topology_api.vocabulary import CheckStatus, Phase, Stage, Topology
from topology_controller.definitions import load
from topology_controller.observe import catalog, facts
from topology_controller.report import metrics

from . import machine_worlds, measured_cluster, strategies, worlds

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


def test_counters_and_phase_start_at_zero_and_gauges_of_facts_are_absent() -> None:
    """Every request that can be rejected has a counter, too: an alert on the first one must not miss it."""
    samples = [sample for family in registry().registry.collect() for sample in family.samples]
    ours = [sample for sample in samples if not sample.name.startswith("process_")]
    above = {sample.name for sample in ours if sample.value and not sample.name.endswith("_created")}
    assert above == {"topology_operator_build_info", "controller_runtime_max_concurrent_reconciles"}
    names = {sample.name for sample in ours}
    assert names >= {"topology_transition_phase", "topology_transition_stuck", "topology_store_restored_total"}
    assert names.isdisjoint(set(GAUGES[1:3]) | set(GAUGES[5:9])), "what follows from facts"
    rejected = set(series(registry(), "topology_transition_rejected_total"))
    assert rejected >= {
        ("HighlyAvailable/HighlyAvailable", "DualReplica"),
        ("DualReplica/HighlyAvailable", "HighlyAvailable"),
    }
    assert not any(source.partition("/")[0] == target for source, target in rejected), "that is no request"


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


def test_a_master_without_the_newer_label_is_a_node_of_the_control_plane() -> None:
    other = facts.OtherNode("node-9", master=True, arbiter=False)
    pair = {"control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}
    two = tuple(worlds.node(index) for index in range(2))
    known = worlds.moved(worlds.healthy(control_plane_nodes=two, other_nodes=(other,)), worlds.converging())
    assert value(decided(known), "topology_info", desired="HighlyAvailable", shape="compact", **pair) == 1


def test_an_infrastructure_that_cannot_be_read_has_no_topology() -> None:
    assert series(decided(worlds.healthy(infrastructure=worlds.BROKEN)), "topology_info") == {}


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


@pytest.mark.parametrize(
    ("verb", "code", "labels"),
    [
        ("get", "200", {"code": "200", "method": "GET"}),
        ("create", "201", {"code": "201", "method": "POST"}),
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


def test_the_end_of_a_token_is_shown_as_it_is_now_and_only_where_it_is_known() -> None:
    name = "topology_credential_expiry_timestamp_seconds"
    shown, ends = registry(), {"target": 1_700_000_000.0, "lease": None}
    assert series(shown, name) == {}
    for kubeconfig in ends:
        shown.expires(kubeconfig, functools.partial(ends.__getitem__, kubeconfig))
    assert series(shown, name) == {("target",): 1_700_000_000.0}
    ends |= {"target": 1_707_776_000.0, "lease": 1_700_000_001.0}
    assert series(shown, name) == {("target",): 1_707_776_000.0, ("lease",): 1_700_000_001.0}


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


FEWER = settings(measured_cluster.PATIENT, max_examples=40)
"""Each example makes a registry, and every run draws others."""
MOST = 300
RESERVED = 10
"""Series that are left to what serves the page and the scrape."""
SHIPPED = load.load(worlds.BINDATA / "transitions", members_directly=True)
DECLARED = {family.name: family.labels for family in metrics.FAMILIES}
FIXED = {"name": {"lease", "topology"}, "host": {"api.example.org:6443"}}
SERVING = ("apiserver", "client_ca")
"""Watches of the server that are told of beside those of the catalog."""
RESOURCES = {source.field for source in (*catalog.IDLE, *catalog.watched(SHIPPED))} | set(SERVING)
VERBS = ("get", "list", "watch", "create", "update", "patch")


def shipped() -> metrics.Metrics:
    return metrics.Metrics(SHIPPED, lease="lease", server="https://api.example.org:6443")


def scraped(found: metrics.Metrics) -> list[str]:
    text = prometheus_client.generate_latest(found.registry).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def only_declared(found: metrics.Metrics) -> None:
    """Every label of every series has a value that its family declares."""
    for family in found.registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        for sample in family.samples if name in DECLARED else ():
            used = {label: text for label, text in sample.labels.items() if label != "le"}
            assert list(used) == list(DECLARED[name]), sample
            for label, text in used.items():
                allowed: Any = DECLARED[name][label]
                if allowed is None:
                    allowed = {"resource": RESOURCES, **FIXED}.get(label, {text})
                assert text in allowed, sample


def worst(definition: Any) -> metrics.Metrics:
    """A cluster that converges, with every watch open."""
    found = shipped()
    known = measured_cluster.followed(definition).converging()
    decision = worlds.decide(known, transitions=SHIPPED)
    assert decision.phase is Phase.CONVERGING
    assert len(decision.results) == len(definition.convergence.checks)
    found.decided(decision, known)
    found.watches(dict.fromkeys(RESOURCES, 1.7e9))
    return found


def everything_happened(found: metrics.Metrics) -> None:
    """Fill what fills with time: counters of every way, histograms, every code that a server can send."""
    pairs = [TopologyPair(control_plane=one, infrastructure=two) for one in (*Topology, "External") for two in Topology]
    idle = TopologyTransition(phase=Phase.IDLE)
    for source in (None, *pairs):
        for desired in (*Topology, "External", "Mine"):
            found.changed(idle, TopologyTransition(phase=Phase.UNSUPPORTED, source=source), desired, worlds.NOW)
        unsupported = TopologyTransition(phase=Phase.UNSUPPORTED, source=source)
        found.changed(unsupported, idle, None, worlds.NOW)
        for target in (None, *pairs):
            for way in (
                (Phase.PENDING, Phase.ADMITTING),
                (Phase.ADMITTING, Phase.CONVERGING),
                (Phase.CONVERGING, Phase.COMPLETED),
                (Phase.PENDING, Phase.IDLE),
            ):
                before, after = (
                    TopologyTransition(phase=phase, source=source, target=target, phase_transition_time=worlds.NOW)
                    for phase in way
                )
                found.changed(before, after, None, worlds.NOW)
    for code in (*map(str, range(100, 600)), "error", "9" * 40):
        found.etcd_request(code)
        for verb in VERBS:
            found.request(verb, "nodes", code, 0.1)
    for ok in (True, False):
        found.reconciled(1.0, ok=ok)
    found.depth(1)
    found.added()
    found.delivered(1.0)
    found.worked(1.0)
    found.retried()
    found.leading(leads=True)


def test_the_worst_case_of_the_shipped_definitions_fits() -> None:
    counts = {}
    for definition in SHIPPED.definitions:
        found = worst(definition)
        everything_happened(found)
        only_declared(found)
        lines = scraped(found)
        assert len(lines) == len({line.rpartition(" ")[0] for line in lines}), "a series stands twice"
        counts[definition.name] = len(lines)
    assert max(counts.values()) <= MOST - RESERVED, counts


ANYTHING = st.none() | st.text(max_size=12) | st.sampled_from((*Topology, "External"))
PAIR = st.none() | st.builds(TopologyPair, control_plane=ANYTHING.map(str), infrastructure=ANYTHING.map(str))
RECORD = st.builds(TopologyTransition, phase=st.sampled_from(Phase), source=PAIR, target=PAIR)


@FEWER
@given(
    st.tuples(strategies.worlds_of_any_kind(), strategies.terms()),
    st.none() | RECORD,
    RECORD,
    st.none() | st.text(max_size=12),
    st.text(max_size=5),
)
def test_no_fact_record_request_or_status_becomes_a_label(
    world: Any, before: Any, after: Any, desired: Any, code: str
) -> None:
    found = shipped()
    known, term = world
    decision = worlds.decide(known, term, transitions=SHIPPED)
    found.decided(decision, known)
    found.observed(decision.observed, desired, worlds.NOW)
    phases = sorted(series(found, "topology_transition_phase").values())
    seen = not isinstance(known.infrastructure, facts.Unobserved)
    assert phases == [0] * (len(Phase) - 1) + [1 if seen else 0]
    found.changed(before, after, desired, worlds.NOW)
    found.observed(before, desired, worlds.NOW)
    found.observed(after, desired, worlds.NOW)
    found.request("get", "nodes", code, 0.1)
    found.etcd_request(code)
    only_declared(found)


def test_the_registry_has_exactly_these() -> None:
    registry = metrics.Metrics(worlds.DIRECTLY, lease="lease").registry
    found = {}
    for collector in registry._collector_to_names:
        for family in collector.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            found[name] = (family.type, tuple(getattr(collector, "_labelnames", ())), family.documentation)
    ours = {name: told for name, told in found.items() if not name.startswith("process_")}
    assert ours == {family.name: (family.type, tuple(family.labels), family.help) for family in metrics.FAMILIES}
    assert len({family.name for family in metrics.FAMILIES}) == len(metrics.FAMILIES), "a name stands twice"
