"""docs/architecture.md names files, functions and tests that exist, and its two walks are true."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
import sys

import pytest
from test.unit.core import clusters
from test.unit.docs import pages

TEXT = (pages.ROOT / "docs" / "architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`([A-Za-z_./]+\.py):([A-Za-z_.]+)`", TEXT)))
FILES = sorted(set(re.findall(r"`(?:…/)?([a-z_]+(?:/[a-z_]+)*\.py)`", TEXT)))
TESTS = sorted(set(re.findall(r"`(test/[a-z_/]+\.py)::(test_\w+)`", TEXT)))


def section(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda one: one)
def test_every_function_that_is_named_exists(file, name):
    place = pages.source(file)
    assert place is not None, f"no file {file}"
    assert pages.defines(place, name), f"{place} defines no {name}"


def test_every_file_that_is_named_exists():
    # A row of the table of packages names several files of one folder.
    folders = ["", *(f"{one.name}/" for one in pages.SOURCES[0].iterdir() if one.is_dir())]
    folders += ["topology_simulator/"]
    missing = [file for file in FILES if not any(pages.source(folder + file) for folder in folders)]
    assert not missing


@pytest.mark.parametrize(("file", "name"), TESTS, ids=lambda one: one)
def test_every_test_that_is_named_exists(file, name):
    place = pages.ROOT / file
    assert place.is_file(), f"no file {file}"
    assert pages.defines(place, name), f"{file} has no {name}"


REQUEST, NODE = "The walk of one request", "A walk: be one Node event"


def steps(walk: str) -> list[str]:
    """The files of a walk, in the order of its numbers."""
    numbered = re.findall(r"(?m)^(\d+)\. \*\*`([a-z_/]+\.py)`\*\*", section(walk))
    assert [int(number) for number, _ in numbered] == list(range(1, len(numbered) + 1))
    return [file for _, file in numbered]


@pytest.mark.parametrize("walk", [REQUEST, NODE])
def test_a_walk_passes_at_most_seven_modules_and_none_twice(walk):
    files = steps(walk)
    assert 5 <= len(files) <= 7, files
    assert len(set(files)) == len(files)


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


@pytest.mark.looptime
async def test_a_request_takes_the_way_of_the_page():
    """Traced: the files of the page are entered in its order, from the event to the one write."""
    cluster = clusters.Cluster()
    async with clusters.running(cluster):
        await asyncio.sleep(70)
        with entered(steps(REQUEST)) as places:
            cluster.ask_for("HighlyAvailable")
            await asyncio.sleep(5)
        assert (cluster.topology, cluster.phase, cluster.changes) == ("HighlyAvailable", "Converging", 1)
    assert places == steps(REQUEST)


@pytest.mark.looptime
async def test_a_node_event_takes_the_way_of_the_page():
    """Traced: the files of the page are entered in its order, from the event to the write."""
    cluster = clusters.Cluster()
    cluster.put(clusters.OPERATOR, {"metadata": {"annotations": cluster.annotations}})
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    cluster.ask_for("HighlyAvailable")
    async with clusters.running(cluster):
        # After a minute the newest answers may be written at once.
        await asyncio.sleep(70)
        with entered(steps(NODE)) as places:
            cluster.change(("nodes", None, "node-2"), {"spec": {"unschedulable": True}})
            await asyncio.sleep(1)
        assert "node-2 (is cordoned)" in str(cluster.record["checks"])
    assert places == steps(NODE)
