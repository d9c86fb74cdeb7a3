"""A real Prometheus: loopback only, data in a temporary folder, and gone whatever becomes of the test.

It runs under the simulator's keeping, as etcd's members do: that knows its pid, ends it when this context is left,
and also when the test's own process is killed. Its configuration is what bindata/monitoring makes of a cluster's
(`monitoring`), scraping once a second.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.observability import asking, monitoring
from topology_simulator.etcd import keeping

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


VERSION_OPERATOR = "cluster-version-operator"
INSTALL = "run hack/observability/install"
READY_SECONDS = 60.0
_NAME = "prometheus"
_ATTEMPTS = 3


class Prometheus(asking.Api):
    """One that runs."""

    def __init__(self, url: str, kept: keeping.Keeping) -> None:
        super().__init__(url)
        self._kept = kept

    def cpu_seconds(self) -> float:
        """What it has taken of the processors so far: whatever else the machine does plays no part."""
        stat = pathlib.Path(f"/proc/{self._kept.pids[_NAME]}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def last_words(self) -> str:
        """Return the end of its log."""
        return self._kept.last_words(_NAME)


def binary() -> str:
    """Return where Prometheus is; fails the test with one line where it is not."""
    found = shutil.which(_NAME)
    if found is None:
        pytest.fail(f"{_NAME} is not installed: {INSTALL}", pytrace=False)
    return found


@contextlib.asynccontextmanager
async def running(
    folder: pathlib.Path, scraper: pathlib.Path, operator: str, version_operator: str
) -> AsyncIterator[Prometheus]:
    """Start one that scrapes an operator and the version operator, HOST:PORT each; `folder` has its configuration."""
    path = binary()
    found = monitoring.load()
    rules = folder / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": monitoring.shortened(found.groups)}))
    job = monitoring.scrape_job(found.monitor, scraper, operator)
    configuration = folder / "prometheus.yaml"
    configuration.write_text(yaml.safe_dump(_configuration(job, rules, version_operator)))
    async with keeping.Keeping() as kept:
        url = await _started(kept, path, configuration)
        async with Prometheus(url, kept) as made:
            yield made


@contextlib.asynccontextmanager
async def holding(folder: pathlib.Path, data: pathlib.Path, groups: list[dict[str, Any]]) -> AsyncIterator[Prometheus]:
    """Start one that scrapes nothing, holds the blocks in `data` and evaluates these rules."""
    path = binary()
    rules, configuration = folder / "rules.yaml", folder / "prometheus.yaml"
    rules.write_text(yaml.safe_dump({"groups": groups}))
    configuration.write_text(yaml.safe_dump({"rule_files": [str(rules)]}))
    async with keeping.Keeping() as kept:
        url = await _started(kept, path, configuration, data)
        async with Prometheus(url, kept) as made:
            yield made


async def _started(
    kept: keeping.Keeping, path: str, configuration: pathlib.Path, data: pathlib.Path | None = None
) -> str:
    for attempt in range(1, _ATTEMPTS + 1):
        (port,) = keeping.free_ports(1)
        url = f"http://127.0.0.1:{port}"
        await kept.start(_NAME, _command(path, configuration, data or kept.folder / f"data-{attempt}", port))
        async with asking.Api(url) as api:
            ready = await _ready(kept, api)
        if ready:
            return url
        # Somebody else may have taken the port between our look and its bind.
        if "address already in use" not in kept.last_words(_NAME) or attempt == _ATTEMPTS:
            break
    raise AssertionError(f"Prometheus is not ready\n{kept.last_words(_NAME)}")


async def _ready(kept: keeping.Keeping, api: asking.Api) -> bool:
    async def ready_or_gone() -> bool:
        return _NAME not in kept.pids or await api.ready()

    await polling.until("Prometheus is ready", ready_or_gone, READY_SECONDS)
    return _NAME in kept.pids


def _command(path: str, configuration: pathlib.Path, data: pathlib.Path, port: int) -> list[str]:
    return [
        path,
        f"--config.file={configuration}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]


def _configuration(job: dict[str, Any], rules: pathlib.Path, version_operator: str) -> dict[str, Any]:
    who = {"namespace": "openshift-cluster-version", "service": VERSION_OPERATOR, "job": VERSION_OPERATOR}
    labelled = {"targets": [version_operator], "labels": {**who, "endpoint": "metrics"}}
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [job, {"job_name": VERSION_OPERATOR, "static_configs": [labelled]}],
    }
