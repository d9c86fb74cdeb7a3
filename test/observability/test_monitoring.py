"""What bindata/monitoring becomes as a configuration, and that nothing of it is passed over in silence."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import pytest

from test.observability import monitoring
from topology_simulator import serving

SCRAPER = serving.Scraper(pathlib.Path("client"))
TARGETS = pathlib.Path("targets.json")


@pytest.fixture
def monitor() -> dict[str, Any]:
    return copy.deepcopy(monitoring.load().monitor)


def endpoint(monitor: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = monitor["spec"]["endpoints"][0]
    return found


def test_the_scrape_is_the_service_monitors(monitor: dict[str, Any]) -> None:
    job = monitoring.scrape_job(monitor, SCRAPER, TARGETS)
    assert (job["scheme"], job["metrics_path"]) == ("https", "/metrics")
    assert job["tls_config"] == {
        "ca_file": "client/ca.crt",
        "cert_file": "client/tls.crt",
        "key_file": "client/tls.key",
        "server_name": serving.SERVER_NAME,
    }


def test_the_alerts_are_the_four_of_the_runbooks() -> None:
    assert sorted(set(monitoring.load().alerts)) == [
        "TopologyOperatorNotWatching",
        "TopologyTransitionBlocked",
        "TopologyTransitionStuck",
        "TopologyTransitionTwoVoters",
    ]


def test_relabelings_are_written_as_prometheus_wants_them(monitor: dict[str, Any]) -> None:
    rule = {"sourceLabels": ["__name__"], "regex": "python_.*", "action": "drop", "targetLabel": "x"}
    endpoint(monitor)["metricRelabelings"] = [rule]
    job = monitoring.scrape_job(monitor, SCRAPER, TARGETS)
    assert job["metric_relabel_configs"] == [
        {"source_labels": ["__name__"], "regex": "python_.*", "action": "drop", "target_label": "x"}
    ]


@pytest.mark.parametrize("field", ["bearerTokenFile", "basicAuth", "honorLabels"])
def test_a_field_that_is_not_understood_is_refused(monitor: dict[str, Any], field: str) -> None:
    endpoint(monitor)[field] = "anything"
    with pytest.raises(AssertionError, match=f"not understood here: .*{field}"):
        monitoring.scrape_job(monitor, SCRAPER, TARGETS)


def test_an_unverified_scrape_is_refused(monitor: dict[str, Any]) -> None:
    endpoint(monitor)["tlsConfig"]["insecureSkipVerify"] = True
    with pytest.raises(AssertionError, match="insecureSkipVerify"):
        monitoring.scrape_job(monitor, SCRAPER, TARGETS)


def test_an_empty_folder_is_not_taken_for_no_rules(tmp_path: pathlib.Path) -> None:
    with pytest.raises(AssertionError, match="one ServiceMonitor wanted, found 0"):
        monitoring.load(tmp_path)
