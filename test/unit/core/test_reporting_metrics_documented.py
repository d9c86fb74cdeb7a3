"""The registry has the metrics that docs/api.md is made of, and their names and helps say their units."""

from __future__ import annotations

import pathlib
import re

import pytest

from topology_controller.report import metrics

from . import worlds

PAGE = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text()
SECTION = PAGE.partition("\n## Metrics\n")[2].partition("\n## ")[0]
FAMILIES = {family.name: family for family in metrics.FAMILIES}


def test_every_metric_is_documented_once():
    names = re.findall(r"^\| `([a-z_]+)` \|", SECTION, re.MULTILINE)
    assert sorted(names) == sorted(FAMILIES)
    assert "`process_*`" in SECTION


def test_the_registry_has_exactly_these() -> None:
    registry = metrics.Metrics(worlds.DIRECTLY, lease="lease").registry
    found = {}
    for collector in registry._collector_to_names:
        for family in collector.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            found[name] = (family.type, tuple(getattr(collector, "_labelnames", ())), family.documentation)
    ours = {name: told for name, told in found.items() if not name.startswith("process_")}
    assert ours == {family.name: (family.type, tuple(family.labels), family.help) for family in metrics.FAMILIES}
    assert len(FAMILIES) == len(metrics.FAMILIES), "a name stands twice"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_unit_is_in_the_name_and_in_the_help(name: str) -> None:
    said = FAMILIES[name].help
    assert FAMILIES[name].type != "counter" or name.endswith("_total")
    if name.endswith("_timestamp_seconds"):
        assert "Unix time, in seconds" in said
    elif name.endswith("_seconds"):
        assert "seconds" in said.lower()
    elif name.endswith("_ratio"):
        assert "0 to 1" in said
    assert said[0].isupper() or said[0].isdigit()
    assert said.endswith(".")


SMALL = 8


def test_small_sets_of_values_are_listed() -> None:
    """Who writes a query needs them. Checks and pairs of topologies are listed elsewhere, statuses of HTTP nowhere."""
    words = set(re.findall(r"[A-Za-z<>_-]+", SECTION.replace("&lt;", "<").replace("&gt;", ">")))
    for family in metrics.FAMILIES:
        for label, values in family.labels.items():
            if values is not None and len(values) <= SMALL:
                missing = {value for value in values if value and value not in words and not value.isdecimal()}
                assert not missing, f"{family.name}: {label} can be {missing}"
