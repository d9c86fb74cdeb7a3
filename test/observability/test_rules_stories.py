"""Every rule does what its stories say, and a rule that is broken in an obvious way is caught by one of them."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test.observability.rules import promtool

if TYPE_CHECKING:
    import pathlib

STORY = {
    "TopologyTransitionStuck": "stuck.yaml",
    "TopologyTransitionBlocked": "blocked.yaml",
    "TopologyTransitionTwoVoters": "two_voters.yaml",
    "TopologyOperatorNotWatching": "not_watching.yaml",
}
STUCK, BLOCKED, VOTERS, WATCHING = STORY
CRITICAL = f"{VOTERS}/critical"


def test_promtool_accepts_the_rules(tmp_path: pathlib.Path) -> None:
    said = promtool.check(promtool.groups(), tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr
    count = sum(len(group["rules"]) for group in promtool.groups())
    assert f"SUCCESS: {count} rules found" in said.stdout


@pytest.mark.parametrize("story", promtool.STORIES)
def test_the_stories_come_true(story: str, tmp_path: pathlib.Path) -> None:
    said = promtool.play(story, promtool.groups(), tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr


def test_every_alert_has_stories_in_which_it_fires_and_in_which_it_does_not() -> None:
    assert set(STORY) == {name.partition("/")[0] for name in promtool.rules("alert")}
    assert {*STORY.values(), "recorded.yaml"} == set(promtool.STORIES)
    for alert, name in STORY.items():
        stories = yaml.safe_load((promtool.HERE / name).read_text(encoding="utf-8"))["tests"]
        asked = [one for story in stories for one in story["alert_rule_test"]]
        assert {one["alertname"] for one in asked} == {alert}, name
        assert any(one.get("exp_alerts") for one in asked), name
        quiet = [s for s in stories if not any(one.get("exp_alerts") for one in s["alert_rule_test"])]
        assert len(quiet) >= 3, f"{name}: {len(quiet)} stories in which nothing fires"


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong edit of a rule: in its expression, unless `field` names another part of it."""

    rule: str
    old: str
    new: str
    field: str = "expr"
    story: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.field} {self.old} -> {self.new or 'nothing'}"

    def made(self) -> list[dict[str, Any]]:
        """The groups with this fault in them."""
        content = copy.deepcopy(promtool.groups())
        rules = [one for group in content for one in group["rules"]]
        name, _, severity = self.rule.partition("/")
        rule = [one for one in rules if name in (one.get("alert"), one.get("record"))][1 if severity else 0]
        where, _, key = self.field.rpartition(".")
        part = rule[where] if where else rule
        whole = part[key].replace("\n", " ") if key == "expr" else part[key]
        assert self.old in whole, f"{self.rule} has no {self.old!r} in {whole!r}"
        part[key] = whole.replace(self.old, self.new)
        return content


