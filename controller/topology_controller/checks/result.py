"""What goes into a check and what comes out, and how its message is put together from what was found."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from topology_api import types
from topology_api.types import Advisory, Baseline
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, Stage

from .. import bindata
from ..definitions import model
from ..definitions import operands as matrices
from ..observe import facts

T = TypeVar("T")

LONGEST: Final = 300  # characters of a check's message, unless the name of one object is too long for that
_MOST: Final = 3
_TEXTS: Final[dict[str, str]] = json.loads((bindata.root() / "texts.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Count:
    """How many of an object's parts are where they should be: `have` of `wanted`, counted in `unit`."""

    have: int
    wanted: int
    unit: str


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of a check for one object: an operand, a node, a pool, an operator.

    `text` is what was found; with `wanted` and `where`, the command that shows it, it makes the sentence. `action` is
    what an administrator can do where no operator will. `lacks`: what the object itself still lacks, whatever else its
    check waits for. `passes`: that passes without anything that has to follow, so it is not listed meanwhile either.
    """

    kind: str
    name: str
    status: CheckStatus
    text: str
    wanted: str = ""
    where: str = ""
    action: str = ""
    count: Count | None = None
    lacks: str | facts.Unobserved | None = None
    passes: bool = False

    @property
    def message(self) -> str:
        """The sentence about this object alone."""
        return sentence(self.status, (self,))

    @property
    def counts(self) -> bool:
        """Is it listed and counted? A pool without machines is not."""
        return self.count is None or self.count.wanted != 0 or (self.lacks is not None and not self.passes)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The answer of a check. `seen` is what was found, by object, where its findings do not have that."""

    # Two answers with the same message are equal: a count that changes among what is Met is no news.
    name: CheckName
    status: CheckStatus
    message: str
    findings: tuple[Finding, ...] = field(default=(), compare=False)
    count: Count | None = field(default=None, compare=False)
    seen: tuple[str, ...] = field(default=(), compare=False)

    def found(self, limit: int = LONGEST) -> str:
        """What was found, without what was wanted and what to do; as many objects as this many characters hold."""
        judged = self.findings if self.status is CheckStatus.UNMET else ()
        return few(self.seen, limit) or fitting(lambda most: _found(judged, most), limit) or self.message

    @property
    def met(self) -> bool:
        """Met; Unmet and Unknown are both not."""
        return self.status is CheckStatus.MET


@dataclass(frozen=True, slots=True)
class ConvergenceContext:
    """What convergence is measured by. `accepted`: checks whose operators need not be seen to react."""

    baseline: Baseline | None = None
    matrix: matrices.Matrix = field(default_factory=matrices.Matrix)
    accepted: frozenset[CheckName] = frozenset()


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Everything that a check may look at. `answers` are those of the stage's other checks, for what sums them up."""

    facts: facts.Facts
    spec: model.CheckSpec
    definition: model.Definition
    now: datetime
    convergence: ConvergenceContext = ConvergenceContext()
    stage: Stage = Stage.PREFLIGHT
    answers: Mapping[CheckName, CheckResult] = field(default_factory=dict)

    def group(self) -> matrices.Group:
        """What the matrix says about the operands of this check. Raises UnreadError where that is nothing."""
        group = self.convergence.matrix.group(self.spec.check)
        return need(group or facts.Unobserved("the operand matrix", f"it has no entry for {self.spec.check}"))

    def met(self, message: str, findings: tuple[Finding, ...] = ()) -> CheckResult:
        """Answer that what is wanted was found."""
        return CheckResult(self.spec.check, CheckStatus.MET, message, findings)

    def unmet(
        self,
        wanted: str,
        seen: str | Sequence[str],
        then: str = "",
        findings: tuple[Finding, ...] = (),
        count: Count | None = None,
    ) -> CheckResult:
        """Answer that something else was found: one text, or one for each object. `then`: where to look, what to do."""
        items = (seen,) if isinstance(seen, str) else tuple(seen)
        rest = f". {then}" if then else ""
        message = fitting(lambda most: f"Wanted: {wanted}. Found: {listed(items, most)}{rest}")
        return CheckResult(self.spec.check, CheckStatus.UNMET, message, findings, count, items)

    def unknown(self, why: object, findings: tuple[Finding, ...] = ()) -> CheckResult:
        """Answer that it could not be found out, and why: one reason, or one for each object."""
        items = why if isinstance(why, list) else [str(why)]
        message = fitting(lambda most: f"Cannot tell: {listed(items, most)}")
        return CheckResult(self.spec.check, CheckStatus.UNKNOWN, message, findings)

    def of(self, findings: tuple[Finding, ...]) -> CheckResult:
        """Answer by what was found of each object: Met when each is and there is one, Unmet when one is."""
        statuses = {finding.status for finding in findings}
        status = CheckStatus.MET if statuses == {CheckStatus.MET} else CheckStatus.UNKNOWN
        status = CheckStatus.UNMET if CheckStatus.UNMET in statuses else status
        message = fitting(lambda most: sentence(status, findings, most))
        if len(message) > LONGEST:
            # What to do says more than where to look.
            message = sentence(status, findings, 1, look=False)
        return CheckResult(self.spec.check, status, message, findings)


