"""The embedded API server answers as the real one does, row by row; where it does not, there is a reason on a list.

The table is `parity.rows`. `python -m test.component.parity` prints it with what each row came to.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from test.component.parity import differences, rows, sides
from topology_simulator.envtest import server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component.parity.table import Row

_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "embedded-server.md"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def comparison(real_binaries: None) -> AsyncIterator[sides.Comparison]:
    """Both servers; the real one is for this table alone, which fills it and compacts its history."""
    async with server.RealServer() as real, sides.opened(real) as opened:
        yield opened


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("row", rows.ALL, ids=[row.name for row in rows.ALL])
async def test_both_servers_answer_alike(comparison: sides.Comparison, row: Row) -> None:
    verdict = await comparison.judge(row, rows.NUMBERS[row.name])
    if not verdict.good:
        pytest.fail(verdict.report(), pytrace=False)


def test_every_row_has_a_name_of_its_own() -> None:
    names = [row.name for row in rows.ALL]
    assert sorted(set(names)) == sorted(names)


def test_differences_are_about_rows_that_exist() -> None:
    known = {row.name for row in rows.ALL}
    assert {name for one in differences.ALL for name in one.rows} <= known


def test_the_page_lists_the_same_differences() -> None:
    section = _PAGE.read_text().partition("## Differences")[2].partition("\n## ")[0]
    listed = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert listed == differences.as_lines()
