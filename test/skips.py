"""A skipped test is a failed one: what it guards would be unguarded, and the run green.

`make test` builds or installs what tests need. A test that needs more than that of the system, a kernel or a right that
nothing can install, skips with a reason that begins with ELSEWHERE. Such a skip stands, except where the environment
variable CI is set: there everything is run.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

R = TypeVar("R", pytest.TestReport, pytest.CollectReport)

ELSEWHERE = "not on this system: "


class Skips:
    """Turns what was skipped into what failed, unless its reason may stand."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        return _judged((yield))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        return _judged((yield))


def _judged(report: R) -> R:
    # An expected failure is reported as skipped, too.
    if report.skipped and not hasattr(report, "wasxfail"):
        skipped = report.longrepr
        reason = str(skipped[2] if isinstance(skipped, tuple) else skipped).removeprefix("Skipped: ")
        in_ci = os.environ.get("CI", "").lower() not in {"", "0", "false"}
        if in_ci or not reason.startswith(ELSEWHERE):
            report.outcome = "failed"
            report.longrepr = f"skipped, which is a failure: {reason}"
    return report
