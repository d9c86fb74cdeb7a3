"""Puts a cluster into an API server: definitions, then objects, then their status.

Refused when there is an Infrastructure `cluster` already: whatever that is, half of a second cluster on top of it
would be neither. With `reuse`, what exists is left exactly as it is and the rest is added, so an interrupted
installation can be finished. The CRD of Infrastructure is the one that the operator itself ships (bindata/crd).
"""

from __future__ import annotations

import asyncio
import functools
import json
import pathlib
from typing import TYPE_CHECKING, Any

import yaml

from . import client, cluster, conditions, kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CRDS = pathlib.Path(__file__).parent / "crds"
_OWN_CRDS = pathlib.Path(__file__).parents[2] / "bindata" / "crd"
_ESTABLISHED_SECONDS = 20.0
_NOT_YET = (404, 429, 503)
"""What a real server answers about a kind that is Established but not served: 429 while its storage initializes."""
_AT_ONCE = 8
"""How many objects are created at the same time."""
_STATUS_APART = (
    kinds.PODS,
    kinds.DEPLOYMENTS,
    kinds.STATEFUL_SETS,
    kinds.DISRUPTION_BUDGETS,
    kinds.INFRASTRUCTURES,
    kinds.CLUSTER_OPERATORS,
    kinds.CLUSTER_VERSIONS,
    kinds.FEATURE_GATES,
    kinds.ETCDS,
    kinds.CONFIGS,
    kinds.KUBE_API_SERVERS,
    kinds.KUBE_CONTROLLER_MANAGERS,
    kinds.KUBE_SCHEDULERS,
    kinds.CONSOLES,
    kinds.REGISTRIES,
    kinds.OPENSHIFT_API_SERVERS,
    kinds.INGRESS_CONTROLLERS,
    kinds.MACHINE_CONFIG_POOLS,
    kinds.CONTROLLER_CONFIGS,
)


class InstallError(Exception):
    """The cluster could not be installed; the message says what to do."""


def definitions() -> list[dict[str, Any]]:
    """Return every CRD of the simulated cluster. Raises InstallError."""
    found: list[dict[str, Any]] = [json.loads(text) for text in _read()]
    if not any(one["metadata"]["name"].startswith("infrastructures.") for one in found):
        raise InstallError(f"no CRD of Infrastructure in {_OWN_CRDS}: run this from a checkout of the repository")
    return found


@functools.cache
def _read() -> tuple[str, ...]:
    """Return the definitions as JSON: tests install many clusters, and reading YAML takes longer than the rest."""
    paths = [path for folder in (_CRDS, _OWN_CRDS) for path in sorted(folder.glob("*.yaml"))]
    return tuple(json.dumps(yaml.safe_load(path.read_text())) for path in paths)


async def install(api: client.Client, shape: cluster.Shape, *, reuse: bool = False) -> int:
    """Install the cluster and return how many objects were created.

    Raises InstallError when there is one already and `reuse` is false, ClientError when the API fails.
    """
    if not reuse and await api.find(kinds.INFRASTRUCTURES, "cluster") is not None:
        raise InstallError("there is an Infrastructure cluster already; use an empty API server, or --reuse")
    return await define(api) + await populate(api, shape)


async def define(api: client.Client) -> int:
    """Create the definitions that are missing, wait until all are served, and return how many were created.

    Raises InstallError, ClientError.
    """
    crds = definitions()
    created = await _create_all(api, crds)
    await _wait_until_served(api, crds)
    return created


async def populate(api: client.Client, shape: cluster.Shape) -> int:
    """Create the objects that are missing, where all kinds are served, and return how many were. Raises ClientError."""
    made = cluster.objects(shape)
    first = [one for one in made if kinds.of(one) is kinds.NAMESPACES]
    created = 0
    for part in (first, [one for one in made if one not in first]):
        created += await _create_all(api, part)
    return created


async def _create_all(api: client.Client, objects: Sequence[dict[str, Any]]) -> int:
    """Create some at a time, in no order; return how many there were not."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(obj: dict[str, Any]) -> int:
        async with free:
            return await _create(api, obj)

    # Not a task group: what a single request fails of is to come out as it is, after the others have ended.
    done = await asyncio.gather(*(one(obj) for obj in objects), return_exceptions=True)
    for found in done:
        if isinstance(found, BaseException):
            raise found
    return sum(found for found in done if isinstance(found, int))


async def _create(api: client.Client, obj: dict[str, Any]) -> int:
    kind = kinds.of(obj)
    try:
        made = await api.create(kind, obj)
        created = 1
    except client.ApiError as error:
        if error.code != 409 or error.reason != "AlreadyExists":
            raise
        made, created = await api.get(kind, obj["metadata"]["name"], obj["metadata"].get("namespace", "")), 0
    meta = made["metadata"]
    if kind in _STATUS_APART and "status" in obj and (created or not made.get("status")):
        await api.patch_status(kind, meta["name"], obj["status"], meta.get("namespace", ""))
    if kind is kinds.NODES and created:
        # The API server taints every new node; whoever watches nodes takes that away once it is ready.
        await api.patch(kind, meta["name"], {"spec": {"taints": obj["spec"].get("taints")}})
    return created


async def _wait_until_served(api: client.Client, crds: list[dict[str, Any]]) -> None:
    """Wait until every definition is Established and its kind answers; a real server takes a moment for both."""
    names = set(_names(crds))
    try:
        async with asyncio.timeout(_ESTABLISHED_SECONDS):
            while names:
                for crd in await api.list(kinds.DEFINITIONS):
                    name = crd["metadata"]["name"]
                    if name in names and conditions.is_true(crd, "Established") and await _answers(api, name):
                        names.discard(name)
                if names:
                    await asyncio.sleep(0.2)
    except TimeoutError:
        raise InstallError(f"never Established: {', '.join(sorted(names))}") from None


def _names(crds: list[dict[str, Any]]) -> Iterator[str]:
    for crd in crds:
        yield crd["metadata"]["name"]


async def _answers(api: client.Client, name: str) -> bool:
    try:
        await api.list(kinds.named(name))
    except client.ApiError as error:
        if error.code in _NOT_YET:
            return False
        raise
    return True
