"""The registry has the metrics that docs/api.md is made of, and their names and helps say their units."""

from __future__ import annotations

import pathlib
import re

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
