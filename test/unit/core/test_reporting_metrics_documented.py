"""docs/reference.md and the registry know the same metrics, down to types, labels and their values."""

from __future__ import annotations

import pathlib
import re

import pytest

from topology_controller.report import metrics

from . import worlds

PAGE = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "reference.md").read_text()
SECTION = PAGE.partition("\n## Metrics\n")[2].partition("\n## ")[0]
COLUMNS = ("metric", "type", "labels", "unit", "meaning", "absent")
FAMILIES = {family.name: family for family in metrics.FAMILIES}


def rows() -> dict[str, dict[str, str]]:
    lines = [line for line in SECTION.splitlines() if line.startswith("|")]
    heads, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert tuple(heads) == COLUMNS
    found = [dict(zip(COLUMNS, cells, strict=True)) for cells in body]
    return {row["metric"].strip("`"): row for row in found}


ROWS = rows()


def test_every_metric_is_documented_and_every_documented_metric_exists() -> None:
    assert set(ROWS) == set(FAMILIES)
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
def test_type_labels_and_their_values_are_as_documented(name: str) -> None:
    row, family = ROWS[name], FAMILIES[name]
    assert row["type"] == family.type
    written = dict(re.findall(r"`([a-z_]+)`(?: \(([^)]*)\))?", row["labels"]))
    assert list(written) == list(family.labels)
    for label, values in written.items():
        if values:
            assert frozenset(values.split(", ")) == family.labels[label], label
    assert row["meaning"]
    assert row["absent"]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_unit_is_in_the_name_in_the_help_and_on_the_page(name: str) -> None:
    unit, said = ROWS[name]["unit"], FAMILIES[name].help
    assert unit
    assert ("seconds" in unit) == name.endswith("_seconds")
    assert ("Unix time" in unit) == name.endswith("_timestamp_seconds")
    assert ("ratio" in unit) == name.endswith("_ratio")
    assert FAMILIES[name].type != "counter" or name.endswith("_total")
    if name.endswith("_timestamp_seconds"):
        assert "Unix time, in seconds" in said
    elif name.endswith("_seconds"):
        assert "seconds" in said.lower()
    assert said[0].isupper() or said[0].isdigit()
    assert said.endswith(".")


SMALL = 8


def test_small_sets_of_values_are_listed() -> None:
    """Who writes a query needs them. Checks and pairs of topologies are listed elsewhere, statuses of HTTP nowhere."""
    words = set(re.findall(r"[A-Za-z<>-]+", SECTION))
    for family in metrics.FAMILIES:
        for label, values in family.labels.items():
            if values is not None and len(values) <= SMALL:
                missing = {value for value in values if value and value not in words and not value.isdecimal()}
                assert not missing, f"{family.name}: {label} can be {missing}"
