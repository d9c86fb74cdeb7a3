"""The part of Infrastructure `cluster` that this operator adds, as types.

`TopologyTransition` is `status.topologyTransition`: the record of a transition. It is the operator's memory: times,
bounds and durations are read from it, so they survive a restart, and a copy of its head (`RecordCopy`) travels in
ClusterOperator `topology` in case a writer that does not know our field drops it. The CRD's schema is generated from
these classes (`crd`), so a field exists here or nowhere. Field descriptions are what `kubectl explain` prints.

Times are RFC 3339 in UTC with whole seconds, as metav1.Time has them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from .vocabulary import ACCEPTED_REASON_LIMIT, CheckStatus, Phase, ProblemReason, Stage

NATIVE_ATTEMPT = "native-"
"""How the attempt of a transition begins that the native controller has begun; the time of that follows."""
MESSAGE_LIMIT = 4096
"""Longest message that the schema accepts; longer ones are cut by `fit`."""


def fit(message: str, limit: int = MESSAGE_LIMIT) -> str:
    """Cut a message to what the API accepts, saying that it was cut."""
    mark = " ... (cut)"
    return message if len(message) <= limit else message[: limit - len(mark)] + mark


def whole_seconds(moment: datetime) -> datetime:
    """Drop the fraction that metav1.Time cannot carry, so that a value reads back as it was written."""
    return moment.astimezone(UTC).replace(microsecond=0)


def stamp(moment: datetime) -> str:
    """Write a time as RFC 3339 in UTC with whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _to_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None or not 1970 <= moment.year < 9000 or not 1970 <= moment.astimezone(UTC).year < 9000:
        raise ValueError("bounds are computed from it: it needs a zone, and a year from 1970 to 8999")
    return moment.astimezone(UTC).replace(microsecond=0)


Time = Annotated[datetime, AfterValidator(_to_utc), PlainSerializer(stamp, return_type=str)]


class ApiModel(BaseModel):
    """Frozen, camelCase outside, snake_case inside; unknown fields are kept out, not refused.

    A newer operator may have written fields that this one does not know. They are ignored when read, and the next
    write of the record drops them: the record belongs to the leader.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, defer_build=True)

    def to_api(self) -> dict[str, object]:
        """The JSON object that is sent to the API server: camelCase, without what was never set."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class TopologyPair(ApiModel):
    """Control plane and infrastructure topology together: what a transition leads from and to."""

    control_plane: Annotated[str, Field(max_length=64)]
    """Value of status.controlPlaneTopology."""
    infrastructure: Annotated[str, Field(max_length=64)]
    """Value of status.infrastructureTopology."""

    def __str__(self) -> str:
        return f"{self.control_plane}/{self.infrastructure}"


class Check(ApiModel):
    """One check as it was last answered."""

    stage: Stage
    """When the check is asked: Preflight before the topology changes, Convergence after."""
    name: Annotated[str, Field(min_length=1, max_length=64)]
    """Name of the check."""
    status: CheckStatus
    """Met, Unmet or Unknown; Unknown never counts as Met."""
    message: Annotated[str, Field(max_length=MESSAGE_LIMIT)]
    """What is wanted, what was found, and which object to look at."""
    last_transition_time: Time
    """When status last changed."""


class Progress(ApiModel):
    """How many checks of the current stage are Met."""

    met: Annotated[int, Field(ge=0)]
    """Checks of the current stage that are Met."""
    total: Annotated[int, Field(ge=0)]
    """Checks of the current stage."""
    summary: Annotated[str, Field(max_length=16)] = ""
    """Both as one word, such as 3/8, because a printer column shows one field."""


class Problem(ApiModel):
    """Why a person should look at this transition. What a fleet or a health check goes by."""

    reason: ProblemReason
    """Stuck, Blocked, EvidenceUnreadable, TwoVoters, RedundancyLost, TopologyOverwritten, Paused or RequestLost."""
    message: Annotated[str, Field(max_length=MESSAGE_LIMIT)]
    """What is wrong, and what to do."""
    since: Time
    """When this reason began."""


class PoolBaseline(ApiModel):
    """A machine config pool at the change."""

    name: Annotated[str, Field(max_length=253)]
    """Name of the MachineConfigPool."""
    configuration: Annotated[str, Field(max_length=253)]
    """Rendered configuration that its nodes had (status.configuration.name)."""


