"""What an install-config leads to: the topologies a cluster is installed with, and whether masters carry workloads.

The installer computes them once, before there is a cluster, from nothing but the number of machines. Two rules are
known: the one that is `released`, and one that is `proposed` because the released one calls the infrastructure of three
masters and one worker SingleReplica. Pure: `machines` puts the installer's defaults in, which are a trap (no `compute`
means three workers, not none), and refuses what the installer refuses; `outcome` applies one rule. `render` reads the
file.

Source of the rules: openshift/installer, pkg/asset/manifests/topologies.go and scheduler.go (released since its pull
request 9579; proposed in 10077), pkg/types/defaults and pkg/types/validation.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from topology_api.shape import Shape, Vector, classify
from topology_api.vocabulary import Topology
from topology_controller.definitions import read

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT: Final = 3
_WORKER, _EDGE, _ARBITER = "worker", "edge", "arbiter"
_MOST: Final = 2**63 - 1
_NEVER_QUOTED: Final = "credentials"
_T = TypeVar("_T")


class Rule(StrEnum):
    """How the installer turns machines into topologies."""

    RELEASED = "released"
    """What installers do."""
    PROPOSED = "proposed"
    """What they would do with the correction that is under review."""


class ContradictionError(ValueError):
    """An install-config that leads nowhere; `wrong` has what the installer would refuse, by its place in the file."""

    def __init__(self, wrong: Mapping[read.Path, str]) -> None:
        super().__init__("\n".join(wrong.values()))
        self.wrong = wrong


class Count(NamedTuple):
    """How many machines one pool adds. `default` says why, when the file does not; it is empty when the file does."""

    field: read.Path
    pool: str
    replicas: int
    default: str = ""


class Machines(NamedTuple):
    """How many machines of each kind the installer makes (control plane: 1 to 5), and the pools that were counted."""

    control_plane: int
    arbiters: int
    workers: int
    fencing: bool = False
    counts: tuple[Count, ...] = ()


class Outcome(NamedTuple):
    """What a rule makes of machines: two fields of Infrastructure's status, one of Scheduler's spec, and the shape."""

    control_plane: Topology
    infrastructure: Topology
    masters_schedulable: bool
    shape: Shape


def machines(config: Mapping[str, Any]) -> Machines:
    """Count the machines as the installer does. Raises ContradictionError with all that it would refuse."""
    reading = _Reading(config)
    platforms = sorted(name for name, value in reading.mapping("platform").items() if value is not None)
    if len(platforms) > 1:
        reading.refuse(("platform",), " and ".join(platforms), "one platform")
    platform = platforms[0] if len(platforms) == 1 else None
    control_plane = reading.count(("controlPlane",), "master", reading.mapping("controlPlane"), _DEFAULT).replicas
    reading.mapping("controlPlane", "fencing")
    fencing = len(reading.get(("controlPlane", "fencing", _NEVER_QUOTED), list, "a list") or ())
    workers = sum(count.replicas for count in _compute(reading, platform))
    arbiter = None if config.get(_ARBITER) is None else reading.mapping(_ARBITER)
    # Its default is 0, which the installer then refuses: who names the pool has to say how many.
    arbiters = 0 if arbiter is None else reading.count((_ARBITER,), _ARBITER, arbiter, 0).replicas
    _check(reading, platform, control_plane, arbiter, fencing)
    if reading.wrong:
        raise ContradictionError(reading.wrong)
    return Machines(control_plane, arbiters, workers, fencing > 0, tuple(reading.counts))


def outcome(numbers: Machines, rule: Rule) -> Outcome:
    """What the installer writes for so many machines; every count that `machines` lets pass has an answer."""
    released, masters = rule is Rule.RELEASED, numbers.control_plane
    control_plane = {1: Topology.SINGLE_REPLICA, 2: Topology.DUAL_REPLICA}.get(masters, Topology.HIGHLY_AVAILABLE)
    if numbers.arbiters and (masters == 2 or (masters > 2 and not released)):
        control_plane = Topology.HIGHLY_AVAILABLE_ARBITER
    alone = (numbers.workers == 0 and masters == 1) or (numbers.workers == 1 and released)
    infrastructure = Topology.SINGLE_REPLICA if alone else Topology.HIGHLY_AVAILABLE
    schedulable = numbers.workers == 0
    nodes = {"control_plane_nodes": masters, "arbiter_nodes": numbers.arbiters, "dedicated_workers": numbers.workers}
    vector = Vector(control_plane, infrastructure, schedulable, **nodes, fencing=numbers.fencing)
    # Nothing in the vector is unknown, so there is an answer.
    return Outcome(control_plane, infrastructure, schedulable, classify(vector) or Shape.UNCLASSIFIED)


def differences(numbers: Machines) -> list[dict[str, str]]:
    """Where the two rules disagree about these machines, and what that means; mastersSchedulable is never among it."""
    released, proposed = outcome(numbers, Rule.RELEASED), outcome(numbers, Rule.PROPOSED)
    both = (
        ("controlPlaneTopology", released.control_plane, proposed.control_plane, _ARBITER_IS_OVERLOOKED),
        ("infrastructureTopology", released.infrastructure, proposed.infrastructure, _one_worker(numbers)),
    )
    return [
        {"field": field, "released": old.value, "proposed": new.value, "meaning": meaning}
        for field, old, new, meaning in both
        if old is not new
    ]


def notes(numbers: Machines) -> list[str]:
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
    if numbers.fencing and (numbers.control_plane != 2 or numbers.arbiters):
        texts.append("Fencing credentials are for two control-plane nodes without an arbiter; no rule looks at them.")
    return texts


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


class _Reading:
    """Collects what was counted and what is wrong while an install-config is gone through."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config, self.counts, self.wrong = config, list[Count](), dict[read.Path, str]()

    def refuse(self, field: read.Path, actual: str, wanted: str) -> None:
        """Note what is wrong, unless it follows from the form of what is around it."""
        if not any(field[: len(place)] == place for place in self.wrong):
            self.wrong[field] = f"{read.spell(field)}: found {actual}; wanted {wanted}"

    def get(self, path: read.Path, kind: type[_T], wanted: str) -> _T | None:
        """What stands at a path, None where nothing does; what is of another kind is refused."""
        value: Any = self._config
        for part in path:
            if isinstance(value, dict):
                value = value.get(part)
            else:
                value = value[part] if isinstance(value, list) and isinstance(part, int) else None
        if value is None or isinstance(value, kind):
            return value
        self.refuse(path, "something else" if path[-1] == _NEVER_QUOTED else read.quote(value), wanted)
        return None

    def mapping(self, *path: str | int) -> dict[str, Any]:
        """The mapping at a path, empty where there is none."""
        return self.get(path, dict, "a mapping") or {}

    def count(self, place: read.Path, name: str, pool: Mapping[str, Any], default: int) -> Count:
        """Count one pool; a number that is none counts as the default and is refused."""
        field, replicas = (*place, "replicas"), pool.get("replicas")
        if replicas is None:
            counted = Count(field, name, default, f"not given, which means {default}")
        elif isinstance(replicas, bool) or not isinstance(replicas, int) or not 0 <= replicas <= _MOST:
            self.refuse(field, _quote(replicas), "a whole number, 0 or more")
            counted = Count(field, name, default)
        else:
            counted = Count(field, name, replicas)
        self.counts.append(counted)
        return counted


