"""Scenarios: a story in a file, and how it must end. Loaded strictly, because a misread story proves nothing.

A scenario has a cluster to begin with, steps in their order, and an expectation that is read back from the API at the
end. Every step is one key (see `Step`). Durations are seconds at the demo pace. An unknown key, two keys in one step
or a wrong value is a ScenarioError that names the file and the place. `play` performs what is described here.
"""

import pathlib
from typing import Annotated, Any, ClassVar, Literal, Self

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from . import backups, kinds
from .actors import hub
from .actors.version import Release
from .shape import VERSION, Name, Part, Shape, kebab

FOLDER = pathlib.Path(__file__).parent / "scenarios"

Seconds = Annotated[float, Field(gt=0, le=7200)]
_VERSIONS: dict[Release, str] = {"4.20": "4.20.11", "4.21": VERSION, "4.22": "4.22.5", "main": "4.23.0"}
Phase = Literal["Idle", "Unsupported", "Pending", "Admitting", "Converging", "Completed"]


class ScenarioError(Exception):
    """A scenario that cannot be played; the message names the file and every fault in it."""


class _Choice(Part):
    """Exactly one of the fields is given; those named in `_besides` do not count."""

    _besides: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def _choices(cls) -> list[str]:
        return [name for name in cls.model_fields if name not in cls._besides]

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in self._choices() if getattr(self, name) is not None]
        if len(given) != 1:
            wanted, present = (", ".join(sorted(kebab(name) for name in names)) for names in (self._choices(), given))
            raise ValueError(f"exactly one of {wanted} is needed, found {present or 'none'}")
        return self


def _short(field: str) -> BeforeValidator:
    """Let a text alone stand for an object of which it is that field."""
    return BeforeValidator(lambda value: {field: value} if isinstance(value, str) else value)


class Field_(Part):  # noqa: N801  # pydantic's Field has the plain name
    """A field of any object that is known here.

    `path` is dotted, `conditions[type=Ready].status` picks from a list; `equals: null` means that nothing is there.
    """

    kind: str
    name: str
    namespace: str = ""
    path: str
    equals: str | None

    @model_validator(mode="after")
    def _known(self) -> Self:
        try:
            kinds.named(self.kind)
        except LookupError as error:
            raise ValueError(str(error)) from error
        return self


class CheckIs(Part):
    """A check of the transition, by name; of both stages when none is given. `says` is a part of its message."""

    name: str
    status: Literal["Met", "Unmet", "Unknown"]
    stage: Literal["Preflight", "Convergence"] | None = None
    says: str | None = None


class ConditionIs(Part):
    """A condition of ClusterOperator `topology`."""

    type: str
    status: Literal["True", "False", "Unknown"] | None = None
    reason: str | None = None
    says: str | None = None


class Advised(Part):
    """An advisory of the transition, by name: shown, or not there (any more)."""

    name: str
    shown: bool = True


class Metric(Part):
    """A series of the operator's metrics, as it is spelt there with its labels, and its value."""

    series: str
    equals: float


class Condition(_Choice):
    """Something that can be read back."""

    phase: Phase | None = None
    check: CheckIs | None = None
    condition: ConditionIs | None = None
    ready_nodes: Annotated[int, Field(ge=0)] | None = None
    voters: Annotated[int, Field(ge=0)] | None = None
    field: Field_ | None = None
    advisory: Annotated[Advised, _short("name")] | None = None
    metric: Metric | None = None


def _follows(value: str) -> str:
    if value not in hub.FOLLOWING:
        raise ValueError(f"{value!r} is none of {', '.join(sorted(hub.FOLLOWING))}")
    return value


Following = Annotated[str, AfterValidator(_follows)]


class Wait(Condition):
    """Wait until it holds, at most `within` seconds."""

    _besides = frozenset({"within"})

    within: Seconds = 60.0


class Stays(Condition):
    """It holds now and for `seconds` on."""

    _besides = frozenset({"seconds"})

    seconds: Seconds


class Request(Part):
    """Patch `spec.desiredTopology`; with `refused`, the API must not accept it."""

    topology: str
    refused: bool = False


class Printed(_Choice):
    """Where the operator has printed a command: an advisory, or the message of a condition (from `oc` on)."""

    advisory: str | None = None
    condition: str | None = None


class Gate(Part):
    """A feature gate of the version that runs."""

    name: str
    enabled: bool


class Drill(Part):
    """What a drill has besides its story (`drill`)."""

    cure: tuple[str, ...] = Field(default=(), strict=False)
    """How the sentences of the alert's runbook begin whose commands end it."""
    waiting: tuple[Name, ...] = Field(default=(), strict=False)
    """Machines that wait for their certificates to be approved."""
    apiserver: Literal["real"] | None = None
    """Where the cure needs more than the embedded API server does, such as a client that sends protobuf."""
    hub_collects: bool = True
    """Whether the hub's list of series has ours."""


