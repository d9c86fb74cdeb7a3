"""Every metric: how it is declared, how it gets its numbers, and which values its labels can have.

A `Family` has what the table of docs/api.md is made of: name, type, help, labels, and the possible values of each
label. Counters and histograms are the library's own. Gauges are read at the scrape (`shown`): nothing is left over from
what was true before, and nothing is computed between a fact and the change.

The values of labels are closed sets, because each value is a series that Prometheus stores. What a cluster, a server or
a user can make up (an HTTP status of a proxy, the name of a node) never becomes a value; where it has to be counted it
counts as OTHER.
"""

from __future__ import annotations

import http
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import prometheus_client as prometheus
from prometheus_client import metrics_core
from prometheus_client import registry as registries

from topology_api import shape
from topology_api.vocabulary import EXTERNAL, CheckName, CheckStatus, Phase, Stage, Topology

from ...kube import transport

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

# A series for the birth of every counter doubles what is scraped and adds nothing to `up`.
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library left its annotation out

Series: TypeAlias = tuple[tuple[str, ...], float]
"""Values of the labels, in their order, and the number."""

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


ERROR: Final = "<error>"
"""The code that client-go gives to a request without an answer."""
CONTROLLER: Final = "topology"
"""The one controller and its one queue."""
CODES: Final = frozenset(str(status.value) for status in http.HTTPStatus) | {ERROR, OTHER}
ETCD_CODES: Final = frozenset({"200", "401", "403", "503", ERROR, OTHER})
RESULTS: Final = {True: "success", False: "error"}
TIMED: Final = (Phase.PENDING, Phase.ADMITTING, Phase.CONVERGING)
"""Phases whose length says something: in the others nothing is under way."""
_STAGES = frozenset(stage.value for stage in Stage)
_ROUTE = {"source": PAIRS | {OTHER}, "target": PAIRS | {OTHER}}
_CONTROLLER = {"controller": frozenset({CONTROLLER})}
_QUEUE = {"name": frozenset({CONTROLLER})}

