"""What is shown of a decision: numbers to Prometheus, and the status page; nothing besides.

Numbers follow from the last decision, its facts, and what was told since the start. Somebody pays for each series: 300
on one cluster at most, whatever happens in it. The page can be looked at whatever the cluster looks like.
"""

import dataclasses
import itertools
from collections import Counter
from datetime import timedelta
from typing import Any

import prometheus_client
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from topology_api.types import AvailableTransition, Blocker, TopologyPair, TopologyTransition
from topology_api.vocabulary import CheckStatus, Phase, Stage, Topology
from topology_controller.checks import catalog as checks
from topology_controller.decide import problems, records, state
from topology_controller.definitions import load
from topology_controller.observe import catalog, facts
from topology_controller.report import metrics, view
from topology_controller.report import state as pages

from . import machine_worlds, measured_cluster, page_state, strategies, worlds
from .strategies import terms, worlds_of_any_kind

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
    known = worlds.healthy(etcd=facts.Etcd(facts.Conditions(), unsafe_scaling=False))
    found = decided(known)
    assert value(found, "topology_transition_phase", phase="Pending") == 1
    assert value(found, "topology_transition_phase", phase="Idle") == 0
    check = {"check": "EtcdHealthy", "stage": Stage.PREFLIGHT.value}
    assert value(found, "topology_transition_check_status", status=CheckStatus.UNKNOWN.value, **check) == 1
    assert value(found, "topology_transition_check_status", status=CheckStatus.MET.value, **check) == 0
    assert value(found, "topology_transition_progress_ratio", stage="Preflight") == 10 / 11
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
    """The metric, by which an alert goes, the page and the problem count the same."""
    members = facts.EtcdMembers(said) if isinstance(said, tuple) else said
    known = worlds.healthy(etcd_members=members)
    if published is not None:
        known = dataclasses.replace(known, etcd_endpoints=published)
    found = decided(known)
    assert series(found, "topology_etcd_members") == {(role,): count for role, count in roles.items()}
    assert Counter(item["role"] for item in pages.members(known, None, leads=True)["items"]) == Counter(roles)
    assert problems.few_voters(known) == (0 if roles.get("voter") == 3 else roles.get("voter"))


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


def test_what_is_seen_of_another_controller_without_a_source_is_not_counted() -> None:
    found = registry()
    found.observed(TopologyTransition(phase=Phase.CONVERGING, target=worlds.HA), "HighlyAvailable", LATER)
    assert not any(series(found, "topology_transition_started_total").values())


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
        ("patch", "error", {"code": "<error>", "method": "PATCH"}),
        ("get", "599", {"code": "other", "method": "GET"}),
        ("watch", "200", {"code": "200", "method": "GET"}),
        ("watch", "error", {"code": "<error>", "method": "GET"}),
    ],
)
def test_requests_have_the_labels_of_client_go(verb: str, code: str, labels: dict[str, str]) -> None:
    found = registry(server="https://name:secret@api.example.org:6443/prefix")
    found.request(verb, "nodes", code, 0.1)
    assert value(found, "rest_client_requests_total", host="api.example.org:6443", **labels) == 1
    assert sum(series(found, "rest_client_requests_total").values()) == 1
    watches = series(found, "topology_watch_requests_total")
    assert watches == {("success",): verb == "watch" and code == "200", ("error",): verb == "watch" and code != "200"}


