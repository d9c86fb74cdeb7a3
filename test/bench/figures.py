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
    from collections.abc import Sequence


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
    def met(self) -> bool | None:
        """Is the promise kept? None when nothing is promised."""
        if self.target is None:
            return None
        judged = self.value if self.floor is None else self.ratio
        return judged is not None and judged <= self.target

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
