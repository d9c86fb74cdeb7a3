"""`python -m test.bench`: runs the measurements, prints the table, writes `build/bench.json`.

Exit code 0 when every target is met, 1 when one is missed or could not be measured, 2 for bad usage. A known miss
(`figures.MISSES`) and what the short form cannot measure or judge are said, and no failure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import pathlib
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from . import figures, measure, processes, servers

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = pathlib.Path(__file__).parents[2]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(prog="python -m test.bench", description="measure what the README promises")
    parser.add_argument(
        "--apiserver", choices=servers.KINDS, default="embedded", help="what is measured against (default: embedded)"
    )
    parser.add_argument("--short", action="store_true", help="fewer samples: two minutes")
    parser.add_argument(
        "--output", type=pathlib.Path, default=_ROOT / "build" / "bench.json", help="where it is written"
    )
    options = parser.parse_args(argv)
    long = measure.LONG_REAL if options.apiserver == "real" else measure.LONG
    sizes = measure.SHORT if options.short else long
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        run = measure.Run(sizes, pathlib.Path(folder), options.apiserver)
        try:
            found = asyncio.run(measure.measure(run))
        except BaseException:
            sys.stderr.write(processes.last_words(run.folder))
            raise
    options.output.parent.mkdir(parents=True, exist_ok=True)
    content = {name: figure.as_json() for name, figure in found.items()}
    options.output.write_text(json.dumps(content, indent=2) + "\n")
    lasted = f"{options.apiserver} API server, {time.monotonic() - began:.0f} s"
    sys.stdout.write(f"{figures.table(found)}\n\n{lasted}, written to {options.output}\n")
    lines, failed = figures.verdict(found, measure.ALL, figures.MISSES, short=options.short)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
