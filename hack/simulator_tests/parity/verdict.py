"""Two answers side by side: where they differ, and whether that is known or is news about the real server.

A place is the path from the number of the compared answer to the value, with dots: `2.body.details.causes.0.message`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulator_tests.parity import differences

MISSING = "<nothing>"
_LONGEST = 700


@dataclass(frozen=True, slots=True)
class Deviation:
    """One place where the answers differ."""

    place: str
    left: Any
    right: Any

    def told(self, left: str, right: str) -> str:
        """Return what is printed; the sides have these names."""
        return f"{self.place}\n    {left + ':':9} {_shown(self.left)}\n    {right + ':':9} {_shown(self.right)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a row came to.

    `unlisted` are deviations without a reason, `stale` are listed patterns under which nothing differs any more,
    `listed` are the differences that apply.
    """

    row: str
    unlisted: tuple[Deviation, ...]
    stale: tuple[str, ...]
    listed: tuple[differences.Difference, ...]

    @property
    def good(self) -> bool:
        """Whether the answers are the same, apart from what is listed, and the list is true."""
        return not self.unlisted and not self.stale

    def report(self) -> str:
        """Return what a failing test prints."""
        lines = [f"{self.row}:"]
        lines += [f"differs at {one.told('embedded', 'real')}" for one in self.unlisted]
        lines += [f"listed as different, but nothing differs: {one}" for one in self.stale]
        return "\n".join(lines)


def _shown(value: Any) -> str:
    if value == MISSING:
        return MISSING
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"


def deviations(left: Any, right: Any, place: str = "") -> Iterator[Deviation]:
    """Yield every place where two values differ: the deepest one that tells the difference."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            below = f"{place}.{key}" if place else key
            yield from deviations(left.get(key, MISSING), right.get(key, MISSING), below)
    elif isinstance(left, list) and isinstance(right, list):
        for index in range(max(len(left), len(right))):
            one = left[index] if index < len(left) else MISSING
            other = right[index] if index < len(right) else MISSING
            yield from deviations(one, other, f"{place}.{index}" if place else str(index))
    elif type(left) is not type(right) or left != right:
        yield Deviation(place, left, right)


def _answers(left: list[Any], right: list[Any]) -> Iterator[Deviation]:
    """Yield where the answers of a row differ; answers of different codes are one deviation each."""
    for index in range(max(len(left), len(right))):
        one, other = (side[index] if index < len(side) else {} for side in (left, right))
        if one.get("code") != other.get("code"):
            yield Deviation(str(index), _brief(one), _brief(other))
        else:
            yield from deviations(one, other, str(index))


def _brief(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what tells an answer from one with another code."""
    body = answer.get("body")
    if isinstance(body, dict) and body.get("kind") == "Status":
        body = {name: body[name] for name in ("reason", "message") if name in body}
    return {
        name: part for name, part in {**answer, "body": body}.items() if name in ("code", "body", "events", "ended")
    }


def judge(row: str, embedded: list[Any], real: list[Any], known: tuple[differences.Difference, ...]) -> Verdict:
    """Return the verdict on a row from its normalised answers."""
    here = [one for one in known if row in one.rows]
    found = list(_answers(embedded, real))
    unlisted = [one for one in found if not any(fnmatchcase(one.place, place) for d in here for place in d.rows[row])]
    stale = [
        f"{difference.title} at {place}"
        for difference in here
        for place in difference.rows[row]
        if not any(fnmatchcase(one.place, place) for one in found)
    ]
    return Verdict(row, tuple(unlisted), tuple(stale), tuple(here))


def outdated(recorded: list[Any], real: list[Any]) -> list[str]:
    """Return where a recorded answer is no longer what the real server says."""
    return [one.told("recorded", "real") for one in _answers(recorded, real)]
