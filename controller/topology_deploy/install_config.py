"""What an install-config leads to: the topologies a cluster is installed with, and whether masters carry workloads.

The installer computes them once, before there is a cluster, from nothing but the number of machines; nothing corrects
them afterwards. Two rules are known: the one that is `released`, and one that is `proposed` because the released one
calls the infrastructure of three masters and one worker SingleReplica. Three steps, each a pure function: `machines`
puts the installer's defaults in, which are a trap (no `compute` means three workers, not none), and refuses what the
installer refuses; `outcome` applies one rule; `differences` says where the two disagree. `render` reads the file.

Source of the rules: openshift/installer, pkg/asset/manifests/topologies.go and scheduler.go (released since its pull
request 9579; proposed in 10077), pkg/types/defaults and pkg/types/validation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from topology_api.shape import Shape, Vector, classify
from topology_api.vocabulary import Topology
from topology_controller.definitions import read

_DEFAULT: Final = 3
_WORKER, _EDGE, _ARBITER = "worker", "edge", "arbiter"
_CONTROL_PLANES: Final = (1, 2, 3, 4, 5)
_MOST: Final = 2**63 - 1
_ON_MACHINES: Final = ("baremetal", "none")
_LONGEST_QUOTE: Final = 60


class Rule(StrEnum):
    """How the installer turns machines into topologies."""

    RELEASED = "released"
    """What installers do."""
    PROPOSED = "proposed"
    """What they would do with the correction that is under review."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A machine pool. `replicas` is what stands in the file, whatever it is; None when nothing does."""

    name: object
    replicas: object = None


