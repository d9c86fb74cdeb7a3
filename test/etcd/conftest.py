"""Members to ask: of a test's own, or shared by those that only look."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from topology_simulator.etcd import cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator

THREE = ("master-0", "master-1", "master-2")


@pytest.fixture
async def etcd() -> AsyncIterator[cluster.Cluster]:
    """Members of this test's own, none of them started; membership changes without waiting."""
    async with cluster.Cluster(strict=False) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three() -> AsyncIterator[cluster.Cluster]:
    """Three healthy voters, for looking only."""
    async with cluster.Cluster(strict=False) as made:
        await made.grow(*THREE)
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for made in getattr(item, "funcargs", {}).values():
            if isinstance(made, cluster.Cluster):
                with contextlib.suppress(OSError):
                    report.sections.append(("etcd members", made.last_words()))
    return report
