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


@pytest.mark.parametrize("field", ["bearerTokenFile", "basicAuth", "honorLabels"])
def test_a_field_that_is_not_understood_is_refused(monitor: dict[str, Any], field: str) -> None:
    endpoint(monitor)[field] = "anything"
    with pytest.raises(AssertionError, match=f"not understood here: .*{field}"):
        monitoring.scrape_job(monitor, SCRAPER, TARGETS)


def test_an_unverified_scrape_is_refused(monitor: dict[str, Any]) -> None:
    endpoint(monitor)["tlsConfig"]["insecureSkipVerify"] = True
    with pytest.raises(AssertionError, match="insecureSkipVerify"):
        monitoring.scrape_job(monitor, SCRAPER, TARGETS)
