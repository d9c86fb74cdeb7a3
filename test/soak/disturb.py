"""What goes wrong in a soak, drawn from a seed: the same seed gives the same disturbances at the same times.

Most hit the watches of one kind or object, as a proxy that restarts does; a few hit all, or make the server forget its
log so that every watch must list anew; now and then a peer falls silent, or requests are refused for a moment.

A watch that fails again and again is tried ever less often, up to half a minute, until it has been well for a minute;
after a minute of trouble the operator says that it cannot tell, and it should. That is not what is looked for here:
each watch is left alone for long enough to be well again, so nothing that the operator says may change.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topology_api import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Raw = dict[str, Any]
AGENT = f"{vocabulary.OPERATOR_NAME}*"
MEAN_SECONDS = 2.0
_SHARES = {"cut": 51, "cut in a line": 20, "expired": 12, "refused": 8, "silent": 4, "compacted": 4, "all cut": 1}
_CUT: Raw = {"verb": "watch", "action": "cut"}
_FAULTS: dict[str, tuple[Raw, ...]] = {
    "cut in a line": ({**_CUT, "midLine": True},),
    "expired": ({**_CUT, "action": "expire"},),
    # Over at once: the watches that are open fall silent, the next ones do not.
    "silent": ({**_CUT, "action": "silent", "seconds": 0.0},),
    "refused": ({"verb": "", "action": "status", "code": 503, "count": 2, "seconds": 5.0}, _CUT),
}
"""What the server is told; of any other disturbance: to cut."""
_APART_SECONDS = 75.0
_ALL_APART_SECONDS = 150.0
_SILENCE_SECONDS = 165.0
"""A silent peer is noticed after 150 s at the latest (`kube.watch.Timing`); then it is a watch that failed."""
FAR_REACHING = ("all cut", "all compacted")
"""What the warm-up does once, so that memory which is taken for the worst is taken before it is measured."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a watch is of, as faults name it; empty is any."""

    resource: str
    namespace: str = ""
    name: str = ""

    def covers(self, other: Target) -> bool:
        """Whether a fault of this one hits watches of the other too."""
        return (
            self.resource == other.resource
            and self.namespace in {"", other.namespace}
            and self.name in {"", other.name}
        )


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One thing that goes wrong, to the watches of a target or of all. `at` is in seconds since the beginning."""

    at: float
    what: str
    target: Target

    @property
    def compact(self) -> bool:
        """Whether the server forgets its log, too."""
        return self.what.endswith("compacted")

    @property
    def faults(self) -> list[Raw]:
        """What the server is told."""
        one = self.target
        where = (
            {}
            if self.what in FAR_REACHING
            else {"resource": one.resource, "namespace": one.namespace, "name": one.name}
        )
        return [{"userAgent": AGENT, **where, **fault} for fault in _FAULTS.get(self.what, (_CUT,))]


def planned(seed: int, seconds: float, targets: Sequence[Target], after: float = 0.0) -> Iterator[Disturbance]:
    """Everything that goes wrong from `after` until `seconds`, in order; about one each MEAN_SECONDS."""
    draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    free = dict.fromkeys(targets, after)
    all_free, at = after, after
    while (at := at + draw.expovariate(1 / MEAN_SECONDS)) < seconds:
        (what,) = draw.choices(tuple(_SHARES), tuple(_SHARES.values()))
        if what in FAR_REACHING:
            if at >= all_free:
                all_free = at + _ALL_APART_SECONDS
                free = {one: max(until, at + _APART_SECONDS) for one, until in free.items()}
                yield Disturbance(at, what, targets[0])
            continue
        chosen = [one for one in targets if all(free[other] <= at for other in targets if one.covers(other))]
        if chosen:
            one = draw.choice(chosen)
            rest = _SILENCE_SECONDS if what == "silent" else 0.0
            free |= {other: at + rest + _APART_SECONDS for other in targets if one.covers(other)}
            yield Disturbance(at, what, one)