class OperandBaseline(ApiModel):
    """An operand at the change: a workload with its replicas, or static pods with their revision."""

    name: Annotated[str, Field(max_length=512)]
    """Resource, namespace and name, such as deployments.apps/openshift-console/console."""
    generation: Annotated[int, Field(ge=0)] | None = None
    """metadata.generation of a workload."""
    replicas: Annotated[int, Field(ge=0)] | None = None
    """Replicas that a workload asked for."""
    ready: Annotated[int, Field(ge=0)] | None = None
    """Replicas of a workload that were ready."""
    revision: Annotated[int, Field(ge=0)] | None = None
    """Latest available revision of static pods."""
    missing: bool = False
    """The API server said that it does not exist."""


class OperatorBaseline(ApiModel):
    """A ClusterOperator at the change. All of them were Available, not Progressing and not Degraded."""

    name: Annotated[str, Field(max_length=253)]
    """Name of the ClusterOperator."""
    settled_time: Time | None = None
    """lastTransitionTime of its condition Progressing."""


class Baseline(ApiModel):
    """What the cluster looked like at the change; convergence is measured against it. Bounded to a few KiB."""

    version: Annotated[str, Field(max_length=64)] | None = None
    """Newest entry in the history of ClusterVersion version."""
    control_plane_observed: Annotated[str, Field(max_length=64)] | None = None
    """Control plane topology that the machine config controller worked with."""
    machine_config_pools: Annotated[tuple[PoolBaseline, ...], Field(max_length=16)] = ()
    """Rendered configuration of every machine config pool."""
    operands: Annotated[tuple[OperandBaseline, ...], Field(max_length=32)] = ()
    """Workloads and static pods that the definition asks about."""
    cluster_operators: Annotated[tuple[OperatorBaseline, ...], Field(max_length=32)] = ()
    """The operators that answer for these operands."""
    control_plane_nodes: Annotated[tuple[Annotated[str, Field(max_length=253)], ...], Field(max_length=16)] = ()
    """Control-plane nodes that carried a voting member of etcd."""


