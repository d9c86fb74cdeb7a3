"""The rules of a hub, bindata/fleet, as groups that promtool and a Prometheus read, and stories for them.

A story says for each cluster what it sends every 5 minutes, as values in promtool's own notation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from test.observability.rules import promtool

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping

FILE = promtool.HERE.parents[2] / "bindata" / "fleet" / "thanos-ruler-custom-rules.yaml"
INTERVAL = "5m"  # said to promtool, which does not go by the interval of a group
Sites = dict[str, dict[str, str]]
"""By cluster: values by series, whose name has no label `cluster` yet."""


def config_map() -> dict[str, Any]:
    """The file."""
    content: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return content


def groups() -> list[dict[str, Any]]:
    """Its rule groups."""
    content: list[dict[str, Any]] = yaml.safe_load(config_map()["data"]["custom_rules.yaml"])["groups"]
    return content


def rules(kind: str) -> dict[str, dict[str, Any]]:
    """The rules by name; `kind` is `alert` or `record`."""
    return promtool.named(kind, groups())


def phase(name: str, values: str) -> dict[str, str]:
    """A cluster that is in one phase where the values are 1, and Idle where they are 0."""
    recorded = "cluster:topology_transition_phase:max"
    idle = values.replace("1x", "?x").replace("0x", "1x").replace("?x", "0x")
    return {f'{recorded}{{phase="{name}"}}': values} | ({} if name == "Idle" else {f'{recorded}{{phase="Idle"}}': idle})


def played(sites: Sites, folder: pathlib.Path, *, annotated: bool = False, **asked: Any) -> str:
    """Let promtool play a story with these alert_rule_test and promql_expr_test; return what it says against it."""
    series = [
        {"series": f'{name.removesuffix("}")}{"," if "{" in name else "{"}cluster="{site}"}}', "values": values}
        for site, sent in sites.items()
        for name, values in sent.items()
    ]
    story = {"name": "a fleet", "interval": INTERVAL, "input_series": series, **asked}
    return promtool.judge([story], groups(), folder, annotated=annotated, every=INTERVAL)


def sample(name: str, value: float, labels: Mapping[str, str]) -> dict[str, Any]:
    """What promtool expects of a series."""
    told = ", ".join(f'{label}="{text}"' for label, text in labels.items())
    return {"labels": f"{name}{{{told}}}" if told else name, "value": value}
