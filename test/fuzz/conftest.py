"""Adds up what the shards of the machine have reached, prints it at the end of a run, and judges it.

A machine that never moves the topology proves nothing. One shard may be unlucky with its seed; all of them are not.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ENOUGH = 60
"""So many examples are needed to judge by; usually more than half are moved and two in five completed by themselves."""
_LEAST = {"admitted": 0.2, "changed": 0.2, "converged": 0.08}


def idle(total: Mapping[str, int]) -> list[str]:
    """What the machine has reached too seldom to prove anything; nothing where there are too few examples."""
    if total["examples"] < ENOUGH:
        return []
    return [
        f"only {total[name]} of {total['examples']} examples were {name}: at least {share:.0%} are wanted"
        for name, share in _LEAST.items()
        if total[name] < share * total["examples"]
    ]


def _reached(config: pytest.Config) -> Counter[str]:
    total: Counter[str] = Counter()
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    for reports in reporter.stats.values() if reporter is not None else ():
        for report in reports:
            for name, found in getattr(report, "user_properties", ()):
                # The order of the fields is kept; a report comes once.
                if name == "fuzz" and getattr(report, "when", "") == "call":
                    total.update(found)
    return total


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when its machine was idle."""
    if idle(_reached(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sum over all workers."""
    total = _reached(terminalreporter.config)
    if total:
        terminalreporter.write_line(
            f"machine: {total['examples']} examples, {total['steps']} steps; by themselves {total['admitted']} were "
            f"admitted, {total['changed']} changed, {total['converged']} completed ({total['changes']} changes)"
        )
    for line in idle(total):
        terminalreporter.write_line(f"the machine proves too little: {line}", red=True)
