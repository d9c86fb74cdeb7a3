"""What Infrastructure and ClusterOperator `topology` become, and how our own record in both is read.

No version may misread what another one wrote: a phase that only a newer version has is a fact of its own (`Newer`),
answers that only a newer version gives are left out, and everything else must be as the schema promises.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pydantic

from topology_api import vocabulary
from topology_api.types import RecordCopy, TopologyTransition

from . import fields

if TYPE_CHECKING:
    from datetime import datetime

WHAT = "infrastructures.config.openshift.io/cluster"
_PHASES = frozenset(vocabulary.Phase)
# What values of our enumerations look like; anything else in their place is no value of a newer version.
_WORD = re.compile(r"[A-Z][A-Za-z]{0,63}")
# What is left out where it is spoilt: what is under way needs none of them.
_ASIDE = frozenset({"lastTransition", "problem", "deadlineTime"})
# Of a copy also what it is known without that something is under way: a check that needs one of them is Unknown.
_OF_COPY = _ASIDE | {
    *("checks", "progress", "accepted", "completedTime"),
    *("attempt", "baseline", "requestedTime", "phaseTransitionTime", "admittedTime"),
}
# What names of definitions look like; a record before a definition was found has none.
_NAME = re.compile(r"[a-z0-9-]{0,64}")


@dataclass(frozen=True, slots=True)
class Newer(fields.Unobserved):
    """A record in a phase that this version does not know: a newer version wrote it. `target`: of the control plane."""

    phase: str = ""
    name: str | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class LoadBalancer:
    """What Infrastructure says of what stands before the control plane. Addresses are in their shortest form."""

    type: str | None = None
    addresses: tuple[str, ...] = ()  # virtual addresses that the cluster keeps itself
    api_host: str | None = None
    api_internal_host: str | None = None


@dataclass(frozen=True, slots=True)
class Backends:
    """Annotation LOAD_BALANCER_BACKENDS_ANNOTATION: where the load balancer leads, as an administrator says."""

    LONGEST: ClassVar[int] = 4096  # bytes of the annotation; five addresses have less than a hundred

    addresses: tuple[str, ...] = ()  # in their shortest form and in their order, each once
    wrong: tuple[tuple[int, str], ...] = ()  # entries that are no address, with their position, counted from 1
    repeated: tuple[str, ...] = ()
    too_long: bool = False


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """Infrastructure `cluster`: the request, the topology, our record."""

    uid: str
    resource_version: str
    generation: int
    desired: str | None
    native_desired: str | None
    control_plane: str | None
    infrastructure: str | None
    platform: str | None
    image_based_install: bool
    record: TopologyTransition | fields.Unobserved | None
    """None when there is none; Unobserved when what is there is not what the schema promises, or `Newer`."""
    raw_record: dict[str, Any] | None = dataclasses.field(repr=False)
    """The record as it stands on the server: a merge patch is made against it."""
    topology_writer: str | None
    cluster_name: str | None = None
    load_balancer: LoadBalancer | fields.Unobserved = LoadBalancer()


@dataclass(frozen=True, slots=True)
class OwnOperator:
    """ClusterOperator `topology`: our last report with the copy of the record, and what administrators set on it."""

    resource_version: str
    paused: bool
    status: dict[str, Any] = dataclasses.field(repr=False)
    copy: RecordCopy | None = None
    backup_time: datetime | None = None  # last backup of etcd according to an administrator; None when it is no time
    backends: Backends | None = None
    router_drain_accepted: bool = False
    elsewhere: bool = False


def record(raw: Any, aside: frozenset[str] = _ASIDE) -> TopologyTransition | fields.Unobserved | None:
    """The record; None when there is none, Unobserved when what is not `aside` is not what the schema promises."""
    if not raw:
        return None
    if (newer_record := _newer(raw)) is not None:
        return newer_record
    try:
        return TopologyTransition.from_api(raw)
    except pydantic.ValidationError as error:
        wrong = error.errors()
    # Checks whose stage or status only a newer version has: the leader asks them anew.
    enums = [(each["loc"], each["input"]) for each in wrong if (each["type"], type(each["input"])) == ("enum", str)]
    newer = {where[1] for where, word in enums if where[0] == "checks" and _WORD.fullmatch(word)}
    first = wrong[0]["loc"]
    if newer:
        kept = [check for position, check in enumerate(raw["checks"]) if position not in newer]
        return record({**raw, "checks": kept}, aside)
    if aside.intersection(first[:1]):
        return record({name: value for name, value in raw.items() if name != first[0]}, aside)
    return fields.Unobserved(WHAT, ".".join(map(str, ("status.topologyTransition", *first))))


def copy(extension: object) -> RecordCopy | None:
    """The copy in status.extension. No schema guards it: what a record could not be rebuilt from is no copy.

    What is spoilt is left out: that a transition is under way is not forgotten because of a time that makes no sense.
    """
    if not isinstance(extension, dict):
        return None
    # Of a newer version: everything is proven again.
    if _newer(extension) is not None:
        extension = {**extension, "phase": vocabulary.Phase.CONVERGING.value}
    transition = record(extension, _OF_COPY)
    return RecordCopy.of(transition) if isinstance(transition, TopologyTransition) and _plain(transition) else None


def _plain(transition: TopologyTransition) -> bool:
    """Are the names in it such as definitions and topologies have? Messages and commands are made from them."""
    pairs = [pair for pair in (transition.source, transition.target) if pair is not None]
    topologies = [word for pair in pairs for word in (pair.control_plane, pair.infrastructure)]
    return _NAME.fullmatch(transition.name or "") is not None and all(map(_WORD.fullmatch, topologies))


def _newer(raw: object) -> Newer | None:
    """A record in a phase that may be one of a newer version, with as much of the rest as can be read."""
    # Every version writes when the phase was entered.
    if not isinstance(raw, dict) or not isinstance(raw.get("phaseTransitionTime"), str):
        return None
    phase, target = raw.get("phase"), raw.get("target")
    if not isinstance(phase, str) or phase in _PHASES or not _WORD.fullmatch(phase):
        return None
    names = (raw.get("name"), target.get("controlPlane") if isinstance(target, dict) else None)
    name, control_plane = (value if isinstance(value, str) and len(value) <= 64 else None for value in names)
    why = f"status.topologyTransition.phase is {phase}, which this version does not know"
    return Newer(WHAT, why, phase=phase, name=name, target=control_plane)
