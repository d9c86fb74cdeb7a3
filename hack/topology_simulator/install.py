"""Puts a cluster into an API server: definitions, then objects, then their status.

The definitions are stand-ins (crds/), with the one of Infrastructure that the operator itself ships (bindata/crd); a
real API server is given OpenShift's own (`envtest.openshift`).
"""

import asyncio
import copy
import functools
import json
import pathlib
from collections.abc import Collection, Sequence
from typing import Any

import yaml

from . import SimulatorError, client, cluster, kinds, opened, operands
from .apiserver import patch

_CRDS = pathlib.Path(__file__).parent / "crds"
_OWN_CRDS = pathlib.Path(__file__).parents[2] / "bindata" / "crd"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Written in C where PyYAML has it, which takes a tenth of the time for definitions."""
_SERVED_SECONDS = 20.0
_POLL_SECONDS = 0.1
NOT_YET = (404, 429, 503)
"""What a real server answers about a kind that is Established but not served: 429 while its storage initializes."""
_AT_ONCE = 8
"""How many objects are created at the same time."""
_STATUS_WITHIN = (kinds.NODES, kinds.DEFINITIONS)
"""What is created with its status, or makes its own; of all others it is written afterwards."""
MACHINE_API = (kinds.MACHINES, kinds.BARE_METAL_HOSTS)
OF_CAPABILITIES = {"Console": (kinds.CONSOLES,), "ImageRegistry": (kinds.REGISTRIES,), "MachineAPI": MACHINE_API}
"""Kinds that are not served where a capability is disabled, as seen on a radio site by the telco reference."""
Place = tuple[kinds.Kind, str, str]  # kind, namespace and name of an object
_TOPOLOGIES = {kinds.INFRASTRUCTURES: ("status",), kinds.CONTROLLER_CONFIGS: ("spec", "infra", "status")}
"""Where a kind has the topologies."""
_STATIC_PODS = tuple(pods.kind for pods in operands.STATIC_PODS)


class InstallError(SimulatorError):
    """The cluster could not be installed; the message says what to do."""


def definitions() -> list[dict[str, Any]]:
    """Return a stand-in for every CRD of the simulated cluster. Raises InstallError."""
    texts = [path.read_text() for folder in (_CRDS, _OWN_CRDS) for path in sorted(folder.glob("*.yaml"))]
    texts += [_renamed(kind) for kind in _STATIC_PODS if kind is not kinds.KUBE_API_SERVERS]
    crds = [definition(text) for text in texts]
    if not any(crd["metadata"]["name"].startswith("infrastructures.") for crd in crds):
        raise InstallError(f"no CRD of Infrastructure in {_OWN_CRDS}: run this from a checkout of the repository")
    return crds


def definition(text: str) -> dict[str, Any]:
    """Return a definition that is the caller's own; reading YAML takes longer than the rest of an installation."""
    read: dict[str, Any] = json.loads(_as_json(text))
    return read


@functools.cache
def _as_json(text: str) -> str:
    return json.dumps(yaml.load(text, LOADER))  # noqa: S506 - a safe one


def _renamed(kind: kinds.Kind) -> str:
    """Return the stand-in of KubeAPIServer with the names of another kind of static pods."""
    text, model = (_CRDS / "static-pods.yaml").read_text(), kinds.KUBE_API_SERVERS
    for name, other in ((model.plural, kind.plural), (model.kind, kind.kind), (model.kind.lower(), kind.kind.lower())):
        text = text.replace(name, other)
    return text


async def install(
    api: client.Client,
    shape: cluster.Shape,
    *,
    crds: Sequence[dict[str, Any]] | None = None,
    there: Collection[Place] = (),
) -> None:
    """Install the cluster; `crds` in place of the stand-ins, `there` as `populate` has it.

    Raises InstallError when there is one already, ClientError when the API fails.
    """
    if await api.find(kinds.INFRASTRUCTURES, "cluster") is not None:
        raise InstallError("there is an Infrastructure cluster already; use an empty API server")
    await define(api, _served(shape, crds))
    await populate(api, shape, there)


def _served(shape: cluster.Shape, crds: Sequence[dict[str, Any]] | None) -> list[dict[str, Any]]:
    gone = {kind for capability in shape.without for kind in OF_CAPABILITIES.get(capability, ())}
    absent = {f"{kind.plural}.{kind.group}" for kind in gone}
    there = [crd for crd in (definitions() if crds is None else crds) if crd["metadata"]["name"] not in absent]
    of_site = {kinds.kind_of(obj) for obj in shape.objects} & set(kinds.OF_SITES)
    return [*there, *(of_anything(kind) for kind in kinds.OF_SITES if kind in of_site)]


