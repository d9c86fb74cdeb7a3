"""In CI a skipped test is a failed one: what it guards would be unguarded, and the run green.

CI is where the environment variable CI is set. Elsewhere a skip says what is missing, and that is enough.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

R = TypeVar("R", pytest.TestReport, pytest.CollectReport)

STANDING: tuple[str, ...] = ()
"""Reasons that may stand in CI, as their beginnings. Each needs a comment that says why nothing can be done."""


def in_ci() -> bool:
    """Is this a run that has to show everything?"""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


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
        reason = _reason(report.longrepr)
        if not reason.startswith(STANDING):
            report.outcome = "failed"
            report.longrepr = f"skipped, which is a failure in CI: {reason}"
    return report


def _reason(found: object) -> str:
    text = str(found[2]) if isinstance(found, tuple) else str(found)
    return text.removeprefix("Skipped: ")
