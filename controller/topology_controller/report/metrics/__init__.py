"""Everything that Prometheus scrapes: one registry, and what fills it.

* `Metrics`: the registry of one process, and the methods by which the rest of the operator reports to it.
* `FAMILIES`: every metric with type, labels and help, for documentation and tests.
* `TARGET`, `LEASE`: whose kubeconfig it is whose token ends.
* `families`: the table of them, and the closed sets of values that labels have.
* `gauges`: where the transition, nodes, etcd and topology are, from the last decision and its facts.
* `counts`: what has happened to transitions.
"""

from __future__ import annotations

from .families import FAMILIES, LEASE, TARGET
from .registry import Metrics

__all__ = ["FAMILIES", "LEASE", "TARGET", "Metrics"]
