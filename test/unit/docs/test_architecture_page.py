"""docs/architecture.md names files, functions and tests that exist, and a walk has no more than seven rooms."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import re
import sys

import pytest
from test.unit.core import clusters
from test.unit.docs import pages

TEXT = (pages.ROOT / "docs" / "architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`([A-Za-z_./]+\.py):([A-Za-z_.]+)`", TEXT)))
FILES = sorted(set(re.findall(r"`(?:…/)?([a-z_]+(?:/[a-z_]+)*\.py)`", TEXT)))
TESTS = sorted(set(re.findall(r"`(test/[a-z_/]+\.py)::(test_\w+)`", TEXT)))
DECISIONS = re.split(r"(?m)^(?=\d+\. \*\*)", TEXT.partition("\n## Decisions\n")[2])[1:]


def section(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda one: one)
def test_every_function_that_is_named_exists(file, name):
    place = pages.source(file)
    assert place is not None, f"no file {file}"
    assert pages.defines(place, name), f"{place} defines no {name}"


def test_every_file_that_is_named_exists():
    # A row of the table of rooms names several files of one folder.
    folders = ["", *(f"{one.name}/" for one in pages.SOURCES[0].iterdir() if one.is_dir())]
    folders += ["topology_simulator/"]
    missing = [file for file in FILES if not any(pages.source(folder + file) for folder in folders)]
    assert not missing


@pytest.mark.parametrize(("file", "name"), TESTS, ids=lambda one: one)
def test_every_test_that_is_named_exists(file, name):
    place = pages.ROOT / file
    assert place.is_file(), f"no file {file}"
    assert pages.defines(place, name), f"{file} has no {name}"


def test_every_decision_is_complete():
    assert len(DECISIONS) >= 20
    for number, decision in enumerate(DECISIONS, 1):
        assert decision.startswith(f"{number}. **"), decision
        reason, *parts = re.split(r"\n    \* \*(?=Without it|Code|Held by)", decision)
        assert [part.partition(":*")[0] for part in parts] == ["Without it", "Code", "Held by"], decision
        assert len(reason.split()) > 10, f"decision {number} gives no reason"
        assert "`test/" in parts[2], f"decision {number} is held by no test"


@pytest.mark.parametrize("walk", ["The walk of one request", "A walk: be one Node event"])
def test_a_walk_has_at_most_seven_rooms_and_passes_none_twice(walk):
    steps = re.findall(r"(?m)^(\d+)\. \*\*([^*]+)\*\*", section(walk))
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert 5 <= len(steps) <= 7, steps
    rooms = [room for _, room in steps]
    assert all(one != other for one, other in itertools.pairwise(rooms))
    assert len(set(rooms)) == len(rooms), rooms


@pytest.mark.looptime
async def test_a_node_event_takes_the_way_of_the_page():
    """Traced: the files of the page are entered in its order, from the event to the write."""
    files = re.findall(r"(?m)^\d+\. \*\*`([a-z_/]+\.py)`\*\*", section("A walk: be one Node event"))
    cluster = clusters.Cluster()
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    cluster.ask_for("HighlyAvailable")
    entered: list[str] = []

    def enter(frame, event, _argument):
        # A coroutine that goes on is entered again from without, by those that wait for it.
        place = frame.f_code.co_filename.partition("/topology_controller/")[2]
        goes_on = frame.f_code.co_flags & (inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR)
        if event == "call" and not goes_on and place in files and place not in entered:
            entered.append(place)

    async with clusters.running(cluster):
        # After a minute the newest answers may be written at once.
        await asyncio.sleep(70)
        sys.setprofile(enter)
        try:
            cluster.change(("nodes", None, "node-2"), {"spec": {"unschedulable": True}})
            await asyncio.sleep(1)
        finally:
            sys.setprofile(None)
        assert "node-2 (is cordoned)" in str(cluster.record["checks"])
    assert entered == files


def test_the_walk_of_a_request_names_its_rooms_by_their_folders():
    rooms = re.findall(r"(?m)^\d+\. \*\*([a-z]+)\.\*\*", section("The walk of one request"))
    assert rooms == ["kube", "observe", "reconcile", "decide", "checks", "act", "report"]
    operator = pages.SOURCES[0]
    assert all((operator / room).is_dir() or (operator / f"{room}.py").is_file() for room in rooms)


def test_every_folder_of_the_operator_is_a_room():
    rooms = section("Architecture") or TEXT.partition("\n## ")[0]
    folders = {one.name for one in pages.SOURCES[0].iterdir() if (one / "__init__.py").is_file()}
    missing = {folder for folder in folders if f"/{folder}`" not in rooms}
    assert not missing