class UnreadError(Exception):
    """A check needs a `fact` that could not be read: `catalog.answer` is Unknown then."""

    def __init__(self, fact: facts.Unobserved) -> None:
        self.fact = fact


def need(fact: facts.Fact[T]) -> T:
    """The fact, where it could be read. Raises UnreadError, which no check catches."""
    if isinstance(fact, facts.Unobserved):
        raise UnreadError(fact)
    return fact


def fitting(make: Callable[[int], str], limit: int = LONGEST) -> str:
    """The text that names as many objects as `limit` characters hold, at least one: half a command helps less."""
    for most in range(_MOST, 0, -1):
        text = make(most)
        if len(text) <= limit:
            break
    return text


def sentences(*parts: str) -> str:
    """Join those that say something."""
    return ". ".join([part for part in parts if part])


def sentence(status: CheckStatus, findings: tuple[Finding, ...], most: int = _MOST, *, look: bool = True) -> str:
    """The message of a check about its objects: those that keep it from being Met, or all where none does."""
    if status is not CheckStatus.UNMET:
        named = listed([finding.text for finding in findings if finding.status is status], most)
        return f"Cannot tell: {named}" if status is CheckStatus.UNKNOWN else named
    unmet = [finding for finding in findings if finding.status is CheckStatus.UNMET]
    wanted = dict.fromkeys([finding.wanted for finding in unmet if finding.wanted])
    if not wanted:
        return _found(findings, most)
    # A command that is shown for one shows how to look at the others.
    where = ", ".join(list(dict.fromkeys([finding.where for finding in unmet]))[:most])
    actions = dict.fromkeys([finding.action for finding in unmet if finding.action])
    return sentences(
        f"Wanted: {listed(wanted, most)}",
        f"Found: {_found(findings, most)}",
        f"Look at {where}" if look else "",
        listed(actions, most, ". "),
    )


def _found(findings: tuple[Finding, ...], most: int) -> str:
    unmet = listed([finding.text for finding in findings if finding.status is CheckStatus.UNMET], most, "; ")
    unread = [finding.text for finding in findings if finding.status is CheckStatus.UNKNOWN]
    if unmet and unread and most == 1:
        return f"{unmet}; and cannot tell of {len(unread)} more"
    unknown = listed(unread, most)
    return f"{unmet}; and cannot tell: {unknown}" if unmet and unknown else unmet or unknown


def worded(name: str, /, **values: object) -> str:
    """A text of `bindata/texts.json` with these values. What stands there are whole sentences, and fixed commands."""
    return _TEXTS[name].format_map(values)


def advisory(name: AdvisoryName, command: str, message: str = "", **values: object) -> Advisory:
    """What an administrator should do, with this message, or with the text of its name."""
    message = message or worded(name, **values)
    return types.Advisory(name=name.value, message=types.fit(message), command=command)


def listed(names: Iterable[str], most: int = _MOST, between: str = ", ") -> str:
    """Join names for a message, with a bound: a message must stay readable on a large cluster."""
    all_names = list(names)
    more = f" and {len(all_names) - most} more" if len(all_names) > most else ""
    return f"{between.join(all_names[:most])}{more}"


def few(names: Iterable[str], limit: int = 100) -> str:
    """Join as many names as this many characters hold, at least one."""
    all_names = list(names)
    return fitting(lambda most: listed(all_names, most), limit)


def first_reason(*reasons: tuple[bool, str]) -> str | None:
    """The first of these reasons that holds, None where none does."""
    for holds, reason in reasons:
        if holds:
            return reason
    return None


def every(*lists: facts.Fact[tuple[facts.Fact[T], ...]]) -> list[T] | facts.Unobserved:
    """The items of these lists when each could be read, else all of the first list that could not, in one."""
    items: list[T] = []
    broken: list[facts.Unobserved] = []
    for listing in lists:
        if isinstance(listing, facts.Unobserved):
            return listing
        for item in listing:
            if isinstance(item, facts.Unobserved):
                broken.append(item)
            else:
                items.append(item)
        if broken:
            why = listed(map(str, broken)).removeprefix(f"{broken[0].what}: ")
            return dataclasses.replace(broken[0], why=why)
    return items


def every_node(known: facts.Facts) -> list[facts.Node | facts.OtherNode] | facts.Unobserved:
    """Every node of the cluster when all could be read."""
    return every(known.control_plane_nodes, known.other_nodes)
