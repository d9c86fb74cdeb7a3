"""What somebody reads who is called at night: names, severities, words, and a page for each alert.

The rules are those of OpenShift for alerts of its components (enhancements/monitoring/alerting-consistency).
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

from test.observability import monitoring
from test.observability.rules import hub, promtool

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ROOT / "docs" / "runbooks"
ALERTS = promtool.rules("alert")
MONITOR: dict[str, Any] = next(
    one
    for one in yaml.safe_load_all(
        promtool.FILE.with_name("0000_90_topology-operator_servicemonitor.yaml").read_text(encoding="utf-8")
    )
    if one["kind"] == "ServiceMonitor"
)
SEVERITY = {
    "TopologyTransitionStuck": "warning",
    "TopologyTransitionBlocked": "info",
    "TopologyOperatorNotWatching": "warning",
    "TopologyTransitionTwoVoters": "warning",
    "TopologyTransitionTwoVoters/critical": "critical",
}
SECTIONS = ["Meaning", "Impact", "Look at", "What to do", "What not to do", "When to call whom"]
FIRST = "oc topology status"
HUB = hub.rules("alert")
ELSEWHERE = {f"{name}/elsewhere": rule for name, rule in promtool.rules("alert", promtool.ELSEWHERE).items()}
EVERY = {**ALERTS, **HUB, **ELSEWHERE}
"""By name, with what tells two of one name apart."""
PAGED = sorted({name.partition("/")[0] for name in EVERY})


def first(name: str) -> str:
    """The one command to run when an alert fires."""
    return "oc topology fleet" if name in HUB else FIRST


def test_these_alerts_exist_with_these_severities():
    """Critical is what an administrator is woken for: with two voters for half an hour any fault stops the cluster."""
    assert {name: rule["labels"]["severity"] for name, rule in ALERTS.items()} == SEVERITY


@pytest.mark.parametrize("key", EVERY)
def test_an_alert_says_what_the_guidelines_ask_for(key: str):
    rule, name = EVERY[key], key.partition("/")[0]
    assert re.fullmatch(r"Topology([A-Z][a-z]+)+", name)
    assert set(rule["labels"]) == ({"severity"} if name in HUB else {"severity", "namespace"})
    assert rule["labels"].get("namespace", "openshift-topology-operator") == "openshift-topology-operator"
    assert set(rule["annotations"]) - {"runbook_url"} == {"summary", "description"}
    summary, description = rule["annotations"]["summary"], rule["annotations"]["description"]
    assert summary.endswith(".")
    assert len(summary) <= 100
    assert "{{" not in summary
    assert len(description) > 2 * len(summary)
    assert key in ELSEWHERE or description.startswith(f"Run '{first(name)}'. ")
    assert f"explain {name}'" in description
    text = " ".join(rule["annotations"].values())
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_lasts_longer_than_chance(name: str):
    interval = monitoring.seconds(MONITOR["spec"]["endpoints"][0]["interval"])
    assert monitoring.seconds(ALERTS[name]["for"]) >= 3 * interval
    alerting = [group for group in promtool.groups() if any("alert" in rule for rule in group["rules"])]
    assert {monitoring.seconds(group["interval"]) for group in alerting} == {interval}


def test_every_alert_has_its_page_and_every_page_its_alert():
    assert [path.stem for path in sorted(PAGES.iterdir())] == PAGED
    assert {name.partition("/")[0] for name in EVERY} == set(PAGED)


@pytest.mark.parametrize("name", PAGED)
def test_a_page_begins_with_the_one_command_to_run(name: str):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    title, command = page.partition("\n## ")[0].splitlines()[0], re.findall(r"^    (.+)$", page, re.MULTILINE)[0]
    assert (title, command) == (f"# {name}", first(name))
    assert re.search(r"^Run this first\. It shows [^?]+:$", page, re.MULTILINE), "a sentence"
    assert page.index(f"    {first(name)}\n") < page.index("\n## Meaning\n")


@pytest.mark.parametrize("name", PAGED)
def test_a_page_has_every_section_and_says_how_severe_and_how_long(name: str):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == SECTIONS
    for rule in (rule for key, rule in EVERY.items() if key.partition("/")[0] == name):
        time = {"15m": "15 minutes", "30m": "30 minutes", "10m": "10 minutes", "1h": "1 hour"}[rule["for"]]
        assert f"{rule['labels']['severity']} after {time}" in page.lower()
    assert page.isascii(), "it is read in terminals too"