def _compute(reading: _Reading, platform: str | None) -> list[Count]:
    seen: dict[str, int] = {}
    counted: list[Count] = []
    for index in range(len(reading.get(("compute",), list, "a list of pools") or ())):
        place: read.Path = ("compute", index)
        pool = reading.mapping(*place)
        name, field = pool.get("name"), (*place, "name")
        if name not in (_WORKER, _EDGE):
            also = "; an arbiter has its own key, arbiter, beside compute" if name == _ARBITER else ""
            reading.refuse(field, _quote(name), f"{_WORKER} or {_EDGE}{also}")
        elif name in seen:
            reading.refuse(field, f"{_quote(name)} again, as in compute[{seen[name]}]", "each pool once")
        elif name == _EDGE and platform != "aws":
            reading.refuse(field, _quote(name), f"{_WORKER}; a pool {_EDGE} is for platform aws")
        if isinstance(name, str):
            seen.setdefault(name, index)
        counted.append(reading.count(place, str(name), pool, 0 if name in (_EDGE, _ARBITER) else _DEFAULT))
    if _WORKER not in seen:
        # The installer adds it whatever else is listed, so an empty list means three workers as well.
        why = f"no pool {_WORKER} is given, which means one of {_DEFAULT}"
        counted.append(Count(("compute",), _WORKER, _DEFAULT, why))
        reading.counts.append(counted[-1])
    return counted


def _check(
    reading: _Reading, platform: str | None, control_plane: int, arbiter: Mapping[str, Any] | None, fencing: int
) -> None:
    """Refuse what does not go with so many control-plane nodes, with an arbiter, or with fencing."""
    field = ("controlPlane", "replicas")
    if arbiter is not None:
        name, replicas = arbiter.get("name"), arbiter.get("replicas")
        if name not in (None, _ARBITER):
            reading.refuse((_ARBITER, "name"), _quote(name), _ARBITER)
        if replicas in (None, 0) and not isinstance(replicas, bool):
            actual = "nothing, which means 0" if replicas is None else _quote(replicas)
            reading.refuse((_ARBITER, "replicas"), actual, "1 or more, or no arbiter at all")
        if control_plane == 1:
            reading.refuse(field, _quote(control_plane), "2 or more where there is an arbiter")
    if not 1 <= control_plane <= 5:
        reading.refuse(field, _quote(control_plane), "1, 3, 4 or 5; 2 with an arbiter or with fencing")
    elif control_plane == 2 and arbiter is None and fencing != 2:
        actual = f"2 without an arbiter, number of fencing credentials: {fencing}"
        wanted = "1, 3, 4 or 5; or 2 and an arbiter, or 2 and controlPlane.fencing.credentials for both"
        reading.refuse(field, actual, wanted)
    for is_there, what in ((arbiter is not None, "is an arbiter"), (fencing > 0, "are fencing credentials")):
        if is_there and platform not in ("baremetal", "none"):
            reading.refuse(("platform",), _quote(platform), f"baremetal or none where there {what}")
    if fencing and platform == "baremetal" and reading.mapping("platform", "baremetal").get("hosts"):
        both = "hosts beside controlPlane.fencing.credentials"
        reading.refuse(("platform", "baremetal", "hosts"), both, "one of the two")


def _quote(value: object) -> str:
    if isinstance(value, int) and abs(value) > _MOST:
        return "a number of more than 18 digits"
    return "nothing" if value is None else read.quote(value)
