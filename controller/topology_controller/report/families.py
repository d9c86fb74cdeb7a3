"""Every metric: how it is declared, which values its labels can have, and the gauges of a decision and its facts.

`FAMILIES` is what the table of docs/api.md is made of. Gauges are read at the scrape and follow from the last decision
alone. A number that is not known is not shown: an absent gauge says that it is not observed, which 0 would not.

The values of labels are closed sets, because each value is a series that Prometheus stores. What a cluster, a server or
a user can make up (an HTTP status of a proxy, the name of a node) never becomes a value; it counts as OTHER.
"""

from __future__ import annotations

import http
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

import prometheus_client as prometheus
from prometheus_client import metrics_core
from prometheus_client import registry as registries

from topology_api import shape
from topology_api.types import TopologyTransition
from topology_api.vocabulary import EXTERNAL, CheckName, CheckStatus, Phase, Reason, Stage, Topology

from ..checks import etcd, machines
from ..decide.state import Decision
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
    buckets: tuple[float, ...] = ()


ERROR: Final = "<error>"  # the code that client-go gives to a request without an answer
CONTROLLER: Final = "topology"  # the one controller and its one queue
CODES: Final = frozenset(str(status.value) for status in http.HTTPStatus) | {ERROR, OTHER}
ETCD_CODES: Final = frozenset({"200", "401", "403", "503", ERROR, OTHER})
SUCCESS: Final = "success"
FAILURE: Final = "error"
_TWO: Final = 2
TIMED: Final = (Phase.PENDING, Phase.ADMITTING, Phase.CONVERGING)
"""Phases whose length says something: in the others nothing is under way."""
_RESULTS = frozenset({SUCCESS, FAILURE})
_ROUTE = {"source": PAIRS | {OTHER}, "target": PAIRS | {OTHER}}
_CONTROLLER = {"controller": frozenset({CONTROLLER})}
_QUEUE = {"name": frozenset({CONTROLLER})}
_PHASE_BUCKETS = (5, 30, 120, 300, 900, 1800, 3600, 14400)
_RECONCILE_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
_QUEUE_BUCKETS = (0.001, 0.01, 0.1, 1.0, 10.0)

