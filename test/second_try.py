"""A second try for what failed, within limits, and with a memory: a test that keeps needing one is a failure.

`begin` forgets what an earlier run left, `again` decides whether what pytest calls its last failures may be tried once
more and does so, `end` prints what needed it and records the run, also one in which nothing did. Exit codes: 0 all is
well, 1 it is a failure, 2 bad usage.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST = 2
"""Tests of one run that may be tried again; more are no accident."""
REMEMBERED = 10
"""Recorded runs in which the same test must not have needed one."""
NEVER = re.compile(r"^test/fuzz/|/test_(\w*crash\w*|\w*guards?_of\w*|two_leaders)\.py")
"""A race in these is what they are for: it shows under load, and a second try would wash it away."""
FINDING = re.compile(r"Falsifying example|Failing test case|You can reproduce this example")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (?P<test>.+?)(?: - (?P<why>.*))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Try:
    """One test that was tried again. `first` is what it failed of, `passed` whether the second try did."""

    test: str
    first: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Files:
    """Where things are: the project, and the history that outlives clones of it."""

    root: pathlib.Path
    history: pathlib.Path

    @property
    def failures(self) -> pathlib.Path:
        """What failed last, by pytest."""
        return self.root / ".pytest_cache" / "v" / "cache" / "lastfailed"

    @property
    def tries(self) -> pathlib.Path:
        """What was tried again in this run."""
        return self.root / "build" / "second-tries.json"


def history_file() -> pathlib.Path:
    """The file that holds one line for each recorded run."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return cache / "cluster-topology-operator" / "second-tries.jsonl"


def reasons(log: str) -> dict[str, str]:
    """What each test failed of, by the short summaries in a log of pytest."""
    return {found["test"]: found["why"] or "" for found in _SUMMARY.finditer(log)}


def before(history: str) -> dict[str, int]:
    """How often each test needed a second try, and passed it, in the last recorded runs."""
    counted: dict[str, int] = {}
    for line in history.splitlines()[-REMEMBERED:]:
        for one in json.loads(line)["tests"]:
            if one["passed"]:
                counted[one["test"]] = counted.get(one["test"], 0) + 1
    return counted


def refusal(failed: Sequence[str], tried: Sequence[Try], log: str, known: dict[str, int]) -> str:
    """Why these may not be tried again; empty when they may."""
    if not failed:
        return "no test failed: something else did"
    if len(failed) + len(tried) > MOST:
        return f"{len(failed) + len(tried)} tests failed, and at most {MOST} of a run are tried again"
    if FINDING.search(log):
        return "Hypothesis has found something: it needs no time, and may not be found again"
    for test in failed:
        if "::" not in test:
            return f"{test} cannot be collected"
        if NEVER.search(test):
            return f"{test} is there to find races"
        if test in {one.test for one in tried}:
            return f"{test} has had its second try"
        if test in known:
            return f"{test} needed a second try {known[test]} times in the last {REMEMBERED} runs: mend it"
    return ""


def table(tried: Sequence[Try], known: dict[str, int]) -> str:
    """What needed a second try, for the end of a run."""
    if not tried:
        return "no test needed a second try"
    rows = [("test", "second try", f"in the last {REMEMBERED} runs", "what it failed of first")]
    rows += [(one.test, "passed" if one.passed else "FAILED", str(known.get(one.test, 0)), one.first) for one in tried]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in rows
    )


def begin(files: Files) -> int:
    """Forget what an earlier run left: pytest keeps failures of tests that are not run again."""
    files.failures.unlink(missing_ok=True)
    files.tries.unlink(missing_ok=True)
    return 0


def again(files: Files, log: str, run: Callable[[list[str]], int]) -> int:
    """Try what failed once more if that is allowed; `run` gets the tests and returns pytest's exit code."""
    failed = sorted(json.loads(_text(files.failures) or "{}"))
    tried = _tried(files)
    why = refusal(failed, tried, log, before(_text(files.history)))
    if why:
        sys.stderr.write("\n  ".join([f"no second try: {why}", *failed]) + "\n")
        return 1
    sys.stdout.write(f"a second try, with nothing beside it: {', '.join(failed)}\n")
    sys.stdout.flush()
    passed = run(failed) == 0
    first = reasons(log)
    tried += [Try(test, first.get(test, "not in the log"), passed) for test in failed]
    files.tries.parent.mkdir(parents=True, exist_ok=True)
    files.tries.write_text(json.dumps([asdict(one) for one in tried], indent=2) + "\n", encoding="utf-8")
    return int(not passed)


def end(files: Files, commit: str, now: datetime) -> int:
    """Print what needed a second try in this run, and record the run."""
    tried, known = _tried(files), before(_text(files.history))
    sys.stdout.write(f"{table(tried, known)}\n")
    line = {"date": now.isoformat(timespec="seconds"), "commit": commit, "tests": [asdict(one) for one in tried]}
    files.history.parent.mkdir(parents=True, exist_ok=True)
    with files.history.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(line) + "\n")
    files.tries.unlink(missing_ok=True)
    return 0


def _tried(files: Files) -> list[Try]:
    return [Try(**one) for one in json.loads(_text(files.tries) or "[]")]


def _text(file: pathlib.Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Do one of the three, in the folder of the project."""
    parser = argparse.ArgumentParser(prog="python -m test.second_try", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="begin|again|end")
    commands.add_parser("begin", help="forget what an earlier run left")
    trying = commands.add_parser("again", help="try the last failures once more, if that is allowed")
    trying.add_argument("--log", type=pathlib.Path, required=True, metavar="F", help="what the tests printed")
    commands.add_parser("end", help="print what needed a second try, and record the run")
    options = parser.parse_args(argv)
    root = pathlib.Path(__file__).parents[1]
    files = Files(root, history_file())
    if options.command == "begin":
        return begin(files)
    if options.command == "again":
        command = [sys.executable, "-m", "pytest"]
        return again(
            files,
            _text(options.log),
            lambda tests: subprocess.call([*command, *tests], cwd=root),  # noqa: S603 - pytest, on tests of ours
        )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607 - the git of this machine
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    return end(files, commit, datetime.now(UTC))


if __name__ == "__main__":
    sys.exit(main())
