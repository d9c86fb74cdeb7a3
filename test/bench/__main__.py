"""`python -m test.bench`: runs the measurements, prints the table, writes `build/bench.json`.

Exit code 0 when every target is met, 1 when one is missed or could not be measured, 2 for bad usage. A known miss
(`known`) and what the short form cannot measure or judge are said, and no failure.
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

import aiohttp

from topology_simulator import client, install
from topology_simulator.envtest import binaries
from topology_simulator.envtest import server as envtest

from . import figures, known, measure, processes, servers

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = pathlib.Path(__file__).parents[2]
_FAILURES = (
    processes.BenchError,
    aiohttp.ClientError,
    client.ClientError,
    install.InstallError,
    binaries.MissingError,
    envtest.RealServerError,
)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m test.bench", description="measure what the README promises")
    parser.add_argument(
        "--apiserver", choices=servers.KINDS, default="embedded", help="what is measured against (default: embedded)"
    )
    parser.add_argument("--short", action="store_true", help="fewer samples: a minute and a half instead of six")
    parser.add_argument(
        "--only", choices=measure.ALL, metavar="FIGURE", action="append", help=f"one of {', '.join(measure.ALL)}"
    )
    parser.add_argument("--verbose", action="store_true", help="show when each stage of a trial reached the server")
    parser.add_argument(
        "--output", type=pathlib.Path, default=_ROOT / "build" / "bench.json", help="where it is written"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show, write."""
    options = _arguments(argv)
    long = measure.LONG_REAL if options.apiserver == "real" else measure.LONG
    sizes = measure.SHORT if options.short else long
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        wanted = frozenset(options.only or measure.offered(options.apiserver))
        run = measure.Run(sizes, wanted, pathlib.Path(folder), options.apiserver, options.verbose)
        try:
            found = asyncio.run(measure.measure(run))
        except _FAILURES as error:
            sys.stderr.write(f"bench: {error}\n{_last_words(run.folder)}")
            return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    content = {name: figure.as_json() for name, figure in found.items()}
    options.output.write_text(json.dumps(content, indent=2) + "\n")
    for name, listing in run.transitions.items():
        sys.stdout.write(f"{name}, the requests of a trial that took the median time:\n{listing}\n\n")
    lasted = f"{options.apiserver} API server, {time.monotonic() - began:.0f} s"
    sys.stdout.write(f"{figures.table(found)}\n\n{lasted}, written to {options.output}\n")
    lines, failed = figures.verdict(found, wanted, known.MISSES, short=options.short)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return int(failed)


def _last_words(folder: pathlib.Path) -> str:
    logs = sorted(folder.glob("*.log"))
    return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}\n" for log in logs)


if __name__ == "__main__":
    sys.exit(main())
