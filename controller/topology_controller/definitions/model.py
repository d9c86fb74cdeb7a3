"""What a transition definition says, as types.

Everything is strict: an unknown key, check or parameter is an error that `load` turns into file, line and what is
allowed. `registry` says what a check takes and in which stage it may be asked; `checks` answers it.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from topology_api.types import TopologyPair
from topology_api.vocabulary import CheckName, Stage, Topology

from . import read, registry

Infrastructure = Literal["SingleReplica", "HighlyAvailable"]

_COUNTED = (CheckName.CONTROL_PLANE_NODES, CheckName.ETCD_VOTING_MEMBERS)
"""What a control plane that becomes HighlyAvailable must be asked for, and no less than a quorum."""
_PAIR = 2  # nodes that infrastructure pods are spread over once infrastructure is HighlyAvailable
_QUORUM = 3
"""Voters that survive the loss of one; the etcd operator scales no further without a healthy majority of them."""
MOST_ASKED_FOR = 7


class CheckSpec(read.Strict):
    """One question of a definition: the check and its parameters."""

    check: CheckName
    at_least: Annotated[int, Field(ge=1, le=MOST_ASKED_FOR)] | None = None
    """How many are wanted: control-plane nodes, etcd voters, or nodes that can carry infrastructure pods."""
    min_cpus: Annotated[float, Field(gt=0, le=1024)] | None = None
    """Smallest `status.capacity.cpu` of a control-plane node, in CPUs; without it 4."""
    min_memory_gib: Annotated[float, Field(gt=0, le=65536)] | None = None
    """Smallest `status.capacity.memory` of a control-plane node, in GiB; without it 14.5."""
    wanted: bool | None = None
    """The value of `Scheduler.spec.mastersSchedulable` that the target shape needs."""

    @model_validator(mode="after")
    def _parameters_fit(self) -> Self:
        traits = registry.TRAITS[self.check]
        if not traits.stages:
            raise ValueError(f"check {self.check} is part of every admission and cannot be asked by a definition")
        present = {to_camel(name) for name in self.model_fields_set if name != "check"}
        if extra := present - traits.parameters:
            takes = ", ".join(sorted(traits.parameters)) or "no parameters"
            raise ValueError(f"check {self.check} does not take {', '.join(sorted(extra))}; it takes {takes}")
        if missing := traits.required - present:
            raise ValueError(f"check {self.check} needs {', '.join(sorted(missing))}")
        return self


class Source(read.Strict):
    """Where a transition starts."""

    control_plane: Topology
    infrastructure: Annotated[tuple[Infrastructure, ...], Field(min_length=1)]

    def matches(self, pair: TopologyPair) -> bool:
        """Does the transition start at this pair?"""
        return pair.control_plane == self.control_plane and pair.infrastructure in self.infrastructure


class Target(read.Strict):
    """Where a transition leads."""

    control_plane: Topology
    infrastructure: Infrastructure

    @property
    def pair(self) -> TopologyPair:
        """The target as the API writes it."""
        return TopologyPair(control_plane=self.control_plane, infrastructure=self.infrastructure)


class Workers(read.Strict):
    """How many dedicated workers the cluster may have; it tells definitions with the same source apart."""

    min: Annotated[int, Field(ge=0)] = 0
    max: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> Self:
        if self.max is not None and self.max < self.min:
            raise ValueError(f"workers.max ({self.max}) is smaller than workers.min ({self.min})")
        return self

    def fits(self, count: int) -> bool:
        """Is this number of dedicated workers within the range?"""
        return self.min <= count and (self.max is None or count <= self.max)

    def overlaps(self, other: Workers) -> bool:
        """Is there a number of workers that fits both?"""
        low = max(self.min, other.min)
        return all(bound.max is None or low <= bound.max for bound in (self, other))

    def __str__(self) -> str:
        if self.max is None:
            return f"at least {self.min}"
        return f"exactly {self.min}" if self.min == self.max else f"{self.min} to {self.max}"


class Convergence(read.Strict):
    """What must be true after the change before the transition is called completed."""

    settle_seconds: Annotated[int, Field(ge=0, le=3600)] = 60
    deadline_minutes: Annotated[int, Field(ge=1, le=1440)] = 60
    """After this long, and the minutes for machines, the transition is overdue; nothing is rolled back."""
    machine_minutes: dict[str, Annotated[int, Field(ge=0, le=240)]] = Field(default_factory=dict)
    """By platform: minutes that each machine of the largest pool adds, since one after the other restarts."""
    stuck_minutes: Annotated[int, Field(ge=0, le=1440)] = 10
    """Overdue, and without progress for this long, it is stuck."""
    typical_minutes: tuple[Annotated[int, Field(ge=1, le=1440)], Annotated[int, Field(ge=1, le=1440)]] | None = None
    """How long it usually takes, at least and at most: shown, and nothing is decided by it."""
    checks: Annotated[tuple[CheckSpec, ...], Field(min_length=1)]
    operands: bool = False
    """Does it also wait for every operand whose operator follows a topology that changes? `load` adds these checks."""

    @property
    def asked(self) -> frozenset[CheckName]:
        """The names of its checks."""
        return frozenset([spec.check for spec in self.checks])

    @model_validator(mode="after")
    def _typical_is_a_range(self) -> Self:
        if self.typical_minutes is not None and self.typical_minutes[0] > self.typical_minutes[1]:
            least, most = self.typical_minutes
            raise ValueError(f"typicalMinutes begins with the larger number ({least}, {most})")
        return self


class Definition(read.Strict):
    """One transition: an edge with its proofs."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=64)]
    summary: Annotated[str, Field(min_length=1, max_length=256)]
    source: Source
    workers: Workers = Workers()
    target: Target
    platforms: Annotated[tuple[str, ...], Field(min_length=1)]
    preflight: Annotated[tuple[CheckSpec, ...], Field(min_length=1)]
    convergence: Convergence

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.source.matches(self.target.pair):
            raise ValueError(f"the transition starts where it leads to ({self.target.pair})")
        for stage, specs in self.stages.items():
            checks = [spec.check for spec in specs]
            for check in checks:
                if checks.count(check) > 1:
                    raise ValueError(f"check {check} is asked twice in {stage.value.lower()}")
                if stage not in registry.TRAITS[check].stages:
                    raise ValueError(f"check {check} cannot be asked in {stage.value.lower()}")
        minutes = self.convergence.machine_minutes
        if minutes and (missing := [platform for platform in self.platforms if platform not in minutes]):
            raise ValueError(f"convergence.machineMinutes must also name platform {', '.join(missing)}")
        return self

    @model_validator(mode="after")
    def _asks_for_proof(self) -> Self:
        """A definition may not leave out what keeps a cluster from a deadlock."""
        asked = {spec.check: spec for spec in self.preflight}
        wanted: list[CheckName] = [CheckName.NO_UPGRADE_IN_PROGRESS, CheckName.CLUSTER_OPERATORS_STABLE]
        rolls_out = CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT in self.convergence.asked
        if rolls_out or (self.convergence.operands and self.changes_control_plane):
            wanted.append(CheckName.MACHINE_CONFIG_POOLS_READY)
        if self.workers != Workers():
            wanted.append(CheckName.DEDICATED_WORKERS)
        if self.target.control_plane is Topology.HIGHLY_AVAILABLE and self.changes_control_plane:
            wanted += [CheckName.ETCD_HEALTHY, CheckName.ETCD_OPERATOR_ALIVE, CheckName.ETCD_SCALING_SAFE, *_COUNTED]
            for name in (*_COUNTED, CheckName.ETCD_MEMBERS_DIRECT):
                if name in asked and (asked[name].at_least or 0) < _QUORUM:
                    wants = f"atLeast {_QUORUM} before a control plane becomes HighlyAvailable"
                    raise ValueError(f"check {name} must ask for {wants}")
        if missing := [name for name in wanted if name not in asked]:
            raise ValueError(f"preflight must ask {', '.join(missing)} for this transition")
        return self

    @model_validator(mode="after")
    def _asks_for_room(self) -> Self:
        """Infrastructure that becomes HighlyAvailable needs nodes for it, or its operators never finish."""
        if self.target.infrastructure != "HighlyAvailable" or "SingleReplica" not in self.source.infrastructure:
            return self
        asked = {spec.check: spec for spec in self.preflight}
        eligible, schedulable = asked.get(CheckName.ELIGIBLE_WORKERS), asked.get(CheckName.MASTERS_SCHEDULABLE)
        on_workers = eligible is not None and (eligible.at_least or 0) >= _PAIR
        on_masters = self.workers.max == 0 and schedulable is not None and schedulable.wanted is True
        if not on_workers and not (on_masters and CheckName.CONTROL_PLANE_NODES in asked):
            raise ValueError(
                f"preflight must ask {CheckName.ELIGIBLE_WORKERS} with atLeast {_PAIR} before infrastructure becomes "
                f"HighlyAvailable, or, with workers: {{max: 0}}, {CheckName.CONTROL_PLANE_NODES} and "
                f"{CheckName.MASTERS_SCHEDULABLE} with wanted: true"
            )
        return self

    def asking_members(self) -> Self:
        """The same definition, which also asks the members of etcd themselves wherever it asks for their number."""
        checks = [spec.check for spec in self.preflight]
        if CheckName.ETCD_MEMBERS_DIRECT in checks or CheckName.ETCD_VOTING_MEMBERS not in checks:
            return self
        asked, place = list(self.preflight), checks.index(CheckName.ETCD_VOTING_MEMBERS)
        asked.insert(place + 1, asked[place].model_copy(update={"check": CheckName.ETCD_MEMBERS_DIRECT}))
        return self.model_copy(update={"preflight": tuple(asked)})

    @property
    def changes_control_plane(self) -> bool:
        """Does it lead to another topology of the control plane, and not only of the infrastructure?"""
        return self.source.control_plane != self.target.control_plane

    @property
    def stages(self) -> dict[Stage, tuple[CheckSpec, ...]]:
        """The questions by stage."""
        return {Stage.PREFLIGHT: self.preflight, Stage.CONVERGENCE: self.convergence.checks}

    def conflicts_with(self, other: Definition) -> bool:
        """Could both match the same cluster with the same request? Such a pair is refused when it is loaded."""
        return (
            self.target.control_plane is other.target.control_plane
            and self.source.control_plane is other.source.control_plane
            and bool(set(self.source.infrastructure) & set(other.source.infrastructure))
            and bool(set(self.platforms) & set(other.platforms))
            and self.workers.overlaps(other.workers)
        )
