"""The configuration file, as types, and what it makes of the transition definitions.

It is a file of the kind that other OpenShift operators are configured with: apiVersion and kind, and only what differs
from the defaults. A setting that is global holds for every transition; one that stands under a transition's name wins.
What a definition asks can be asked more or less strictly, within bounds; it can never be left out, so nothing here
turns a check off (`refusal`). The overrides are written into copies of the definitions, so that checks, decisions, the
page and the command line, which all read definitions, need not know that there is a configuration.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from topology_api.vocabulary import CheckName

from ..observe import parse

if TYPE_CHECKING:
    from ..files import nodes
    from ..transitions import load
    from ..transitions import model as transitions

API_VERSION: Final = "topology.openshift.io/v1"
KIND: Final = "TopologyOperatorConfig"
GIB: Final = 2**30
FEWEST_CPUS, MOST_CPUS = 1.0, 1024.0
LEAST_GIB, MOST_GIB = 4.0, 65536.0
"""A minimum below these would be a check turned off: no control plane runs on less."""
_OFF = re.compile(r"check|preflight|convergence$|disable|skip|ignore|exclude|omit|bypass|force|allow|accept|unsafe")
_CHECKS = frozenset(name.value.casefold() for name in CheckName)


def _quantity(value: object, lowest: float, highest: float, unit: float, example: str) -> float:
    """A Kubernetes quantity in that unit. Raises ValueError that says what was found and what is wanted."""
    wanted = f"wanted a Kubernetes quantity such as {example}"
    found = None if isinstance(value, bool) else parse.quantity(value)
    if found is None:
        raise ValueError(f"{str(value)[:60]!r} is none: {wanted}")
    if not lowest * unit <= found <= highest * unit:
        within = f"{lowest:g} to {highest:g}" if unit == 1 else f"{lowest:g}Gi to {highest:g}Gi"
        raise ValueError(f"{str(value)[:60]!r} is out of bounds: {wanted}, from {within}")
    return found / unit


def _cpus(value: object) -> float:
    return _quantity(value, FEWEST_CPUS, MOST_CPUS, 1.0, "4 or 3500m")


def _memory(value: object) -> float:
    return _quantity(value, LEAST_GIB, MOST_GIB, GIB, "14848Mi")


class _Strict(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=False, hide_input_in_errors=True
    )


class Pace(_Strict):
    """How long convergence is given. None leaves what the definition says."""

    settle_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """How long every convergence check must have been Met without a break."""
    deadline_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None
    """After this long a transition is overdue, however many machines there are."""


class MinimumNodeResources(_Strict):
    """What `status.capacity` of a control-plane node must have at least. None leaves what the definition says."""

    cpu: Annotated[float, BeforeValidator(_cpus)] | None = None
    """In CPUs."""
    memory: Annotated[float, BeforeValidator(_memory)] | None = None
    """In GiB, once it is read."""


class Configuration(Pace):
    """Everything that the file may say."""

    api_version: Literal["topology.openshift.io/v1"]
    kind: Literal["TopologyOperatorConfig"]
    log_level: Literal["error", "warning", "info", "debug"] | None = None
    """The words of --log-level."""
    minimum_node_resources: MinimumNodeResources = MinimumNodeResources()
    transitions: dict[str, Pace] = {}
    """By the name of the definition."""


DEFAULTS: Final = Configuration.model_validate({"apiVersion": API_VERSION, "kind": KIND})
"""What holds where there is no file."""


def refusal(path: nodes.Path) -> str:
    """Why a key is not offered, empty for one that is merely not known."""
    key = re.sub(r"[^a-z]", "", str(path[-1]).casefold())
    if key not in _CHECKS and not _OFF.search(key):
        return ""
    return (
        f"key {str(path[-1])!r} is not offered: no check can be turned off or passed over by configuration, because "
        "each of them keeps a cluster from being lost or left half-way"
    )


def applied(found: load.Transitions, configuration: Configuration) -> load.Transitions:
    """The same transitions, each as this configuration wants it asked."""
    if configuration == DEFAULTS:
        return found
    definitions = tuple(_definition(one, configuration) for one in found.definitions)
    return dataclasses.replace(found, definitions=definitions)


def _definition(found: transitions.Definition, configuration: Configuration) -> transitions.Definition:
    own = configuration.transitions.get(found.name, Pace())
    changes: dict[str, object] = {}
    for name in Pace.model_fields:
        wanted = [value for value in (getattr(own, name), getattr(configuration, name)) if value is not None]
        if wanted:
            changes[name] = wanted[0]
    if "deadline_minutes" in changes:
        # Whoever says when it is overdue means all of it.
        changes["machine_minutes"] = {}
    resources = configuration.minimum_node_resources
    convergence = found.convergence
    changes["checks"] = tuple(_asked(spec, resources) for spec in convergence.checks)
    return found.model_copy(
        update={
            "preflight": tuple(_asked(spec, resources) for spec in found.preflight),
            "convergence": convergence.model_copy(update=changes),
        }
    )


def _asked(spec: transitions.CheckSpec, resources: MinimumNodeResources) -> transitions.CheckSpec:
    if spec.check is not CheckName.CONTROL_PLANE_NODES:
        return spec
    wanted = {"min_cpus": resources.cpu, "min_memory_gib": resources.memory}
    return spec.model_copy(update={name: value for name, value in wanted.items() if value is not None})
