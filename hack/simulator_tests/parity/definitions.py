"""OpenShift's own definitions held against what the embedded server has in their place, and against what is read.

A field that a stand-in has and the real definition prunes, types differently or does not let be null would be there in
every test on the embedded server and on no cluster; so would one that the operator reads and that is called otherwise.
Each line that a function here yields is one such field.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Self

from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.observe import catalog
from topology_simulator import cluster as simulated
from topology_simulator import install, kinds
from topology_simulator.apiserver import validation
from topology_simulator.envtest import openshift

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Schema = dict[str, Any]
_NUMBER = re.compile(r"\[\d+\]")
_FREE = "x-kubernetes-preserve-unknown-fields"
_INFRASTRUCTURES = "infrastructures.config.openshift.io"
OF_OTHER_FEATURE_SETS = {f"{_INFRASTRUCTURES}: .status.controlPlaneTopology: may be DualReplica, really not"}
"""What the Default feature set of this version does not have and TechPreviewNoUpgrade and others do."""
READ_THOUGH_ABSENT = {
    # The native controller's field: MutableTopology brings it.
    f"{_INFRASTRUCTURES}: .spec.controlPlaneTopology is read, and really not there",
    # Of everything that is managed; among them only the registry has it.
    "consoles.operator.openshift.io: .spec.replicas is read, and really not there",
    # MachineAPIMigration brings it.
    "machines.machine.openshift.io: .status.authoritativeAPI is read, and really not there",
}
READ = {
    "apiservers.config.openshift.io": (
        "spec.tlsSecurityProfile.type",
        "spec.tlsSecurityProfile.custom.minTLSVersion",
        "spec.tlsSecurityProfile.custom.ciphers",
    ),
    "clusterversions.config.openshift.io": (
        "status.capabilities.knownCapabilities",
        "status.capabilities.enabledCapabilities",
    ),
    "configs.imageregistry.operator.openshift.io": ("spec.storage.pvc.claim",),
    "controllerconfigs.machineconfiguration.openshift.io": (
        "spec.infra.status.controlPlaneTopology",
        "spec.infra.status.infrastructureTopology",
        "spec.infra.status.platformStatus.type",
    ),
    _INFRASTRUCTURES: ("status.platformStatus.type", "status.platformStatus.baremetal.apiServerInternalIPs"),
    "ingresscontrollers.operator.openshift.io": ("spec.nodePlacement.tolerations",),
}
"""What is read elsewhere than in the catalogue of sources, or only where it is there."""
SHAPE = simulated.Shape(masters=3, workers=1, machines=3, registry="Managed", router_replicas=2, platform="BareMetal")


@functools.cache
def real() -> dict[str, Schema]:
    """Return OpenShift's definitions by name, with our part in Infrastructure. Raises binaries.MissingError."""
    return {one["metadata"]["name"]: one for one in openshift.definitions()}


@functools.cache
def stand_ins() -> dict[str, Schema]:
    """Return the embedded server's definitions by name, of the kinds that OpenShift's module has."""
    found = {one["metadata"]["name"]: one for one in install.definitions()}
    return {name: one for name, one in found.items() if name not in openshift.STAND_INS}


def names() -> list[str]:
    """Return the names of the definitions that have a stand-in and an original."""
    return sorted(stand_ins())


def wrong(name: str) -> list[str]:
    """Return what a stand-in promises and the real definition does not keep. Raises binaries.MissingError."""
    ours, theirs = stand_ins()[name]["spec"], real()[name]["spec"]
    found = [
        f"{part}: is {mine}, really {other}"
        for part, mine, other in [
            *(
                (f"names.{key}", ours["names"][key], theirs["names"][key])
                for key in ("kind", "listKind", "plural", "singular")
            ),
            ("scope", ours["scope"], theirs["scope"]),
        ]
        if mine != other
    ]
    others = {one["name"]: one for one in theirs["versions"]}
    for version in ours["versions"]:
        other = others.get(version["name"])
        if other is None:
            found.append(f"version {version['name']}: is not served")
            continue
        if version.get("subresources") != other.get("subresources"):
            found.append(f"subresources: are {version.get('subresources')}, really {other.get('subresources')}")
        found += differences(_root(version), _root(other))
    return sorted({f"{name}: {text}" for text in found} - OF_OTHER_FEATURE_SETS)


def misread(name: str) -> list[str]:
    """Return what the operator reads of a kind and the real definition does not have. Raises binaries.MissingError."""
    schema = _schema(name, kinds.named(name).version)
    paths = {*_read(name), *(tuple(path.split(".")) for path in READ.get(name, ()))}
    return sorted(
        {f"{name}: .{'.'.join(path)} is read, and really not there" for path in paths if not _knows(schema, path)}
        - READ_THOUGH_ABSENT
    )


