"""The dashboards are current, and each has the shape that its reader understands."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
import string
import subprocess
import sys
from typing import Any

import pytest
import yaml

from test.observability import grafana as shape
from test.observability import monitoring, panels

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "hack" / "observability" / "dashboards.py"
CONSOLE = monitoring.FOLDER / "0000_90_topology-operator_dashboard.yaml"
GRAFANA = monitoring.FOLDER / "grafana" / "cluster-topology.json"
FLEET = ROOT / "bindata" / "fleet" / "grafana-fleet.yaml"
_SECONDS = 30

# What the console's own code reads of a panel (openshift/monitoring-plugin, src/components/dashboards), by type.
_READ = {"id", "title", "type", "span", "targets"}
_READ_BY_TYPE = {
    "singlestat": {"format", "decimals", "valueMaps", "options"},
    "table": {"transform", "styles"},
    "graph": {"stack", "legend", "yaxes"},
}
_SPANS = {3, 4, 6, 12}
"""Twelfths that the console gives a place of that width; any other is shown over the whole row."""
_UNITS = {"percentunit", "bytes", "Bps", "pps", "ms", "s", "short"}
_COLORS = {
    f"{shade}{color}"
    for shade in ("super-light-", "light-", "", "semi-dark-", "dark-")
    for color in ("blue", "green", "orange", "purple", "red", "yellow")
}


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


DASHBOARDS = pytest.mark.parametrize("dashboard", [grafana(), fleet()], ids=["cluster", "fleet"])


def console_panels() -> list[dict[str, Any]]:
    return [panel for row in console()["rows"] for panel in row["panels"]]


def shown(panel: dict[str, Any]) -> list[str]:
    return [target["expr"] for target in panel["targets"]]


def test_both_are_what_the_source_says() -> None:
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_dashboard_that_is_not_current_is_named(tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "hack" / "observability"
    copy.mkdir(parents=True)
    for path in (SCRIPT, panels.SOURCE, panels.FLEET):
        (copy / path.name).write_bytes(path.read_bytes())
    command = [sys.executable, str(copy / SCRIPT.name)]
    checked = subprocess.run([*command, "--check"], capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - our own script
    assert checked.returncode == 1
    assert "cluster-topology.json is not current" in checked.stderr
    assert not (tmp_path / "bindata").exists(), "a check writes nothing"
    subprocess.run(command, timeout=_SECONDS, check=True)  # noqa: S603 - our own script
    assert (tmp_path / "bindata" / "monitoring" / "grafana" / GRAFANA.name).read_bytes() == GRAFANA.read_bytes()
    assert (tmp_path / "bindata" / "fleet" / FLEET.name).read_bytes() == FLEET.read_bytes()


def test_every_query_of_both_is_one_of_the_source() -> None:
    wanted = [one.text for one in panels.queries()]
    assert [text for panel in console_panels() for text in shown(panel)] == wanted
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


@pytest.mark.parametrize("panel", console_panels(), ids=lambda panel: str(panel["title"]))
def test_the_console_understands_each_panel(panel: dict[str, Any]) -> None:
    assert panel["type"] in _READ_BY_TYPE
    assert set(panel) <= _READ | _READ_BY_TYPE[panel["type"]]
    assert panel["span"] in _SPANS
    letters = [target["refId"] for target in panel["targets"]]
    assert letters == list(string.ascii_uppercase[: len(letters)])
    assert "$" not in "".join(shown(panel)), "no variable is defined"
    match panel["type"]:
        case "singlestat":
            assert len(panel["targets"]) == 1, "it shows the first query only"
            assert panel["format"] in _UNITS
            assert all(one["op"] == "=" for one in panel["valueMaps"])
        case "table":
            assert panel["transform"] == "table"
            columns = {one["pattern"] for one in panel["styles"] if one["pattern"].startswith("Value #")}
            assert columns <= {f"Value #{letter}" for letter in letters}
            assert all(one["alias"] and one.get("unit", "short") in _UNITS for one in panel["styles"])
        case "graph":
            assert panel["yaxes"][0]["format"] in _UNITS
            assert all(target["legendFormat"] for target in panel["targets"])


@pytest.mark.parametrize(
    "panel", [one for one in console_panels() if one["type"] == "table"], ids=lambda one: str(one["title"])
)
def test_a_row_of_a_console_table_is_told_by_its_first_label(panel: dict[str, Any]) -> None:
    by = [set(re.findall(r"by \(([^)]*)\)", text)[0].split(", ")) - {"le"} for text in shown(panel)]
    labels = {one["pattern"] for one in panel["styles"] if not one["pattern"].startswith("Value #")}
    assert all(one == labels for one in by), "every query has the labels that are columns"


def test_every_row_of_the_console_is_filled() -> None:
    for row in console()["rows"]:
        assert sum(panel["span"] for panel in row["panels"]) % 12 == 0, row["title"]


# -- Grafana


@DASHBOARDS
def test_grafana_understands_every_field(dashboard: dict[str, Any]) -> None:
    shape.Dashboard.model_validate(dashboard)


def test_the_grafana_of_a_hub_finds_its_config_map() -> None:
    metadata = yaml.safe_load(FLEET.read_text())["metadata"]
    assert metadata["namespace"] == "open-cluster-management-observability"
    assert metadata["labels"] == {"grafana-custom-dashboard": "true"}
    assert fleet()["uid"] != grafana()["uid"]


@DASHBOARDS
def test_it_can_be_imported_with_any_data_source(dashboard: dict[str, Any]) -> None:
    assert "id" not in dashboard, "the id is the database's of the Grafana that imports it"
    assert [one["name"] for one in dashboard["templating"]["list"]] == ["datasource"]


@DASHBOARDS
def test_every_panel_of_grafana_is_asked_and_coloured_as_its_type_wants(dashboard: dict[str, Any]) -> None:
    for panel in shape.Dashboard.model_validate(dashboard).panels:
        if isinstance(panel, shape.Row):
            continue
        once = isinstance(panel, shape.Stat | shape.Table)
        assert all((target.instant, target.range) == (once, not once) for target in panel.targets), panel.title
        defaults = panel.fieldConfig.defaults
        steps = defaults.thresholds.steps
        assert steps[0].value is None, "the first step has no lower bound"
        colors = {one.color for one in steps}
        for mapping in defaults.mappings:
            if isinstance(mapping, shape.SpecialMap):
                colors.add(mapping.options.result.color)
                continue
            colors |= {one.color for one in mapping.options.values()}
        assert colors <= _COLORS, panel.title


@DASHBOARDS
def test_panels_of_grafana_lie_beside_each_other(dashboard: dict[str, Any]) -> None:
    found = dashboard["panels"]
    ids = [panel["id"] for panel in found]
    assert len(set(ids)) == len(ids)
    places = [panel["gridPos"] for panel in found]
    assert all(one["x"] >= 0 and one["x"] + one["w"] <= 24 and one["h"] > 0 for one in places)
    for one, other in itertools.combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or apart, (one, other)


def test_what_only_has_data_in_some_phase_says_so() -> None:
    says = {panel["title"]: panel["description"] for panel in grafana()["panels"] if panel["type"] != "row"}
    for one in panels.queries(panels.HAPPY_PATH):
        if one.phases != panels.PHASES:
            assert all(phase in says[one.panel] for phase in one.phases), one
