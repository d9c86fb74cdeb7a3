"""When the record may be written, and when a transition is stuck: both told by what an operator wrote and answered.

Infrastructure is everybody's. What happens (a phase, an attempt, a problem, an accepted check, the last check that is
Met) is written at once, and what takes that back after ten seconds, which triple each time; newer answers wait for an
interval, which doubles while they keep changing. `Pace` knows it by the writes of each operator that were answered;
`Patience` knows the answers that each operator has given, and asks how long ago one of them was new. Neither asks
anything of the operator's own reckoning.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from topology_controller.decide.state import Decision

    from .server import Raw

FIRST = 60.0
LONGEST = 1920.0
CORRECTION = 10.0
LONGEST_CORRECTION = 300.0
_LATER = frozenset({"checks", "progress", "advisories", "available", "observedGeneration"})
_AT_ONCE = ("phase", "name", "attempt", "source", "target", "admittedTime", "deadlineTime", "baseline", "accepted")


def happened(old: Raw, new: Raw) -> bool:
    """Is there more in this record than newer answers?"""
    return not old or _lasting(old) != _lasting(new)


def waiting(record: Raw, copy: Raw) -> str:
    """What has happened by the copy of the record and does not stand in the record; empty when nothing."""
    behind = [name for name in _AT_ONCE if record.get(name) != copy.get(name)]
    reasons = [(one.get("problem") or {}).get("reason") for one in (record, copy)]
    if reasons[0] != reasons[1]:
        behind.append(f"problem {reasons[1]} instead of {reasons[0]}")
    return ", ".join(behind)


def _all_met(record: Raw) -> bool:
    """Is nothing waited for but quiet? That is written at once, since it lasts."""
    accepted = {entry["name"] for entry in record.get("accepted") or ()}
    asked = [check for check in record.get("checks") or () if check["stage"] == "Convergence"]
    met = all(check["status"] == "Met" for check in asked if check["name"] not in accepted)
    return record.get("phase") == "Converging" and met


def _lasting(record: Raw) -> Raw:
    lasting = {name: value for name, value in record.items() if name not in _LATER}
    lasting["problem"] = (record.get("problem") or {}).get("reason")
    return lasting


@dataclass(frozen=True, slots=True)
class _Written:
    at: float
    in_a_row: int = 0
    corrections: int = 0


@dataclass(slots=True)
class Pace:
    """The writes of Infrastructure, by operator."""

    _known: dict[str, _Written] = field(default_factory=dict)
    _on_the_way: dict[str, tuple[bool, bool, timedelta]] = field(default_factory=dict)

    def begun(self, operator: str) -> None:
        """An operator begins anew: what it wrote before it does not remember."""
        self._known.pop(operator, None)

    def arrived(self, operator: str, sent: float, skew: timedelta, old: Raw, new: Raw) -> str:
        """A write has happened; return what is wrong with its moment. `skew` is how wrong the operator's clock was."""
        urgent, corrects = happened(old, new), _all_met(old) and not _all_met(new)
        self._on_the_way[operator] = (urgent, corrects, skew)
        known = self._known.get(operator)
        if urgent or known is None or (_all_met(new) and not _all_met(old)):
            return ""
        interval = min(FIRST * 2**known.in_a_row, LONGEST)
        if corrects:
            # The check says in whole seconds since when.
            interval = min(interval, min(CORRECTION * 3**known.corrections, LONGEST_CORRECTION) - 1)
        passed = sent - known.at
        return f"newer answers after {passed:.1f} of {interval:.0f} s" if passed < interval - 1e-3 else ""

    def answered(self, operator: str, now: float, skew: timedelta) -> None:
        """The operator knows that its write has happened."""
        urgent, corrects, then = self._on_the_way.pop(operator)
        if skew != then:
            # Its clock was moved in between: when it has written it cannot tell itself.
            self._known.pop(operator, None)
            return
        known = self._known.get(operator)
        if urgent or known is None or now - known.at >= 2 * LONGEST:
            self._known[operator] = _Written(now)
        else:
            self._known[operator] = _Written(now, known.in_a_row + 1, known.corrections + corrects)


@dataclass(slots=True)
class _Heard:
    since: float
    answers: set[tuple[str | None, str, str, str]] = field(default_factory=set)
    new_at: float | None = None
    lacking: bool = False


@dataclass(slots=True)
class Patience:
    """The answers of each operator while a transition converges."""

    _heard: dict[str, _Heard] = field(default_factory=dict)

    def begun(self, operator: str, now: float) -> None:
        """An operator begins anew."""
        self._heard[operator] = _Heard(now)

    def decided(self, operator: str, decision: Decision, now: float) -> None:
        """An operator has answered every check."""
        heard = self._heard.setdefault(operator, _Heard(now))
        record = decision.record
        heard.lacking = False
        if record is None:
            return
        if decision.phase.value != "Converging":
            self._heard[operator] = _Heard(heard.since)
            return
        accepted = {one.name for one in record.accepted}
        heard.lacking = any(not result.met and result.name.value not in accepted for result in decision.results)
        answers = {
            (record.attempt, check.name, check.status.value, check.message)
            for check in record.checks
            if check.stage.value == "Convergence"
        }
        if heard.answers and answers - heard.answers:
            self._heard[operator] = dataclasses.replace(heard, new_at=now)
        self._heard[operator].answers |= answers

    def quiet(self, operator: str, now: float) -> float:
        """For how long this operator has given no answer that it had not given before."""
        heard = self._heard[operator]
        return now - (heard.since if heard.new_at is None else heard.new_at)

    def lacks(self, operator: str) -> bool:
        """Did its last decision wait for a check?"""
        return operator in self._heard and self._heard[operator].lacking
