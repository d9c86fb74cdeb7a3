"""The configuration file: its types, how it is read, and what it makes of the transition definitions.

It is a file of the kind that other OpenShift operators are configured with: apiVersion and kind, and only what differs
from the defaults. A setting that is global holds for every transition; one that stands under a transition's name wins.
What a definition asks can be asked more or less strictly, within bounds; nothing here turns a check off. The settings
are written into copies of the definitions, so that checks, decisions, the page and the command line, which all read
definitions, need not know that there is a configuration.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from topology_api import quantities, types
from topology_api.vocabulary import CheckName

from . import model, read

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable

    from . import load as transitions

LARGEST: Final = 16 * 1024
"""Bytes: a file that says everything has one thousand, and the worst one of this size is read in a quarter second."""
_GIB: Final = 2**30
_CPUS: Final = (1.0, 1024.0)
_MEMORY_GIB: Final = (4.0, 65536.0)
"""Bounds of a minimum; below them it would be a check turned off, because no control plane runs on less."""
_MOST_TOLD: Final = 3
_LONGEST_TOLD: Final = 512


def _quantity(value: object, bounds: tuple[float, float], unit: float, example: str) -> float:
    """A Kubernetes quantity in that unit. Raises ValueError that says what was found and what is wanted."""
    wanted = f"wanted a Kubernetes quantity such as {example}"
    number = None if isinstance(value, bool) else quantities.parse(value)
    if number is None:
        raise ValueError(f"{str(value)[:60]!r} is none: {wanted}")
    lowest, highest = bounds
    if not lowest * unit <= number <= highest * unit:
        suffix = "" if unit == 1 else "Gi"
        within = f"{lowest:g}{suffix} to {highest:g}{suffix}"
        raise ValueError(f"{str(value)[:60]!r} is out of bounds: {wanted}, from {within}")
    return number / unit


Cpus = Annotated[float, BeforeValidator(lambda value: _quantity(value, _CPUS, 1.0, "4 or 3500m"))]
Gibibytes = Annotated[float, BeforeValidator(lambda value: _quantity(value, _MEMORY_GIB, _GIB, "14848Mi"))]


class Pace(read.Strict):
    """How long convergence is given. None leaves what the definition says."""

    settle_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """How long every convergence check must have been Met without a break."""
    deadline_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None
    """After this long a transition is overdue, however many machines there are."""


class MinimumNodeResources(read.Strict):
    """What `status.capacity` of a control-plane node must have at least. None leaves what the definition says."""

    cpu: Cpus | None = None
    """In CPUs."""
    memory: Gibibytes | None = None
    """In GiB, once it is read."""


class Configuration(Pace):
    """Everything that the file may say."""

    api_version: Literal["topology.openshift.io/v1"]
    kind: Literal["TopologyOperatorConfig"]
    log_level: Literal["error", "warning", "info", "debug"] | None = None
    """The words of --log-level."""
    minimum_node_resources: MinimumNodeResources = MinimumNodeResources()
    require_load_balancer_backends: bool = False
    """Does every transition of the control plane ask LoadBalancerBackends?"""
    require_router_survives_drains: bool = False
    """Does every transition of the control plane ask RouterSurvivesDrains?"""
    transitions: dict[str, Pace] = Field(default_factory=dict)
    """By the name of the definition."""


DEFAULTS: Final = Configuration.model_validate(
    {"apiVersion": "topology.openshift.io/v1", "kind": "TopologyOperatorConfig"}
)
"""What holds where there is no file."""
_FORM: Final = read.Form(Configuration, "configuration")


def load(place: pathlib.Path, raw: bytes | None, names: Iterable[str]) -> Configuration:
    """Read a configuration; `raw` None is no file, which is the defaults; `names` are the transitions that there are.

    Raises read.DefinitionError, and nothing else, whatever the bytes are.
    """
    if raw is None:
        return DEFAULTS
    file = read.parsed(place, raw, _FORM, LARGEST)
    if file.value is None:
        raise read.DefinitionError(file.problems)
    known = sorted(names)
    paths = [("transitions", name) for name in file.value.transitions if name not in known]
    if paths:
        raise read.DefinitionError(tuple(file.problem(path, read.unknown(path, known)) for path in paths))
    return file.value


def complaints(error: read.DefinitionError) -> tuple[str, ...]:
    """The first problems, shortened, and how many more there are: a file can be wrong in thousands of places."""
    first = [types.fit(str(problem), _LONGEST_TOLD) for problem in error.problems[:_MOST_TOLD]]
    more = len(error.problems) - len(first)
    return (*first, *([f"and {more} more"] if more else []))


def applied(loaded: transitions.Transitions, configuration: Configuration) -> transitions.Transitions:
    """The same transitions, each as this configuration wants it asked."""
    if configuration == DEFAULTS:
        return loaded
    definitions = tuple(_definition(definition, configuration) for definition in loaded.definitions)
    return dataclasses.replace(loaded, definitions=definitions)


def _definition(definition: model.Definition, configuration: Configuration) -> model.Definition:
    own = configuration.transitions.get(definition.name, Pace())
    changes: dict[str, object] = {
        name: value
        for settings in (configuration, own)
        for name in Pace.model_fields
        if (value := getattr(settings, name)) is not None
    }
    if "deadline_minutes" in changes:
        # The deadline that is set is the whole one, however many machines there are.
        changes["machine_minutes"] = {}
    resources = configuration.minimum_node_resources
    convergence = definition.convergence
    changes["checks"] = tuple(_asked(spec, resources) for spec in convergence.checks)
    preflight = tuple(_asked(spec, resources) for spec in definition.preflight)
    required = {
        CheckName.LOAD_BALANCER_BACKENDS: configuration.require_load_balancer_backends,
        CheckName.ROUTER_SURVIVES_DRAINS: configuration.require_router_survives_drains,
    }
    for check, asked in required.items():
        if asked and definition.changes_control_plane and all(spec.check is not check for spec in preflight):
            preflight = (*preflight, model.CheckSpec(check=check))
    return definition.model_copy(
        update={
            "preflight": preflight,
            "convergence": convergence.model_copy(update=changes),
        }
    )


def _asked(spec: model.CheckSpec, resources: MinimumNodeResources) -> model.CheckSpec:
    if spec.check is not CheckName.CONTROL_PLANE_NODES:
        return spec
    minimum = {"min_cpus": resources.cpu, "min_memory_gib": resources.memory}
    return spec.model_copy(update={name: value for name, value in minimum.items() if value is not None})