def of_anything(kind: kinds.Kind, **subresources: Any) -> dict[str, Any]:
    """Return a definition of a kind that takes anything, with these subresources."""
    names = {"group": kind.group, "plural": kind.plural, "kind": kind.kind, "lower": kind.kind.lower()}
    scope = "Namespaced" if kind.namespaced else "Cluster"
    words = {**names, "scope": scope, "version": kind.version, "subresources": subresources}
    spec = kinds.filled(kinds.ACCOUNT["definition_of_anything"], **words)
    return kinds.DEFINITIONS.new(f"{kind.plural}.{kind.group}", spec=spec)


async def define(api: client.Client, crds: Sequence[dict[str, Any]] | None = None) -> None:
    """Create the definitions that are missing, and wait until all are served. Raises InstallError, ClientError."""
    crds = definitions() if crds is None else crds
    await _create_all(api, crds)
    await _wait_until_served(api, crds)


async def populate(api: client.Client, shape: cluster.Shape, there: Collection[Place] = ()) -> None:
    """Create the objects that are missing, where all kinds are served, but for those `there`. Raises ClientError."""
    empty = {field: "" for field, value in shape.topology.items() if not value}
    objects = [
        patch.merge(obj, _nested(dict.fromkeys(empty), _TOPOLOGIES[kind]))
        if (kind := kinds.kind_of(obj)) in _TOPOLOGIES
        else obj
        for obj in cluster.objects(shape)
        if (kinds.kind_of(obj), *client.key(obj)) not in there
    ]
    first = [obj for obj in objects if kinds.kind_of(obj) is kinds.NAMESPACES]
    for part in (first, [obj for obj in objects if obj not in first]):
        await _create_all(api, part)
    for obj in objects if empty else ():
        if (kind := kinds.kind_of(obj)) in _TOPOLOGIES:
            await _store_past_the_enum(api, kind, obj["metadata"]["name"], empty)


