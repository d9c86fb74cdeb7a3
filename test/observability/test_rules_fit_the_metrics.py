"""The rules ask for series that the operator has, by labels and values that they can have."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import prometheus_client
import pytest
from prometheus_client import parser

from test.observability.rules import promtool
from test.unit.core import worlds
from topology_controller.decide import admission
from topology_controller.definitions import load
from topology_controller.report import metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

TRANSITIONS = load.load(pathlib.Path(__file__).parents[2] / "bindata" / "transitions")
OURS: dict[str, Mapping[str, frozenset[str] | None]] = {
    f"{one.name}_sum" if one.type == "histogram" else one.name: one.labels for one in metrics.FAMILIES
}
THEIRS: dict[str, Mapping[str, frozenset[str] | None]] = {
    "cluster_operator_conditions": {"name": None, "condition": None, "reason": None}
}
"""Of the cluster version operator; its labels are those of its pkg/cvo/metrics.go."""
TARGET = frozenset({"instance", "job", "namespace", "pod", "service", "container", "endpoint"})
"""What Prometheus adds to whatever it scrapes from a ServiceMonitor."""
RULES = {**promtool.rules("record"), **promtool.rules("alert")}


@dataclass(frozen=True, slots=True)
class Asked:
    """One selector in one rule."""

    rule: str
    series: promtool.Series

    def __str__(self) -> str:
        return f"{self.rule}: {self.series.name}"


def texts(rule: dict[str, Any]) -> list[str]:
    """Its expression, and those that its annotations ask."""
    return [rule["expr"], *re.findall(r"query `([^`]*)`", " ".join(rule.get("annotations", {}).values()))]


ASKED = [Asked(name, one) for name, rule in RULES.items() for text in texts(rule) for one in promtool.series(text)]


def recorded(name: str) -> Mapping[str, frozenset[str] | None] | None:
    """The labels of a recorded series, with the values that they have in what it is made of."""
    rule = promtool.rules("record").get(name)
    if rule is None:
        return None
    sources: dict[str, frozenset[str] | None] = {}
    for one in promtool.series(rule["expr"]):
        sources.update(OURS.get(one.name, {}))
    lists = [labels for word, labels in promtool.grouped(rule["expr"]) if word == "by"]
    return {label: sources[label] for label in (lists[0] if lists else ())}


def test_something_is_asked_for_in_every_rule():
    assert {one.rule for one in ASKED} == set(RULES)


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_what_is_asked_for_exists_with_these_labels_and_values(asked: Asked):
    name = asked.series.name
    known = OURS | THEIRS | {one: recorded(one) for one in promtool.rules("record")}
    assert name in known, f"{asked.rule} asks for {name}, which nobody has"
    labels = known[name]
    assert labels is not None, name
    for label, how, value in asked.series.matchers:
        assert label in labels or label in TARGET, f"{name} has no label {label}, only {sorted(labels)}"
        possible = labels.get(label)
        wanted = value.split("|") if how in {"=~", "!~"} else [value]
        assert possible is None or set(wanted) <= possible, f"{label} of {name} is never {set(wanted) - possible}"


@pytest.mark.parametrize("name", RULES)
def test_what_is_grouped_by_is_a_label_of_what_is_asked_for(name: str):
    known = OURS | THEIRS | {one: recorded(one) for one in promtool.rules("record")}
    there = TARGET.union(*(known[one.series.name] or () for one in ASKED if one.rule == name))
    for word, labels in (pair for text in texts(RULES[name]) for pair in promtool.grouped(text)):
        assert labels <= there, f"{word} {sorted(labels - there)} in {name}"


def scraped(found: metrics.Metrics) -> dict[str, list[dict[str, str]]]:
    """The series of a scrape by name, less those that are 0."""
    text = prometheus_client.generate_latest(found.registry).decode()
    samples = [one for family in parser.text_string_to_metric_families(text) for one in family.samples]
    names = {one.name for one in samples}
    return {name: [one.labels for one in samples if one.name == name and one.value] for name in names}


def test_a_leader_with_an_open_request_has_what_the_rules_read():
    leader = metrics.Metrics(TRANSITIONS, lease="lease")
    leader.leading(leads=True)
    known = worlds.healthy(control_plane_nodes=())
    looked = admission.available(known, TRANSITIONS, worlds.NOW)
    leader.decided(worlds.decide(known, worlds.term(available=looked)), known)
    leader.activity = {"infrastructure": 1.0}
    found = scraped(leader)
    missing = {one.series.name for one in ASKED if one.series.name in OURS} - set(found)
    assert not missing, missing
    assert found["topology_transition_phase"] == [{"phase": "Pending"}]
    assert len(found["topology_info"]) == 1
    assert {one["status"] for one in found["topology_transition_check_status"]} >= {"Unmet", "Met"}
