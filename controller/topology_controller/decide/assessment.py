"""What stands first wherever a transition is shown: how far it is, what is waited for, what an administrator has to do.

Pure, and without the time that has passed: the sentence is written to ClusterOperator `topology` and to the record, and
one that changed by the minute would be a write by the minute. What counts on (the page, `status`) adds the age.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..checks.result import listed
from ..definitions import registry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from topology_api.types import Advisory, LastTransition, TopologyTransition

    from ..checks.result import CheckResult
    from ..definitions import model

_EVERY = 64
"""Checks that a definition may ask at most: each of them that is waited for is named."""
TWO_VOTERS = "etcd has two voting members, and the loss of either one stops the cluster"


@dataclass(frozen=True, slots=True)
class Components:
    """How many of the components that have to follow the topology have followed."""

    updated: int
    total: int

    def __str__(self) -> str:
        return f"{self.updated} of {self.total} components updated"


def components(results: Iterable[CheckResult]) -> Components:
    """Count the components that the checks of convergence judge, as `status` and the page list them."""
    answers = [
        finding.met
        for result in results
        if result.name in registry.OPERAND_CHECKS
        for finding in result.findings
        if finding.counts
    ]
    return Components(sum(answers), len(answers))


def typical(definition: model.Definition | None, last: LastTransition | None) -> str:
    """How long it usually takes: what this cluster took the last time, else what the definition says; may be empty."""
    if definition is None:
        return ""
    if last is not None and last.name == definition.name and last.admitted_time and last.completed_time:
        return f"{max(1, round((last.completed_time - last.admitted_time).total_seconds() / 60))} min the last time"
    if definition.convergence.typical_minutes is None:
        return ""
    least, most = definition.convergence.typical_minutes
    return f"typically {least}-{most} min"


def converging(
    record: TopologyTransition,
    definition: model.Definition,
    results: Iterable[CheckResult],
    admitted: datetime | None,
) -> str:
    """The first sentence while the cluster follows, ended: components, since when, how long it usually takes."""
    counted = components(results)
    since = f"since {admitted:%Y-%m-%dT%H:%M:%SZ}" if admitted is not None else ""
    usually = typical(definition, record.last_transition)
    details = ", ".join(text for text in (since, usually) if text)
    return f"{counted}{f' ({details})' if details else ''}. "


def actions(advisories: Iterable[Advisory], results: Iterable[CheckResult] = ()) -> str:
    """How many actions are required, with the command of the first that a check waits for; empty without any."""
    items = list(advisories)
    if not items:
        return ""
    awaited = {registry.TRAITS[result.name].advisory for result in results if not result.met}
    first = next((item for item in items if item.name in awaited), items[0])
    required = "1 action required" if len(items) == 1 else f"{len(items)} actions required, first"
    return f". {required}: {first.command}"


def unmet(results: Iterable[CheckResult], of: str) -> str:
    """Name the checks that keep something waiting, each with how far it is. `of` is the kind of check."""
    answers = list(results)
    failing = [result for result in answers if not result.met]
    named = listed((_counted(result) for result in failing), most=_EVERY)
    return f"{len(failing)} of {len(answers)} {of} checks not met: {named}"


def _counted(result: CheckResult) -> str:
    return result.name if result.count is None else f"{result.name} ({result.count.have} of {result.count.wanted})"
