"""docs/development/architecture.md names files, functions and tests that exist, and its two walks are true."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
import sys

import pytest
from test.unit.core import clusters
from test.unit.docs import pages

TEXT = (pages.ROOT / "docs" / "development" / "architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`([A-Za-z_./]+\.py):([A-Za-z_.]+)`", TEXT)))
FILES = sorted(set(re.findall(r"`(?:…/)?([a-z_]+(?:/[a-z_]+)*\.py)`", TEXT)))


def section(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_every_file_and_function_that_is_named_exists():
    for file, name in NAMED:
        place = pages.source(file)
        assert place is not None, f"no file {file}"
        assert pages.defines(place, name), f"{place} defines no {name}"
    # A row of the table of packages names several files of one folder.
    folders = ["", *(f"{one.name}/" for source in pages.SOURCES[:2] for one in source.iterdir() if one.is_dir())]
    folders += ["topology_simulator/"]
    missing = [file for file in FILES if not any(pages.source(folder + file) for folder in folders)]
    assert not missing


REQUEST, NODE = "The walk of one request", "A walk: be one Node event"


def steps(walk: str) -> list[str]:
    """The files of a walk, in the order of its numbers."""
    numbered = re.findall(r"(?m)^(\d+)\. \*\*`([a-z_/]+\.py)`\*\*", section(walk))
    assert [int(number) for number, _ in numbered] == list(range(1, len(numbered) + 1))
    return [file for _, file in numbered]


@contextlib.contextmanager
def entered(files):
    """Those of the files that are entered, in the order in which it happens first."""
    places: list[str] = []

    def enter(frame, event, _argument):
        # A coroutine that goes on is entered again from without, by those that wait for it.
        place = frame.f_code.co_filename.partition("/topology_controller/")[2]
        goes_on = frame.f_code.co_flags & (inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR)
        if event == "call" and not goes_on and place in files and place not in places:
            places.append(place)

    sys.setprofile(enter)
    try:
        yield places
    finally:
        sys.setprofile(None)


async def request(cluster: clusters.Cluster) -> None:
    """All is there: from the event to the one write of the topology."""
    cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(5)
    assert (cluster.topology, cluster.phase, cluster.changes) == ("HighlyAvailable", "Converging", 1)


async def node(cluster: clusters.Cluster) -> None:
    """A request waits: from the event to the write of a check."""
    cluster.change(("nodes", None, "node-2"), {"spec": {"unschedulable": True}})
    await asyncio.sleep(1)
    assert "node-2 (is cordoned)" in str(cluster.record["checks"])


@pytest.mark.looptime
@pytest.mark.parametrize(("walk", "happens"), [(REQUEST, request), (NODE, node)], ids=["request", "node"])
async def test_a_walk_of_the_page_is_the_way_that_is_taken(walk, happens):
    """Traced: the files of the page are entered in its order. At most seven, and none twice."""
    files = steps(walk)
    assert 5 <= len(set(files)) == len(files) <= 7, files
    cluster = clusters.Cluster()
    if happens is node:
        cluster.put(clusters.OPERATOR, {"metadata": {"annotations": cluster.annotations}})
        cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
        cluster.ask_for("HighlyAvailable")
    async with clusters.running(cluster):
        # After a minute the newest answers may be written at once.
        await asyncio.sleep(70)
        with entered(files) as places:
            await happens(cluster)
    assert places == files
