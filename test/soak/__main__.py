"""`python -m test.soak`: runs one soak, prints what was found, writes `build/soak.json`.

Exit code 0 when all is well; 1 with a line that says which figure is wrong, or that something did not run; 2 for bad
usage.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import pathlib
import sys
import tempfile
from typing import TYPE_CHECKING

from test.bench import processes

from . import run

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = pathlib.Path(__file__).parents[2]
LONGEST = 48.0
"""Hours."""


def main(argv: Sequence[str] | None = None) -> int:
    """Soak, show, write."""
    parser = argparse.ArgumentParser(prog="python -m test.soak", description="does anything in the operator grow?")
    parser.add_argument("--hours", type=float, default=0.5, help=f"up to {LONGEST:g} (default: 0.5)")
    parser.add_argument("--seed", type=int, default=1, help="of what goes wrong (default: 1)")
    parser.add_argument("--output", type=pathlib.Path, default=_ROOT / "build" / "soak.json", help="what is written")
    options = parser.parse_args(argv)
    if not 1 / 60 <= options.hours <= LONGEST:
        parser.error(f"--hours {options.hours:g}: allowed are a minute to {LONGEST:g} hours")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        settings = run.Settings(options.hours * 3600, options.seed, pathlib.Path(folder))
        try:
            found = asyncio.run(run.soak(settings))
            judgements, wrong = run.judged(found, settings)
        except BaseException:
            sys.stderr.write(processes.last_words(settings.folder))
            raise
    content = {
        "wrong": wrong,
        "judged": {one.name: dataclasses.asdict(one) | {"per_hour": one.per_hour} for one in judgements},
        **dataclasses.asdict(found),
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(content, indent=1) + "\n")
    hits = ", ".join(f"{name} {count}" for name, count in sorted(found.disturbed.items()))
    rows = [
        f"{options.hours:g} hours, seed {options.seed}, {found.sent:.0f} heartbeats a second of {run.RATE:g}",
        *(one.line() for one in judgements),
        f"condition changes {len(found.changes)}, writes besides the lease {len(found.writes)}",
        f"watches disturbed: {hits}; {found.requests} requests, {found.cpu:.2f} s of CPU a minute",
        *(f"changed: {one}" for one in found.changes[:10]),
        *(f"written: {one}" for one in found.writes[:10]),
        *(f"soak failed: {one}" for one in wrong),
    ]
    sys.stdout.write("".join(f"{row}\n" for row in rows))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