_TRANSITION = (
    Family("topology_transition_phase", "gauge", {"phase": frozenset(Phase)},
           "1 for the phase in which the transition is, 0 for the others; all 0 while this process does not lead or "
           "cannot read Infrastructure."),
    Family("topology_transition_check_status", "gauge",
           {"check": frozenset(CheckName), "stage": frozenset(Stage), "status": frozenset(CheckStatus)},
           "1 for the status that a check of the current stage has, 0 for the others."),
    Family("topology_transition_progress_ratio", "gauge", {"stage": frozenset(Stage)},
           "Share of the checks of the current stage that are met, 0 to 1."),
    Family("topology_transition_stuck", "gauge", {},
           "1 while a transition is stuck, past its deadline and without progress for ten minutes, otherwise 0."),
    Family("topology_transition_started_timestamp_seconds", "gauge", {},
           "Unix time, in seconds, at which the topology was changed by the transition that converges; 0 when none "
           "does."),
    Family("topology_transition_available", "gauge", {},
           "1 while a transition that leads away from here is possible, 0 while preflight checks keep each of them "
           "from it."),
)  # fmt: skip
_CLUSTER = (
    Family("topology_control_plane_nodes", "gauge",
           {"state": frozenset({"present", "ready", "schedulable", "eligible"})},
           "Control-plane nodes: how many are present, ready, schedulable (not cordoned, no taint NoSchedule or "
           "NoExecute), and eligible (pass everything that check ControlPlaneNodes asks of a node)."),
    Family("topology_control_plane_machines", "gauge",
           {"state": frozenset({"present", "running", "leaving", "without_node", "missing"})},
           "Machines of the control plane where they are in use: how many are present, running, leaving (it or its "
           "host is on its way out), without_node, and how many control-plane nodes no Machine has the address of "
           "(missing)."),
    Family("topology_etcd_members", "gauge", {"role": frozenset({"voter", "learner"})},
           "Members of etcd: voters as the etcd operator publishes them, learners as etcd itself says."),
    Family("topology_etcd_two_voters_seconds_total", "counter", {},
           "Seconds for which etcd had exactly two voters while a request was open or the cluster converged, as this "
           "process saw while it led."),
    Family("topology_info", "gauge",
           {"desired": TOPOLOGIES | {"", OTHER}, "control_plane": CONTROL_PLANES | {"", OTHER},
            "infrastructure": INFRASTRUCTURES | {"", OTHER}, "shape": frozenset(shape.Shape) | {""}},
           "Always 1; the labels tell the topology of the cluster, the one that is wanted (empty: none), and the "
           "shape (empty: not known)."),
)  # fmt: skip
_COUNTED = (
    Family("topology_transition_started_total", "counter", _ROUTE,
           "Transitions whose topology was changed."),
    Family("topology_transition_completed_total", "counter", _ROUTE,
           "Transitions that converged."),
    Family("topology_transition_cancelled_total", "counter", _ROUTE,
           "Requests cancelled before the topology changed; target is other for a request that no definition leads "
           "to."),
    Family("topology_transition_rejected_total", "counter",
           {"source": PAIRS | {OTHER}, "target": TOPOLOGIES | {OTHER}},
           "Requests that no definition leads to from where the cluster is; target is the topology that was "
           "requested."),
    Family("topology_transition_phase_duration_seconds", "histogram", {"phase": frozenset(TIMED)},
           "How long phases lasted in which something is under way, in seconds, observed when they end.",
           _PHASE_BUCKETS),
)  # fmt: skip
_PROCESS = (
    Family("topology_watch_last_activity_timestamp_seconds", "gauge", {"resource": None},
           "Unix time, in seconds, of the last sign of life (list, event or bookmark) of each open watch; 0 before "
           "the first."),
    Family("topology_credential_expiry_timestamp_seconds", "gauge", {"kubeconfig": frozenset({TARGET, LEASE})},
           "Unix time, in seconds, at which the token in a kubeconfig ends: of the cluster that is acted on (target), "
           "or of the cluster of the lease where that is another one."),
    Family("topology_watch_requests_total", "counter", {"result": _RESULTS},
           "Watches that were asked for, by whether they were opened; each lives for about an hour when all is well."),
    Family("topology_store_restored_total", "counter", {},
           "How often the API server's store was seen to be put back to an earlier state; everything is read anew "
           "then."),
    Family("rest_client_requests_total", "counter",
           {"code": CODES, "method": frozenset(transport.METHODS.values()), "host": None},
           "Requests to the API server by HTTP status, method and host; <error> when no answer came."),
    Family("topology_etcd_requests_total", "counter", {"code": ETCD_CODES},
           "Requests to members of etcd by HTTP status; <error> when no answer came in time."),
    Family("controller_runtime_reconcile_total", "counter", {**_CONTROLLER, "result": _RESULTS},
           "Reconciliations that ended, by result; one that failed is tried again."),
    Family("controller_runtime_reconcile_errors_total", "counter", _CONTROLLER,
           "Reconciliations that failed."),
    Family("controller_runtime_reconcile_time_seconds", "histogram", _CONTROLLER,
           "How long reconciliations took, in seconds, live reads and writes included.", _RECONCILE_BUCKETS),
    Family("controller_runtime_active_workers", "gauge", _CONTROLLER,
           "Workers that reconcile at this moment: 0 or 1."),
    Family("controller_runtime_max_concurrent_reconciles", "gauge", _CONTROLLER,
           "Workers that there can be: always 1, because there is one cluster to reconcile."),
    Family("workqueue_depth", "gauge", _QUEUE,
           "Deliveries that wait for the worker: 0 or 1."),
    Family("workqueue_adds_total", "counter", _QUEUE,
           "Additions to the queue; what waits already is not added again."),
    Family("workqueue_retries_total", "counter", _QUEUE,
           "Deliveries that failed and are to be repeated."),
    Family("workqueue_queue_duration_seconds", "histogram", _QUEUE,
           "How long deliveries waited for the worker, in seconds.", _QUEUE_BUCKETS),
    Family("workqueue_work_duration_seconds", "histogram", _QUEUE,
           "How long the worker was busy with a delivery, in seconds.", _QUEUE_BUCKETS),
    Family("workqueue_unfinished_work_seconds", "gauge", _QUEUE,
           "Seconds since work began that has not ended, 0 when there is none; with one worker the same as "
           "workqueue_longest_running_processor_seconds."),
    Family("workqueue_longest_running_processor_seconds", "gauge", _QUEUE,
           "Seconds for which the worker has been busy with one delivery, 0 while it waits for one."),
    Family("topology_operator_build_info", "gauge", {"version": None, "python_version": None},
           "Always 1; the labels tell the version of the operator and of the Python that runs it."),
    Family("leader_election_master_status", "gauge", {"name": None},
           "1 while this process holds the lease of that name and acts, or acts without an election; 0 while it "
           "stands by."),
)  # fmt: skip
FAMILIES: Final = (*_TRANSITION, *_COUNTED, *_CLUSTER, *_PROCESS)
"""Every metric but the `process_*` of the library, in the order in which they are documented."""
_SCRAPED = (*_TRANSITION, *_CLUSTER, *_COUNTED, *_PROCESS)


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
        for name, type_, labels, text, _ in _SCRAPED:
            if type_ != "gauge":
                yield from (self.counters.get(name) or self.histograms[name]).collect()
                continue
            gauge = metrics_core.GaugeMetricFamily(name, text, labels=tuple(labels))
            for values, number in series.get(name, ()):
                gauge.add_metric(values, number)
            yield gauge


