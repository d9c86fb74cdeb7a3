"""The operand matrix: what OpenShift's operators make of a topology, as types, and read from its files.

It stands in `bindata/operands/*.yaml`, one file for each convergence check that is about operands; `observe` derives
from it which objects are read, `checks` what is wanted of them, and the manifests which rights that takes.
`bindata/startup-readers.yaml` lists the operators that read the topology only at their start, `optional-operators.yaml`
those of OLM whose Lease does not tell, and `single-node-settings.yaml` what people set where there is one node.
"""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic.alias_generators import to_camel

from topology_api.types import TopologyPair
from topology_api.vocabulary import CheckName, Topology

from .. import bindata, shell
from . import read, registry

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", max_length=253)]
# A kind of operator.openshift.io or a group made like it, where the plural is the kind in lower case and an s.
KindName = Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]*$", max_length=63)]
Kind = Literal["Deployment", "StatefulSet", "StaticPods", "PodDisruptionBudget", "IngressController"]
Words = dict[Topology, Annotated[str, Field(min_length=1, max_length=32)]]
"""A word for each topology: what is made for two topologies with the same word is the same."""

Word = Annotated[str, Field(min_length=1, max_length=64)]
Replicas = Annotated[
    Annotated[dict[Topology, Annotated[int, Field(ge=0, le=16)]], Tag("counts")]
    | Annotated[Literal["perConfiguration", "perControlPlaneNode"], Tag("word")],
    Discriminator(lambda value: "word" if isinstance(value, str) else "counts"),
]


def _once(what: str, key: str) -> AfterValidator:
    """Refuses a list in which two items have the same key."""

    def each_once(items: tuple[Any, ...]) -> tuple[Any, ...]:
        keys = [getattr(item, key) for item in items]
        if twice := [name for name in keys if keys.count(name) > 1]:
            raise ValueError(f"{what} {twice[0]} stands here twice")
        return items

    return AfterValidator(each_once)


class Operand(read.Strict):
    """One object whose state shows whether its operator has followed."""

    kind: Kind
    resource: KindName | None = None
    """For StaticPods: kind of the operator.openshift.io resource whose status.nodeStatuses tells the revisions."""
    namespace: Name | None = None
    name: Name
    replicas: Replicas | None = None
    """Ready replicas that each topology implies; perConfiguration: the configuration that manages it has a number."""
    variant: Words | None = None
    """For StaticPods: topologies with different words need a new revision; none means that no topology does."""
    operator: Name | None = None
    restarts: bool = False
    """Deployment whose pods every write of Infrastructure replaces, ours too, all but one of them at hand meanwhile."""
    optional: bool = False
    """May be missing by configuration: where it was missing at the change, nothing has to follow."""

    @functools.cached_property
    def plural(self) -> str:
        """Resource and group as kubectl spells them."""
        group = {"Deployment": "apps", "StatefulSet": "apps", "PodDisruptionBudget": "policy"}.get(self.kind)
        return f"{(self.resource or self.kind).lower()}s.{group or 'operator.openshift.io'}"

    @functools.cached_property
    def key(self) -> str:
        """What `Facts.operand` and the baseline know it by."""
        return "/".join(part for part in (self.plural, self.namespace, self.name) if part)

    @functools.cached_property
    def look(self) -> str:
        """The command that shows it."""
        if self.namespace:
            return shell.command("oc -n {} get {} {}", self.namespace, self.plural, self.name)
        return shell.command("oc get {} {} -o yaml", self.plural, self.name)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        static_pods = self.kind == "StaticPods"
        for field, given, needed in (
            ("replicas", self.replicas is not None, self.kind in {"Deployment", "StatefulSet", "IngressController"}),
            ("resource", self.resource is not None, static_pods),
            ("namespace", self.namespace is not None, not static_pods),
            ("restarts", self.restarts, self.restarts and self.kind == "Deployment"),
            ("variant", self.variant is not None, self.variant is not None and static_pods),
        ):
            if given is not needed:
                raise ValueError(f"{self.kind} {self.name} {'needs' if needed else 'does not take'} {field}")
        return self


class ManagedBy(read.Strict):
    """Configuration object of the operator: with managementState Removed there is no operand."""

    kind: KindName
    group: Name
    name: Name

    @functools.cached_property
    def resource(self) -> str:
        """Plural and group."""
        return f"{self.kind.lower()}s.{self.group}"

    @functools.cached_property
    def key(self) -> str:
        """What `Facts.operand` knows it by."""
        return f"{self.resource}/{self.name}"


