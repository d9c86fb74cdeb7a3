"""What bindata/monitoring tells a cluster's Prometheus, as a configuration of one that runs here.

On a cluster the Prometheus operator translates: ServiceMonitor to a scrape job, PrometheusRule to a rule file. The same
is done here for what our files use, and anything else in them is refused: a field that is passed over in silence would
make the tests prove something about another scrape than the cluster's.
"""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from test.observability import durations

if TYPE_CHECKING:
    from topology_simulator import serving

FOLDER = pathlib.Path(__file__).parents[2] / "bindata" / "monitoring"
NAMESPACE = "openshift-topology-operator"
SERVICE = "cluster-topology-operator"
_ENDPOINT = {"port", "scheme", "path", "interval", "tlsConfig", "relabelings", "metricRelabelings"}
_TLS = {"caFile", "serverName", "certFile", "keyFile"}


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


def target_labels(number: int = 0) -> dict[str, str]:
    """Return the labels that a cluster's Prometheus gives to what it scrapes from one pod of ours."""
    return {
        "namespace": NAMESPACE,
        "service": SERVICE,
        "job": SERVICE,
        "pod": f"{SERVICE}-{number}",
        "container": "operator",
        "endpoint": "https",
    }


def scrape_job(monitor: dict[str, Any], scraper: serving.Scraper, targets: pathlib.Path) -> dict[str, Any]:
    """Translate the ServiceMonitor; certificates are the scraper's, pods are read from a file as they come and go."""
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
            "ca_file": str(scraper.authority),
            "cert_file": str(scraper.certificate),
            "key_file": str(scraper.key),
            "server_name": tls["serverName"],
        },
        "relabel_configs": [_snake(one) for one in endpoint.get("relabelings") or []],
        "metric_relabel_configs": [_snake(one) for one in endpoint.get("metricRelabelings") or []],
        "file_sd_configs": [{"files": [str(targets)], "refresh_interval": "1s"}],
    }


def rule_file(found: Monitoring) -> dict[str, Any]:
    """Return the content of the rule file, with shorter durations."""
    return {"groups": durations.groups(found.groups)}


def _snake(fields: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower(): value for name, value in fields.items()}
