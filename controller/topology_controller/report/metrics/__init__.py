"""Everything that Prometheus scrapes (DESIGN section 8): one registry, and the rooms that fill it.

* `Metrics`: the registry of one process, and what the rest of the operator tells it.
* `FAMILIES`: every metric with type, labels and help, for documentation and tests.
* `transition`: where the transition is, from the last decision; and what has happened to transitions, counted.
* `cluster`: what is known of nodes, etcd and topology, from the facts of the same decision.
* `work`: reconciliations and their queue, under the names that users of controller-runtime know.
* `traffic`: requests to the API server and to etcd, and whether watches are alive.
* `build`: which program this is, and whether it leads.
* `family`, `labels`: how a metric is declared, and the only values that its labels can have.
"""

from __future__ import annotations

from .registry import FAMILIES, Metrics

__all__ = ["FAMILIES", "Metrics"]
