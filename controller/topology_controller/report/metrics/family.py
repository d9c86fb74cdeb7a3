"""How a metric is declared, and the two ways in which it gets its numbers.

A `Family` says once what docs/reference.md says too, and what a test holds against it: name, type, help, labels, and
for each label the only values that it can have. Counters and histograms are the library's own (`counter`,
`histogram`). Gauges are not kept but read at the scrape (`Shown`): nothing can be left over from what was true before,
and nothing is computed while somebody waits for a change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import prometheus_client as prometheus
from prometheus_client import metrics_core
from prometheus_client import registry as registries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# A series for the birth of every counter doubles what is scraped and tells nothing that `up` does not.
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library left its annotation out

Series: TypeAlias = tuple[tuple[str, ...], float]
"""Values of the labels, in their order, and the number."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `name` is as it is scraped; `labels` by name with the values that are possible (see `labels`)."""

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
        """Have the gauge read at every scrape."""
        registry.register(Shown(self, read))


class Shown(registries.Collector):
    """A gauge that is read when it is scraped; without series it is absent."""

    def __init__(self, family: Family, read: Callable[[], Iterable[Series]]) -> None:
        self.family = family
        # Where the library's own metrics have theirs, for who lists the labels of a registry.
        self._labelnames = tuple(family.labels)
        self._read = read

    def describe(self) -> Iterable[prometheus.Metric]:
        """Being registered is not being read."""
        return (self._empty(),)

    def collect(self) -> Iterable[prometheus.Metric]:
        """Read it."""
        found = self._empty()
        for values, number in self._read():
            found.add_metric(values, number)
        return (found,)

    def _empty(self) -> metrics_core.GaugeMetricFamily:
        return metrics_core.GaugeMetricFamily(self.family.name, self.family.help, labels=self._labelnames)
