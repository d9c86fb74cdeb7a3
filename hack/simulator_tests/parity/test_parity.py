"""The embedded API server answers as the real one does, row by row; where it does not, there is a reason on a list.

The table is `parity.rows`. What the real server says stands in `parity/recorded.json`, and only a sample of rows is
asked of it here; `make parity` asks it all of them, and is what writes the record.
"""

from __future__ import annotations

import functools
import json
import pathlib
import subprocess
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from simulator_tests.parity import asking, differences, record, rows, sides, verdict
from topology_simulator import binaries
from topology_simulator.envtest import server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from simulator_tests.parity.table import Row

_PAGE = pathlib.Path(__file__).parents[3] / "docs" / "development" / "embedded-server.md"
RECORD = record.load()
SAMPLE = (
    "a created custom resource comes back with its identity",
    "the status endpoint ignores spec, labels and annotations",
    "a JSON patch adds, replaces and removes",
    "several broken rules are told together",
    "unknown fields are pruned with a warning",
    "a rule of the whole object sees status and spec",
    "a list comes in pages",
    "a page after the history was compacted is gone, and the rest may be had as it is now",
    "a watch from a list tells what comes after it",
    "initial events come in the order of names and end with a bookmark",
    "a finalizer holds a deleted object",
    "the last who changed a field owns it",
    "two candidates for a lease: the later is refused",
    "a change of the schema takes effect",
    "the kinds of a custom group",
    "bodies of an unknown type",
    "kubectl cordon and uncordon",
)
"""Rows of every subject, asked of the real server in every run: a record that nobody compares would age unseen."""


@functools.cache
def _kubectl() -> str:
    """The version of kubectl beside the real binaries. Raises binaries.MissingError."""
    command = [str(binaries.folder() / "kubectl"), "version", "--client", "--output=json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - the kubectl to be tested
    return str(json.loads(done.stdout)["clientVersion"]["gitVersion"]) if done.returncode == 0 else ""


def kubectl_as_recorded() -> None:
    """Fail where kubectl is not the one whose words were recorded."""
    assert _kubectl() == RECORD.version, "recorded with another kubectl"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def embedded() -> AsyncIterator[sides.Side]:
    async with sides.embedded() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def real() -> AsyncIterator[sides.Side]:
    """The real server, for these rows alone: they fill it and compact its history."""
    async with server.RealServer() as started, sides.real(started) as opened:
        yield opened


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("row", rows.ALL, ids=[row.name for row in rows.ALL])
async def test_the_embedded_server_answers_as_the_real_one_did(embedded: sides.Side, row: Row) -> None:
    if any(step.method == "KUBECTL" for step in row.steps):
        kubectl_as_recorded()
    found = verdict.judge(row.name, await asking.ask(embedded, row), RECORD.answers[row.name], differences.ALL)
    if not found.good:
        pytest.fail(found.report(), pytrace=False)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("row", [row for row in rows.ALL if row.name in SAMPLE], ids=lambda row: row.name)
async def test_the_real_server_still_answers_so(real: sides.Side, row: Row) -> None:
    news = verdict.outdated(RECORD.answers[row.name], await asking.ask(real, row))
    if news:
        pytest.fail("\n".join((f"{row.name}:", *news, "make parity PARITY_FLAGS=--record")), pytrace=False)


def test_a_change_of_the_real_server_is_told() -> None:
    recorded = RECORD.answers["a finalizer holds a deleted object"]
    code, words, fewer = (
        [{**recorded[0], "code": 409}, *recorded[1:]],
        [{**recorded[0], "warnings": ["299"]}, *recorded[1:]],
        recorded[:-1],
    )
    told = [verdict.outdated(recorded, real) for real in (recorded, code, words, fewer)]
    places = [[line.partition("\n")[0] for line in lines] for lines in told]
    assert places == [[], ["0"], ["0.warnings"], [str(len(fewer))]]


def test_the_record_is_of_these_rows() -> None:
    assert list(RECORD.answers) == [row.name for row in rows.ALL]


def test_the_page_lists_the_same_differences() -> None:
    section = _PAGE.read_text().partition("## Differences")[2].partition("\n## ")[0]
    listed = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert listed == differences.as_lines()
