"""What is growth, and what is noise: pure, from samples to judgements.

A line is laid through the samples after the warm-up by the median of all slopes (Theil and Sen), which a few outliers
do not move. Samples that follow each other are alike, so its uncertainty comes from resampling whole blocks of what is
left over (moving-block bootstrap). Something grows when the line rises by more than is allowed within the window, by
more than the samples scatter around it, and surely: the lower end of the 95 % interval is above zero. A count also has
an upper bound, because what comes and goes with a disturbance is bounded.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Series = tuple[tuple[float, float], ...]
"""(seconds, value), in order of time."""
POINTS = 90
_ROUNDS = 200
_SHARE = 0.95
_SCATTER = 3.0
_FEWEST = 12


class TooFewError(ValueError):
    """There are not enough samples to judge anything."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is allowed: `growth` over the whole window, and at `most`. In the unit of the samples."""

    growth: float
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Judgement:
    """One series, judged. `growth`, `low` and `high` are over the whole window; `wrong` is empty when all is well."""

    name: str
    unit: str
    first: float
    median: float
    last: float
    least: float
    most: float
    seconds: float
    growth: float
    low: float
    high: float
    scatter: float
    wrong: str

    @property
    def per_hour(self) -> float:
        """The slope, in units an hour."""
        return self.growth / self.seconds * 3600

    def line(self) -> str:
        """One line for people."""
        return (
            f"{self.name:<9} {'NO ' if self.wrong else 'yes'}  median {self.median:.4g} {self.unit} "
            f"({self.least:.4g} to {self.most:.4g}), grew by {self.growth:+.3g} ({self.low:+.3g} to {self.high:+.3g}) "
            f"in {self.seconds:.0f} s, scatter {self.scatter:.2g}{': ' if self.wrong else ''}{self.wrong}"
        )


def judge(name: str, unit: str, samples: Series, limits: Limits, seed: int = 1) -> Judgement:
    """Judge the samples after the warm-up. Raises TooFewError."""
    if len(samples) < _FEWEST:
        raise TooFewError(f"{name}: {len(samples)} samples, at least {_FEWEST} are needed")
    points = thinned(samples)
    times = [time for time, _ in points]
    seconds = samples[-1][0] - samples[0][0]
    values = [value for _, value in samples]
    slope, level = line(points)
    left = [value - (level + slope * time) for time, value in points]
    scatter = 1.4826 * statistics.median(abs(one) for one in left)
    slopes = sorted(_resampled(times, slope, level, left, seed))
    cut = int((1 - _SHARE) / 2 * len(slopes))
    low, high = slopes[cut] * seconds, slopes[-1 - cut] * seconds
    growth, median = slope * seconds, statistics.median(values)
    wrong = ""
    if growth > max(limits.growth, _SCATTER * scatter) and low > 0:
        wrong = f"grows by {growth / seconds * 3600:.3g} {unit} an hour, {limits.growth:g} are allowed in this window"
    elif max(values) > limits.most:
        wrong = f"came to {max(values):g} {unit}, at most {limits.most:g} are allowed"
    return Judgement(
        name=name,
        unit=unit,
        first=values[0],
        median=median,
        last=values[-1],
        least=min(values),
        most=max(values),
        seconds=seconds,
        growth=growth,
        low=low,
        high=high,
        scatter=scatter,
        wrong=wrong,
    )


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Slope and level of the line by Theil and Sen: the median of the slopes of all pairs. Times must differ."""
    slope = statistics.median(
        (later - earlier) / (after - before) for (before, earlier), (after, later) in itertools.combinations(points, 2)
    )
    return slope, statistics.median(value - slope * time for time, value in points)


def thinned(samples: Series, most: int = POINTS) -> Series:
    """At most so many points: the medians of samples that lie beside each other. All pairs are to be looked at."""
    size = math.ceil(len(samples) / most)
    groups = [samples[start : start + size] for start in range(0, len(samples), size)]
    return tuple(
        (statistics.fmean(time for time, _ in group), statistics.median(value for _, value in group))
        for group in groups
    )


def _resampled(times: list[float], slope: float, level: float, left: list[float], seed: int) -> list[float]:
    draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    count = len(left)
    block = max(2, round(count**0.5))
    found = []
    for _ in range(_ROUNDS):
        drawn: list[float] = []
        while len(drawn) < count:
            start = draw.randrange(count - block + 1)
            drawn += left[start : start + block]
        again = [(time, level + slope * time + one) for time, one in zip(times, drawn, strict=False)]
        found.append(line(again)[0])
    return found


def none_of(name: str, count: int, what: str) -> str:
    """What is wrong when something that may not happen has happened; empty when it has not."""
    return f"{name}: {count} {what}, none is allowed" if count else ""


def grown(before: dict[str, int], after: dict[str, int], most: int = 5) -> list[tuple[str, int]]:
    """What there is more of, most of all first."""
    more = {name: count - before.get(name, 0) for name, count in after.items()}
    found = [(name, count) for name, count in more.items() if count > 0]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:most]
