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
from typing import TYPE_CHECKING, Any

import aiohttp

from test.bench import processes
from topology_simulator import client, install

from . import run, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = pathlib.Path(__file__).parents[2]
_FAILURES = (
    processes.BenchError,
    aiohttp.ClientError,
    client.ClientError,
    install.InstallError,
    verdict.TooFewError,
    OSError,
)
LONGEST = 50.0
"""Minutes: the watches of whoever looks on end after an hour."""


def _minutes(text: str) -> float:
    value = float(text)
    if not 1 <= value <= LONGEST:
        raise argparse.ArgumentTypeError(f"between 1 and {LONGEST:g}")
    return value


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m test.soak", description="does anything in the operator grow?")
    parser.add_argument("--minutes", type=_minutes, default=30.0, help=f"1 to {LONGEST:g} (default: 30)")
    parser.add_argument("--rate", type=float, default=500.0, help="heartbeats a second, of all nodes (default: 500)")
    parser.add_argument("--nodes", type=int, default=500, help="nodes besides the control plane (default: 500)")
    parser.add_argument("--seed", type=int, default=1, help="of what goes wrong (default: 1)")
    parser.add_argument(
        "--output", type=pathlib.Path, default=_ROOT / "build" / "soak.json", help="where it is written"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Soak, show, write."""
    options = _arguments(argv)
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        settings = run.Settings(
            seconds=seconds,
            warm_up=min(seconds / 3, 300.0),
            every=2.0 if seconds <= 600 else 5.0,
            rate=options.rate,
            nodes=options.nodes,
            seed=options.seed,
            folder=pathlib.Path(folder),
            say=lambda text: sys.stderr.write(f"{text}\n"),
        )
        try:
            found = asyncio.run(run.soak(settings))
            judgements, wrong = run.judged(found, settings)
        except (*_FAILURES, BaseExceptionGroup) as error:
            known = [one for one in _leaves(error) if isinstance(one, _FAILURES)]
            if len(known) < len(_leaves(error)):
                raise
            sys.stderr.write("".join(f"soak: {type(one).__name__}: {one}\n" for one in known))
            sys.stderr.write(_last_words(settings.folder))
            return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(_content(found, judgements, wrong), indent=1) + "\n")
    sys.stdout.write(_told(found, judgements, options) + "".join(f"soak failed: {one}\n" for one in wrong))
    return int(bool(wrong))


def _told(found: run.Found, judgements: list[verdict.Judgement], options: argparse.Namespace) -> str:
    hits = ", ".join(f"{name} {count}" for name, count in sorted(found.disturbed.items()))
    before, after = (sum(one.get("objects", {}).values()) for one in (found.before, found.after))
    more = ", ".join(f"{name} {count:+d}" for name, count in _more(found, "objects"))
    tasks = ", ".join(f"{name} {count:+d}" for name, count in _more(found, "tasks"))
    rows = [
        f"{options.minutes:g} minutes, seed {options.seed}, {found.sent:.0f} heartbeats a second of {options.rate:g}",
        *(one.line() for one in judgements),
        f"condition changes {len(found.changes)}, writes besides the lease {len(found.writes)}",
        f"watches disturbed: {hits}; {found.requests} requests, {found.cpu:.2f} s of CPU a minute",
        f"objects that the garbage collector knows: {before}, {after} at the end; most more of: {more or 'none'}",
        f"tasks there are more of: {tasks or 'none'}",
        *(f"changed: {one}" for one in found.changes[:10]),
        *(f"written: {one}" for one in found.writes[:10]),
    ]
    return "".join(f"{row}\n" for row in rows)


def _more(found: run.Found, what: str) -> list[tuple[str, int]]:
    return verdict.grown(found.before.get(what, {}), found.after.get(what, {}))


def _content(found: run.Found, judgements: list[verdict.Judgement], wrong: list[str]) -> dict[str, Any]:
    samples = {name: getattr(found, name) for name in ("rss", "tasks", "threads", "descriptors")}
    return {
        "wrong": wrong,
        "judged": {one.name: dataclasses.asdict(one) | {"per_hour": one.per_hour} for one in judgements},
        "heartbeats_per_second": found.sent,
        "cpu_seconds_per_minute": found.cpu,
        "condition_changes": found.changes,
        "writes": found.writes,
        "requests": found.requests,
        "watches_disturbed": found.disturbed,
        "samples": {name: [[round(at, 1), round(value, 3)] for at, value in taken] for name, taken in samples.items()},
    }


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in _leaves(one)]


def _last_words(folder: pathlib.Path) -> str:
    logs = sorted(folder.glob("*.log"))
    return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}\n" for log in logs)


if __name__ == "__main__":
    sys.exit(main())
