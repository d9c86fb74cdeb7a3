"""What is reported: figures with a target, and how they are shown.

A figure is `{value, unit, floor, ratio, target, met, note}`. With a floor the target is about the ratio, else the
value. `met` is null where nothing is promised, and false where something is promised but could not be measured:
an unmeasured promise is not a kept one. `note` tells the sample size, or why there is no value.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from . import known


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure. `target` is the largest allowed ratio when `floor` is there, else the largest value."""

    value: float | None
    unit: str
    floor: float | None = None
    target: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How often the floor fits into the value."""
        return None if self.value is None or not self.floor else self.value / self.floor

    @property
    def judged(self) -> float | None:
        """What the target is compared with."""
        return self.value if self.floor is None else self.ratio

    @property
    def met(self) -> bool | None:
        """Is the promise kept? None when nothing is promised."""
        if self.target is None:
            return None
        return self.judged is not None and self.judged <= self.target

    def as_json(self) -> dict[str, object]:
        """The figure as `bench.json` has it."""
        raw = dataclasses.asdict(self)
        rounded = {key: _short(raw[key]) for key in ("value", "floor")}
        return {
            "value": rounded["value"],
            "unit": self.unit,
            "floor": rounded["floor"],
            "ratio": _short(self.ratio),
            "target": self.target,
            "met": self.met,
            "note": self.note,
        }


def missing(unit: str, reason: str, target: float | None = None) -> Figure:
    """A figure that could not be measured."""
    return Figure(value=None, unit=unit, target=target, note=f"not measured: {reason}")


def verdict(
    found: dict[str, Figure], wanted: Collection[str], misses: Mapping[str, known.Miss], *, short: bool
) -> tuple[list[str], bool]:
    """What there is to say about a run, and whether it failed.

    A target that is missed fails it unless that is known and within its limit, and so does a figure that was not
    measured, except in the short form.
    """
    lines, missed = [], []
    for name, figure in found.items():
        if figure.judged is None or figure.target is None:
            continue
        miss = misses.get(name)
        if figure.met and miss is not None:
            lines.append(f"met, take it from the list of known misses: {name}")
        elif not figure.met and miss is not None and figure.judged <= miss.limit:
            measured = f"{figure.judged:.2f}, target {figure.target:g}, at most {miss.limit:g}"
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


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return quantile(values, 0.5)


def table(found: dict[str, Figure]) -> str:
    """Every figure in a line: those with a ratio first, because they mean the same on every machine."""
    rows = [("figure", "ratio", "value", "floor", "target", "met", "note")]
    ordered = sorted(found.items(), key=lambda item: item[1].ratio is None)
    for name, figure in ordered:
        limit = "" if figure.target is None else f"<= {figure.target:g}{'' if figure.floor is None else ' x floor'}"
        rows.append(
            (
                name,
                "" if figure.ratio is None else f"{figure.ratio:.2f}",
                "-" if figure.value is None else f"{_short(figure.value):g} {figure.unit}",
                "" if figure.floor is None else f"{_short(figure.floor):g}",
                limit,
                {None: "", True: "yes", False: "NO"}[figure.met],
                figure.note,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[6]]).rstrip()
        for row in rows
    )


def _short(value: object) -> float | None:
    if not isinstance(value, (int, float)):
        return None
    return float(f"{value:.4g}")
