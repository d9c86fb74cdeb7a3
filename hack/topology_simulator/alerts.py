"""Whether an alert of the product fires on what an operator reports now, judged by the alert's own rule.

promtool plays the rules as bindata has them: what is scraped at this moment is taken to stay for three hours, and the
rule is asked at the end of them, so that its `for` is not waited for. Of a fleet, the recording rules of the cluster
come first, with its name, and of those only what the hub collects.
"""

import json
import math
import pathlib
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from . import SimulatorError, binaries

_BINDATA = pathlib.Path(__file__).parents[2] / "bindata"
_CLUSTER = _BINDATA / "monitoring" / "0000_90_topology-operator_prometheusrule.yaml"
_HUB = _BINDATA / "fleet" / "thanos-ruler-custom-rules.yaml"
_STEP, _LASTS = 30, 3 * 3600
"""Seconds."""
_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(\{.*\})? (\S+)$", re.MULTILINE)
_GOT = re.compile(r"got:\[\s*0:\s*Labels:\{(.*)\}\s*Annotations:\{(.*)\}")
_PAIR = re.compile(r'(\w+)=("(?:\\.|[^"\\])*")')
_OF_MANY = "TopologyFleetBudgetBurn"
"""It takes several clusters."""
_TARGET = 'namespace="openshift-topology-operator",job="cluster-topology-operator",instance="10.128.0.7:8443"'
_LIVELY = "topology_watch_last_activity_timestamp_seconds"
"""A time that goes on: what is so old now is as old later."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule: `waits` is its `for`."""

    name: str
    severity: str
    waits: str
    summary: str
    of_fleet: bool


@dataclass(frozen=True, slots=True)
class Firing:
    """What a pager shows."""

    labels: dict[str, str]
    annotations: dict[str, str]


def all_alerts() -> list[Alert]:
    """Return the alerts of a cluster and those of a hub that one cluster can raise; of two severities the first."""
    alerts: dict[str, Alert] = {}
    for of_fleet, groups in ((False, _groups(_CLUSTER)), (True, _groups(_HUB))):
        for rule in (rule for group in groups for rule in group["rules"] if rule.get("alert", _OF_MANY) != _OF_MANY):
            name, severity = rule["alert"], rule["labels"]["severity"]
            alert = Alert(name, severity, rule["for"], rule["annotations"]["summary"], of_fleet)
            alerts.setdefault(name, alert)
    return list(alerts.values())


def _groups(file: pathlib.Path) -> list[dict[str, Any]]:
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    inner = yaml.safe_load(content["data"]["custom_rules.yaml"]) if "data" in content else content["spec"]
    groups: list[dict[str, Any]] = inner["groups"]
    return groups


def reported(operator: dict[str, Any] | None) -> str:
    """Return what the version operator says of ClusterOperator `topology` in its metrics."""
    conditions = ((operator or {}).get("status") or {}).get("conditions") or []
    return "".join(
        f'cluster_operator_conditions{{name="topology",condition="{each["type"]}"}} {int(each["status"] == "True")}\n'
        for each in conditions
    )


async def firing(alert: Alert, metrics: str, cluster: str = "", collected: Collection[str] = ()) -> Firing | None:
    """Return the alert as a pager shows it, None when it does not fire; raises SimulatorError.

    `metrics` is what was scraped a moment ago. Of a fleet, `cluster` is its name and `collected` what the hub collects.
    """
    label = f'cluster="{cluster}"' if alert.of_fleet else ""
    groups = _groups(_CLUSTER)
    if alert.of_fleet:
        records = [
            {**rule, "labels": {"cluster": cluster}}
            for group in groups for rule in group["rules"] if rule.get("record") in collected
        ]  # fmt: skip
        groups = [{"name": "cluster", "interval": f"{_STEP}s", "rules": records}, *_groups(_HUB)]
    story = {
        "interval": f"{_STEP}s",
        "input_series": list(_series(metrics, label, asked=yaml.safe_dump(groups))),
        "alert_rule_test": [{"eval_time": f"{_LASTS}s", "alertname": alert.name, "exp_alerts": []}],
    }
    verdict = await _judged({"groups": groups}, {"evaluation_interval": f"{_STEP}s", "tests": [story]})
    if verdict is None:
        return None
    if (got := _GOT.search(verdict)) is None:
        raise SimulatorError(f"promtool refuses the rules or the story:\n{verdict}")
    labels, annotations = ({name: json.loads(text) for name, text in _PAIR.findall(part)} for part in got.groups())
    return Firing(labels, annotations)


def _series(metrics: str, label: str, asked: str) -> Iterable[dict[str, str]]:
    """What was scraped and is asked for, as if it began at time 0 and stayed so; times are counted from there."""
    now, count = time.time(), _LASTS // _STEP
    for name, braces, text in _SAMPLE.findall(metrics):
        value = float(text)
        if name not in asked or not math.isfinite(value):
            continue
        moves = _STEP if name == _LIVELY and value else 0
        if name.endswith("_timestamp_seconds") and value:
            value -= now
        labels = ",".join(filter(None, (braces.strip("{}"), label, _TARGET if name.startswith("topology_") else "")))
        yield {"series": f"{name}{{{labels}}}", "values": f"{value:.3f}+{moves}x{count}"}


async def _judged(rules: dict[str, Any], story: dict[str, Any]) -> str | None:
    """Return what promtool says against a story in which nothing is expected to fire; None when it agrees."""
    program = binary()
    with tempfile.TemporaryDirectory(prefix="topology-drill-") as name:
        folder = pathlib.Path(name)
        (folder / "rules.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
        (folder / "story.yaml").write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], **story}), encoding="utf-8")
        code, output, errors = await binaries.ran(program, "test", "rules", folder / "story.yaml")
    return output + errors if code else None


def binary() -> str:
    """Return where promtool is. Raises SimulatorError."""
    program = shutil.which("promtool")
    if program is None:
        raise SimulatorError(
            "a drill asks promtool whether the alert fires, and there is none: run hack/observability/install"
        )
    return program
