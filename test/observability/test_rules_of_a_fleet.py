"""What a fleet collects, and what its hub records and alerts: few series, no name of a node, and the right clusters."""

from __future__ import annotations

import itertools
import pathlib
import re
from typing import TYPE_CHECKING

import pytest
import yaml

from test.observability.rules import hub, promtool
from topology_api import shape
from topology_api.vocabulary import Phase
from topology_controller.report import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

LIST = pathlib.Path(__file__).parents[2] / "bindata" / "fleet" / "observability-metrics-custom-allowlist.yaml"
BUDGET = 15
"""Series of each cluster that go to the hub."""
SENT = {
    "cluster:topology_transition_phase:max": 6,
    "cluster:topology_transition_stuck:max": 1,
    "cluster:topology_transition_started_timestamp_seconds:max": 1,
    "cluster:topology_transition_available:max": 1,
    "cluster:topology_transition_progress_ratio:max": 1,
    "cluster:topology_transition_check_status:sum": 2,
    "cluster:topology_etcd_members:max": 1,
    "cluster:topology_info:max": 1,
    "cluster:topology_watch_last_activity_timestamp_seconds:min": 1,
}
"""The most that each of them can be."""
COLLECTED = {name: rule for name, rule in promtool.rules("record").items() if name.startswith("cluster:")}
PER_FAMILY = 400
MOST = 19
"""Series that a hub records, whatever its clusters do."""
RECORDS, ALERTS = hub.rules("record"), hub.rules("alert")
VOTERS = 'cluster:topology_etcd_members:max{role="voter"}'
COMPLETED = 'cluster:topology_transition_phase:max{phase="Completed"}'
STUCK = "cluster:topology_transition_stuck:max"
INSTALLED = 'cluster_operator_conditions{name="topology",condition="Available"}'
INFO = "cluster:topology_info:max"


