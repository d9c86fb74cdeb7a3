"""`python -m test.component.parity`: starts both servers, asks them everything, prints the table.

Each row ends in `same`, in `differs` with the titles of the listed differences, or in `DIFFERS` with both answers.
`-k WORD` asks only rows whose name contains it. Exit codes: 0 all is as listed, 1 something is not, 3 no binaries.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from test.component.parity import asking, rows, sides
from topology_simulator.envtest import binaries
from topology_simulator.envtest import server as real_server


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # printing the table is what this is for


async def _table(word: str) -> int:
    counts = {"same": 0, "differs": 0, "DIFFERS": 0}
    began = time.monotonic()
    async with real_server.RealServer() as real, sides.opened(real) as comparison:
        for subject, members in rows.SUBJECTS.items():
            wanted = [row for row in members if word in row.name or word == subject]
            if wanted:
                _say(f"\n{subject}")
            for row in wanted:
                try:
                    found = await comparison.judge(row, rows.NUMBERS[row.name])
                except (asking.PreparationError, TimeoutError, LookupError, TypeError) as error:
                    _say(f"  DIFFERS {row.name}\n    {error!r}")
                    counts["DIFFERS"] += 1
                    continue
                word_for = "DIFFERS" if not found.good else "differs" if found.listed else "same"
                counts[word_for] += 1
                _say(f"  {word_for:7} {row.name}{''.join(f'; {one.title}' for one in found.listed)}")
                if not found.good:
                    _say("\n".join(f"      {line}" for line in found.report().splitlines()[1:]))
    spent = time.monotonic() - began
    total = sum(counts.values())
    same, listed, wrong = counts.values()
    _say(f"\n{total} rows in {spent:.0f} s: {same} same, {listed} differ as listed, {wrong} not as listed")
    return 1 if counts["DIFFERS"] else 0


def main() -> int:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m test.component.parity", description=__doc__.partition("\n")[0])
    parser.add_argument("-k", metavar="WORD", default="", help="only rows whose name contains it")
    arguments = parser.parse_args()
    try:
        return asyncio.run(_table(arguments.k))
    except binaries.MissingError as error:
        sys.stderr.write(f"{error}\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