class Group(read.Strict):
    """The operands of one convergence check."""

    check: CheckName
    operator: Name
    follows: Literal["controlPlane", "infrastructure"]
    place: Annotated[int, Field(ge=0)] = 1000
    """Where its check stands among those of a transition that waits for every operand: by number, then by name."""
    capability: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    managed_by: ManagedBy | None = None
    variant: Words | None = None
    """Of MachineConfigPoolsRolledOut only, which has no operands, because the pools are found in the cluster: between
    two topologies with different words the pool master must get another rendered configuration."""
    operands: Annotated[tuple[Operand, ...], _once("operand", "key")] = ()

    @functools.cached_property
    def operators(self) -> tuple[str, ...]:
        """Every ClusterOperator that answers for one of them, each once."""
        return tuple(dict.fromkeys(self.operator_of(operand) for operand in self.operands)) or (self.operator,)

    def operator_of(self, operand: Operand) -> str:
        """The ClusterOperator that answers for this operand."""
        return operand.operator or self.operator

    def topology(self, pair: TopologyPair) -> str:
        """The one of the two topologies that the operator goes by."""
        return pair.control_plane if self.follows == "controlPlane" else pair.infrastructure

    def lacks(self, source: TopologyPair, target: TopologyPair) -> tuple[str, ...]:
        """What the file would have to say, and does not, before a transition between the two can be judged by it."""
        before, after = self.topology(source), self.topology(target)
        missing = [
            f"replicas of {operand.key} for {after}"
            for operand in self.operands
            if isinstance(operand.replicas, dict) and after not in operand.replicas
        ]
        variants = [("the machine config pools", self.variant)]
        variants += [(operand.key, operand.variant) for operand in self.operands]
        for topology in dict.fromkeys((before, after)):
            missing += [f"variant of {of} for {topology}" for of, words in variants if words and topology not in words]
        return tuple(missing)

    @model_validator(mode="after")
    def _fits_its_check(self) -> Self:
        if self.check not in registry.OPERAND_CHECKS:
            raise ValueError(f"check {self.check} is not about operands")
        pools = self.check is CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT
        if pools is (self.variant is None):
            raise ValueError(f"check {self.check} {'needs' if pools else 'does not take'} variant")
        if pools is bool(self.operands):
            raise ValueError(f"check {self.check} {'does not take' if pools else 'needs'} operands")
        for operand in self.operands:
            if operand.replicas == "perConfiguration" and self.managed_by is None:
                raise ValueError(f"operand {operand.key} needs managedBy for replicas perConfiguration")
        return self


class StartupReader(read.Strict):
    """An operator that reads some of the topology only when it starts; no check waits for its restart."""

    operator: Name
    namespace: Name
    matters: Annotated[str, Field(min_length=1, max_length=256)]
    """What stays as it was until then, besides how its leader is elected."""


class OptionalOperator(read.Strict):
    """A Deployment that OLM installs, what it makes of the topology, and what cures that; no check waits for it."""

    deployment: Name
    reads: Literal["start", "oneNode"]
    keeps: Annotated[str, Field(pattern=r"^[a-z0-9][-a-z0-9]*/[a-z0-9][-.a-z0-9]*$", max_length=317)] | None = None
    """Namespace and name of the Deployment that has one replica until it is started again."""
    matters: Annotated[str, Field(min_length=1, max_length=256)]
    pods: Annotated[str, Field(pattern=r"^[-./A-Za-z0-9]+=[-.A-Za-z0-9]+$", max_length=253)] | None = None
    """Its pods by their label, where they are to be started again."""
    look: Annotated[str, Field(pattern=r"^oc get [-.:,=A-Za-z ]+$", max_length=253)] | None = None
    """What to look at where that helps nothing."""
    source: Annotated[str, Field(min_length=1, max_length=256)]

    @functools.cached_property
    def key(self) -> str:
        """What `Facts.operand` knows by it whether that Deployment still has one replica."""
        return f"deployments.apps/{self.keeps}:spec.replicas"

    def cure(self, namespace: str) -> str:
        """The command, for an operator in that namespace."""
        return self.look or shell.command("oc -n {} delete pod -l {}", namespace, self.pods)

    @model_validator(mode="after")
    def _has_a_command(self) -> Self:
        if (self.pods is None) is (self.look is None) or (self.look is None) is (self.reads == "oneNode"):
            raise ValueError(f"{self.deployment} that reads {self.reads} takes either pods (start) or look (oneNode)")
        return self


