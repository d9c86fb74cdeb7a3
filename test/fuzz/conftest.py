"""Adds up what the shards of the machine have reached, and prints it at the end of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sum over all workers."""
    total: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, found in getattr(report, "user_properties", ()):
                # The order of the fields is kept; a report comes once.
                if name == "fuzz" and getattr(report, "when", "") == "call":
                    total.update(found)
    if total:
        terminalreporter.write_line(
            f"machine: {total['examples']} examples, {total['steps']} steps; by themselves {total['admitted']} were "
            f"admitted, {total['flipped']} flipped, {total['converged']} completed ({total['flips']} flips)"
        )
