"""What stands first wherever a transition is shown: how far it is, what is waited for, what an administrator has to do.

Sentences have no time that has passed: they are written to ClusterOperator `topology` and to the record, and one that
changed by the minute would be a write by the minute. What counts on (the page, `status`) adds the age. Where there is a
command it stands last, so that it can be copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from topology_api.types import Advisory, Check, LastTransition, stamp
from topology_api.vocabulary import CheckStatus

from ..checks.result import LONGEST, CheckResult, listed, sentences
from ..definitions import model, registry

_LONGEST_COMMAND = 1024
"""Characters of a command that is printed in a sentence; half a command would be worse than none."""
_ADVISORIES: Final[dict[str, str]] = {
    check.value: traits.advisory.value for check, traits in registry.TRAITS.items() if traits.advisory is not None
}


def typical(definition: model.Definition | None, last: LastTransition | None) -> str:
    """How long it usually takes: what this cluster took the last time, else what the definition says; may be empty."""
    if definition is None:
        return ""
    if (minutes := took(definition, last)) is not None:
        return f"{minutes} min the last time"
    if definition.convergence.typical_minutes is None:
        return ""
    least, most = definition.convergence.typical_minutes
    return f"typically {least}-{most} min"


def took(definition: model.Definition, last: LastTransition | None) -> int | None:
    """How many minutes the same transition took this cluster the last time; None where that is not recorded."""
    if last is None or last.name != definition.name or not last.admitted_time or not last.completed_time:
        return None
    return max(1, round((last.completed_time - last.admitted_time).total_seconds() / 60))


def converging(
    results: Iterable[CheckResult], definition: model.Definition, admitted: datetime | None, last: LastTransition | None
) -> str:
    """The first sentence while the cluster follows: components as `status` lists them, since when, how long usually."""
    updated = [
        finding.status is CheckStatus.MET
        for result in results
        if result.name in registry.OPERAND_CHECKS
        for finding in result.findings
        if finding.counts
    ]
    since = "since " + stamp(admitted) if admitted is not None else ""
    details = ", ".join(text for text in (since, typical(definition, last)) if text)
    return f"{sum(updated)} of {len(updated)} components updated{f' ({details})' if details else ''}"


def required(advisories: Iterable[Advisory], results: Iterable[CheckResult]) -> str:
    """What an administrator has to do because a check waits for it, with the command; empty when none does."""
    items = awaited(advisories, [result for result in results if result.status is not CheckStatus.MET])
    if not items:
        return ""
    count = "1 action required" if len(items) == 1 else f"{len(items)} actions required, first"
    return f"{count}: {action(items[0])}"


def awaited(advisories: Iterable[Advisory], failing: Iterable[CheckResult | Check]) -> list[Advisory]:
    """The advisories that a failing check waits for."""
    wanted = {_ADVISORIES.get(check.name) for check in failing}
    return [item for item in advisories if item.name in wanted]


def action(advisory: Advisory) -> str:
    """The command of an advisory, or where it stands when it is too long for a sentence."""
    return f"see advisory {advisory.name}" if len(advisory.command) > _LONGEST_COMMAND else advisory.command


def left(advisories: Iterable[Advisory]) -> str:
    """What is left to do once nothing waits for it; empty when nothing is."""
    names = [item.name for item in advisories]
    return f"Recommended: {listed(names)} (see status.topologyTransition.advisories)" if names else ""


def unmet(results: Iterable[CheckResult], of: str) -> str:
    """Name the checks that keep something waiting, each with how far it is. `of` is the kind of check."""
    answers = list(results)
    failing = [result for result in answers if result.status is not CheckStatus.MET]
    return f"{len(failing)} of {len(answers)} {of} checks not met: {listed([_counted(result) for result in failing])}"


def _counted(result: CheckResult) -> str:
    """The check with how far it is, where that is a number: one too many of an object makes up for no other."""
    if result.status is CheckStatus.UNKNOWN:
        return f"{result.name} (unknown)"
    counts = [result.count] if result.count else [finding.count for finding in result.findings if finding.counts]
    have = wanted = 0
    for count in counts:
        if count is None:
            return result.name
        have += min(count.have, count.wanted)
        wanted += count.wanted
    return result.name if have >= wanted else f"{result.name} ({have} of {wanted})"


def within(*parts: str, least: Sequence[str]) -> str:
    """Join those that say something, without those of `least`, in that order, for which a condition has no space."""
    kept = list(parts)
    for part in least:
        if len(sentences(*kept)) <= LONGEST:
            break
        kept = [each for each in kept if each != part]
    return sentences(*kept)
