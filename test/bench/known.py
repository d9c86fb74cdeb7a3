"""Figures that miss their target today: why, what will mend them, and what they must not exceed meanwhile."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """One known miss. `limit` is compared with what the target is compared with: the ratio where there is a floor."""

    limit: float
    why: str
    until: str


# With 500 nodes and no heartbeats 326 ms, with 3 nodes 108; the bare client (decodes nothing): 128 with them, 61.
_READING = "500 nodes are read live, decoded and judged before the change; heartbeats add a tenth"
_LESS = "a live read of nodes decodes less"
# Behind each stands what the short form measured on a quiet machine, against the embedded server. In CI 2.78 became
# 3.47, and 1.57 became 2.42: these may be twice the quiet figure. Memory varies less: one and a half times.
MISSES = {
    "last_fact_to_change_500_nodes_p50": Miss(limit=5.6, why=_READING, until=_LESS),  # 2.78
    "last_fact_to_change_500_nodes_over_quiet": Miss(limit=3.2, why=_READING, until=_LESS),  # 1.57
    "rss_2000_workers_extra_mib": Miss(  # 5.92
        limit=8.9, why="not profiled yet; two later runs had 4.93", until="it is met in three runs"
    ),
}
"""By the name of the figure. One that is met is said, and then goes from here."""
