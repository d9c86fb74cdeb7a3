"""Every metric: how it is declared, which values its labels can have, and the gauges of a decision and its facts.

`FAMILIES`, from bindata/metrics.json, is what the table of docs/api.md is made of. Gauges are read at the scrape and
follow from the last decision alone. A number that is not known is not shown: an absent gauge says that it is not
observed, which 0 would not.

The values of labels are closed sets, because each value is a series that Prometheus stores. What a cluster, a server or
a user can make up (an HTTP status of a proxy, the name of a node) never becomes a value; it counts as OTHER.
"""

from __future__ import annotations

import dataclasses
import http
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import prometheus_client as prometheus
from prometheus_client import metrics_core
from prometheus_client import registry as registries

from topology_api import shape
from topology_api.types import TopologyTransition
from topology_api.vocabulary import EXTERNAL, CheckName, CheckStatus, Phase, Reason, Stage, Topology

from .. import bindata
from ..checks import etcd, machines
from ..decide.state import STAGES, Decision
from ..kube import transport
from ..observe import facts

# A series for the birth of every counter doubles what is scraped and adds nothing to `up`.
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library left its annotation out

Series: TypeAlias = tuple[tuple[str, ...], float]  # values of the labels, in their order, and the number

OTHER: Final = "other"
TARGET: Final = "target"
LEASE: Final = "lease"
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


class Family(NamedTuple):
    """One metric, named as it is scraped. `labels`: possible values; None is fixed for the life of the process."""

    name: str
    type: Literal["gauge", "counter", "histogram"]
    labels: Mapping[str, frozenset[str] | None]
    help: str
    buckets: tuple[float, ...] = ()  # of a histogram: upper bounds in seconds


ERROR: Final = "<error>"  # the code that client-go gives to a request without an answer
CONTROLLER: Final = "topology"  # the one controller and its one queue
CODES: Final = frozenset(str(status.value) for status in http.HTTPStatus) | {ERROR, OTHER}
ETCD_CODES: Final = frozenset({"200", "401", "403", "503", ERROR, OTHER})
_TWO: Final = 2
_VALUES: Final[dict[str, frozenset[str]]] = {
    "phases": frozenset(Phase),
    "timed phases": frozenset(STAGES),
    "checks": frozenset(CheckName),
    "stages": frozenset(Stage),
    "statuses": frozenset(CheckStatus),
    "pairs": PAIRS | {OTHER},
    "targets": TOPOLOGIES | {OTHER},
    "desired": TOPOLOGIES | {"", OTHER},
    "control planes": CONTROL_PLANES | {"", OTHER},
    "infrastructures": INFRASTRUCTURES | {"", OTHER},
    "shapes": frozenset(shape.Shape) | {""},
    "codes": CODES,
    "etcd codes": ETCD_CODES,
    "methods": frozenset(transport.METHODS.values()),
}
"""What bindata/metrics.json names as the values of a label; a few words stand there themselves."""


def _families() -> tuple[Family, ...]:
    """Read bindata/metrics.json. Raises bindata.BindataMissingError when the operator came without it."""
    rows: dict[str, Any] = json.loads((bindata.root() / "metrics.json").read_text(encoding="utf-8"))
    for row in rows.values():
        for label, of in row["labels"].items():
            row["labels"][label] = frozenset(of) if isinstance(of, list) else of and _VALUES[of]
    return tuple(Family(name, **row) for name, row in rows.items())


FAMILIES: Final = _families()
"""Every metric but the `process_*` of the library, in the order in which they are documented and scraped."""


class Collector(registries.Collector):
    """All of `FAMILIES`: counters, histograms, and gauges whose series `read` returns; one without any is absent."""

    def __init__(self, read: Callable[[], Mapping[str, Iterable[Series]]]) -> None:
        self._read = read
        self.counters: dict[str, prometheus.Counter] = {}
        self.histograms: dict[str, prometheus.Histogram] = {}
        for name, type_, labels, text, buckets in FAMILIES:
            if type_ == "counter":
                # The library adds `_total` itself.
                self.counters[name] = prometheus.Counter(name.removesuffix("_total"), text, labels, registry=None)
            elif type_ == "histogram":
                self.histograms[name] = prometheus.Histogram(name, text, labels, buckets=buckets, registry=None)

    def collect(self) -> Iterator[prometheus.Metric]:
        """Read everything."""
        series = self._read()
        for name, type_, labels, text, _ in FAMILIES:
            if type_ != "gauge":
                yield from (self.counters.get(name) or self.histograms[name]).collect()
                continue
            gauge = metrics_core.GaugeMetricFamily(name, text, labels=tuple(labels))
            for values, number in series.get(name, ()):
                gauge.add_metric(values, number)
            yield gauge


SILENT: Final[dict[str, tuple[Series, ...]]] = {
    "topology_transition_phase": tuple(((phase.value,), 0.0) for phase in Phase),
    "topology_transition_stuck": (((), 0.0),),
    "topology_transition_started_timestamp_seconds": (((), 0.0),),
}
"""What the gauges show before the first decision, and while this process does not lead or is blind."""