PHASE = Family(
    "topology_transition_phase", "gauge",
    "1 for the phase in which the transition is, 0 for the others; all 0 while this process does not lead or cannot "
    "read Infrastructure.",
    {"phase": frozenset(phase.value for phase in Phase)},
)  # fmt: skip
CHECKS = Family(
    "topology_transition_check_status", "gauge",
    "1 for the status that a check of the current stage has, 0 for the others.",
    {
        "check": frozenset(check.value for check in CheckName),
        "stage": _STAGES,
        "status": frozenset(status.value for status in CheckStatus),
    },
)  # fmt: skip
PROGRESS = Family(
    "topology_transition_progress_ratio", "gauge",
    "Share of the checks of the current stage that are met, 0 to 1.",
    {"stage": _STAGES},
)  # fmt: skip
STUCK = Family(
    "topology_transition_stuck", "gauge",
    "1 while a transition is stuck, past its deadline and without progress for ten minutes, otherwise 0.",
)  # fmt: skip
STARTED_AT = Family(
    "topology_transition_started_timestamp_seconds", "gauge",
    "Unix time, in seconds, at which the topology was changed by the transition that converges; 0 when none does.",
)  # fmt: skip
AVAILABLE = Family(
    "topology_transition_available", "gauge",
    "1 while a transition that leads away from here is possible, 0 while preflight checks keep each of them from it.",
)  # fmt: skip
STARTED = Family("topology_transition_started_total", "counter", "Transitions whose topology was changed.", _ROUTE)
COMPLETED = Family("topology_transition_completed_total", "counter", "Transitions that converged.", _ROUTE)
CANCELLED = Family(
    "topology_transition_cancelled_total", "counter",
    "Requests cancelled before the topology changed; target is other for a request that no definition leads to.",
    _ROUTE,
)  # fmt: skip
REJECTED = Family(
    "topology_transition_rejected_total", "counter",
    "Requests that no definition leads to from where the cluster is; target is the topology that was requested.",
    {"source": PAIRS | {OTHER}, "target": TOPOLOGIES | {OTHER}},
)  # fmt: skip
DURATION = Family(
    "topology_transition_phase_duration_seconds", "histogram",
    "How long phases lasted in which something is under way, in seconds, observed when they end.",
    {"phase": frozenset(phase.value for phase in TIMED)},
)  # fmt: skip
NODES = Family(
    "topology_control_plane_nodes", "gauge",
    "Control-plane nodes: how many are present, ready, schedulable (not cordoned, no taint NoSchedule or NoExecute), "
    "and eligible (pass everything that check ControlPlaneNodes asks of a node).",
    {"state": frozenset({"present", "ready", "schedulable", "eligible"})},
)  # fmt: skip
MACHINES = Family(
    "topology_control_plane_machines", "gauge",
    "Machines of the control plane where they are in use: how many are present, running, leaving (it or its host is on "
    "its way out), without_node, and how many control-plane nodes no Machine has the address of (missing).",
    {"state": frozenset({"present", "running", "leaving", "without_node", "missing"})},
)  # fmt: skip
MEMBERS = Family(
    "topology_etcd_members", "gauge",
    "Members of etcd: voters as the etcd operator publishes them, learners as etcd itself says.",
    {"role": frozenset({"voter", "learner"})},
)  # fmt: skip
INFO = Family(
    "topology_info", "gauge",
    "Always 1; the labels tell the topology of the cluster, the one that is wanted (empty: none), and the shape "
    "(empty: not known).",
    {
        "desired": TOPOLOGIES | {"", OTHER},
        "control_plane": CONTROL_PLANES | {"", OTHER},
        "infrastructure": INFRASTRUCTURES | {"", OTHER},
        "shape": frozenset(known.value for known in shape.Shape) | {""},
    },
)  # fmt: skip
ACTIVITY = Family(
    "topology_watch_last_activity_timestamp_seconds", "gauge",
    "Unix time, in seconds, of the last sign of life (list, event or bookmark) of each open watch; 0 before the first.",
    {"resource": None},
)  # fmt: skip
CREDENTIAL = Family(
    "topology_credential_expiry_timestamp_seconds", "gauge",
    "Unix time, in seconds, at which the token in a kubeconfig ends: of the cluster that is acted on (target), or of "
    "the cluster of the lease where that is another one.",
    {"kubeconfig": frozenset({TARGET, LEASE})},
)  # fmt: skip
OPENINGS = Family(
    "topology_watch_requests_total", "counter",
    "Watches that were asked for, by whether they were opened; each lives for about an hour when all is well.",
    {"result": frozenset(RESULTS.values())},
)  # fmt: skip
RESTORED = Family(
    "topology_store_restored_total", "counter",
    "How often the API server's store was seen to be put back to an earlier state; everything is read anew then.", {},
)  # fmt: skip
REQUESTS = Family(
    "rest_client_requests_total", "counter",
    "Requests to the API server by HTTP status, method and host; <error> when no answer came.",
    {"code": CODES, "method": frozenset(transport.METHODS.values()), "host": None},
)  # fmt: skip
ETCD_REQUESTS = Family(
    "topology_etcd_requests_total", "counter",
    "Requests to members of etcd by HTTP status; <error> when no answer came in time.",
    {"code": ETCD_CODES},
)  # fmt: skip
RECONCILES = Family(
    "controller_runtime_reconcile_total", "counter",
    "Reconciliations that ended, by result; one that failed is tried again.",
    {**_CONTROLLER, "result": frozenset(RESULTS.values())},
)  # fmt: skip
ERRORS = Family("controller_runtime_reconcile_errors_total", "counter", "Reconciliations that failed.", _CONTROLLER)
TIME = Family(
    "controller_runtime_reconcile_time_seconds", "histogram",
    "How long reconciliations took, in seconds, live reads and writes included.",
    _CONTROLLER,
)  # fmt: skip
ACTIVE = Family(
    "controller_runtime_active_workers", "gauge", "Workers that reconcile at this moment: 0 or 1.", _CONTROLLER
)
CONCURRENT = Family(
    "controller_runtime_max_concurrent_reconciles", "gauge",
    "Workers that there can be: always 1, because there is one cluster to reconcile.",
    _CONTROLLER,
)  # fmt: skip
DEPTH = Family("workqueue_depth", "gauge", "Deliveries that wait for the worker: 0 or 1.", _QUEUE)
ADDS = Family(
    "workqueue_adds_total", "counter", "Additions to the queue; what waits already is not added again.", _QUEUE
)
RETRIES = Family("workqueue_retries_total", "counter", "Deliveries that failed and are to be repeated.", _QUEUE)
QUEUED = Family(
    "workqueue_queue_duration_seconds", "histogram", "How long deliveries waited for the worker, in seconds.", _QUEUE
)
WORKED = Family(
    "workqueue_work_duration_seconds", "histogram", "How long the worker was busy with a delivery, in seconds.", _QUEUE
)
UNFINISHED = Family(
    "workqueue_unfinished_work_seconds", "gauge",
    "Seconds since work began that has not ended, 0 when there is none; with one worker the same as "
    "workqueue_longest_running_processor_seconds.",
    _QUEUE,
)  # fmt: skip
LONGEST = Family(
    "workqueue_longest_running_processor_seconds", "gauge",
    "Seconds for which the worker has been busy with one delivery, 0 while it waits for one.",
    _QUEUE,
)  # fmt: skip
BUILD = Family(
    "topology_operator_build_info", "gauge",
    "Always 1; the labels tell the version of the operator and of the Python that runs it.",
    {"version": None, "python_version": None},
)  # fmt: skip
LEADER = Family(
    "leader_election_master_status", "gauge",
    "1 while this process holds the lease of that name and acts, or acts without an election; 0 while it stands by.",
    {"name": None},
)  # fmt: skip

OF_TRANSITION: Final = (PHASE, CHECKS, PROGRESS, STUCK, STARTED_AT, AVAILABLE)
OF_CLUSTER: Final = (NODES, MACHINES, MEMBERS, INFO)
FAMILIES: Final = (
    *OF_TRANSITION, STARTED, COMPLETED, CANCELLED, REJECTED, DURATION,
    *OF_CLUSTER,
    ACTIVITY, CREDENTIAL, OPENINGS, RESTORED, REQUESTS, ETCD_REQUESTS,
    RECONCILES, ERRORS, TIME, ACTIVE, CONCURRENT,
    DEPTH, ADDS, RETRIES, QUEUED, WORKED, UNFINISHED, LONGEST,
    BUILD, LEADER,
)  # fmt: skip
"""Every metric but the `process_*` of the library, in the order in which they are documented."""
