"""What is growth, and what is noise: pure, from samples to judgements.

A line is laid through the samples after the warm-up by the median of all slopes (Theil and Sen), which a few outliers
do not move. Something grows when the line rises by more than is allowed within the window, and by more than three times
what the samples scatter around it. A count also has an upper bound, because what comes and goes with a disturbance is
bounded.
"""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass

Series = tuple[tuple[float, float], ...]
"""(seconds, value), in order of time."""
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
    """One series, judged. `growth` is over the whole window of so many `seconds`; `wrong` is empty when all is well."""

    name: str
    unit: str
    median: float
    least: float
    most: float
    seconds: float
    growth: float
    scatter: float
    wrong: str

    @property
    def per_hour(self) -> float:
        """The slope, in units an hour."""
        return self.growth / self.seconds * 3600

    def line(self) -> str:
        """One line for people."""
        return (
            f"{self.name:<11} {'NO ' if self.wrong else 'yes'}  median {self.median:.4g} {self.unit} "
            f"({self.least:.4g} to {self.most:.4g}), grew by {self.growth:+.3g} in {self.seconds:.0f} s, "
            f"scatter {self.scatter:.2g}"
            f"{': ' if self.wrong else ''}{self.wrong}"
        )


def judge(name: str, unit: str, samples: Series, limits: Limits) -> Judgement:
    """Judge the samples after the warm-up. Raises TooFewError."""
    if len(samples) < _FEWEST:
        raise TooFewError(f"{name}: {len(samples)} samples, at least {_FEWEST} are needed")
    seconds = samples[-1][0] - samples[0][0]
    values = [value for _, value in samples]
    slope, level = line(samples)
    scatter = 1.4826 * statistics.median(abs(value - level - slope * time) for time, value in samples)
    growth, most = slope * seconds, max(values)
    wrong = ""
    if growth > max(limits.growth, _SCATTER * scatter):
        wrong = f"grows by {growth / seconds * 3600:.3g} {unit} an hour, {limits.growth:g} are allowed in this window"
    elif most > limits.most:
        wrong = f"came to {most:g} {unit}, at most {limits.most:g} are allowed"
    return Judgement(name, unit, statistics.median(values), min(values), most, seconds, growth, scatter, wrong)


def line(points: Series) -> tuple[float, float]:
    """Slope and level of the line by Theil and Sen: the median of the slopes of all pairs. Times must differ."""
    slope = statistics.median(
        (later - earlier) / (after - before) for (before, earlier), (after, later) in itertools.combinations(points, 2)
    )
    return slope, statistics.median(value - slope * time for time, value in points)