def pruned(obj: dict[str, Any]) -> list[str]:
    """Return what the real definition would take out of an object; nothing where the kind has none."""
    name = _name(obj)
    if name not in real():
        return []
    _, lost = validation.prune_object(_schema(name, kinds.kind_of(obj).version), obj)
    return sorted({f"{name}: .{_NUMBER.sub('[]', path)} is pruned" for path in lost})


def refused(obj: dict[str, Any]) -> list[str]:
    """Return why the real definition would not take an object as it is, its CEL rules aside.

    The embedded server judges in the place of the real one: `make parity` compares how they do that.
    """
    name = _name(obj)
    if name not in real():
        return []
    schema = _schema(name, kinds.kind_of(obj).version)
    causes = validation.validate(schema, validation.default(schema, obj), None)
    return [*pruned(obj), *(f"{name}: {_NUMBER.sub('[]', cause.field)}: {cause.message}" for cause in causes)]


def _name(obj: dict[str, Any]) -> str:
    kind = kinds.kind_of(obj)
    return f"{kind.plural}.{kind.group}"


def _read(name: str) -> set[tuple[str, ...]]:
    """Return the paths below spec and status that the operator asks a simulated cluster's objects for."""
    seen: set[tuple[str, ...]] = set()
    for source in _sources():
        resource = source.selection.resource
        if f"{resource.plural}.{resource.group}" != name or source.selection.metadata_only:
            continue
        for obj in simulated.objects(SHAPE):
            if (obj["apiVersion"], obj["kind"]) == (resource.api_version, resource.kind):
                source.reduce(_Watched.of(obj, (), seen))
    return {path for path in seen if path[0] in {"spec", "status"}}


@functools.cache
def _sources() -> tuple[catalog.Source, ...]:
    return (*catalog.IDLE, *catalog.watched(load.load(bindata.root() / "transitions")), catalog.Sources.workers)


class _Watched(dict[str, Any]):
    """A raw object that writes down which of its fields are asked for."""

    def __init__(self, value: dict[str, Any], path: tuple[str, ...], seen: set[tuple[str, ...]]) -> None:
        super().__init__((key, self.of(part, (*path, key), seen)) for key, part in value.items())
        self._path = path
        self._seen = seen

    @classmethod
    def of(cls, value: Any, path: tuple[str, ...], seen: set[tuple[str, ...]]) -> Self | Any:
        if isinstance(value, list):
            return [cls.of(one, path, seen) for one in value]
        return cls(value, path, seen) if isinstance(value, dict) else value

    def get(self, key: str, otherwise: Any = None) -> Any:
        self._seen.add((*self._path, key))
        return super().get(key, otherwise)

    def __getitem__(self, key: str) -> Any:
        self._seen.add((*self._path, key))
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._seen.add((*self._path, str(key)))
        return super().__contains__(key)


def differences(ours: Schema, theirs: Schema | None, path: str = "") -> Iterator[str]:
    """Yield what a stand-in promises and the real schema does not keep."""
    if theirs is None:
        yield f"{path}: is pruned"
        return
    yield from (f"{path}: {text}" for text in _otherwise(ours, theirs))
    known = theirs.get("properties") or {}
    for name, field in (ours.get("properties") or {}).items():
        if name in known or not theirs.get(_FREE):
            yield from differences(field, known.get(name), f"{path}.{name}")
    for key, sign in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(ours.get(key), dict):
            yield from differences(ours[key], theirs.get(key), path + sign)


def _otherwise(ours: Schema, theirs: Schema) -> Iterator[str]:
    for key in ("type", "x-kubernetes-int-or-string"):
        if ours.get(key) != theirs.get(key):
            yield f"is {ours.get(key)}, really {theirs.get(key)}"
    if ours.get("nullable") and not theirs.get("nullable"):
        yield "may be null, really not"
    if listed := set(ours.get("enum") or ()) - set(theirs.get("enum") or ours.get("enum") or ()):
        yield f"may be {', '.join(sorted(listed))}, really not"
    kept_as = theirs.get("x-kubernetes-list-type")
    if ours.get("x-kubernetes-list-type") not in (None, kept_as):
        yield f"is a list of type {ours['x-kubernetes-list-type']}, really {kept_as or 'atomic'}"


def _root(version: dict[str, Any]) -> Schema:
    found: Schema = version["schema"]["openAPIV3Schema"]
    return found


def _schema(name: str, version: str = "v1") -> Schema:
    return next(_root(one) for one in real()[name]["spec"]["versions"] if one["name"] == version)


def _knows(schema: Schema, path: Sequence[str]) -> bool:
    if not path:
        return True
    schema = schema.get("items") or schema
    known, further = schema.get("properties") or {}, schema.get("additionalProperties")
    if path[0] in known:
        return _knows(known[path[0]], path[1:])
    return _knows(further, path[1:]) if isinstance(further, dict) else bool(schema.get(_FREE))