def test_machines_are_counted_where_they_are_in_use():
    spare = machine_worlds.machine(0, name="spare", phase="Provisioning", addresses=(), node=None)
    going = machine_worlds.machine(1, deleting=True)
    known = machine_worlds.known(machine_worlds.machine(0), going, spare)
    assert series(decided(known), "topology_control_plane_machines") == {
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
RESOURCES = {source.key for source in (*catalog.IDLE, *catalog.watched(SHIPPED))} | set(SERVING)
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
    found.activity = dict.fromkeys(RESOURCES, 1.7e9)
    return found


def everything_happened(found: metrics.Metrics) -> None:
    """Fill what fills with time: counters of every way, histograms, every code that a server can send."""
    pairs = [TopologyPair(control_plane=one, infrastructure=two) for one in (*Topology, "External") for two in Topology]
    idle = TopologyTransition(phase=Phase.IDLE)
    phases = (Phase.PENDING, Phase.ADMITTING, Phase.CONVERGING, Phase.COMPLETED, Phase.PENDING, Phase.IDLE)
    for source, target in itertools.product((None, *pairs), repeat=2):
        unsupported = TopologyTransition(phase=Phase.UNSUPPORTED, source=source)
        for desired in (*Topology, "External", "Mine"):
            found.changed(idle, unsupported, desired, worlds.NOW)
        found.changed(unsupported, idle, None, worlds.NOW)
        way = {"source": source, "target": target, "phase_transition_time": worlds.NOW}
        for before, after in itertools.pairwise(TopologyTransition(phase=phase, **way) for phase in phases):
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
    found = [
        (f"{family.name}_total" if family.type == "counter" else family.name, family.type, family.documentation)
        for family in registry.collect()
        if not family.name.startswith("process_")
    ]
    assert sorted(found) == sorted((family.name, family.type, family.help) for family in metrics.FAMILIES)
    assert len({family.name for family in metrics.FAMILIES}) == len(metrics.FAMILIES), "a name stands twice"


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


def test_requests_to_etcd_have_series_where_etcd_is_asked() -> None:
    name = "topology_etcd_requests_total"
    assert series(registry(), name) == {}
    found = metrics.Metrics(worlds.DIRECTLY, lease="lease")
    assert series(found, name) == {("200",): 0, ("<error>",): 0}


def test_completed_keeps_the_answers_that_it_ended_with() -> None:
    known = worlds.moved(worlds.converged(worlds.healthy(LATER)), worlds.completed())
    shown = page_state.led(known, LATER)
    assert (shown["phase"], shown["stage"]) == ("Completed", "Convergence")
    assert shown["progress"]["met"] == sum(check["status"] == "Met" for check in shown["checks"])
    assert shown["transition"]["typical"] == "typically 25-75 min", "not the time that it took itself"
    assert [moment["what"] for moment in shown["timeline"]][-1] == "Completed"


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
    stuck = view.Snapshot(worlds.decide(known, now=worlds.DEADLINE), known)
    shown = view.look(stuck, known, page_state.about(runbooks="https://docs.example/runbooks/"))
    assert shown["problem"] is not None
    assert (shown["problem"]["reason"], shown["problem"]["since"]) == ("Stuck", "2026-03-01T14:00:00Z")
    assert shown["runbook"] == "https://docs.example/runbooks/TopologyTransitionStuck.md"
    assert view.look(stuck, known, page_state.about())["runbook"] is None
    well = view.Snapshot(worlds.decide(known), known)
    assert view.look(well, known, page_state.about(runbooks="https://docs.example/"))["runbook"] is None


def test_a_record_without_a_deadline_is_given_that_of_its_definition():
    record = worlds.converging().model_copy(update={"deadline_time": None, "admitted_time": worlds.NOW})
    shown = page_state.standing_by(worlds.moved(worlds.healthy(), record))["transition"]
    assert shown["deadlineMinutes"] == worlds.COMPACT.convergence.deadline_minutes


def test_a_problem_and_the_last_transition_are_shown_as_they_are_recorded():
    late = worlds.NOW + timedelta(hours=1)
    broken = worlds.healthy(etcd=worlds.BROKEN, scheduler=False)
    first = page_state.led(broken)
    assert (first["problem"], first["lastTransition"]) == (None, None)
    record = worlds.record_of(worlds.decide(broken))
    known = worlds.recorded(
        dataclasses.replace(broken, etcd_lease=worlds.healthy(late).etcd_lease),
        record.model_copy(update={"last_transition": records.completed(worlds.completed())}),
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
    record = worlds.record_of(worlds.decide(moved(), now=worlds.NOW + timedelta(minutes=61)))
    known = dataclasses.replace(worlds.moved(IDLE, record), own_operator=worlds.own(status={"conditions": written}))
    shown = page_state.standing_by(known)
    assert shown["leads"] is False
    for part in ("phase", "since", "stuck", "degraded", "headline", "stage", "checks", "progress", "transition"):
        assert shown[part] == led[part], part
    assert shown["advisories"] == led["advisories"]
    assert {one["since"] for one in shown["conditions"]} == {"2026-03-01T13:01:00Z"}
    for part in ("nodes", "etcd", "operands"):
        assert shown[part] == {"items": [], "said": "Shown by the operator process that leads"}
    newer = record.model_copy(update={"checks": record.checks[-1:]})
    for copy, count in ((newer, 1), (newer.model_copy(update={"attempt": "of another"}), len(led["checks"]))):
        shown = page_state.standing_by(dataclasses.replace(known, own_operator=worlds.copy_of(copy)))
        assert len(shown["checks"]) == count, "those of the copy, where it is of the same attempt"


_STATUSES = {"Met", "Unmet", "Unknown"}


@given(known=worlds_of_any_kind(), term=terms())
def test_whatever_is_decided_can_be_shown(known: facts.Facts, term: state.LeaderState) -> None:
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
    monkeypatch.setattr(checks, "CHECKS", {})
    shown = view.look(view.Snapshot(decided, known), known, page_state.about())
    measured.decided(decided, known)
    scraped = prometheus_client.generate_latest(measured.registry).decode()
    assert [one["eligible"] for one in shown["nodes"]["items"]] == [True, True, True]
    assert 'topology_control_plane_nodes{state="eligible"} 3.0' in scraped