class Advisory(ApiModel):
    """Something that no operator will fix by itself."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    """Name of the advisory."""
    message: Annotated[str, Field(max_length=MESSAGE_LIMIT)]
    """What was found and why it matters."""
    command: Annotated[str, Field(max_length=MESSAGE_LIMIT)]
    """The command that an administrator would run."""


ACCEPTED_MESSAGE_LIMIT = 512
"""Longest message that is kept of a check when it is accepted."""


class Accepted(ApiModel):
    """A convergence check that an administrator accepted as it was, when the transition was past its deadline."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    """Name of the check."""
    message: Annotated[str, Field(max_length=ACCEPTED_MESSAGE_LIMIT)]
    """What the check found when it was accepted."""
    reason: Annotated[str, Field(max_length=ACCEPTED_REASON_LIMIT)] = ""
    """Why it was accepted, in the words of the administrator."""
    accepted_time: Time
    """When the operator took it up."""


class LastTransition(ApiModel):
    """The last transition that completed here. It survives the removal of its request."""

    name: Annotated[str, Field(max_length=64)] | None = None
    """Transition definition that was used."""
    source: TopologyPair | None = None
    """Topology that it started from."""
    target: TopologyPair | None = None
    """Topology that it led to."""
    requested_time: Time | None = None
    """When the operator first saw its request."""
    admitted_time: Time | None = None
    """When the topology changed."""
    completed_time: Time | None = None
    """When the cluster had converged."""
    accepted: Annotated[tuple[Accepted, ...], Field(max_length=16)] = ()
    """Checks that it went without."""


def _unmet(status: object) -> object:
    return CheckStatus.UNMET if status is None else status


class Blocker(ApiModel):
    """A preflight check that keeps a transition from being available."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    """Name of the check."""
    # Older versions left Unmet out. It is no default of the model, or `to_api` would leave it out, too.
    status: Annotated[CheckStatus, BeforeValidator(_unmet)] = Field(default=None, validate_default=True)
    """Unmet, or Unknown when the check could not be answered."""
    message: Annotated[str, Field(max_length=MESSAGE_LIMIT)]
    """What the check found when it was last evaluated."""


class AvailableTransition(ApiModel):
    """A transition that leads away from the present topology, and whether it could be asked for now."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    """Name of the transition definition."""
    target: TopologyPair
    """Where it leads."""
    available: bool
    """True when every preflight check was Met at evaluatedTime."""
    blockers: Annotated[tuple[Blocker, ...], Field(max_length=32)] = ()
    """The checks that were not Met."""
    evaluated_time: Time
    """When this was last evaluated, as of the last write: an evaluation with the same verdict is not written."""


class TopologyTransition(ApiModel):
    """Progress of the transition towards spec.desiredTopology. Written only by the cluster topology operator."""

    phase: Phase
    """Idle: nothing is requested, or the cluster has the desired topology. Unsupported: no transition leads from here
    to the request. Pending: some preflight check is not met. Admitting: all are met; once ClusterVersion blocks
    upgrades, everything is read again. Converging: the topology has changed, and the cluster follows; there is no way
    back. Completed: the cluster has converged."""
    message: Annotated[str, Field(max_length=MESSAGE_LIMIT)] | None = None
    """What is happening, what is waited for, and the next action if there is one; as old as checks."""
    name: Annotated[str, Field(max_length=64)] | None = None
    """Transition definition in use."""
    source: TopologyPair | None = None
    """Topology that the transition starts from."""
    target: TopologyPair | None = None
    """Topology that the transition leads to."""
    attempt: Annotated[str, Field(max_length=64)] | None = None
    """A new value for every admission; what a write belongs to. It begins with native- where the native controller made
    the change, and its feature gate was switched off before the end."""
    requested_time: Time | None = None
    """When the operator first saw this request."""
    phase_transition_time: Time | None = None
    """When phase last changed."""
    admitted_time: Time | None = None
    """When the topology changed."""
    completed_time: Time | None = None
    """When the cluster had converged."""
    deadline_time: Time | None = None
    """When a transition that has not converged is called overdue; set when the topology changes."""
    observed_generation: int | None = None
    """Generation of the spec that this status speaks of."""
    problem: Problem | None = None
    """Present only while a person should look."""
    checks: Annotated[tuple[Check, ...], Field(max_length=64)] = ()
    """Every check of the transition with its answer. Written at most once a minute while the phase stays; the newest
    answers are in status.extension of ClusterOperator topology."""
    progress: Progress | None = None
    """Checks of the current stage that are Met, out of all of them; as old as checks."""
    baseline: Baseline | None = None
    """What the cluster looked like when the topology changed."""
    accepted: Annotated[tuple[Accepted, ...], Field(max_length=16)] = ()
    """Checks that the attempt goes, or went, without, because that was accepted. Final; they stay until the next
    admission begins a new attempt."""
    advisories: Annotated[tuple[Advisory, ...], Field(max_length=32)] = ()
    """What an administrator has to do, because no operator will."""
    available: Annotated[tuple[AvailableTransition, ...], Field(max_length=16)] = ()
    """Transitions that lead away from the present topology."""
    last_transition: LastTransition | None = None
    """The last transition that completed; it stays when its request is removed, and while another one is open."""

    @classmethod
    def from_api(cls, value: object) -> Self:
        """Read `status.topologyTransition`. Raises pydantic.ValidationError where it is not as the schema has it."""
        return cls.model_validate(value)

    @property
    def by_native(self) -> bool:
        """Has the native controller made the change of this transition, and not this operator?"""
        return (self.attempt or "").startswith(NATIVE_ATTEMPT)


class RecordCopy(ApiModel):
    """The record as it is now, in `status.extension` of ClusterOperator `topology`.

    It is there in case the record is lost, and because Infrastructure, which dozens of operators watch, is not written
    for every answer that changes.
    """

    attempt: str | None = None
    phase: Phase
    name: str | None = None
    source: TopologyPair | None = None
    target: TopologyPair | None = None
    requested_time: Time | None = None
    phase_transition_time: Time | None = None
    admitted_time: Time | None = None
    completed_time: Time | None = None
    deadline_time: Time | None = None
    problem: Problem | None = None
    checks: Annotated[tuple[Check, ...], Field(max_length=64)] = ()
    """The newest answers: the record has them at most once a minute. Shown, and never decided from."""
    progress: Progress | None = None
    baseline: Baseline | None = None
    accepted: Annotated[tuple[Accepted, ...], Field(max_length=16)] = ()

    @classmethod
    def of(cls, record: TopologyTransition) -> RecordCopy:
        """Copy the head of a record."""
        # What a record holds has been judged, and nothing can change it.
        return cls.model_construct(**{name: getattr(record, name) for name in cls.model_fields})