_STAGE = {Phase.PENDING: Stage.PREFLIGHT, Phase.ADMITTING: Stage.PREFLIGHT, Phase.CONVERGING: Stage.CONVERGENCE}
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
    stage = _STAGE.get(decision.phase)
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
    yield ("running",), sum(machine.running for machine in present)
    yield ("leaving",), len({claim.machine.name for claim in claims if claim.leaving})
    yield ("without_node",), sum(claim.node is None for claim in claims)
    yield ("missing",), len(machines.missing(known))


def _members(known: facts.Facts) -> Iterator[Series]:
    published, survey = etcd.members(known), known.etcd_members
    voices = () if isinstance(survey, facts.Unobserved) else survey.voices
    lists = {frozenset(voice.members): voice.members for voice in voices if voice.confirmed}
    # The list that came through the quorum; two that differ say nothing.
    listed = next(iter(lists.values())) if len(lists) == 1 else None
    if not isinstance(published, facts.Unobserved):
        yield ("voter",), len(published)
    elif listed is not None:
        yield ("voter",), sum(not member.learner for member in listed)
    if listed is not None:
        yield ("learner",), sum(member.learner for member in listed)


def two_voters(decision: Decision, known: facts.Facts) -> bool | None:
    """Has etcd exactly two voters while a request is open or the cluster converges? None while that is not known."""
    if not decision.watch or decision.phase not in TIMED or known.disturbed:
        return None
    voters = dict(_members(known)).get(("voter",))
    return None if voters is None else voters == _TWO


def _info(known: facts.Facts) -> Iterator[Series]:
    here = known.infrastructure
    if isinstance(here, facts.Unobserved):
        return
    control_plane, value = bounded(here.control_plane, CONTROL_PLANES), bounded(here.infrastructure, INFRASTRUCTURES)
    fitting = shape.classify(facts.shape_vector(known, here))
    yield (bounded(here.desired, TOPOLOGIES), control_plane, value, "" if fitting is None else fitting.value), 1.0
