"""The Prometheus of a test is there, on loopback only, and gone whatever becomes of the test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.observability import prometheus
from topology_simulator import serving

if TYPE_CHECKING:
    import pathlib

NOBODY = "127.0.0.1:9"


class _TestFailedError(Exception):
    """What a failing test raises."""


def scraper(folder: pathlib.Path) -> serving.Scraper:
    return serving.Serving(folder, serving.authority()).scraper()


async def a_test_that_fails(folder: pathlib.Path, seen: list[prometheus.Prometheus], pids: list[int]) -> None:
    async with prometheus.running(folder, scraper(folder), NOBODY, NOBODY) as made:
        seen.append(made)
        pids.append(made.pid)
        os.kill(made.pid, 0)
        raise _TestFailedError


async def test_it_ends_when_the_test_fails(tmp_path: pathlib.Path) -> None:
    seen: list[prometheus.Prometheus] = []
    pids: list[int] = []
    with pytest.raises(_TestFailedError):
        await a_test_that_fails(tmp_path, seen, pids)
    (made,), (pid,) = seen, pids

    async def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    await polling.until(f"process {pid} is gone", gone)
    assert not made.folder.exists(), "its data is gone too"


async def test_whom_it_scrapes_comes_and_goes(tmp_path: pathlib.Path) -> None:
    async with prometheus.running(tmp_path, scraper(tmp_path), NOBODY, NOBODY) as made:

        async def ours() -> list[str]:
            return [one.url for one in await made.targets() if one.job == "cluster-topology-operator"]

        async def one() -> bool:
            return await ours() == [f"https://{NOBODY}/metrics"]

        async def none() -> bool:
            return not await ours()

        await polling.until("the operator is a target", one, prometheus.READY_SECONDS)
        made.scrape()
        await polling.until("there is no operator", none, prometheus.READY_SECONDS)


def test_where_it_is_missing_the_test_fails_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="prometheus is not installed: run hack/observability/install"):
        prometheus.binary()