def _nested(value: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    for part in reversed(path):
        value = {part: value}
    return value


def _schema_at(version: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the fields that a version's schema has at a path; none where it does not go into such detail."""
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    for part in path:
        schema = schema.get("properties", {}).get(part, {})
    fields: dict[str, Any] = schema.get("properties", {})
    return fields


async def _store_past_the_enum(api: client.Client, kind: kinds.Kind, name: str, fields: dict[str, str]) -> None:
    """Store topologies as a release before 4.8 did, whose definitions took any text; then today's is in force again.

    openshift/api config/v1/types_infrastructure.go, ControlPlaneTopology. Raises InstallError, ClientError.
    """
    definition, path = f"{kind.plural}.{kind.group}", _TOPOLOGIES[kind]
    versions = (await api.get(kinds.DEFINITIONS, definition))["spec"]["versions"]
    older = copy.deepcopy(versions)
    for version in older:
        for field in fields:
            _schema_at(version, path).get(field, {}).pop("enum", None)
    subresource = "status" if path == ("status",) else ""
    await api.patch(kinds.DEFINITIONS, definition, {"spec": {"versions": older}})
    await _until_taken(api, kind, name, _nested(dict.fromkeys(fields, ""), path), subresource)
    await api.patch(kind, name, _nested(fields, path), subresource=subresource)
    await api.patch(kinds.DEFINITIONS, definition, {"spec": {"versions": versions}})
    unheard = _nested(dict.fromkeys(fields, "Unheard"), path)
    await _until_taken(api, kind, name, unheard, subresource, taken=older == versions)


async def serve_native_field(api: client.Client) -> None:
    """Serve `spec.controlPlaneTopology`, which the definition has where MutableTopology can be enabled.

    Before anybody watches: a watch that was open before shows objects as the earlier definition had them.
    Raises InstallError, ClientError.
    """
    kind, field = kinds.INFRASTRUCTURES, "controlPlaneTopology"
    # The machine config operator copies Infrastructure whole into a type of its own.
    for infra_kind, path in ((kinds.CONTROLLER_CONFIGS, ("spec", "infra", "spec")), (kind, ("spec",))):
        name = f"{infra_kind.plural}.{infra_kind.group}"
        versions = (await api.get(kinds.DEFINITIONS, name))["spec"]["versions"]
        _schema_at(versions[0], path)[field] = {"type": "string"}
        await api.patch(kinds.DEFINITIONS, name, {"spec": {"versions": versions}})
    topology = (await api.get(kind, "cluster"))["status"][field]
    await _until_taken(api, kind, "cluster", {"spec": {field: topology}})


async def _until_taken(  # noqa: PLR0913 - what a patch has
    api: client.Client,
    kind: kinds.Kind,
    name: str,
    change: dict[str, Any],
    subresource: str = "",
    *,
    taken: bool = True,
) -> None:
    """Wait until the definition in force lets that be written, or no longer does; it is not. Raises InstallError.

    The client has to be strict: another one would drop a field that is unknown.
    """

    async def takes() -> bool:
        try:
            await api.patch(kind, name, change, subresource=subresource, dry_run=True)
        except client.ApiError as error:
            if error.code != 422 and error.code not in NOT_YET and not error.unknown_field:
                raise
            return not taken
        return taken

    what = f"{kind.plural}.{kind.group} is not the one that was written {_SERVED_SECONDS:g} s ago"
    await opened.until(takes, _SERVED_SECONDS, _POLL_SECONDS, lambda: InstallError(what))


async def _create_all(api: client.Client, objects: Sequence[dict[str, Any]]) -> None:
    """Create some at a time, in no order."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(obj: dict[str, Any]) -> None:
        async with free:
            await create(api, obj)

    # Not a task group: what a single request fails of is to come out as it is, after the others have ended.
    for outcome in await asyncio.gather(*(one(obj) for obj in objects), return_exceptions=True):
        if outcome is not None:
            raise outcome


async def create(api: client.Client, obj: dict[str, Any]) -> None:
    """Create an object with its status; one of its name that is there stays as it is. Raises ClientError."""
    kind, created = kinds.any_kind(obj), True
    try:
        stored = await api.create(kind, obj)
    except client.ApiError as error:
        if error.code != 409 or error.reason != "AlreadyExists":
            raise
        stored, created = await api.get(kind, obj["metadata"]["name"], obj["metadata"].get("namespace", "")), False
    if kind not in _STATUS_WITHIN and "status" in obj and (created or not stored.get("status")):
        await put_status(api, kind, {**stored, "status": obj["status"]})
    if kind is kinds.NODES and created:
        # The API server taints every new node; `actors.kubelets` takes that away once it is ready.
        await api.patch(kind, stored["metadata"]["name"], {"spec": {"taints": obj["spec"].get("taints")}})


async def put_status(api: client.Client, kind: kinds.Kind, obj: dict[str, Any]) -> None:
    """Give an object that has just been created its whole status, as the real definitions accept it."""
    if kind in _STATIC_PODS:
        # A node is listed before it has a revision: openshift/api operator/v1/types.go, rules of NodeStatus (master).
        listed = [{"nodeName": node["nodeName"]} for node in obj["status"].get("nodeStatuses") or []]
        seen = await api.put(kind, {**obj, "status": {"nodeStatuses": listed}}, "status")
        obj = {**obj, "metadata": seen["metadata"]}
    # Not a patch: that would take a null for a field to be removed.
    await api.put(kind, obj, "status")


async def _wait_until_served(api: client.Client, crds: Sequence[dict[str, Any]]) -> None:
    """Wait until every kind answers; a real server takes a moment to look at its definition."""
    waiting = {crd["metadata"]["name"]: crd["spec"] for crd in crds}

    async def served() -> bool:
        # The definitions themselves are not read: all of them are more than a megabyte.
        answers = await asyncio.gather(*(_answers(api, spec) for spec in waiting.values()))
        for name in [name for name, answered in zip(waiting, answers, strict=True) if answered]:
            del waiting[name]
        return not waiting

    late = "never served: {}"
    await opened.until(
        served, _SERVED_SECONDS, _POLL_SECONDS, lambda: InstallError(late.format(", ".join(sorted(waiting))))
    )


async def _answers(api: client.Client, spec: dict[str, Any]) -> bool:
    version = next(each["name"] for each in spec["versions"] if each["storage"])
    with client.allowing(*NOT_YET):
        await api.list(kinds.Kind(spec["group"], spec["names"]["plural"], spec["names"]["kind"], version=version))
        return True
    return False
