"""How many series there can be, and that no cluster can make more of them.

Somebody pays for each: 300 on one cluster at most, whatever happens in it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import prometheus_client
from hypothesis import given, settings
from hypothesis import strategies as st

from topology_api.types import TopologyPair, TopologyTransition
from topology_api.vocabulary import Phase, Topology
from topology_controller.definitions import load
from topology_controller.observe import catalog, facts
from topology_controller.report import metrics

from . import measured_cluster, strategies, worlds

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


def registry() -> metrics.Metrics:
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


def converging(definition: Any) -> metrics.Metrics:
    """A cluster that converges, with every watch open."""
    found = registry()
    at = worlds.NOW + timedelta(minutes=1)
    before = worlds.ready_for(definition, at)
    assert isinstance(before.infrastructure, facts.Infrastructure)
    record = TopologyTransition(
        phase=Phase.CONVERGING,
        name=definition.name,
        source=TopologyPair(
            control_plane=before.infrastructure.control_plane, infrastructure=before.infrastructure.infrastructure
        ),
        target=definition.target.pair,
        admitted_time=worlds.NOW,
        phase_transition_time=worlds.NOW,
        baseline=measured_cluster.baseline(before),
    )
    target = definition.target.pair
    known = worlds.recorded(
        worlds.followed(definition, before),
        record,
        control_plane=target.control_plane,
        infrastructure=target.infrastructure,
    )
    decision = worlds.decide(known, now=at, transitions=SHIPPED)
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
        found = converging(definition)
        everything_happened(found)
        only_declared(found)
        lines = scraped(found)
        assert len(lines) == len({line.rpartition(" ")[0] for line in lines}), "a series stands twice"
        counts[definition.name] = len(lines)
    assert max(counts.values()) <= MOST - RESERVED, counts


@FEWER
@given(strategies.worlds_of_any_kind(), strategies.terms())
def test_no_fact_becomes_a_label(known: Any, term: Any) -> None:
    found = registry()
    decision = worlds.decide(known, term, transitions=SHIPPED)
    found.decided(decision, known)
    found.observed(decision.observed, "Mine", worlds.NOW)
    only_declared(found)
    phases = [sample.value for family in found.registry.collect() for sample in family.samples
              if sample.name == "topology_transition_phase"]  # fmt: skip
    seen = not isinstance(known.infrastructure, facts.Unobserved)
    assert sorted(phases) == [0] * (len(Phase) - 1) + [1 if seen else 0]


ANYTHING = st.none() | st.text(max_size=12) | st.sampled_from((*Topology, "External"))


PAIR = st.none() | st.builds(TopologyPair, control_plane=ANYTHING.map(str), infrastructure=ANYTHING.map(str))
RECORD = st.builds(TopologyTransition, phase=st.sampled_from(Phase), source=PAIR, target=PAIR)


@FEWER
@given(st.none() | RECORD, RECORD, st.none() | st.text(max_size=12), st.text(max_size=5))
def test_no_record_request_or_status_becomes_a_label(before: Any, after: Any, desired: Any, code: str) -> None:
    found = registry()
    found.changed(before, after, desired, worlds.NOW)
    found.observed(before, desired, worlds.NOW)
    found.observed(after, desired, worlds.NOW)
    found.request("get", "nodes", code, 0.1)
    found.etcd_request(code)
    only_declared(found)