class Step(_Choice):
    """One thing that happens."""

    join: Annotated[list[Name], Field(min_length=1)] | None = None
    """Nodes register, one after the other, as control-plane nodes that are not ready yet."""
    join_workers: Annotated[list[Name], Field(min_length=1)] | None = None
    """The same, as machines that carry workloads only."""
    request: Annotated[Request, _short("topology")] | None = None
    cancel: Literal[True] | None = None
    """Remove the request."""
    wait_for: Wait | None = None
    stays: Stays | None = None
    stick_learner: Name | None = None
    heal_learner: Name | None = None
    down: Name | None = None
    up: Name | None = None
    link_machine: Name | None = None
    """An administrator makes the Machine that a node lacks, and the host below it."""
    provision_machine: Name | None = None
    """A new host and a Machine for it: a control-plane node of that name joins once it is deployed."""
    delete_machine: Name | None = None
    """An administrator deletes the Machine under a node."""
    delete_host: Name | None = None
    fail_host: Name | None = None
    """The management controller of the host below a node does not answer until mend-host."""
    mend_host: Name | None = None
    start_upgrade: str | None = None
    """The version; the upgrade goes on until end-upgrade."""
    end_upgrade: Literal[True] | None = None
    pause: Seconds | None = None
    hold: Following | None = None
    """An operator does not react to a new topology until release."""
    release: Following | None = None
    pause_pool: Name | None = None
    unpause_pool: Name | None = None
    degrade_pool: Name | None = None
    """A machine config pool is degraded by one of its nodes until mend-pool."""
    mend_pool: Name | None = None
    run_printed: Printed | None = None
    """Do what the operator has printed, to the letter."""
    evict_operator: Literal[True] | None = None
    """The operator is stopped as by a drain, and starts again on another node."""
    kill_operator: Literal[True] | None = None
    """The operator is killed, in the lab with every real one, and starts again as by its kubelet."""
    freeze_operator: Literal[True] | None = None
    """The operator's process runs no more, and does not end either."""
    age_minutes: Annotated[int, Field(ge=1)] | None = None
    """What the record says of times is so many minutes older, as if that had passed."""
    feature_gate: Gate | None = None
    backup: Literal[True] | None = None
    """A backup of etcd is taken."""
    restore: backups.Way | None = None
    """etcd is restored from the backup that was taken last, and the API server starts again."""
    tell: str | None = None
    """A sentence for the screen."""

    @property
    def action(self) -> tuple[str, Any]:
        """The field that is given, and its value."""
        return next((name, getattr(self, name)) for name in Step.model_fields if getattr(self, name) is not None)


class Expect(Part):
    """How it must end. `conditions` gives the reason of each condition of ClusterOperator `topology`."""

    phase: Phase | None
    topology: Annotated[str, Field(pattern=r"^[A-Za-z]+/[A-Za-z]+$")]
    conditions: dict[str, str]


class Version(Part):
    """The version operator: the words and the delays (shortened by the pace) of a release. Without: 4.21, and fast."""

    release: Release


class Scenario(Part):
    """A whole story."""

    name: Name
    summary: str
    kept: str = ""
    """What `make cluster` begins with, in place of the summary: there a person requests and repairs."""
    cluster: Shape = Shape()
    version: Version | None = None
    deadline_minutes: Annotated[int, Field(ge=1, le=60)] | None = None
    """For converging, instead of what the definitions say."""
    most_writes: Annotated[int, Field(ge=1)] = 10
    """Of Infrastructure besides the request, in the lab: docs/development/performance.md, or the story says why."""
    steps: Annotated[list[Step], Field(min_length=1)]
    expect: Expect
    drill: Drill | None = None

    @model_validator(mode="after")
    def _objects_are_known(self) -> Self:
        for obj in self.cluster.objects:
            try:
                kind = kinds.kind_of(obj)
            except LookupError as error:
                raise ValueError(f"cluster → objects: {error}") from error
            if not (obj.get("metadata") or {}).get("name"):
                raise ValueError(f"cluster → objects: {kind.kind} has no metadata.name")
        return self

    @property
    def release(self) -> Release | None:
        """The release that the version operator is of, where the story asks for one."""
        return self.version.release if self.version else None

    def shape(self) -> Shape:
        """Return the cluster to begin with, of the release that the story asks for."""
        return self.cluster.model_copy(update={"version": _VERSIONS[self.release]}) if self.release else self.cluster


def names() -> list[str]:
    """Return the names of the scenarios that come with the simulator."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name: str) -> Scenario:
    """Load a scenario by name, or from a file when `name` is a path that ends in .yaml. Raises ScenarioError."""
    path = pathlib.Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    try:
        content = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise ScenarioError(f"no scenario {name!r}; there are {', '.join(names())}, or a file *.yaml") from None
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: not YAML: {error}") from error
    try:
        scenario = Scenario.model_validate(content)
    except ValidationError as error:
        faults = "\n".join(_fault(path, fault["loc"], fault["msg"]) for fault in error.errors())
        raise ScenarioError(faults) from error
    return scenario


def _fault(path: pathlib.Path, place: tuple[int | str, ...], message: str) -> str:
    words = [
        f"step {part + 1}" if isinstance(part, int) else str(part)
        for part in place
        if place == ("steps",) or part != "steps"
    ]
    return f"{path}: {' → '.join(words) or 'top'}: {message.removeprefix('Value error, ')}"
