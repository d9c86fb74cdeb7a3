"""Reads the list of faults, plants one after the other in a copy of the source tree, and runs the tests there.

The checkout is never edited. The copy is used for all faults: its compiled modules stay, only those of the file that a
fault is in are thrown away, since a planted text may have the size and the second of the one before. A fault counts as
caught when a named test fails in the copy that has it, and all named tests pass in the copy that has none.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = pathlib.Path(__file__).parents[2]
LIST = pathlib.Path(__file__).parent / "faults"
PLANTED_IN = ("api", "bindata", "controller")
"""Where faults may be: in what is shipped, never in its tests."""
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", "*.pyc", ".*_cache", ".hypothesis")
_ON_REAL = "test/component/admission/"
"""Tests of what only the real API server does."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S.*?)(?: - .*)?$", re.MULTILINE)
_LONGEST = 1800.0
"""Seconds for one run of tests, on a machine that is busy with others: an operator that hangs is no answer."""


class PlantingError(Exception):
    """The list cannot be used as it is: a text that is gone, a test that fails by itself, a run that says nothing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`old` in `file` becomes `new`, which breaks the promise `breaks`; `caught_by` are ids of pytest."""

    name: str
    file: str
    old: str
    new: str
    breaks: str
    caught_by: tuple[str, ...]

    def planted(self, text: str) -> str:
        """Return the text of the file with the fault in it; raises PlantingError unless `old` is there once."""
        if (found := text.count(self.old)) != 1:
            raise PlantingError(f"its old text is found {found} times in {self.file}, not once")
        return text.replace(self.old, self.new)


def faults(folder: pathlib.Path = LIST) -> tuple[Fault, ...]:
    """Read the whole list, in the order of its files."""
    entries = [entry for file in sorted(folder.glob("*.toml")) for entry in tomllib.loads(file.read_text())["fault"]]
    return tuple(Fault(**{**entry, "caught_by": tuple(entry["caught_by"])}) for entry in entries)


def tests_of(chosen: Iterable[Fault]) -> list[str]:
    """Every test that they name, each once."""
    return sorted({test for fault in chosen for test in fault.caught_by})


class Copy:
    """A copy of a source tree in `folder`, in which tests can be run."""

    def __init__(self, source: pathlib.Path, folder: pathlib.Path) -> None:
        self._root = folder / "tree"
        shutil.copytree(source, self._root, ignore=_LEFT_OUT, symlinks=True)

    def sound(self, tests: Iterable[str]) -> None:
        """Run tests where nothing is planted; raises PlantingError when one of them fails."""
        code, said = self._run(tests)
        if code != 0:
            failed = _FAILED.search(said)
            raise PlantingError(f"without any fault, pytest ends with {code}: {failed['test'] if failed else said}")

    def plant(self, fault: Fault) -> str:
        """Plant one fault, run its tests, take it out again; return the test that failed, "" when none did.

        Raises PlantingError when the fault does not fit, or pytest comes to no verdict.
        """
        with self._planted(fault):
            code, said = self._run(fault.caught_by)
        if code == 0:
            return ""
        failed = _FAILED.search(said)
        if code != 1 or failed is None:
            raise PlantingError(f"pytest ends with {code}: {said[-400:]}")
        return failed["test"]

    @contextlib.contextmanager
    def _planted(self, fault: Fault) -> Iterator[None]:
        file = self._root / fault.file
        text = file.read_text(encoding="utf-8")
        self._write(file, fault.planted(text))
        try:
            yield
        finally:
            self._write(file, text)

    def _write(self, file: pathlib.Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        if file.suffix == ".py":
            pathlib.Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)

    def _run(self, tests: Iterable[str]) -> tuple[int, str]:
        chosen = set(tests)
        real = {test for test in chosen if test.startswith(_ON_REAL)}
        ends = [self._pytest(server, some) for server, some in (("embedded", chosen - real), ("real", real)) if some]
        return max(code for code, _ in ends), "".join(said for _, said in ends)

    def _pytest(self, server: str, tests: Iterable[str]) -> tuple[int, str]:
        chosen = sorted(tests)
        places = [str(self._root / name) for name in ("api", "controller", "hack")]
        flags = ["--apiserver", server] if any(test.startswith("test/component/") for test in chosen) else []
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", origin.__name__, "-q", "-x"]
        try:
            done = subprocess.run(  # noqa: S603 - pytest, on tests of ours
                [*command, "--tb=no", *flags, *chosen],
                cwd=self._root, env={**os.environ, "PYTHONPATH": os.pathsep.join([*places, str(self._root)])},
                capture_output=True, text=True, check=False, timeout=_LONGEST,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise PlantingError(f"no end within {_LONGEST:g} s: {' '.join(chosen)}") from error
        return done.returncode, done.stdout + done.stderr
