"""What is reported: figures with a target, how they are shown, and what a run is judged against.

A figure is `{value, unit, target, met, note}`. `met` is null where nothing is promised, and false where something is
promised but could not be measured: an unmeasured promise is not a kept one. `note` tells the sample size, or why there
is no value.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure. `target` is the largest value that is allowed."""

    value: float | None
    unit: str
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Is the promise kept? None when nothing is promised."""
        if self.target is None:
            return None
        return self.value is not None and self.value <= self.target

    def as_json(self) -> dict[str, object]:
        """The figure as `bench.json` has it."""
        value = None if self.value is None else _short(self.value)
        return dataclasses.asdict(self) | {"value": value, "met": self.met}


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A figure that misses its target today: why, what will mend it, and what it must not exceed meanwhile."""

    limit: float
    why: str
    until: str


# Behind each stands what the short form measured, against the embedded server.
MISSES = {
    "rss_2000_workers_extra_mib": Miss(  # 3.9 to 5.53
        limit=8.0, why="not profiled yet", until="it is met in three runs"
    ),
    "rss_after_thirty_transitions_mib": Miss(  # 64.2; with TLS, against the real one, 66.4 and 71.8
        limit=76.0, why="not profiled yet", until="it is met in three runs"
    ),
}
"""By the name of the figure. One that is met is said, and then goes from here."""


def verdict(
    found: dict[str, Figure], wanted: Collection[str], misses: Mapping[str, Miss], *, short: bool
) -> tuple[list[str], bool]:
    """What there is to say about a run, and whether it failed.

    A target that is missed fails it unless that is known and within its limit, and so does a figure that was not
    measured, except in the short form.
    """
    lines, missed = [], []
    for name, figure in found.items():
        if figure.value is None or figure.target is None:
            continue
        miss = misses.get(name)
        if figure.met and miss is not None:
            lines.append(f"met, take it from the list of known misses: {name}")
        elif not figure.met and miss is not None and figure.value <= miss.limit:
            measured = f"{figure.value:.2f}, target {figure.target:g}, at most {miss.limit:g}"
            lines.append(f"known miss: {name} {measured}; {miss.why}; until {miss.until}")
        elif not figure.met:
            missed.append(name if miss is None else f"{name} (more than the {miss.limit:g} of its known miss)")
    if missed:
        lines.append(f"targets missed: {', '.join(missed)}")
    unmeasured = sorted({name for name, figure in found.items() if figure.value is None} | (set(wanted) - set(found)))
    if unmeasured:
        lines.append(f"not measured{' in the short form' if short else ''}: {', '.join(unmeasured)}")
    return lines, bool(missed or (unmeasured and not short))


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def table(found: dict[str, Figure]) -> str:
    """Every figure in a line."""
    rows = [("figure", "value", "target", "met", "note")]
    for name, figure in found.items():
        value = "-" if figure.value is None else f"{_short(figure.value):g} {figure.unit}"
        limit = "" if figure.target is None else f"<= {figure.target:g}"
        rows.append((name, value, limit, {None: "", True: "yes", False: "NO"}[figure.met], figure.note))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
