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
from test.observability.rules import promtool
from topology_api import vocabulary

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
}
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation", "What not to do", "When to call whom"]


def test_these_alerts_exist_with_these_severities():
    """None is critical: no alert of ours means that the cluster has stopped to serve."""
    assert {name: rule["labels"]["severity"] for name, rule in ALERTS.items()} == SEVERITY


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_the_guidelines_ask_for(name: str):
    rule = ALERTS[name]
    assert re.fullmatch(r"Topology([A-Z][a-z]+)+", name)
    assert rule["labels"]["namespace"] == "openshift-topology-operator"
    assert set(rule["labels"]) == {"severity", "namespace"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    summary, description = rule["annotations"]["summary"], rule["annotations"]["description"]
    assert summary.endswith(".")
    assert len(summary) <= 100
    assert len(description) > 2 * len(summary)
    assert re.search(r"Begin with 'oc [^']+'", description), "no first command"
    text = " ".join(rule["annotations"].values())
    assert "{{" not in text, "nothing tests a template here"
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_lasts_longer_than_chance(name: str):
    interval = durations.seconds(MONITOR["spec"]["endpoints"][0]["interval"])
    assert durations.seconds(ALERTS[name]["for"]) >= 3 * interval
    assert {durations.seconds(group["interval"]) for group in promtool.groups()} == {interval}


def test_every_alert_has_its_page_and_every_page_its_alert():
    assert {path.stem for path in PAGES.iterdir()} == set(ALERTS)
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook"] == f"docs/runbooks/{name}.md"


@pytest.mark.parametrize("name", ALERTS)
def test_a_page_has_every_section_and_says_how_severe_and_how_long(name: str):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    rule = ALERTS[name]
    assert page.startswith(f"# {name}\n")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == SECTIONS
    minutes = int(durations.seconds(rule["for"]) / 60)
    assert f"Severity: {rule['labels']['severity']}. Fires after {minutes} minutes" in page
    assert page.isascii(), "it is read in terminals too"
    prose = [line for line in page.splitlines() if not line.startswith(("|", "    "))]
    assert max(map(len, prose)) <= 160, max(prose, key=len)


@pytest.mark.parametrize("name", ALERTS)
def test_the_first_command_of_an_alert_stands_in_its_page(name: str):
    commands = re.findall(r"'(oc [^']+)'", ALERTS[name]["annotations"]["description"])
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for command in commands:
        assert command in page, command


@pytest.mark.parametrize("name", ALERTS)
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
        )
        for word in words
    }
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    said = set(re.findall(r"`((?:[A-Z][A-Za-z]*[a-z])+)`", page))
    foreign = {"Role", "ServiceMonitor"}
    assert said <= words | set(ALERTS) | foreign, said - words - set(ALERTS) - foreign


@pytest.mark.parametrize("words", ["cannot watch ", "trying again"])
def test_the_log_says_what_the_page_tells_to_look_for(words: str):
    assert words in (PAGES / "TopologyOperatorNotWatching.md").read_text(encoding="utf-8")
    source = (ROOT / "controller" / "topology_controller" / "observe" / "watches.py").read_text(encoding="utf-8")
    assert words in source, "test/component/test_bad_input.py sees it in a real log"


@pytest.mark.parametrize("name", ALERTS)
def test_links_of_a_page_lead_somewhere(name: str):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page):
        assert (PAGES / target).is_file(), target
