"""Runs tests in forks of a process that has collected them: first to record what they visit, then on each mutant.

It is a plugin of pytest that takes the place of its loop. A fork that hangs is ended by an alarm; the test that it was
in counts as failed, and another fork runs the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import resource
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

FOLDER = pathlib.Path("build/mutants")
PROFILE = "mutants"
_CPU = 2.0
_HANGS = 60
"""Seconds that a test may have on the processor, besides ten times what it took, and by the clock."""
_ENDS = 3
"""How often a mutant may end the process of its tests before the rest of them is left out."""
_MEMORY = 6 << 30


@dataclass(slots=True)
class Run:
    """Tests for one fork: which, within what, and what has become of them. What that gives is told the next test."""

    tests: list[str]
    within: Callable[[], contextlib.AbstractContextManager[Callable[[str], object]]]
    subject: Any = None
    first_only: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    ends: int = 0

    def rest(self) -> list[str]:
        """Return the tests that have not been run."""
        if self.ends >= _ENDS or (self.failed and self.first_only):
            return []
        return [test for test in self.tests if test not in self.seconds]


class Forks:
    """Takes the place of pytest's loop: `work` is called with this when everything is collected."""

    def __init__(self, work: Callable[[Forks], None]) -> None:
        self._work = work
        self._items: dict[str, pytest.Item] = {}
        self._config: Any = None
        self.usual: dict[str, float] = {}

    @property
    def tests(self) -> list[str]:
        """All that were collected, in order."""
        return list(self._items)

    def leave_out(self, tests: Iterable[str]) -> None:
        """Run these never."""
        for test in tests:
            self._items.pop(test, None)

    def say(self, text: str) -> None:
        """Print a line, past what pytest captures."""
        self._config.get_terminal_writer().line(text, flush=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """No shrinking, no examples that are kept: that a test fails is all that counts."""
        import hypothesis  # noqa: PLC0415 - pytest wants to be the first to load it

        profile = hypothesis.settings(
            hypothesis.settings.get_profile("default"),
            max_examples=15, database=None, deadline=None, derandomize=False,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
            suppress_health_check=[hypothesis.HealthCheck.too_slow],
        )  # fmt: skip
        hypothesis.settings.register_profile(PROFILE, profile)
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors while collecting")
        self._items = {item.nodeid: item for item in session.items}
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # one for all forks
        self._work(self)
        return True

    def run(self, runs: Iterable[Run], jobs: int) -> Iterator[Run]:
        """Run them, so many at once; yields each when it has ended."""
        waiting = iter(runs)
        running: dict[int, Run] = {}
        while True:
            while len(running) < jobs and (run := next(waiting, None)) is not None:
                running |= self._fork(run)
            if not running:
                return
            pid, _ = os.wait()
            if pid not in running:
                continue
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            run = running.pop(pid)
            self._read(run, pid)
            if run.rest():
                running |= self._fork(run)
            else:
                yield run

    def _fork(self, run: Run) -> dict[int, Run]:
        rest = run.rest()
        if (pid := os.fork()) == 0:
            os.setsid()
            with contextlib.suppress(BaseException):
                self._in_fork(run, rest)
            os._exit(0)
        return {pid: run}

    def _in_fork(self, run: Run, rest: Sequence[str]) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        plugins = self._config.pluginmanager
        plugins.unregister(plugins.getplugin("terminalreporter"))
        failed: set[str] = set()
        plugins.register(_Reports(failed))
        items = [self._items[test] for test in rest]
        with (FOLDER / f"fork-{os.getpid()}").open("w", buffering=1) as file, run.within() as note:
            for item, following in zip(items, [*items[1:], None], strict=True):
                file.write(json.dumps([item.nodeid, None, True]) + "\n")
                note(item.nodeid)
                began = time.monotonic()
                usual = self.usual.get(item.nodeid, _HANGS)
                signal.setitimer(signal.ITIMER_PROF, _CPU + 10 * usual)
                signal.setitimer(signal.ITIMER_REAL, _HANGS + 10 * usual)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
                    signal.setitimer(timer, 0)
                file.write(json.dumps([item.nodeid, time.monotonic() - began, item.nodeid in failed]) + "\n")
                if failed and run.first_only:
                    break

    @staticmethod
    def _read(run: Run, pid: int) -> None:
        """Take over what a fork wrote. The last test that only began is the one that ended it."""
        place = FOLDER / f"fork-{pid}"
        lines = [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []
        place.unlink(missing_ok=True)
        verdicts = {test: (seconds, failed) for test, seconds, failed in lines}
        run.ends += not lines or lines[-1][1] is None
        run.seconds |= {test: seconds or 0.0 for test, (seconds, _) in verdicts.items()}
        run.failed += [test for test, (_, failed) in verdicts.items() if failed]


class _Reports:
    """Keeps the names of tests that fail, before, in or after themselves."""

    def __init__(self, failed: set[str]) -> None:
        self._failed = failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
