"""The configuration file: its types, what it makes of the transition definitions, and how it is followed.

A setting that is global holds for every transition; one that stands under a transition's name wins. Nothing here turns
a check off. The settings are written into copies of the definitions, so that what reads these need not know of any.

Some programs write file by file, and may be read half-way: a change is taken when two looks shortly after each other
find the same content. A good file takes effect between two decisions. After a bad one the last good one stays in force,
and `Current.trouble` becomes condition Degraded. `process` follows the file, `reconcile` reads what is in force.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import pathlib
from collections.abc import Callable, Iterable
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from topology_api import quantities, types
from topology_api.vocabulary import CheckName

from .. import mounted
from . import load as transitions
from . import model, read

_LOG = logging.getLogger(__name__)
PERIOD: Final = 2.0  # seconds between two looks; kubelet itself takes up to a minute to bring a change
BREATH: Final = 0.1
LARGEST: Final = 16 * 1024
"""Bytes: a file that says everything has one thousand, and the worst one of this size is read in a quarter second."""
_GIB: Final = 2**30
# Bounds of a minimum; below them it would be a check turned off, because no control plane runs on less.
_CPUS: Final = (1.0, 1024.0)
_MEMORY_GIB: Final = (4.0, 65536.0)
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


class Pace(read.Strict):
    """How long convergence is given (`model.Convergence`). None leaves what the definition says."""

    settle_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    deadline_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None


class MinimumNodeResources(read.Strict):
    """What `status.capacity` of a control-plane node must have at least. None leaves what the definition says."""

    cpu: Annotated[float, BeforeValidator(lambda value: _quantity(value, _CPUS, 1.0, "4 or 3500m"))] | None = None
    memory: Annotated[float, BeforeValidator(lambda value: _quantity(value, _MEMORY_GIB, _GIB, "14848Mi"))] | None = (
        None
    )


class Configuration(Pace):
    """Everything that the file may say."""

    api_version: Literal["topology.openshift.io/v1"]
    kind: Literal["TopologyOperatorConfig"]
    log_level: Literal["error", "warning", "info", "debug"] | None = None
    minimum_node_resources: MinimumNodeResources = MinimumNodeResources()
    require_load_balancer_backends: bool = False
    require_router_survives_drains: bool = False
    transitions: dict[str, Pace] = Field(default_factory=dict)


DEFAULTS: Final = Configuration(apiVersion="topology.openshift.io/v1", kind="TopologyOperatorConfig")
_FORM: Final = read.Form(Configuration, "configuration")


def load(place: pathlib.Path, raw: bytes | None, names: Iterable[str]) -> Configuration:
    """Read a configuration; `raw` None is no file. Raises read.DefinitionError, and nothing else."""
    if raw is None:
        return DEFAULTS
    if len(raw) > LARGEST:
        raise read.DefinitionError((read.Problem(place, None, f"is larger than {LARGEST} bytes"),))
    file, known = read.parsed(place, raw, _FORM), sorted(names)
    if file.value is None:
        raise read.DefinitionError(file.problems)
    if paths := [("transitions", name) for name in file.value.transitions if name not in known]:
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
    changes: dict[str, object] = {}
    for pace in (configuration, configuration.transitions.get(definition.name, Pace())):
        changes |= {name: value for name in Pace.model_fields if (value := getattr(pace, name)) is not None}
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
    return definition.model_copy(update={"preflight": preflight, "convergence": convergence.model_copy(update=changes)})


def _asked(spec: model.CheckSpec, resources: MinimumNodeResources) -> model.CheckSpec:
    if spec.check is not CheckName.CONTROL_PLANE_NODES:
        return spec
    minimum = {"min_cpus": resources.cpu, "min_memory_gib": resources.memory}
    return spec.model_copy(update={name: value for name, value in minimum.items() if value is not None})


class Current:
    """The configuration in force. `place` None is no file, now and later.

    `log_level` is called with what the file asks for whenever that changes (None: the default). `unknown`: the file is
    bad, and none has been good since this process began, so that more may have been asked for than the defaults.
    """

    def __init__(
        self,
        place: pathlib.Path | None,
        loaded: transitions.Transitions,
        *,
        log_level: Callable[[str | None], None] | None = None,
    ) -> None:
        self.changed: Callable[[], None] = lambda: None
        self.transitions = loaded  # the definitions as they are to be asked now; another object whenever they are
        self.trouble = ""
        self.unknown = False
        self._place = place
        self._loaded = loaded
        self._log_level = log_level
        self._configuration = DEFAULTS
        self._has_been_good = False
        self._content: bytes | str | None = None
        if place is not None:
            self._content = _content(place)
            self._take(place)

    async def run(self) -> None:
        """Follow the file until cancelled; without one there is nothing to do, and this returns."""
        seen = self._content
        while self._place is not None:
            await asyncio.sleep(PERIOD if seen == self._content else BREATH)
            before, seen = seen, _content(self._place)
            if seen == before and seen != self._content:
                self._content = seen
                self._take(self._place)
                self.changed()

    def _take(self, place: pathlib.Path) -> None:
        if isinstance(self._content, str):
            self._refuse(read.DefinitionError((read.Problem(place, None, self._content),)))
            return
        try:
            configuration = load(place, self._content, [definition.name for definition in self._loaded.definitions])
        except read.DefinitionError as error:
            self._refuse(error)
            return
        if self.trouble:
            _LOG.info("the configuration in %(file)s is good again", {"file": place})
        self.trouble, self.unknown, self._has_been_good = "", False, True
        if configuration == self._configuration:
            return
        before, self._configuration = self._configuration, configuration
        self.transitions = applied(self._loaded, configuration)
        if self._log_level is not None and before.log_level != configuration.log_level:
            self._log_level(configuration.log_level)
        says = configuration.model_dump_json(by_alias=True, exclude_unset=True, exclude={"api_version", "kind"})
        _LOG.info("the configuration in %(file)s is in force: %(says)s", {"file": place, "says": says})

    def _refuse(self, error: read.DefinitionError) -> None:
        self.unknown = not self._has_been_good
        kept = (
            "Until it is corrected the defaults are in force, and no transition begins: more may have been asked for"
            if self.unknown
            else "Until it is corrected the configuration that was read before stays in force"
        )
        wrong = complaints(error)
        self.trouble = f"{'; '.join(wrong)}. {kept}"
        for complaint in wrong:
            _LOG.warning("the configuration cannot be used: %(problem)s", {"problem": complaint})


def _content(place: pathlib.Path) -> bytes | str | None:
    """Read a file: None where there is none, a text that says why it cannot be read. Never raises."""
    try:
        return mounted.read(place.parent, place.name, largest=LARGEST)[0]
    except mounted.MissingFileError:
        return None
    except mounted.MountedFileError as error:
        return error.reason
