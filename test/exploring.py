"""Property tests explore: each run has a new seed, all workers share it, and a line says how to run it again.

`FUZZ_SEED` repeats a run. A test with a seed of its own (`hypothesis.seed`, as the hunts for broken operators have)
keeps that one, and known examples (`@example`) are tried besides, whatever the seed is.
"""

from __future__ import annotations

import os
import secrets
import shlex
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

VARIABLE = "FUZZ_SEED"
_FUZZ = "test/fuzz/"
_EXAMPLES = {"quick": 15, "short": 25, "nightly": 500}
"""How many examples a property is tried with that does not say so itself (`--hypothesis-profile`)."""


def load_profile() -> None:
    """Neither Hypothesis' own profile for CI, which repeats the same examples for ever, nor deadlines."""
    hypothesis.settings.register_profile(
        "exploring",
        hypothesis.settings.get_profile("default"),
        derandomize=False,
        # How long an example takes is a matter of what else the machine does.
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        print_blob=True,
    )
    for name, examples in _EXAMPLES.items():
        hypothesis.settings.register_profile(name, hypothesis.settings.get_profile("exploring"), max_examples=examples)
    hypothesis.settings.load_profile("short")


def seed_of(config: pytest.Config) -> int:
    """Choose the seed of this run, and hand it to Hypothesis and, in the environment, to the workers of xdist.

    Has to happen before Hypothesis is configured.
    """
    given = config.getoption("hypothesis_seed", None)
    if given in {None, "random"}:
        given = os.environ.get(VARIABLE) or secrets.randbelow(2**32)
    seed = int(given)
    os.environ[VARIABLE] = str(seed)
    config.option.hypothesis_seed = seed
    return seed


class Exploring:
    """Prints the seed at the start and at the end, and with each failure the command that runs it again."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def pytest_report_header(self) -> str:
        return self._line()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(self._line())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        explores = item.get_closest_marker("hypothesis") is not None or item.nodeid.startswith(_FUZZ)
        if report.failed and explores:
            report.sections.append(("the same again", self.again(item.nodeid)))
        return report

    def again(self, node: str) -> str:
        """The command that runs one test with this seed, and what to do with what was found."""
        saved = (
            "a story in test/fuzz/test_found.py"
            if node.startswith(_FUZZ) and "/inputs/" not in node
            else "@example(...) with the arguments that are printed above"
        )
        return (
            f"{VARIABLE}={self._seed} python -m pytest {shlex.quote(node)}\nThen save it as a regression test: {saved}"
        )

    def _line(self) -> str:
        return f"property tests explore with seed {self._seed}; the same again: {VARIABLE}={self._seed}"
