"""What a hub has of 3,500 clusters after an hour in which a roll-out went on, as OpenMetrics for `promtool tsdb`.

Every cluster sends each series that it can ever send, whether its phase has it or not: that is the worst case for who
evaluates rules. One wave after the other is asked, and some clusters of each are in the ways that a page has to show.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from test.observability.rules import promtool
from topology_api.vocabulary import ConditionType, Phase

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

CLUSTERS = 3500
EVERY = 300
"""Seconds between what a cluster sends."""
HOUR = 3600
SERIES = 15
"""Of each cluster, and its conditions beside them."""
_SECONDS = 120.0
_WAVE, _WAVES = 100, 12
_CHECKS = 12


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster. Times are seconds from the beginning of the hour; one that is not asked has none."""

    number: int
    asked: int | None = None

    @property
    def name(self) -> str:
        """Its name on the hub."""
        return f"edge-{self.number:04}"

    @property
    def ready(self) -> bool:
        """Whether a transition was possible when nothing was asked."""
        return self.number % 7 != 0

    @property
    def stuck(self) -> bool:
        """Whether it never gets there."""
        return self.asked is not None and self.number % 50 == 9

    @property
    def at_two_voters(self) -> bool:
        """Whether its third member never comes."""
        return self.asked is not None and self.number % 25 == 4

    @property
    def silent(self) -> bool:
        """Whether its series end after twenty minutes."""
        return self.number % 300 == 299

    def phase(self, at: int) -> Phase:
        """Where it is: two looks Pending, one Admitting, eight Converging."""
        if self.asked is None or at < self.asked:
            return Phase.IDLE
        looks = (at - self.asked) // EVERY
        if looks < 2 or self.at_two_voters:
            return Phase.PENDING
        if looks < 3:
            return Phase.ADMITTING
        return Phase.CONVERGING if looks < 8 or self.stuck else Phase.COMPLETED

    def sent(self, at: int, now: float) -> Iterator[tuple[str, str, float]]:
        """Name, labels and value of each series; `now` is the Unix time of the moment."""
        phase = self.phase(at)
        changed = phase in {Phase.CONVERGING, Phase.COMPLETED}
        since = 0.0 if self.asked is None else now - at + self.asked + 3 * EVERY
        looks = 0 if self.asked is None else max(0, at - self.asked) // EVERY
        there = "HighlyAvailable" if changed else "SingleReplica"
        shape = ("compact" if self.number % 3 else "HA") if changed else "single-node"
        desired = "" if phase is Phase.IDLE else "HighlyAvailable"
        for other in Phase:
            yield "transition_phase:max", f'phase="{other.value}"', float(other is phase)
        yield "transition_stuck:max", "", float(self.stuck and phase is Phase.CONVERGING and looks > 8)
        yield "transition_started_timestamp_seconds:max", "", since if phase is Phase.CONVERGING else 0.0
        yield "transition_available:max", "", float(self.ready)
        yield "transition_progress_ratio:max", "", min(0.8 if self.stuck else 1.0, max(0, looks - 3) / 5)
        unmet = max(0, _CHECKS - 2 * looks)
        yield "transition_check_status:sum", 'status="Unmet"', float(max(unmet, 2 if self.stuck else 0))
        yield "transition_check_status:sum", 'status="Unknown"', float(self.number % 2)
        yield "etcd_members:max", 'role="voter"', 1.0 if self.asked is None else 2.0 if self.at_two_voters else 3.0
        labels = f'desired="{desired}",control_plane="{there}",infrastructure="{there}",shape="{shape}"'
        yield "info:max", labels, 1.0
        yield "watch_last_activity_timestamp_seconds:min", "", now - 30.0


def sites() -> list[Site]:
    """The fleet: a wave of 100 every five minutes, and the rest not asked."""
    return [Site(number, (number // _WAVE) * EVERY if number < _WAVE * _WAVES else None) for number in range(CLUSTERS)]


def blocks(folder: pathlib.Path, end: float) -> pathlib.Path:
    """Write the hour before `end` (Unix seconds) as blocks of a Prometheus, and return their folder."""
    text = folder / "fleet.om"
    families: dict[str, list[str]] = {}
    for site in sites():
        for at in range(0, HOUR + 1, EVERY):
            now = end - HOUR + at
            if not site.silent or at <= HOUR // 3:
                for name, labels, value in site.sent(at, now):
                    mine = f'{{cluster="{site.name}"{"," if labels else ""}{labels}}}'
                    families.setdefault(f"cluster:topology_{name}", []).append(f"{mine} {value:.10g} {now:.0f}")
            for condition in ConditionType:
                labels = f'{{cluster="{site.name}",name="topology",condition="{condition.value}"}}'
                families.setdefault("cluster_operator_conditions", []).append(f"{labels} 1 {now:.0f}")
    with text.open("w", encoding="utf-8") as file:
        for name, lines in families.items():
            file.write(f"# TYPE {name} gauge\n")
            file.writelines(f"{name}{line}\n" for line in lines)
        file.write("# EOF\n")
    data = folder / "data"
    command = [promtool.binary(), "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - promtool
    assert ended.returncode == 0, ended.stderr
    text.unlink()
    return data
