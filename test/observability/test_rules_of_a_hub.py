"""What a hub records of a fleet and when it alerts: few series, the right clusters, each rule watched by a story."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import pytest

from test.observability.rules import expressions, hub, promtool
from topology_api import shape
from topology_api.vocabulary import Phase
from topology_controller import bindata

if TYPE_CHECKING:
    import pathlib

MOST = 12
"""Series that a hub records, whatever its clusters do."""
RECORDS, ALERTS = hub.rules("record"), hub.rules("alert")
RECORDED = frozenset(promtool.rules("record"))
VOTERS = 'cluster:topology_etcd_members:max{role="voter"}'
STUCK = "cluster:topology_transition_stuck:max"
INSTALLED = 'cluster_operator_conditions{name="topology",condition="Available"}'
INFO = "cluster:topology_info:max"


def counted(sites: hub.Sites, when: str, folder: pathlib.Path, content: Any = None, **values: float | None) -> str:
    """What promtool says against these counts at a time; empty where they are right."""
    asked = [
        {
            "expr": f"fleet:topology_{name}:count",
            "eval_time": when,
            "exp_samples": [] if value is None else [hub.sample(f"fleet:topology_{name}:count", value, {})],
        }
        for name, value in values.items()
    ]
    code, text = hub.played(sites, folder, content, promql_expr_test=asked)
    return text if code else ""


def alerted(sites: hub.Sites, alert: str, folder: pathlib.Path, content: Any = None, **times: bool) -> str:
    """What promtool says against an alert that fires at a time, `t60` for minutes, or does not."""
    labels = {"exp_labels": {"severity": "warning"}}
    asked = [
        {"eval_time": f"{time[1:]}m", "alertname": alert, **({"exp_alerts": [labels]} if fires else {})}
        for time, fires in times.items()
    ]
    code, text = hub.played(sites, folder, content, alert_rule_test=asked)
    return text if code else ""


def wave(number: int, voters: str, phase: str = "Converging") -> hub.Sites:
    """So many clusters in flight, the first of them with these voters."""
    sites = {f"edge-{index}": {**hub.phase(phase, "1x40"), VOTERS: "3x40"} for index in range(number)}
    sites["edge-0"][VOTERS] = voters
    return sites


def test_promtool_accepts_the_rules(tmp_path: pathlib.Path) -> None:
    ended = promtool.check(hub.groups(), tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_hub_finds_its_config_map() -> None:
    content = hub.config_map()
    assert content["metadata"] == {
        "name": "thanos-ruler-custom-rules", "namespace": "open-cluster-management-observability",
    }  # fmt: skip
    assert list(content["data"]) == ["custom_rules.yaml"]


def test_whatever_the_clusters_do_a_hub_records_few_series(tmp_path: pathlib.Path) -> None:
    topologies = ("SingleReplica", "HighlyAvailable", "External")
    sites: hub.Sites = {}
    for index, name in enumerate(Phase):
        for number, kind in enumerate(shape.Shape):
            plane = topologies[number % 3]
            labels = f'control_plane="{plane}",infrastructure="{topologies[index % 2]}",shape="{kind}",desired=""'
            sites[f"edge-{index}-{number}"] = {
                **hub.phase(name.value, "1x10"), STUCK: "1x10", VOTERS: "2x10", f"{INFO}{{{labels}}}": "1x10",
            }  # fmt: skip
    asked = [{"expr": 'count({__name__=~"fleet:.*"})', "eval_time": "40m", "exp_samples": [{"value": MOST}]}]
    code, text = hub.played(sites, tmp_path, promql_expr_test=asked)
    assert code == 0, text


@pytest.mark.parametrize("name", [*RECORDS, *ALERTS])
def test_a_rule_reads_what_the_clusters_send_and_says_of_which_it_is(name: str) -> None:
    rule = {**RECORDS, **ALERTS}[name]
    asked = {series.name for series in expressions.series(rule["expr"])}
    assert asked <= RECORDED | set(RECORDS) | {"cluster_operator_conditions"}
    kept = [labels for word, labels in expressions.grouped(rule["expr"]) if word == "by"]
    if any(series in RECORDED for series in asked):
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
    code, text = hub.played(sites, tmp_path, promql_expr_test=asked)
    assert code == 0, text


def test_a_cluster_that_is_late_still_counts_and_one_that_is_gone_does_not(tmp_path: pathlib.Path) -> None:
    sites = {"a": hub.phase("Idle", "1x3 _x1 1x3") | {STUCK: "1x3 _x1 1x3"}, "b": hub.phase("Idle", "1x40")}
    assert not counted(sites, "20m", tmp_path, transition_stuck=1)
    assert not counted(sites, "35m", tmp_path, transition_stuck=1)
    assert not counted(sites, "60m", tmp_path, transition_stuck=None)


def test_a_cluster_that_has_just_changed_is_counted_as_what_it_is_now(tmp_path: pathlib.Path) -> None:
    pair = 'control_plane="{0}",infrastructure="{0}",shape="{1}"'
    before, after = pair.format("SingleReplica", "single-node"), pair.format("HighlyAvailable", "compact")
    sites = {"a": {f"{INFO}{{{before}}}": "1x4", f"{INFO}{{{after}}}": "_x5 1x5"}, "b": {f"{INFO}{{{before}}}": "1x10"}}
    name = "fleet:topology_info:count"
    expected = [{"labels": f"{name}{{{labels}}}", "value": 1} for labels in (after, before)]
    asked = [{"expr": name, "eval_time": "25m", "exp_samples": expected}]
    code, text = hub.played(sites, tmp_path, promql_expr_test=asked)
    assert code == 0, text


@pytest.mark.parametrize(
    ("voters", "at", "number"),
    [("1x3 2 3x30", "40m", 0), ("1x3 2x1 3x30", "40m", 0), ("1x3 2x30", "20m", 0), ("1x3 2x30", "40m", 1)],
    ids=["passes through", "passes slowly", "has just begun", "stays"],
)
@pytest.mark.parametrize("phase", ["Pending", "Admitting", "Converging"])
def test_who_passes_through_two_voters_is_not_counted_and_who_stays_is(
    voters: str, at: str, number: float, phase: str, tmp_path: pathlib.Path
) -> None:
    assert not counted(wave(2, voters, phase), at, tmp_path, etcd_two_voters=number)


def test_two_voters_without_a_request_are_not_counted(tmp_path: pathlib.Path) -> None:
    assert not counted(wave(2, "2x40", "Completed"), "60m", tmp_path, etcd_two_voters=0)


@pytest.mark.parametrize(
    ("values", "number"),
    [("1x320", 1), ("0x40 1x280", 0), ("1x300 0x20", 0), ("1x100 0x2 1x218", 0), ("_x33 1x300", 0)],
    ids=["all day", "for less than a day", "no more", "with a pause", "seen for less than a day"],
)
def test_a_request_that_stands_for_a_day_is_counted(values: str, number: float, tmp_path: pathlib.Path) -> None:
    sites = {"a": hub.phase("Pending", values), "b": hub.phase("Idle", "1x320")}
    assert not counted(sites, "1590m", tmp_path, transition_blocked_day=number)


def test_pending_and_admitting_in_turns_are_a_request_that_stands(tmp_path: pathlib.Path) -> None:
    name = "cluster:topology_transition_phase:max"
    turns = {
        f'{name}{{phase="Pending"}}': " ".join(["1x5 0"] * 46),
        f'{name}{{phase="Admitting"}}': " ".join(["0x5 1"] * 46),
    }
    assert not counted({"a": turns}, "1590m", tmp_path, transition_blocked_day=1)


# -- alerts

QUIET = {f"idle-{index}": {**hub.phase("Idle", "1x40"), STUCK: "0x40", INSTALLED: "1x40"} for index in range(3)}


def stuck(values: str) -> hub.Sites:
    return QUIET | {"edge-1": {**hub.phase("Converging", "1x40"), STUCK: values, INSTALLED: "1x40"}}


def heard(values: str, installed: str = "1x40") -> hub.Sites:
    return QUIET | {"edge-1": {**hub.phase("Idle", values), INSTALLED: installed}}


STORIES: list[tuple[str, hub.Sites, dict[str, bool]]] = [
    ("TopologyFleetStuck", stuck("0x4 1x20 0x20"), {"t35": False, "t40": True, "t100": True, "t140": False}),
    ("TopologyFleetStuck", stuck("0x4 1 0x30"), {"t30": False, "t40": False, "t60": False}),
    ("TopologyFleetStuck", QUIET, {"t60": False}),
    ("TopologyFleetTwoVoters", wave(49, "1x3 2x40"), {"t49": False, "t60": True, "t120": True}),
    ("TopologyFleetTwoVoters", wave(50, "1x3 2x40"), {"t60": False, "t120": False}),
    ("TopologyFleetTwoVoters", wave(4, "1x3 2x1 3x40"), {"t60": False, "t120": False}),
    ("TopologyFleetTwoVoters", wave(4, "2x12 3x30"), {"t45": True, "t90": False}),
    ("TopologyFleetTwoVoters", wave(4, "2x40", "Completed"), {"t60": False}),
    ("TopologyFleetSilent", heard("1x10"), {"t70": False, "t90": False, "t105": True, "t120": True}),
    ("TopologyFleetSilent", heard("1x10 _x5 1x20"), {"t75": False, "t95": False}),
    ("TopologyFleetSilent", heard("1x40", "1x5"), {"t120": False}),
    ("TopologyFleetSilent", heard("1x10", "1x10"), {"t95": False, "t120": False}),
    ("TopologyFleetSilent", heard("_x30 1x10", "_x20 1x20"), {"t110": False, "t125": False, "t140": False}),
    ("TopologyFleetSilent", {"edge-1": {INSTALLED: "1x40"}}, {"t30": False, "t60": True}),
]  # fmt: skip


@pytest.mark.parametrize(("alert", "sites", "times"), STORIES, ids=[f"{one[0]}-{i}" for i, one in enumerate(STORIES)])
def test_the_stories_come_true(alert: str, sites: hub.Sites, times: dict[str, bool], tmp_path: pathlib.Path) -> None:
    assert not alerted(sites, alert, tmp_path, **times)


FAULTS = [
    ("TopologyFleetStuck", "> 0", "> 1"), ("TopologyFleetStuck", "> 0", ">= 0"), ("TopologyFleetStuck", "15m", "5m"),
    ("TopologyFleetStuck", "15m", "30m"),
    ("TopologyFleetTwoVoters", "0.02", "0.03"), ("TopologyFleetTwoVoters", "0.02", "0.01"),
    ("TopologyFleetTwoVoters", "15m", "5m"), ("TopologyFleetTwoVoters", "Pending|Admitting|Converging", "Pending"),
    ("TopologyFleetSilent", "unless on", "and on"), ("TopologyFleetSilent", "[30m]", "[15m]"),
    ("TopologyFleetSilent", "offset 30m", ""), ("TopologyFleetSilent", 'name="topology"', 'name="etcd"'),
    ("TopologyFleetSilent", "15m", "40m"), ("TopologyFleetSilent", "[15m]", "[90m]"),
]  # fmt: skip


@pytest.mark.parametrize(("alert", "old", "new"), FAULTS)
def test_a_rule_that_is_broken_is_caught(alert: str, old: str, new: str, tmp_path: pathlib.Path) -> None:
    content = copy.deepcopy(hub.groups())
    (rule,) = [rule for group in content for rule in group["rules"] if rule.get("alert") == alert]
    part = "for" if rule["for"] == old else "expr"
    assert old in rule[part]
    rule[part] = rule[part].replace(old, new)
    told = [alerted(sites, alert, tmp_path, content, **times) for name, sites, times in STORIES if name == alert]
    assert any("FAILED" in text for text in told), told


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_the_guidelines_ask_for(name: str) -> None:
    rule = ALERTS[name]
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    summary, description = rule["annotations"]["summary"], rule["annotations"]["description"]
    assert summary.endswith(".")
    assert len(summary) <= 100
    assert "{{" not in summary
    assert description.startswith("Run 'oc topology fleet'. ")
    assert f"'oc topology explain {name}'" in description
    assert rule["annotations"]["runbook_url"] == f"{bindata.RUNBOOKS}/{name}.md"
    assert " ".join(rule["annotations"].values()).isascii()
    assert rule["labels"] == {"severity": "warning"}


@pytest.mark.parametrize(
    ("alert", "sites", "number", "names"),
    [
        ("TopologyFleetStuck", stuck("1x40"), 1, "edge-1"),
        ("TopologyFleetTwoVoters", wave(3, "2x40"), 1, "edge-0"),
        ("TopologyFleetSilent", heard("_x40"), 1, "edge-1"),
        (
            "TopologyFleetStuck",
            {f"edge-{index}": {**hub.phase("Converging", "1x40"), STUCK: "1x40"} for index in range(7)},
            7, r"edge-\d(, edge-\d){4}",
        ),
    ],
)  # fmt: skip
def test_a_description_names_clusters_and_not_all_of_them(
    alert: str, sites: hub.Sites, number: int, names: str, tmp_path: pathlib.Path
) -> None:
    wrong = {"exp_labels": {"severity": "warning"}, "exp_annotations": {"description": "?"}}
    asked = [{"eval_time": "60m", "alertname": alert, "exp_alerts": [wrong]}]
    _, text = hub.played(sites, tmp_path, alert_rule_test=asked, annotated=True)
    assert re.search(rf": {number}, among them {names}\. [A-Z]", text), text
