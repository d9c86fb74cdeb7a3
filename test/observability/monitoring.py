"""What bindata/monitoring tells a cluster's Prometheus, as a configuration of one that runs here.

On a cluster the Prometheus operator translates: ServiceMonitor to a scrape job, PrometheusRule to a rule file. The same
is done here for what our files use, and anything else in them is refused: a field that is passed over in silence would
make the tests prove something about another scrape than the cluster's.

A minute is a second here, so that an alert that waits an hour can be seen within one. Every duration of a rule is
divided by `FACTOR`: `for`, `keep_firing_for`, the interval of its group, and what stands in an expression as a range, a
step or an offset. Prometheus scrapes once a second here instead of once in 30 to 60, so a rule sees about as many
samples as on a cluster. Two floors keep it meaningful on a busy machine: a range has room for
`LEAST_RANGE` scrapes, and nothing is asked for more often than once a second. Numbers that happen to be seconds (as in
`time() - x > 600`) are durations to people and not to PromQL; they stay, and promtool tests them.
"""

from __future__ import annotations

import copy
import pathlib
import re
from dataclasses import dataclass
from typing import Any

import yaml

FOLDER = pathlib.Path(__file__).parents[2] / "bindata" / "monitoring"
NAMESPACE = "openshift-topology-operator"
SERVICE = "cluster-topology-operator"
_ENDPOINT = {"port", "scheme", "path", "interval", "tlsConfig", "relabelings", "metricRelabelings"}
_TLS = {"caFile", "serverName", "certFile", "keyFile"}
FACTOR = 60
LEAST_RANGE = 5.0
"""Seconds, and scrapes."""
_LEAST_STEP = 1.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_PART = re.compile(r"(\d+)(ms|[smhdwy])")
_DURATION = r"(?:\d+(?:ms|[smhdwy]))+"
_WHOLE = re.compile(_DURATION)
_TOKEN = re.compile(
    rf"""(?P<kept>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|\#[^\n]*)
       | \[\s*(?P<range>{_DURATION})\s*(?P<colon>:\s*(?P<step>{_DURATION})?\s*)?\]
       | (?P<offset>\boffset\s+-?\s*)(?P<by>{_DURATION})""",
    re.VERBOSE,
)
_OF_A_RULE = ("for", "keep_firing_for")


@dataclass(frozen=True, slots=True)
class Monitoring:
    """The two objects that Prometheus is configured from, as they are in the files."""

    monitor: dict[str, Any]
    rules: tuple[dict[str, Any], ...]

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The rule groups, with the durations that a cluster has."""
        return [group for one in self.rules for group in one["spec"]["groups"]]

    @property
    def recorded(self) -> list[str]:
        """The names of the series that are recorded."""
        return [rule["record"] for group in self.groups for rule in group["rules"] if "record" in rule]

    @property
    def alerts(self) -> list[str]:
        """The names of the alerts."""
        return [rule["alert"] for group in self.groups for rule in group["rules"] if "alert" in rule]


def load(folder: pathlib.Path = FOLDER) -> Monitoring:
    """Read the files. Raises AssertionError when there is not exactly one ServiceMonitor, or no rule."""
    found = [one for path in sorted(folder.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text()) if one]
    monitors = [one for one in found if one["kind"] == "ServiceMonitor"]
    rules = tuple(one for one in found if one["kind"] == "PrometheusRule")
    assert len(monitors) == 1, f"{folder}: one ServiceMonitor wanted, found {len(monitors)}"
    assert rules, f"{folder}: no PrometheusRule"
    return Monitoring(monitors[0], rules)


def target_labels() -> dict[str, str]:
    """Return the labels that a cluster's Prometheus gives to what it scrapes from a pod of ours."""
    return {
        "namespace": NAMESPACE,
        "service": SERVICE,
        "job": SERVICE,
        "pod": f"{SERVICE}-0",
        "container": "operator",
        "endpoint": "https",
    }


def scrape_job(monitor: dict[str, Any], scraper: pathlib.Path, address: str) -> dict[str, Any]:
    """Translate the ServiceMonitor, for one pod at HOST:PORT; certificates are the scraper's."""
    endpoints = monitor["spec"]["endpoints"]
    assert len(endpoints) == 1, f"one endpoint wanted, found {endpoints}"
    endpoint = endpoints[0]
    assert set(endpoint) <= _ENDPOINT, f"not understood here: {sorted(set(endpoint) - _ENDPOINT)}"
    tls = endpoint["tlsConfig"]
    assert set(tls) <= _TLS, f"not understood here: tlsConfig {sorted(set(tls) - _TLS)}"
    return {
        "job_name": f"serviceMonitor/{NAMESPACE}/{monitor['metadata']['name']}/0",
        "scheme": endpoint["scheme"],
        "metrics_path": endpoint["path"],
        "tls_config": {
            "ca_file": str(scraper / "ca.crt"),
            "cert_file": str(scraper / "tls.crt"),
            "key_file": str(scraper / "tls.key"),
            "server_name": tls["serverName"],
        },
        "relabel_configs": [_snake(one) for one in endpoint.get("relabelings") or []],
        "metric_relabel_configs": [_snake(one) for one in endpoint.get("metricRelabelings") or []],
        "static_configs": [{"targets": [address], "labels": target_labels()}],
    }


def _snake(fields: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower(): value for name, value in fields.items()}


def seconds(text: str) -> float:
    """Read a duration as Prometheus writes it, e.g. 1h30m. Raises ValueError."""
    if text == "0":
        return 0.0
    if _WHOLE.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a duration")
    return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def shorter(text: str, least: float = 0.0) -> str:
    """Return a duration divided by FACTOR, and not less than `least` seconds. Raises ValueError."""
    return f"{round(max(seconds(text) / FACTOR, least) * 1000)}ms"


def expression(text: str) -> str:
    """Return a PromQL expression with shorter ranges, steps and offsets; strings and comments stay."""
    return _TOKEN.sub(_shorter, text)


def _shorter(found: re.Match[str]) -> str:
    if found["kept"] is not None:
        return found["kept"]
    if found["by"] is not None:
        return found["offset"] + shorter(found["by"])
    if found["colon"] is None:
        return f"[{shorter(found['range'], LEAST_RANGE)}]"
    step = "" if found["step"] is None else shorter(found["step"], _LEAST_STEP)
    return f"[{shorter(found['range'], LEAST_RANGE)}:{step}]"


def shortened(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rule groups with all their durations shorter. Raises ValueError."""
    made = copy.deepcopy(content)
    for group in made:
        if "interval" in group:
            group["interval"] = shorter(group["interval"], _LEAST_STEP)
        for rule in group["rules"]:
            rule["expr"] = expression(str(rule["expr"]))
            rule.update({key: shorter(rule[key]) for key in _OF_A_RULE if key in rule})
    return made
