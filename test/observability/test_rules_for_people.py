"""What somebody reads who is called at night: names, severities, words, and a page for each alert.

The rules are those of OpenShift for alerts of its components (enhancements/monitoring/alerting-consistency).
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

from test.observability import durations
from test.observability.rules import hub, placed, promtool
from topology_api import vocabulary
from topology_controller import bindata

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
EVERY = {**ALERTS, **placed.rules(), **hub.rules("alert")}
"""Those of a management cluster and of a hub too; test_rules_elsewhere and test_rules_of_a_hub have the rest."""
PAGED = sorted({name.partition("/")[0] for name in EVERY})


def first(name: str) -> str:
    """The one command to run when an alert fires."""
    return "oc topology fleet" if name in hub.rules("alert") else FIRST


def test_these_alerts_exist_with_these_severities():
    """Critical is what an administrator is woken for: with two voters for half an hour any fault stops the cluster."""
    assert {name: rule["labels"]["severity"] for name, rule in ALERTS.items()} == SEVERITY


def test_a_second_severity_differs_in_nothing_but_its_time_and_its_summary():
    """The same name and namespace: then the critical one keeps the other quiet (OpenShift's Alertmanager)."""
    warning, critical = ALERTS["TopologyTransitionTwoVoters"], ALERTS["TopologyTransitionTwoVoters/critical"]
    assert warning["expr"] == critical["expr"]
    assert warning["annotations"]["description"] == critical["annotations"]["description"]
    assert (warning["for"], critical["for"]) == ("15m", "30m")


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_the_guidelines_ask_for(name: str):
    rule, name = ALERTS[name], name.partition("/")[0]
    assert re.fullmatch(r"Topology([A-Z][a-z]+)+", name)
    assert rule["labels"]["namespace"] == "openshift-topology-operator"
    assert set(rule["labels"]) == {"severity", "namespace"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    summary, description = rule["annotations"]["summary"], rule["annotations"]["description"]
    assert summary.endswith(".")
    assert len(summary) <= 100
    assert "{{" not in summary
    assert len(description) > 2 * len(summary)
    assert description.startswith(f"Run '{FIRST}'. ")
    assert f"'oc topology explain {name}'" in description
    text = " ".join(rule["annotations"].values())
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_lasts_longer_than_chance(name: str):
    interval = durations.seconds(MONITOR["spec"]["endpoints"][0]["interval"])
    assert durations.seconds(ALERTS[name]["for"]) >= 3 * interval
    assert {durations.seconds(group["interval"]) for group in promtool.groups()} == {interval}


def test_every_alert_has_its_page_and_every_page_its_alert():
    assert [path.stem for path in sorted(PAGES.iterdir())] == PAGED
    for name, rule in EVERY.items():
        assert rule["annotations"]["runbook_url"] == f"{bindata.RUNBOOKS}/{name.partition('/')[0]}.md"


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
    prose = [line for line in page.splitlines() if not line.startswith("|")]
    assert len(" ".join(prose).split()) < 700, "it is read at night"


@pytest.mark.parametrize("name", PAGED)
def test_a_page_speaks_of_checks_reasons_and_phases_that_exist(name: str):
    words = {
        word.value
        for words in (
            vocabulary.CheckName,
            vocabulary.AdvisoryName,
            vocabulary.Reason,
            vocabulary.Phase,
            vocabulary.Topology,
            vocabulary.CheckStatus,
            vocabulary.ProblemReason,
        )
        for word in words
    }
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    said = set(re.findall(r"`((?:[A-Z][A-Za-z]*[a-z])+)`", page))
    foreign = {"Role", "ServiceMonitor"}
    assert said <= words | set(EVERY) | foreign, said - words - set(EVERY) - foreign


@pytest.mark.parametrize("words", ["cannot watch", "trying again"])
def test_the_log_says_what_the_page_tells_to_look_for(words: str):
    assert words in (PAGES / "TopologyOperatorNotWatching.md").read_text(encoding="utf-8")
    source = (ROOT / "controller" / "topology_controller" / "observe" / "watches.py").read_text(encoding="utf-8")
    assert words in source, "test/component/test_bad_input.py sees it in a real log"


@pytest.mark.parametrize("name", PAGED)
def test_links_of_a_page_lead_somewhere(name: str):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page):
        assert (PAGES / target).is_file(), target