class SingleNodeSetting(read.Strict):
    """A setting that is right for one node only, in one object, or in every object of a kind without a name."""

    group: Name
    version: Name
    resource: Name
    kind: KindName
    namespace: Name | None = None
    any_namespace: bool = False
    name: Name | None = None
    field: Annotated[str, Field(pattern=r"^spec(\.[a-zA-Z][a-zA-Z0-9]*)+$", max_length=253)]
    values: Annotated[tuple[bool | Word, ...], Field(min_length=1)]
    """Those that are right for one node only; any other, and none, is not."""
    back: bool | Word | None
    """What the command writes instead; None removes the field."""
    matters: Annotated[str, Field(min_length=1, max_length=256)]
    source: Annotated[str, Field(min_length=1, max_length=256)]

    @functools.cached_property
    def key(self) -> str:
        """What `Facts.operand` knows the objects by."""
        place = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.resource}.{self.group}/{place}:{self.field}"

    def command(self, name: str, namespace: str | None) -> str:
        """What sets it back in one object."""
        patch: object = self.back
        for part in reversed(self.field.split(".")):
            patch = {part: patch}
        kind, body = f"{self.resource}.{self.version}.{self.group}", json.dumps(patch, separators=(",", ":"))
        if namespace is None:
            return shell.command("oc patch {} {} --type merge -p {}", kind, name, body)
        return shell.command("oc -n {} patch {} {} --type merge -p {}", namespace, kind, name, body)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.any_namespace and (self.namespace or self.name):
            raise ValueError(f"{self.key} takes either anyNamespace, or namespace and name")
        if self.back in self.values:
            raise ValueError(f"{self.key} is set back to one of its values")
        return self


def same(words: Words | None, source: str, target: str) -> bool:
    """Is what is made for both topologies the same? A topology without a word is never proven to be."""
    named: Mapping[Any, str] = words or {}
    return words is None or (source in named and named[source] == named.get(target))


class Matrix(read.Strict):
    """Everything that `bindata` says about operands."""

    groups: tuple[Group, ...] = ()
    startup_readers: Annotated[tuple[StartupReader, ...], _once("startup reader", "namespace")] = ()
    single_node_settings: Annotated[tuple[SingleNodeSetting, ...], _once("setting", "key")] = ()
    optional_operators: Annotated[tuple[OptionalOperator, ...], _once("optional operator", "deployment")] = ()

    def group(self, check: CheckName) -> Group | None:
        """The operands of a check, None for a check that is about something else."""
        return next((group for group in self.groups if group.check is check), None)


@functools.cache
def shipped() -> Matrix:
    """The matrix that came with the operator. Raises bindata.BindataMissingError when it came without one."""
    return load(bindata.root())


def load(directory: pathlib.Path) -> Matrix:
    """Read the matrix below a folder such as `bindata`. Raises read.DefinitionError when any of it cannot be used."""
    checks = sorted(check.value for check in registry.OPERAND_CHECKS)
    files, problems = read.folder(directory / "operands", read.Form(Group, "operand file", checks))
    lists: dict[str, Any] = {}
    for name in ("startup_readers", "optional_operators", "single_node_settings"):
        listed = read.file(directory / f"{name.replace('_', '-')}.yaml", read.Form(Matrix, "list of the matrix"))
        problems += listed.problems
        if listed.value is not None and listed.value.model_fields_set != {name}:
            problems.append(listed.problem((), f"wanted key {to_camel(name)} and no other"))
        lists[to_camel(name)] = getattr(listed.value, name, ())
    operands: dict[str, str] = {}
    for file, group in [(file, file.value) for file in files if file.value is not None]:
        if (name := group.check.value) != file.place.stem:
            text = f"check {name!r} differs from the file's name; wanted {file.place.stem!r}"
            problems.append(file.problem(("check",), text))
        for index, operand in enumerate(group.operands):
            if operand.key in operands:
                text = f"operand {operand.key} stands in {operands[operand.key]} already"
                problems.append(file.problem(("operands", index), text))
            operands.setdefault(operand.key, file.place.name)
    if problems:
        raise read.DefinitionError(tuple(problems))
    groups = sorted((file.value for file in files if file.value), key=lambda group: group.check.value)
    return Matrix(groups=tuple(groups), **lists)
