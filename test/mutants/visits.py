"""Records which test takes which line and branch: coverage with a context for each test."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING

import coverage

from . import making

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable

_DATA = "visits.sqlite"
_REPORT = "branches.json"
_ARCS = (
    "select distinct context from arc join context on context.id = context_id join file on file.id = file_id"
    " where path = ? and "
)


def recorder(folder: pathlib.Path, part: int, files: Iterable[str]) -> coverage.Coverage:
    """Return what records one part; `switch_context` names the test that is run."""
    suffix = f"part{part}"
    return coverage.Coverage(str(folder / _DATA), data_suffix=suffix, branch=True, include=[*files], config_file=False)


def combine(folder: pathlib.Path) -> None:
    """Make one of the parts that were recorded, and a report of branches."""
    data = folder / _DATA
    data.unlink(missing_ok=True)
    combined = coverage.Coverage(str(data), branch=True, config_file=False)
    combined.combine(map(str, folder.glob(f"{_DATA}.part*")))
    combined.save()
    with contextlib.redirect_stdout(None):
        combined.json_report(outfile=str(folder / _REPORT))
    with contextlib.closing(sqlite3.connect(data)) as rows, rows:
        rows.execute("create index by_begin on arc (file_id, fromno)")
        rows.execute("create index by_end on arc (file_id, tono)")


class Visits:
    """What was recorded in a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._report = json.loads((folder / _REPORT).read_text())["files"]
        self._rows = sqlite3.connect(folder / _DATA)

    def of(self, lines: dict[str, set[int]]) -> set[str]:
        """Return the tests that take one of these lines, by file."""
        tests: set[str] = set()
        for file, numbers in lines.items():
            known = ",".join(map(str, sorted(numbers)))
            rows = self._rows.execute(f"{_ARCS} (fromno in ({known}) or tono in ({known}))", (file,))
            tests.update(test for (test,) in rows if test)
        return tests

    def branches(self) -> dict[str, list[str]]:
        """Return the tests that take each branch; none where no test does."""
        return {
            f"{file}:{begin}->{end}": sorted(
                test
                for (test,) in self._rows.execute(
                    f"{_ARCS} fromno = ? and tono = ?", (str(making.ROOT / file), begin, end)
                )
                if test
            )
            for file, report in self._report.items()
            for begin, end in report["executed_branches"] + report["missing_branches"]
        }