def drawn(decision: Decision, known: facts.Facts, observed: TopologyTransition | None) -> dict[str, tuple[Series, ...]]:
    """Series of the gauges of a decision by name; `observed` is the transition of another controller in charge."""
    # Without Infrastructure the decision is Idle for want of a request: that says nothing of the transition.
    going = SILENT if isinstance(known.infrastructure, facts.Unobserved) else _of_transition(decision, observed)
    if not decision.watch:
        known = facts.Facts(infrastructure=known.infrastructure)
    return {
        **going,
        "topology_control_plane_nodes": tuple(_nodes(decision, known)),
        "topology_control_plane_machines": tuple(_machines(known)),
        "topology_etcd_members": tuple(_members(known)),
        "topology_info": tuple(_info(known)),
    }


def _of_transition(decision: Decision, observed: TopologyTransition | None) -> dict[str, tuple[Series, ...]]:
    stage = STAGES.get(decision.phase)
    # The decision that completes a transition still carries the answers that it rests on: they are of the stage before.
    answers = {} if stage is None else {answer.name: answer.status for answer in decision.results}
    met = sum(status is CheckStatus.MET for status in answers.values())
    stuck = decision.degraded is not None and decision.degraded.reason is Reason.TRANSITION_STUCK
    record, started = decision.record if decision.observed is None else observed, 0.0
    if decision.phase is Phase.CONVERGING and record is not None and record.admitted_time is not None:
        started = record.admitted_time.timestamp()
    # Nothing where no definition leads away from here, which is another thing than a check that is not met.
    items = () if decision.record is None else decision.record.available
    available = float(any(item.available for item in items))
    return {
        "topology_transition_phase": tuple(((phase.value,), float(phase is decision.phase)) for phase in Phase),
        "topology_transition_check_status": tuple(
            ((name.value, str(stage), possible.value), float(possible is status))
            for name, status in answers.items()
            for possible in CheckStatus
        ),
        "topology_transition_progress_ratio": (((str(stage),), met / len(answers)),) if answers else (),
        "topology_transition_stuck": (((), float(stuck)),),
        "topology_transition_started_timestamp_seconds": (((), started),),
        "topology_transition_available": (((), available),) if items else (),
    }


def _nodes(decision: Decision, known: facts.Facts) -> Iterator[Series]:
    nodes = known.control_plane_nodes
    if isinstance(nodes, facts.Unobserved):
        return
    whole = [node for node in nodes if isinstance(node, facts.Node)]
    yield ("present",), len(nodes)
    yield ("ready",), sum(node.ready == "True" for node in whole)
    yield ("schedulable",), sum(not node.cordoned and not node.taints for node in whole)
    answer = next((result for result in decision.results if result.name is CheckName.CONTROL_PLANE_NODES), None)
    if answer is not None and (answer.findings or answer.status is not CheckStatus.UNKNOWN):
        yield ("eligible",), sum(finding.status is CheckStatus.MET for finding in answer.findings)


def _machines(known: facts.Facts) -> Iterator[Series]:
    if not machines.in_use(known):
        return
    present, claims = facts.readable(known.machines), machines.claims(known)
    yield ("present",), len(present)
    yield ("running",), sum(machine.phase == "Running" for machine in present)
    yield ("leaving",), len({claim.machine.name for claim in claims if claim.leaving})
    yield ("without_node",), sum(claim.node is None for claim in claims)
    yield ("missing",), len(machines.missing(known))


def _members(known: facts.Facts) -> Iterator[Series]:
    voters, listed = etcd.voters(known), etcd.listed(known)
    if voters is not None:
        yield ("voter",), voters
    if listed is not None:
        yield ("learner",), sum(member.learner for member in listed)


def two_voters(decision: Decision, known: facts.Facts) -> bool | None:
    """Has etcd exactly two voters, with a single node or a transition under way? None while that is not known."""
    under_way = decision.watch and decision.phase in STAGES
    if not (known.single_node or under_way) or decision.disabled or known.disturbed:
        return None
    if known.control_plane_nodes is facts.NOT_READ:
        # No node is watched. The form of the keys is no proof (`cafe` may be a name too), but good for a count.
        known = dataclasses.replace(known, control_plane_nodes=(), other_nodes=())
    voters = etcd.voters(known)
    return None if voters is None else voters == _TWO


def _info(known: facts.Facts) -> Iterator[Series]:
    here = known.infrastructure
    if isinstance(here, facts.Unobserved):
        return
    control_plane, value = bounded(here.control_plane, CONTROL_PLANES), bounded(here.infrastructure, INFRASTRUCTURES)
    fitting = shape.classify(facts.shape_vector(known, here))
    yield (bounded(here.desired, TOPOLOGIES), control_plane, value, "" if fitting is None else fitting.value), 1.0