def possible() -> Iterator[str]:
    """Every series that the metrics behind the records can have, or 400 of them, from three pods at once."""
    behind = {one.name for rule in COLLECTED.values() for one in promtool.series(rule["expr"])}
    for family in metrics.FAMILIES:
        if family.name not in behind:
            continue
        values = [sorted(found) if found is not None else ["x", "y", "z"] for found in family.labels.values()]
        combined = list(itertools.product(*values))
        chosen = combined[:: max(1, len(combined) // PER_FAMILY)]
        for one, pod in itertools.product(chosen, "abc"):
            labels = zip((*family.labels, "instance", "pod", "node"), (*one, pod, pod, f"node-{pod}"), strict=True)
            told = ",".join(f'{label}="{value}"' for label, value in labels)
            yield f"{family.name}{{{told}}}"


def test_what_a_cluster_sends_is_within_the_budget(tmp_path: pathlib.Path) -> None:
    assert set(SENT) == set(COLLECTED)
    assert sum(SENT.values()) <= BUDGET
    counts = [{"labels": f'{{name="{name}"}}', "value": most} for name, most in SENT.items()]
    text = 'count by (name) (label_replace({__name__=~"cluster:topology_.*"}, "name", "$1", "__name__", "(.*)"))'
    story = {
        "name": "everything at once",
        "interval": "30s",
        "input_series": [{"series": one, "values": "1x4"} for one in possible()],
        "promql_expr_test": [{"expr": text, "eval_time": "1m", "exp_samples": counts}],
    }
    assert not promtool.judge([story], promtool.records(), tmp_path)


def test_the_list_for_the_hub_has_what_is_recorded_and_nothing_else() -> None:
    made = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    assert (made["kind"], made["metadata"]["name"], made["metadata"]["namespace"]) == (
        "ConfigMap", "observability-metrics-custom-allowlist", "open-cluster-management-observability",
    )  # fmt: skip
    listed = yaml.safe_load(made["data"]["metrics_list.yaml"])
    assert set(listed) == {"names"}
    assert listed["names"] == sorted(COLLECTED)


@pytest.mark.parametrize("name", COLLECTED)
def test_what_is_sent_has_labels_of_closed_sets_only(name: str) -> None:
    closed = {label for one in metrics.FAMILIES for label, values in one.labels.items() if values is not None}
    kept = [labels for word, labels in promtool.grouped(COLLECTED[name]["expr"]) if word == "by"]
    assert all(labels <= closed for labels in kept)
    assert not {"node", "pod", "instance", "message"} & set().union(*kept)


# -- the hub


def counted(name: str, sites: hub.Sites, when: str, folder: pathlib.Path, value: float | None) -> str:
    """What promtool says against this count at a time; empty where it is right."""
    name = f"fleet:topology_{name}:count"
    samples = [] if value is None else [hub.sample(name, value, {})]
    asked = [{"expr": name, "eval_time": when, "exp_samples": samples}]
    return hub.played(sites, folder, promql_expr_test=asked)


def wave(number: int, voters: str, phase: str = "Converging") -> hub.Sites:
    """So many clusters in flight, the first of them with these voters."""
    sites = {f"edge-{index}": {**hub.phase(phase, "1x40"), VOTERS: "3x40"} for index in range(number)}
    sites["edge-0"][VOTERS] = voters
    return sites


def test_whatever_the_clusters_do_a_hub_records_few_series(tmp_path: pathlib.Path) -> None:
    topologies = ("SingleReplica", "HighlyAvailable", "External")
    sites: hub.Sites = {}
    for index, name in enumerate(Phase):
        for number, kind in enumerate(shape.Shape):
            plane = topologies[number % 3]
            labels = f'control_plane="{plane}",infrastructure="{topologies[index % 2]}",shape="{kind}",desired=""'
            sites[f"edge-{index}-{number}"] = {
                **hub.phase(name.value, "1x10"), STUCK: "0x3 1x6", VOTERS: "2x10", f"{INFO}{{{labels}}}": "1x10",
            }  # fmt: skip
    asked = [{"expr": 'count({__name__=~"fleet:.*"})', "eval_time": "40m", "exp_samples": [{"value": MOST}]}]
    assert not hub.played(sites, tmp_path, promql_expr_test=asked)


@pytest.mark.parametrize("name", [*RECORDS, *ALERTS])
def test_a_rule_reads_what_the_clusters_send_and_says_of_which_it_is(name: str) -> None:
    rule = {**RECORDS, **ALERTS}[name]
    asked = {series.name for series in promtool.series(rule["expr"])}
    assert asked <= set(COLLECTED) | set(RECORDS) | {"cluster_operator_conditions"}
    kept = [labels for word, labels in promtool.grouped(rule["expr"]) if word == "by"]
    if asked & set(COLLECTED):
        assert {"cluster"} in kept or {"cluster", "phase"} in kept or {"cluster"} < set().union(*kept)


def test_clusters_are_counted_by_phase_each_once(tmp_path: pathlib.Path) -> None:
    sites = {
        "a": hub.phase("Converging", "1x10"), "b": hub.phase("Converging", "1x10"), "c": hub.phase("Pending", "1x10"),
    }  # fmt: skip
    # The collector of a hub runs twice for a while when it is replaced.
    sites["a"] |= {f'{name[:-1]},prometheus_replica="1"}}': values for name, values in list(sites["a"].items())}
    name = "fleet:topology_transition_phase:count"
    expected = [hub.sample(name, 2, {"phase": "Converging"}), hub.sample(name, 1, {"phase": "Pending"})]
    asked = [{"expr": name, "eval_time": "30m", "exp_samples": expected}]
    assert not hub.played(sites, tmp_path, promql_expr_test=asked)


LATE = {"a": hub.phase("Idle", "1x3 _x1 1x3") | {STUCK: "1x3 _x1 1x3"}, "b": hub.phase("Idle", "1x40")}
IN_TURNS = {
    f'cluster:topology_transition_phase:max{{phase="{phase}"}}': " ".join([values] * 46)
    for phase, values in (("Pending", "1x5 0"), ("Admitting", "0x5 1"))
}
DAYS = {
    "all day": hub.phase("Pending", "1x320"),
    "Pending and Admitting in turns": IN_TURNS,
    "for less than a day": hub.phase("Pending", "0x40 1x280"),
    "no more": hub.phase("Pending", "1x300 0x20"),
    "with a pause": hub.phase("Pending", "1x100 0x2 1x218"),
    "seen for less than a day": hub.phase("Pending", "_x33 1x300"),
    "never": hub.phase("Idle", "1x320"),
}
"""The first two are blocked for a whole day."""


@pytest.mark.parametrize(
    ("name", "sites", "when", "number"),
    [
        pytest.param("transition_stuck", LATE, "20m", 1, id="a cluster that is late counts"),
        pytest.param("transition_stuck", LATE, "60m", None, id="one that is gone does not"),
        pytest.param("etcd_two_voters", wave(2, "1x3 2x1 3x30"), "40m", 0, id="two voters in passing"),
        pytest.param("etcd_two_voters", wave(2, "1x3 2x30"), "20m", 0, id="two voters that have just begun"),
        pytest.param("etcd_two_voters", wave(2, "1x3 2x30"), "40m", 1, id="two voters that stay"),
        pytest.param("etcd_two_voters", wave(2, "1x3 2x30", "Pending"), "40m", 1, id="two voters while Pending"),
        pytest.param("etcd_two_voters", wave(2, "1x3 2x30", "Admitting"), "40m", 1, id="two voters while Admitting"),
        pytest.param("etcd_two_voters", wave(2, "2x40", "Completed"), "60m", 0, id="two voters without a request"),
        pytest.param("transition_blocked_day", DAYS, "1590m", 2, id="blocked for a day"),
    ],
)
def test_clusters_in_trouble_are_counted(
    name: str, sites: hub.Sites, when: str, number: float | None, tmp_path: pathlib.Path
) -> None:
    assert not counted(name, sites, when, tmp_path, number)


def test_a_cluster_that_has_just_changed_counts_as_what_it_is_now(tmp_path: pathlib.Path) -> None:
    pair = 'control_plane="{0}",infrastructure="{0}",shape="{1}"'
    before, after = pair.format("SingleReplica", "single-node"), pair.format("HighlyAvailable", "compact")
    sites = {"a": {f"{INFO}{{{before}}}": "1x4", f"{INFO}{{{after}}}": "_x5 1x5"}, "b": {f"{INFO}{{{before}}}": "1x10"}}
    name = "fleet:topology_info:count"
    expected = [{"labels": f"{name}{{{labels}}}", "value": 1} for labels in (after, before)]
    asked = [{"expr": name, "eval_time": "25m", "exp_samples": expected}]
    assert not hub.played(sites, tmp_path, promql_expr_test=asked)


QUIET = {f"idle-{index}": {**hub.phase("Idle", "1x40"), STUCK: "0x40", INSTALLED: "1x40"} for index in range(3)}


def stuck(values: str) -> hub.Sites:
    return QUIET | {"edge-1": {**hub.phase("Converging", "1x40"), STUCK: values, INSTALLED: "1x40"}}


def heard(values: str, installed: str = "1x40") -> hub.Sites:
    return QUIET | {"edge-1": {**hub.phase("Idle", values), INSTALLED: installed}}


STORIES: list[tuple[str, hub.Sites, dict[str, bool]]] = [
    ("TopologyFleetStuck", stuck("0x4 1x20 0x20"), {"35m": False, "40m": True, "100m": True, "140m": False}),
    ("TopologyFleetStuck", stuck("0x4 1 0x30"), {"30m": False, "40m": False, "60m": False}),
    ("TopologyFleetStuck", QUIET, {"60m": False}),
    ("TopologyFleetTwoVoters", wave(49, "1x3 2x40"), {"49m": False, "60m": True, "120m": True}),
    ("TopologyFleetTwoVoters", wave(50, "1x3 2x40"), {"60m": False, "120m": False}),
    ("TopologyFleetTwoVoters", wave(4, "1x3 2x1 3x40"), {"60m": False, "120m": False}),
    ("TopologyFleetTwoVoters", wave(4, "2x12 3x30"), {"45m": True, "90m": False}),
    ("TopologyFleetTwoVoters", wave(4, "2x40", "Completed"), {"60m": False}),
    ("TopologyFleetSilent", heard("1x10"), {"70m": False, "90m": False, "105m": True, "120m": True}),
    ("TopologyFleetSilent", heard("1x10 _x5 1x20"), {"75m": False, "95m": False}),
    ("TopologyFleetSilent", heard("1x40", "1x5"), {"120m": False}),
    ("TopologyFleetSilent", heard("1x10", "1x10"), {"95m": False, "120m": False}),
    ("TopologyFleetSilent", heard("_x30 1x10", "_x20 1x20"), {"110m": False, "125m": False, "140m": False}),
    ("TopologyFleetSilent", {"edge-1": {INSTALLED: "1x40"}}, {"30m": False, "60m": True}),
]  # fmt: skip


@pytest.mark.parametrize(("alert", "sites", "times"), STORIES, ids=[f"{one[0]}-{i}" for i, one in enumerate(STORIES)])
def test_a_hub_alerts_of_the_right_clusters(
    alert: str, sites: hub.Sites, times: dict[str, bool], tmp_path: pathlib.Path
) -> None:
    labels = {"exp_labels": {"severity": "warning"}}
    asked = [
        {"eval_time": time, "alertname": alert, **({"exp_alerts": [labels]} if fires else {})}
        for time, fires in times.items()
    ]
    assert not hub.played(sites, tmp_path, alert_rule_test=asked)


def test_a_few_in_a_hundred_that_are_late_are_for_the_morning(tmp_path: pathlib.Path) -> None:
    """5 of 100 are five times what may be: nothing warns of that, and one hour later it is noted."""
    ends, late = "0x11 1x100", "0x23 1x100"
    sites = {f"edge-{index}": {**hub.phase("Converging", "1x11 0x100"), COMPLETED: ends} for index in range(95)}
    sites |= {f"late-{index}": {**hub.phase("Converging", "1x123"), STUCK: late} for index in range(5)}
    noted = [{"exp_labels": {"severity": "info"}}]
    asked = [
        {"eval_time": time, "alertname": "TopologyFleetBudgetBurn", "exp_alerts": alerts}
        for time, alerts in {"150m": [], "180m": [], "190m": noted, "6h": noted}.items()
    ]
    assert not hub.played(sites, tmp_path, alert_rule_test=asked)


MANY = {f"edge-{index}": {**hub.phase("Converging", "1x40"), STUCK: "1x40"} for index in range(7)}
LATE_ONES = {f"edge-{index}": {**hub.phase("Converging", "1x40"), STUCK: "0x6 1x33"} for index in range(3)}


@pytest.mark.parametrize(
    ("alert", "sites", "named"),
    [
        ("TopologyFleetStuck", stuck("1x40"), "1, among them edge-1"),
        ("TopologyFleetTwoVoters", wave(3, "2x40"), "1, among them edge-0"),
        ("TopologyFleetSilent", heard("_x40"), "1, among them edge-1"),
        ("TopologyFleetBudgetBurn", LATE_ONES, r"100% of the transitions that ended, among them edge-\d(, edge-\d){2}"),
        ("TopologyFleetStuck", MANY, r"7, among them edge-\d(, edge-\d){4}"),
    ],
)
def test_a_description_names_clusters_and_not_all_of_them(
    alert: str, sites: hub.Sites, named: str, tmp_path: pathlib.Path
) -> None:
    wrong = {"exp_labels": {"severity": "warning"}, "exp_annotations": {"description": "?"}}
    asked = [{"eval_time": "60m", "alertname": alert, "exp_alerts": [wrong]}]
    text = hub.played(sites, tmp_path, alert_rule_test=asked, annotated=True)
    assert re.search(rf": {named}\. [A-Z]", text), text
