"""Everything that Prometheus scrapes (DESIGN section 8): one registry, and what fills it.

* `Metrics`: the registry of one process, and the methods by which the rest of the operator reports to it.
* `FAMILIES`: every metric with type, labels and help, for documentation and tests.
* `transition`: where the transition is, from the last decision; and what has happened to transitions, counted.
* `cluster`: nodes, etcd and topology, from the facts of the same decision.
* `process`: reconciliations, requests, watches, build and leadership of this process.
* `family`: how a metric is declared, and the closed sets of values that labels have.
"""

from __future__ import annotations

from .registry import FAMILIES, Metrics

__all__ = ["FAMILIES", "Metrics"]
