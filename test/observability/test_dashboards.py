"""The dashboards are current, and each has the shape that its reader understands."""

import json
import pathlib
import re
from typing import Any

import yaml

from test.observability import monitoring, panels

ROOT = pathlib.Path(__file__).parents[2]
CONSOLE = monitoring.FOLDER / "0000_90_topology-operator_dashboard.yaml"
GRAFANA = monitoring.FOLDER / "grafana" / "cluster-topology.json"
FLEET = ROOT / "bindata" / "fleet" / "grafana-fleet.yaml"


def console() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(config_map()["data"]["cluster-topology.json"])
    return found


def config_map() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(CONSOLE.read_text())
    return found


def grafana() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GRAFANA.read_text())
    return found


def fleet() -> dict[str, Any]:
    (text,) = yaml.safe_load(FLEET.read_text())["data"].values()
    found: dict[str, Any] = json.loads(text)
    return found


def shown(panel: dict[str, Any]) -> list[str]:
    return [target["expr"] for target in panel["targets"]]


def test_every_query_of_both_is_one_of_the_source() -> None:
    wanted = [one.text for one in panels.queries()]
    assert [text for row in console()["rows"] for panel in row["panels"] for text in shown(panel)] == wanted
    assert [text for panel in grafana()["panels"] if panel["type"] != "row" for text in shown(panel)] == wanted


def test_every_query_is_shown_by_a_story_that_is_played() -> None:
    for one in panels.queries():
        assert one.story in panels.STORIES, one
        assert one.phases, one
        assert set(one.phases) <= {*panels.PHASES, "Admitting", "Unsupported"}, one


def test_a_metric_that_others_have_too_is_asked_for_by_job() -> None:
    for one in panels.queries():
        for name, matchers in re.findall(
            r"\b((?:process|workqueue|rest_client|controller_runtime|leader)_\w+)({[^}]*})?", one.text
        ):
            assert 'job="cluster-topology-operator"' in matchers, f"{one}: {name}"


# -- the console


def test_the_console_finds_its_config_map() -> None:
    found = config_map()
    assert found["metadata"]["namespace"] == "openshift-config-managed"
    assert found["metadata"]["labels"]["console.openshift.io/dashboard"] == "true"
    # It reads the first entry, whatever its name is.
    assert len(found["data"]) == 1


# -- Grafana


def test_the_grafana_of_a_hub_finds_its_config_map() -> None:
    metadata = yaml.safe_load(FLEET.read_text())["metadata"]
    assert metadata["namespace"] == "open-cluster-management-observability"
    assert metadata["labels"] == {"grafana-custom-dashboard": "true"}
    assert fleet()["uid"] != grafana()["uid"]


def test_what_only_has_data_in_some_phase_says_so() -> None:
    says = {panel["title"]: panel["description"] for panel in grafana()["panels"] if panel["type"] != "row"}
    for one in panels.queries(panels.HAPPY_PATH):
        if one.phases != panels.PHASES:
            assert all(phase in says[one.panel] for phase in one.phases), one