PHASES = "cluster:topology_transition_phase:max"
LED = "max_over_time(topology_transition_phase[10m])"
SIGNS = "topology_watch_last_activity_timestamp_seconds"
FAULTS = [
    Fault(STUCK, ":max[10m])) == 1", ":max[10m])) == 0"),
    Fault(STUCK, ":max[10m])) == 1", ":max[10m])) >= 0"),
    Fault(STUCK, "max_over_time(cluster:topology_transition_stuck:max[10m])", "cluster:topology_transition_stuck:max"),
    Fault(STUCK, "max_over_time(cluster:topology_transition_stuck", "last_over_time(cluster:topology_transition_stuck"),
    Fault(STUCK, "stuck:max[10m]", "stuck:max[2m]"),
    Fault(STUCK, "stuck:max[10m]", "stuck:max[1h]"),
    Fault(STUCK, "Converging", "Completed"),
    Fault(STUCK, "[10m])) == 1 and on () max(last_over_time(", "[10m])) == 1 or max(last_over_time("),
    Fault(STUCK, f'max(last_over_time({PHASES}{{phase="Converging"}}[10m])) == 1', "vector(1)"),
    Fault(STUCK, "15m", "10m", "for"),
    Fault(STUCK, "15m", "16m", "for"),
    Fault(BLOCKED, "== 1", "== 0"),
    Fault(BLOCKED, "Pending|Admitting", "Pending"),
    Fault(BLOCKED, "Pending|Admitting", "Pending|Admitting|Idle"),
    Fault(BLOCKED, "Pending|Admitting", "Pending|Admitting|Unsupported"),
    Fault(BLOCKED, "Pending|Admitting", "Pending|Admitting|Converging"),
    Fault(BLOCKED, "Pending|Admitting", "Pending|Admitting|Completed"),
    Fault(BLOCKED, "last_over_time", "max_over_time"),
    Fault(BLOCKED, "[10m]", "[2m]"),
    Fault(BLOCKED, "[10m]", "[2h]"),
    Fault(BLOCKED, "1h", "59m", "for"),
    Fault(BLOCKED, "1h", "61m", "for"),
    Fault(VOTERS, "== 2", "== 1"),
    Fault(VOTERS, "== 2", "== 3"),
    Fault(VOTERS, "== 2", "<= 2"),
    Fault(VOTERS, "== 2", ">= 2"),
    Fault(VOTERS, "voter", "learner"),
    Fault(VOTERS, 'members:max{role="voter"}[10m]', 'members:max{role="voter"}[2m]'),
    Fault(VOTERS, 'members:max{role="voter"}[10m]', 'members:max{role="voter"}[1h]'),
    Fault(VOTERS, "Pending|Admitting|Converging", "Admitting|Converging"),
    Fault(VOTERS, "Pending|Admitting|Converging", "Pending|Converging"),
    Fault(VOTERS, "Pending|Admitting|Converging", "Pending|Admitting"),
    Fault(VOTERS, "Pending|Admitting|Converging", ".*"),
    Fault(VOTERS, "and on ()", "unless on ()"),
    Fault(VOTERS, "15m", "10m", "for"),
    Fault(VOTERS, "15m", "20m", "for"),
    Fault(WATCHING, "> 600", "> 300"),
    Fault(WATCHING, "> 600", "> 1200"),
    Fault(WATCHING, "> 600", "< 600"),
    Fault(WATCHING, "max(time()", "min(time()"),
    Fault(WATCHING, "max(time() - last_over_time(", "(time() - last_over_time("),
    Fault(WATCHING, "[2m]", "[1h]"),
    Fault(WATCHING, f"last_over_time({SIGNS}[2m])", SIGNS),
    Fault(WATCHING, f"{LED} == 1", LED),
    Fault(WATCHING, "topology_transition_phase[10m]", "topology_transition_phase[5m]"),
    Fault(WATCHING, "topology_transition_phase[10m]", "topology_transition_phase[1h]"),
    Fault(WATCHING, 'name="topology"', 'name="etcd"'),
    Fault(WATCHING, ">= 0", "> 0 and on () vector(0) > 0"),
    Fault(WATCHING, "and on ()", "or"),
    Fault(WATCHING, f"absent({LED} == 1) and on ()", "vector(1) < 0 and on ()"),
    Fault(WATCHING, "10m", "5m", "for"),
    Fault(WATCHING, "10m", "15m", "for"),
    Fault(PHASES, " and on (instance) topology_info", "", story="blocked.yaml"),
    Fault(PHASES, " and on (instance) topology_info", "", story="recorded.yaml"),
    Fault(PHASES, "max by (phase)", "max by (phase, instance)", story="recorded.yaml"),
    Fault("cluster:topology_transition_stuck:max", " and on (instance) topology_info", "", story="recorded.yaml"),
    Fault(
        "cluster:topology_transition_started_timestamp_seconds:max", " and on (instance) topology_info", "",
        story="recorded.yaml",
    ),
    Fault("cluster:topology_transition_check_status:sum", "Unmet|Unknown", "Unmet|Unknown|Met", story="recorded.yaml"),
    Fault("cluster:topology_etcd_members:max", '{role="voter"}', "", story="recorded.yaml"),
    Fault("cluster:topology_info:max", ", shape", "", story="recorded.yaml"),
    Fault("cluster:topology_watch_last_activity_timestamp_seconds:min", "min(", "max(", story="recorded.yaml"),
]  # fmt: skip
FAULTS += [
    dataclasses.replace(fault, rule=CRITICAL) for fault in FAULTS if fault.rule == VOTERS and fault.field == "expr"
]
FAULTS += [Fault(CRITICAL, "30m", "25m", "for"), Fault(CRITICAL, "30m", "35m", "for")]
FAULTS += [
    fault
    for alert in STORY
    for fault in (
        Fault(alert, promtool.rules("alert")[alert]["labels"]["severity"], "none", "labels.severity"),
        Fault(alert, "openshift-topology-operator", "openshift-monitoring", "labels.namespace"),
    )
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_rule_that_is_broken_is_caught(fault: Fault, tmp_path: pathlib.Path) -> None:
    story = fault.story or STORY[fault.rule.partition("/")[0]]
    told = next((alert for alert, name in STORY.items() if name == story), None)
    said = promtool.play(story, promtool.less(fault.made(), told), tmp_path)
    assert said.returncode == 1, f"nobody noticed {fault}\n{said.stdout}{said.stderr}"
    assert "FAILED" in said.stdout + said.stderr, "the rule itself is refused: that is no proof of the stories"
    assert "parse error" not in said.stdout + said.stderr, said.stderr
