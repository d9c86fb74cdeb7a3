"""`python -m test.mutants`: a sample of mutants, all tests that kill each, and those that none kills.

`MUTANTS_SEED` (1) draws the sample, which ends after `MUTANTS_MINUTES` (15), or with `MUTANTS` of them, `all` or a
number. With `MUTANTS_FIRST` a mutant ends with the first test that fails: far more of them in the same time, which says
how many are killed but not which tests may go. `--again FILE` makes the mutants of an earlier build/mutants.json anew,
in the tree as it is now, and prints those that were killed and survive: the tests that killed them are gone, and no
other sees the line.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import hashlib
import itertools
import json
import os
import pathlib
import random
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from . import changing, making, running, visits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RESULT = pathlib.Path("build/mutants.json")
_AGAIN = pathlib.Path("build/mutants-again.json")
_TREE = ("api", "bindata", "controller", "test/unit")
_TESTS = ("core", "kube", "etcd", "operands", "transitions", "plugin", "upgrading", "logs", "configuration")
_TABLE = ("mutants", "killed", "by one", "branches", "taken", "by one")
_JOBS = 2
_LONG = 1.0
"""Seconds from which on a test is left out of a sample, where `test/durations.json` knows it: a few dozen of them take
half of the time, and would be run for almost every mutant."""
_SECONDS = 60.0
"""What the tests of one mutant may take, by what they took when recorded. Longer ones are left out, and counted."""


class Session:
    """One run of the command, inside of pytest."""

    def __init__(self, earlier: list[dict[str, Any]]) -> None:
        self._ends = time.monotonic() + 60 * float(os.environ.get("MUTANTS_MINUTES") or 15)
        self._earlier = earlier
        self._texts = {str(making.ROOT / file): (making.ROOT / file).read_text() for file in making.files()}
        self._rest: collections.deque[running.Run] = collections.deque()
        self._rows: list[dict[str, Any]] = []

    def __call__(self, forks: running.Forks) -> None:
        """Record what tests visit, unless that is known, run the mutants and write what came of it."""
        self._forks = forks
        if os.environ.get("MUTANTS") != "all":
            place = making.ROOT / "test/durations.json"
            known = json.loads(place.read_text())["tests"] if place.exists() else {}
            forks.leave_out(test for test, seconds in known.items() if seconds >= _LONG)
        self._imported = changing.Imported(self._texts)
        self._failed = self._record()
        self._visits = visits.Visits(running.FOLDER)
        for run in forks.run(self._runs(), _JOBS):
            self._note(run)
        branches = self._visits.branches()
        result = {"mutants": self._rows, "branches": branches}
        (_AGAIN if self._earlier else _RESULT).write_text(json.dumps(result, indent=1))
        self._print(branches)

    def _record(self) -> set[str]:
        """Return the tests that fail without any mutant. Runs all, unless that was done in a tree like this."""
        digest = hashlib.sha256(json.dumps(self._forks.tests).encode())
        for file in sorted(file for name in _TREE for file in (making.ROOT / name).rglob("*.*")):
            if file.suffix != ".pyc" and file.is_file():
                digest.update(str(file).encode() + file.read_bytes())
        place = running.FOLDER / "tests.json"
        known = json.loads(place.read_text()) if place.exists() else {}
        if known.get("tree") != digest.hexdigest():
            self._forks.say(f"recording what {len(self._forks.tests)} tests visit")
            for part in running.FOLDER.glob("*.part*"):
                part.unlink()
            parts = [self._forks.tests[number::_JOBS] for number in range(_JOBS)]
            runs = [running.Run(part, functools.partial(self._recording, number)) for number, part in enumerate(parts)]
            done = list(self._forks.run(runs, _JOBS))
            visits.combine(running.FOLDER)
            seconds = {test: each for run in done for test, each in run.seconds.items()}
            known = {"tree": digest.hexdigest(), "seconds": seconds, "failed": [t for run in done for t in run.failed]}
            place.write_text(json.dumps(known))
        self._forks.usual = known["seconds"]
        return set(known["failed"])

    @contextlib.contextmanager
    def _recording(self, number: int) -> Iterator[Callable[[str], object]]:
        recorder = visits.recorder(running.FOLDER, number, self._texts)
        recorder.start()
        yield recorder.switch_context
        recorder.stop()
        recorder.save()

    @contextlib.contextmanager
    def _mutated(self, change: changing.Change) -> Iterator[Callable[[str], object]]:
        self._imported.make(change)
        yield str

    def _runs(self) -> Iterator[running.Run]:
        wanted = os.environ.get("MUTANTS", "")
        everything = [each for file in making.files() for each in making.mutants(file, self._text(file))]
        random.Random(os.environ.get("MUTANTS_SEED") or "1").shuffle(everything)  # noqa: S311 - a sample, no secret
        if self._earlier:
            killers = {making.Mutant(**row["mutant"]): row["killers"] for row in self._earlier}
            everything = [mutant for mutant in everything if killers.get(mutant)]
            gone = sum(map(bool, killers.values())) - len(everything)
            self._forks.say(f"{len(everything)} mutants that were killed; {gone} more have no line any more")
        else:
            killers = {}
        limit, made = int(wanted) if wanted.isdigit() else len(everything), 0
        for mutant in everything:
            while self._rest:
                yield self._rest.popleft()
            if made >= limit or not (wanted or self._earlier or time.monotonic() < self._ends):
                break
            if (run := self._run(mutant, killers.get(mutant))) is not None:
                made += 1
                yield run

    def _text(self, file: str) -> str:
        return self._texts[str(making.ROOT / file)]

    def _run(self, mutant: making.Mutant, killers: list[str] | None) -> running.Run | None:
        """Return the tests of a mutant; None where the change is none.

        Earlier killers are tried first. With them, or if that is wanted, it is enough that one test fails.
        """
        text = self._text(mutant.file)
        after = mutant.text(text)
        change = self._imported.change(str(making.ROOT / mutant.file), text, after, mutant.line)
        if change is None:
            return None
        pairs = zip(text.splitlines(), after.splitlines(), strict=False)
        row: dict[str, Any] = {
            "mutant": asdict(mutant),
            "becomes": " ".join(new.strip() for old, new in pairs if new != old),
            "killers": [],
        }
        seconds = self._forks.usual
        visiting = sorted(self._visits.of(change.lines) - self._failed, key=lambda test: seconds.get(test, 0))
        first_only = killers is not None or bool(os.environ.get("MUTANTS_FIRST"))
        if not first_only:
            sums = itertools.accumulate(seconds.get(test, 0) for test in visiting)
            enough = sum(each <= _SECONDS for each in sums)
        else:
            earlier = [test for test in killers or () if test in seconds]
            visiting = [*earlier, *[test for test in visiting if test not in earlier]]
            enough = len(visiting)
        row |= {"visited": len(visiting), "left_out": visiting[enough:]}
        return running.Run(visiting[:enough], functools.partial(self._mutated, change), row, first_only)

    def _note(self, run: running.Run) -> None:
        """Keep what came of a run. Where all that is left out may still kill it, that is run until one does."""
        row = run.subject
        row["killers"] += run.failed
        if not row["killers"] and row["left_out"]:
            left_out, row["left_out"] = row["left_out"], []
            self._rest.append(running.Run(left_out, run.within, row, first_only=True))
            return
        self._rows.append(row)
        mutant = row["mutant"]
        many = len(row["killers"])
        verdict = (
            f"killed by {many}" if many else f"SURVIVED {row['visited']} tests" if row["visited"] else "NOT VISITED"
        )
        self._forks.say(f"{mutant['file']}:{mutant['line']} {mutant['operator']}: {verdict}")

    def _print(self, branches: dict[str, list[str]]) -> None:
        """Print what no test kills, and the table."""
        say = self._forks.say
        survivors = [row for row in self._rows if not row["killers"]]
        say("\nkilled before, surviving now" if self._earlier else "\nsurvivors")
        for row in sorted(survivors, key=lambda row: (row["mutant"]["file"], row["mutant"]["line"])):
            mutant = row["mutant"]
            say(f"  {mutant['file']}:{mutant['line']} {mutant['operator']}, visited by {row['visited']} tests")
            say(f"    - {mutant['was']}\n    + {row['becomes']}")
        say(f"\n{'':12}" + "".join(f"{head:>10}" for head in _TABLE))
        for part in making.MUTATED:
            place = f"{making.PACKAGE}/{part}"
            killers = [len(row["killers"]) for row in self._rows if row["mutant"]["file"].startswith(place)]
            visitors = [len(tests) for branch, tests in branches.items() if branch.startswith(place)]
            cells = (_counts(killers), _counts(visitors))
            say(f"{part:12}" + "".join(f"{cell:10}" for cell in itertools.chain(*cells)))


def _counts(numbers: list[int]) -> tuple[int, int, int]:
    """Return how many there are, how many are not 0, and how many are 1."""
    return len(numbers), len(numbers) - numbers.count(0), numbers.count(1)


def main() -> int:
    """Collect the tests, and let them judge."""
    parser = argparse.ArgumentParser(prog="python -m test.mutants", description="which tests kill which mutants")
    parser.add_argument("--again", metavar="FILE", type=pathlib.Path, help="an earlier build/mutants.json")
    earlier = parser.parse_args().again
    running.FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("FUZZ_SEED", "1")
    session = Session(json.loads(earlier.read_text())["mutants"] if earlier else [])
    tests = [place for name in _TESTS if (making.ROOT / (place := f"test/unit/{name}")).exists()]
    flags = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile", running.PROFILE]
    return int(pytest.main([*flags, *tests], [running.Forks(session)]))


if __name__ == "__main__":
    sys.exit(main())
