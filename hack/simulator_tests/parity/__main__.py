"""`python -m simulator_tests.parity`: starts both servers, asks them everything, prints the table.

Each row ends in `same`, in `differs` with the titles of the listed differences, in `DIFFERS` with both answers, or in
`CHANGED` with what the real server says and what it said when it was recorded; `--record` writes anew what it says.
`-k WORD` asks (and records) only rows whose name contains it. Exit codes: 0 all is as listed and recorded, 1 something
is not, 3 no binaries.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from typing import TYPE_CHECKING

from simulator_tests.parity import asking, differences, record, rows, sides, verdict
from topology_simulator import binaries
from topology_simulator.envtest import server as real_server

if TYPE_CHECKING:
    from simulator_tests.parity.table import Row


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # printing the table is what this is for


async def _row(row: Row, embedded: sides.Side, real: sides.Side, kept: record.Record, *, write: bool) -> str:
    """Ask both a row and print what it came to; return that in a word."""
    try:
        mine, theirs = [await asking.ask(side, row) for side in (embedded, real)]
    except (sides.PreparationError, TimeoutError, LookupError, TypeError) as error:
        _say(f"  DIFFERS {row.name}\n    {error!r}")
        return "DIFFERS"
    if write:
        kept.answers[row.name] = theirs
    found = verdict.judge(row.name, mine, theirs, differences.ALL)
    news = verdict.outdated(kept.answers.get(row.name, []), theirs)
    lines = [line for text in (*found.report().splitlines()[1:], *news) for line in text.splitlines()]
    word = "DIFFERS" if not found.good else "CHANGED" if news else "differs" if found.listed else "same"
    _say(f"  {word:7} {row.name}{''.join(f'; {one.title}' for one in found.listed)}")
    if lines:
        _say("\n".join(f"      {line}" for line in lines))
    return word


async def _table(word: str, *, write: bool) -> int:
    counts = {"same": 0, "differs": 0, "DIFFERS": 0, "CHANGED": 0}
    began = time.monotonic()
    kept = record.load()
    async with real_server.RealServer() as server, sides.embedded() as embedded, sides.real(server) as real:
        version = await real.version()
        if version != kept.version and not write:
            _say(f"\n  CHANGED the answers were recorded from {kept.version or 'nothing'}, this is {version}")
            counts["CHANGED"] += 1
        for subject, members in rows.SUBJECTS.items():
            wanted = [row for row in members if word in row.name or word == subject]
            if wanted:
                _say(f"\n{subject}")
            for row in wanted:
                counts[await _row(row, embedded, real, kept, write=write)] += 1
    if write:
        answers = {row.name: kept.answers[row.name] for row in rows.ALL if row.name in kept.answers}
        record.save(record.Record(version, answers))
    spent = time.monotonic() - began
    same, listed, wrong, changed = counts.values()
    _say(
        f"\n{sum(counts.values())} rows in {spent:.0f} s: {same} same, {listed} differ as listed, "
        f"{wrong} not as listed, {changed} not as recorded"
    )
    return 1 if wrong or changed else 0


def main() -> int:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m simulator_tests.parity", description=__doc__.partition("\n")[0])
    parser.add_argument("-k", metavar="WORD", default="", help="only rows whose name contains it")
    parser.add_argument("--record", action="store_true", help="keep what the real server says")
    arguments = parser.parse_args()
    try:
        return asyncio.run(_table(arguments.k, write=arguments.record))
    except binaries.MissingError as error:
        sys.stderr.write(f"{error}\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
