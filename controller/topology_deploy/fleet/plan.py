"""What a roll-out was asked to be, checked, and the time it may take.

Nothing here knows an engine. The time-outs come from the definitions: an engine that gives a batch less than the
operator itself allows a transition would call a cluster failed that is still in time.
"""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from topology_api import vocabulary
from topology_controller.decide import admission

from .. import manifests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from topology_api.types import TopologyPair
    from topology_controller.definitions import load, model

CANARY_WAVE = "0"
"""Value of the wave label of the clusters that go first."""
_ADMISSION = math.ceil(admission.ECHO_BOUND.total_seconds() / 60)
"""Minutes that an admission may wait for ClusterVersion to echo the upgrade block."""
_NOTICE = 2
"""Minutes for an engine to see what its agent has seen."""
_HOUR, _DAY = 60, 24 * 60
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


class PlanError(manifests.ManifestsError):
    """A roll-out cannot be what it was asked to be. The text names the flag, what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says; None leaves it to the definitions. Times in minutes."""

    target: str
    transition: str | None = None
    name: str = "topology"
    namespace: str = "topology-fleet"
    cluster_set: str = "global"
    wave_label: str = vocabulary.WAVE_LABEL
    wave: str | None = None
    canaries: Sequence[str] = ()
    clusters: int = 3500
    max_concurrency: int = 100
    deadline: int | None = None
    soak: int = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """A roll-out that can be printed. Times in minutes."""

    wanted: Wanted
    pair: TopologyPair
    definitions: tuple[model.Definition, ...]
    """All that lead to the target, or the one that was named."""
    deadline: int
    """How long the operator itself gives a transition before it calls it overdue."""

    @property
    def names(self) -> list[str]:
        """The names of the definitions."""
        return [definition.name for definition in self.definitions]

    @property
    def minutes(self) -> int:
        """How long a cluster may take, from the request until it has been done for the soak time."""
        return self.deadline + _ADMISSION + self.wanted.soak + _NOTICE

    @property
    def batches(self) -> int:
        """Each canary alone, then so many at once."""
        first = len(self.wanted.canaries)
        return first + math.ceil((self.wanted.clusters - first) / self.wanted.max_concurrency)

    @property
    def timeout(self) -> int:
        """How long the whole roll-out may take."""
        return self.batches * self.minutes

    @property
    def selector(self) -> str:
        """The clusters of the roll-out, as one line of YAML."""
        key, wave = self.wanted.wave_label, self.wanted.wave
        every, some = {"operator": "Exists"}, {"operator": "In", "values": [CANARY_WAVE, wave]}
        return flow({"matchExpressions": [{"key": key, **(every if wave is None else some)}]})

    def marks(self) -> dict[str, str]:
        """The values of the marks in bindata/fleet/templates that a plan alone decides."""
        # SOURCE is what a request is set to where it is cancelled: the API takes it for no request at all.
        wanted, operator = self.wanted, "NotIn" if self.wanted.wave is None else "In"
        named = ("name", "namespace", "wave_label", "target", "max_concurrency", "soak")
        others = {"key": "wave", "operator": operator, "values": [wanted.wave or CANARY_WAVE]}
        return {
            **{name.upper(): f"{getattr(wanted, name)}" for name in named},
            "SELECTOR": self.selector,
            "OTHERS": flow(others),
            "SOURCE": self.definitions[0].source.control_plane.value,
            "CONTROL_PLANE": self.pair.control_plane,
            "INFRASTRUCTURE": self.pair.infrastructure,
            "MINUTES": f"{self.minutes}",
            "ARITHMETIC": self.arithmetic(),
        }

    def arithmetic(self) -> str:
        """The line that explains the time-outs."""
        wanted = self.wanted
        first, batches = len(wanted.canaries), "batch" if self.batches == 1 else "batches"
        return (
            f"{wanted.clusters} clusters, {first} first and then {wanted.max_concurrency} at once: at most "
            f"{lasting(self.timeout)} ({self.batches} {batches} of {self.minutes} min: deadline {self.deadline}, "
            f"admission {_ADMISSION}, soak {wanted.soak}, {_NOTICE} to be noticed)"
        )


