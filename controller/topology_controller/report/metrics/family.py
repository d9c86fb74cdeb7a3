"""How a metric is declared, how it gets its numbers, and which values its labels can have.

A `Family` has once what docs/reference.md has too, and what a test compares with it: name, type, help, labels, and the
possible values of each label. Counters and histograms are the library's own. Gauges are read at the scrape (`shown`):
nothing is left over from what was true before, and nothing is computed between a fact and the change.

The values of labels are closed sets, because each value is a series that Prometheus stores. What a cluster, a server or
a user can make up (an HTTP status of a proxy, the name of a node) never becomes a value; where it has to be counted it
counts as OTHER.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import prometheus_client as prometheus
from prometheus_client import metrics_core
from prometheus_client import registry as registries

from topology_api.vocabulary import EXTERNAL, Topology

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

# A series for the birth of every counter doubles what is scraped and adds nothing to `up`.
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library left its annotation out

Series: TypeAlias = tuple[tuple[str, ...], float]
"""Values of the labels, in their order, and the number."""

OTHER: Final = "other"
TOPOLOGIES: Final = frozenset(topology.value for topology in Topology)
CONTROL_PLANES: Final = TOPOLOGIES | {EXTERNAL}
INFRASTRUCTURES: Final = frozenset({Topology.SINGLE_REPLICA.value, Topology.HIGHLY_AVAILABLE.value})
PAIRS: Final = frozenset(f"{plane}/{infrastructure}" for plane in TOPOLOGIES for infrastructure in INFRASTRUCTURES)
"""Topology of the control plane and of infrastructure, as `TopologyPair` is written."""


def bounded(value: str | None, known: Container[str]) -> str:
    """Return the value if it is one of the known, empty when there is none, else OTHER."""
    if not value:
        return ""
    return value if value in known else OTHER


@dataclass(frozen=True, slots=True)
class Family:
    """One metric, named as it is scraped.

    `labels` has the possible values by label; None is a value that is fixed for the life of the process.
    """

    name: str
    type: Literal["gauge", "counter", "histogram"]
    help: str
    labels: Mapping[str, frozenset[str] | None] = field(default_factory=dict)

    def counter(self, registry: registries.CollectorRegistry) -> prometheus.Counter:
        """Make the counter; the library adds `_total` itself."""
        return prometheus.Counter(self.name.removesuffix("_total"), self.help, tuple(self.labels), registry=registry)

    def histogram(self, registry: registries.CollectorRegistry, buckets: Sequence[float]) -> prometheus.Histogram:
        """Make the histogram; `buckets` are upper bounds in seconds."""
        return prometheus.Histogram(self.name, self.help, tuple(self.labels), buckets=buckets, registry=registry)

    def shown(self, registry: registries.CollectorRegistry, read: Callable[[], Iterable[Series]]) -> None:
        """Have the gauge read at every scrape; without series it is absent."""
        registry.register(_Gauge(self, read))


class _Gauge(registries.Collector):
    """A gauge that is read when it is scraped."""

    def __init__(self, family: Family, read: Callable[[], Iterable[Series]]) -> None:
        self._family = family
        # Where the library's own metrics have theirs, for a test that lists the labels of a registry.
        self._labelnames = tuple(family.labels)
        self._read = read

    def describe(self) -> Iterable[prometheus.Metric]:
        """Return the gauge without reading it: this is asked when it is registered."""
        return (metrics_core.GaugeMetricFamily(self._family.name, self._family.help, labels=self._labelnames),)

    def collect(self) -> Iterable[prometheus.Metric]:
        """Read it."""
        gauge = metrics_core.GaugeMetricFamily(self._family.name, self._family.help, labels=self._labelnames)
        for values, number in self._read():
            gauge.add_metric(values, number)
        return (gauge,)