@dataclass(frozen=True, slots=True)
class InstallConfig:
    """The part of an install-config that topologies follow from, as it was written.

    `control_plane`: controlPlane.replicas. `compute`: the pools, None when there is no such key. `arbiter`: the arbiter
    pool, None when there is none. `fencing`: how many controlPlane.fencing.credentials there are. `platform`: the one
    that is named, None when none is. `hosts`: does platform.baremetal list hosts?
    """

    control_plane: object = None
    compute: tuple[Pool, ...] | None = None
    arbiter: Pool | None = None
    fencing: int = 0
    platform: str | None = None
    hosts: bool = False


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Something that the installer would refuse: where, what was found there, and what would do."""

    field: read.Path
    actual: str
    wanted: str


class ContradictionError(ValueError):
    """An install-config that leads nowhere; `contradictions` has everything that is wrong with it."""

    def __init__(self, contradictions: tuple[Contradiction, ...]) -> None:
        lines = (f"{read.spell(item.field)}: found {item.actual}; wanted {item.wanted}" for item in contradictions)
        super().__init__("\n".join(lines))
        self.contradictions = contradictions


@dataclass(frozen=True, slots=True)
class Count:
    """How many machines one pool adds. `default` says why, when the file does not; it is empty when the file does."""

    field: read.Path
    pool: str
    replicas: int
    default: str = ""


@dataclass(frozen=True, slots=True)
class Machines:
    """How many machines of each kind the installer makes, and the pools they were counted from.

    `control_plane` is 1 to 5, the others are 0 or more. `fencing`: are there fencing credentials?
    """

    control_plane: int
    arbiters: int
    workers: int
    fencing: bool = False
    counts: tuple[Count, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule makes of machines: two fields of Infrastructure's status, one of Scheduler's spec, and the shape."""

    control_plane: Topology
    infrastructure: Topology
    masters_schedulable: bool
    shape: Shape


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that the two rules fill in differently, and what that means for the cluster."""

    field: str
    released: Topology
    proposed: Topology
    meaning: str


def machines(config: InstallConfig) -> Machines:
    """Count the machines as the installer does, defaults included.

    Raises ContradictionError with everything that the installer would refuse, of what concerns topologies.
    """
    reading = _Reading()
    control_plane = reading.count(("controlPlane",), "master", config.control_plane, _DEFAULT)
    workers = sum(count.replicas for count in _compute(config, reading))
    arbiters = 0
    if config.arbiter is not None:
        # Its default is 0, which the installer then refuses: who names the pool has to say how many.
        arbiters = reading.count((_ARBITER,), _ARBITER, config.arbiter.replicas, 0).replicas
    _check(config, control_plane.replicas, reading)
    if reading.wrong:
        raise ContradictionError(tuple(reading.wrong))
    return Machines(control_plane.replicas, arbiters, workers, config.fencing > 0, tuple(reading.counts))


def outcome(numbers: Machines, rule: Rule) -> Outcome:
    """What the installer writes for so many machines; every count that `machines` lets pass has an answer."""
    control_plane, infrastructure = (_released if rule is Rule.RELEASED else _proposed)(numbers)
    schedulable = numbers.workers == 0
    vector = Vector(
        control_plane=control_plane,
        infrastructure=infrastructure,
        masters_schedulable=schedulable,
        control_plane_nodes=numbers.control_plane,
        arbiter_nodes=numbers.arbiters,
        dedicated_workers=numbers.workers,
        fencing=numbers.fencing,
    )
    # Nothing in the vector is unknown, so there is an answer.
    return Outcome(control_plane, infrastructure, schedulable, classify(vector) or Shape.UNCLASSIFIED)


def differences(numbers: Machines) -> tuple[Difference, ...]:
    """Where the two rules disagree about these machines; mastersSchedulable is the same in both."""
    released, proposed = outcome(numbers, Rule.RELEASED), outcome(numbers, Rule.PROPOSED)
    both = (
        Difference("controlPlaneTopology", released.control_plane, proposed.control_plane, _ARBITER_IS_OVERLOOKED),
        Difference("infrastructureTopology", released.infrastructure, proposed.infrastructure, _one_worker(numbers)),
    )
    return tuple(item for item in both if item.released is not item.proposed)


def notes(config: InstallConfig, numbers: Machines) -> tuple[str, ...]:
    """What is true by both rules and surprises people, in the order of its weight."""
    texts: list[str] = []
    if numbers.workers and (numbers.control_plane == 1 or numbers.workers == 1):
        texts.append(
            "mastersSchedulable is false because there are workers. The assisted installer sets it to true "
            "anyway, with one control-plane node or fewer than two workers; the topologies stay as they are."
        )
    if numbers.control_plane == 1 and numbers.workers:
        agent_based = "The agent-based installer refuses workers beside a single control-plane node"
        texts.append(f"{agent_based}; other ways of installing accept them.")
    if config.fencing and (numbers.control_plane != 2 or numbers.arbiters):
        texts.append("Fencing credentials are for two control-plane nodes without an arbiter; no rule looks at them.")
    return tuple(texts)


_ARBITER_IS_OVERLOOKED: Final = (
    "With three control-plane nodes or more the released rule overlooks the arbiter: it joins, and votes in etcd, but "
    "operators that ask for HighlyAvailableArbiter never learn of it. With two control-plane nodes both rules see it."
)


def _one_worker(numbers: Machines) -> str:
    """The one case in which the infrastructure differs is one worker."""
    text = (
        "With exactly one worker the released rule counts on that node alone: routers, monitoring and registry run "
        "once, and are gone while it is. "
    )
    if numbers.control_plane == 1:
        waits = "so the second of each waits until there is another worker."
        return f"{text}By the proposed rule they run twice, but the master carries no workloads, {waits}"
    text += (
        "By the proposed rule they run twice, which needs a second node for them: another worker, or "
        "mastersSchedulable set to true. To have that from a released installer, correct infrastructureTopology in "
        "manifests/cluster-infrastructure-02-config.yml before the installation"
    )
    if numbers.control_plane == 2:
        return f"{text}."
    return f"{text}; afterwards the transition infra-to-ha leads there."


def _released(numbers: Machines) -> tuple[Topology, Topology]:
    if numbers.control_plane == 2:
        control_plane = Topology.HIGHLY_AVAILABLE_ARBITER if numbers.arbiters else Topology.DUAL_REPLICA
    else:
        control_plane = Topology.SINGLE_REPLICA if numbers.control_plane < 2 else Topology.HIGHLY_AVAILABLE
    alone = numbers.workers == 1 or (numbers.workers == 0 and numbers.control_plane < 2)
    return control_plane, Topology.SINGLE_REPLICA if alone else Topology.HIGHLY_AVAILABLE


def _proposed(numbers: Machines) -> tuple[Topology, Topology]:
    if numbers.control_plane >= 2 and numbers.arbiters:
        control_plane = Topology.HIGHLY_AVAILABLE_ARBITER
    else:
        by_number = {1: Topology.SINGLE_REPLICA, 2: Topology.DUAL_REPLICA}
        control_plane = by_number.get(numbers.control_plane, Topology.HIGHLY_AVAILABLE)
    alone = control_plane is Topology.SINGLE_REPLICA and numbers.workers == 0
    return control_plane, Topology.SINGLE_REPLICA if alone else Topology.HIGHLY_AVAILABLE


class _Reading:
    """Collects what was counted and what is wrong while an install-config is gone through."""

    def __init__(self) -> None:
        self.counts: list[Count] = []
        self.wrong: list[Contradiction] = []

    def refuse(self, field: read.Path, actual: str, wanted: str) -> None:
        self.wrong.append(Contradiction(field, actual, wanted))

    def count(self, pool: read.Path, name: str, replicas: object, default: int) -> Count:
        """Count one pool; a number that is none counts as the default and is refused."""
        field = (*pool, "replicas")
        if replicas is None:
            counted = Count(field, name, default, f"not given, which means {default}")
        elif isinstance(replicas, bool) or not isinstance(replicas, int) or not 0 <= replicas <= _MOST:
            self.refuse(field, _quote(replicas), "a whole number, 0 or more")
            return Count(field, name, default)
        else:
            counted = Count(field, name, replicas)
        self.counts.append(counted)
        return counted


def _compute(config: InstallConfig, reading: _Reading) -> list[Count]:
    pools = config.compute or ()
    seen: dict[object, int] = {}
    counted: list[Count] = []
    for index, pool in enumerate(pools):
        place: read.Path = ("compute", index)
        if pool.name not in (_WORKER, _EDGE):
            also = "; an arbiter has its own key, arbiter, beside compute" if pool.name == _ARBITER else ""
            reading.refuse((*place, "name"), _quote(pool.name), f"{_WORKER} or {_EDGE}{also}")
        elif pool.name in seen:
            actual = f"{_quote(pool.name)} again, as in compute[{seen[pool.name]}]"
            reading.refuse((*place, "name"), actual, "each pool once")
        elif pool.name == _EDGE and config.platform != "aws":
            reading.refuse((*place, "name"), _quote(pool.name), f"{_WORKER}; a pool {_EDGE} is for platform aws")
        if isinstance(pool.name, str):
            seen.setdefault(pool.name, index)
        default = 0 if pool.name in (_EDGE, _ARBITER) else _DEFAULT
        counted.append(reading.count(place, str(pool.name), pool.replicas, default))
    if _WORKER not in seen:
        # The installer adds it whatever else is listed, so an empty list means three workers as well.
        why = f"no pool {_WORKER} is given, which means one of {_DEFAULT}"
        added = Count(("compute",), _WORKER, _DEFAULT, why)
        reading.counts.append(added)
        counted.append(added)
    return counted


def _check(config: InstallConfig, control_plane: int, reading: _Reading) -> None:
    """Refuse what does not go with so many control-plane nodes, with an arbiter, or with fencing."""
    replicas, pool = ("controlPlane", "replicas"), config.arbiter
    if pool is not None:
        if pool.name not in (None, _ARBITER):
            reading.refuse((_ARBITER, "name"), _quote(pool.name), _ARBITER)
        if pool.replicas in (None, 0) and not isinstance(pool.replicas, bool):
            actual = "nothing, which means 0" if pool.replicas is None else _quote(pool.replicas)
            reading.refuse((_ARBITER, "replicas"), actual, "1 or more, or no arbiter at all")
        if control_plane == 1:
            reading.refuse(replicas, _quote(control_plane), "2 or more where there is an arbiter")
    if control_plane not in _CONTROL_PLANES:
        reading.refuse(replicas, _quote(control_plane), "1, 3, 4 or 5; 2 with an arbiter or with fencing")
    elif control_plane == 2 and pool is None and config.fencing != 2:
        actual = f"2 without an arbiter, number of fencing credentials: {config.fencing}"
        wanted = "1, 3, 4 or 5; or 2 and an arbiter, or 2 and controlPlane.fencing.credentials for both"
        reading.refuse(replicas, actual, wanted)
    needed = ((pool is not None, "there is an arbiter"), (config.fencing > 0, "there are fencing credentials"))
    for is_there, where in needed:
        if is_there and config.platform not in _ON_MACHINES:
            reading.refuse(("platform",), _quote(config.platform), f"baremetal or none where {where}")
    if config.fencing and config.platform == "baremetal" and config.hosts:
        reading.refuse(
            ("platform", "baremetal", "hosts"), "hosts beside controlPlane.fencing.credentials", "one of the two"
        )


def _quote(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) > _MOST:
        return "a number of more than 18 digits"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "..."