def lasting(minutes: int) -> str:
    """A bound as people plan with it: from a day on it is rounded up to an hour."""
    if minutes < _DAY:
        hours, rest = divmod(minutes, _HOUR)
        return " ".join(f"{number} {unit}" for number, unit in ((hours, "h"), (rest, "min")) if number) or "0 min"
    days, hours = divmod(math.ceil(minutes / _HOUR), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def checked(wanted: Wanted, transitions: load.Transitions) -> Plan:
    """Check what was asked for. Raises ManifestsError, which says what was found and what is allowed."""
    definitions = _definitions(wanted, transitions)
    _check_names(wanted)
    bounds = (
        ("--clusters", wanted.clusters, 1, 100_000, ""),
        ("--max-concurrency", wanted.max_concurrency, 1, wanted.clusters, " (--clusters)"),
        ("--soak", wanted.soak, 0, _DAY, " minutes"),
        ("--deadline", 1 if wanted.deadline is None else wanted.deadline, 1, _DAY, " minutes"),
    )
    if 0 < wanted.clusters < len(wanted.canaries):
        raise PlanError(f"--clusters {wanted.clusters} is less than the {len(wanted.canaries)} canaries")
    for flag, number, least, most, unit in bounds:
        if not least <= number <= most:
            raise PlanError(f"{flag} {number}: allowed are {least} to {most}{unit}")
    longest = max(_deadline(definition) for definition in definitions)
    return Plan(wanted, definitions[0].target.pair, definitions, wanted.deadline or longest)


def _definitions(wanted: Wanted, transitions: load.Transitions) -> tuple[model.Definition, ...]:
    changing = [item for item in transitions.definitions if item.source.control_plane != item.target.control_plane]
    there = [item for item in changing if item.target.control_plane == wanted.target]
    if not there:
        targets = sorted({item.target.control_plane.value for item in changing})
        raise PlanError(f"--to {wanted.target}: no transition leads there. Allowed: {', '.join(targets)}")
    names = ", ".join(item.name for item in there)
    if wanted.transition is not None:
        there = [item for item in there if item.name == wanted.transition]
        if not there:
            what = f"does not change the control plane to {wanted.target}"
            raise PlanError(f"--transition {wanted.transition} {what}. Allowed: {names}")
    # A roll-out has one answer to what is done and to what a cancelled request is set to.
    if len({(item.source.control_plane, str(item.target.pair)) for item in there}) > 1:
        raise PlanError(f"--to {wanted.target}: name one with --transition: {names}")
    return tuple(there)


def _deadline(definition: model.Definition) -> int:
    """Minutes that a transition of this kind has on the slowest of its platforms, with its fewest machines."""
    convergence = definition.convergence
    machines = max((spec.at_least or 0 for spec in definition.preflight), default=0)
    return convergence.deadline_minutes + machines * max(convergence.machine_minutes.values(), default=0)


def check_hub(policy: str, **names: str) -> None:
    """Check names on the hub, each given by the name of its flag, and that of a policy there. Raises ManifestsError."""
    for flag, name in names.items():
        if _NAME.fullmatch(name) is None:
            raise PlanError(f"{flag} {name!r}: wanted are lowercase letters, digits and dashes, 63 at most")
    # The hub's copy of a policy in the namespace of a cluster is named NAMESPACE.NAME, a label's value besides.
    qualified = f"{names['--namespace']}.{policy}"
    if len(qualified) > 63:
        raise PlanError(f"{qualified} (namespace, name) has {len(qualified)} characters, allowed are 63")


def _check_names(wanted: Wanted) -> None:
    names = {"--name": wanted.name, "--namespace": wanted.namespace, "--cluster-set": wanted.cluster_set}
    check_hub(f"{wanted.name}-withdraw", **names)
    for canary in wanted.canaries:
        if _NAME.fullmatch(canary) is None:
            raise PlanError(f"--canary {canary!r} is no name of a managed cluster")
    if twice := sorted({name for name in wanted.canaries if wanted.canaries.count(name) > 1}):
        raise PlanError(f"--canary {twice[0]} is given twice")
    prefix, _, _ = wanted.wave_label.rpartition("/")
    if _LABEL.fullmatch(wanted.wave_label) is None or len(prefix) > 253:
        raise PlanError(f"--wave-label {wanted.wave_label!r} is no key of a label, like {vocabulary.WAVE_LABEL}")
    if wanted.wave is not None and _LABEL_VALUE.fullmatch(wanted.wave) is None:
        raise PlanError(f"--wave {wanted.wave!r} is no value of a label")
    if wanted.wave == CANARY_WAVE:
        raise PlanError(f"--wave {wanted.wave} are the clusters that go first: name a wave that follows them")


def block(text: str, indent: int) -> str:
    """Indent the lines of a block of YAML, but the first, which stands where it is put."""
    return textwrap.indent(text.rstrip("\n"), " " * indent).lstrip(" ")


def flow(value: object) -> str:
    """Return a value as one line of YAML."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).removesuffix("...\n").strip()
