"""The kinds of a hub, and objects of kinds that are in no table: the engines' and those that give rights."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .. import client, install, kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

RBAC = "rbac.authorization.k8s.io"
CLUSTER_GROUP, WORK_GROUP = "cluster.open-cluster-management.io", "work.open-cluster-management.io"
MANAGED_CLUSTERS = kinds.Kind(CLUSTER_GROUP, "managedclusters", "ManagedCluster")
CLUSTER_SETS = kinds.Kind(CLUSTER_GROUP, "managedclustersets", "ManagedClusterSet", version="v1beta2")
DECISIONS = kinds.Kind(CLUSTER_GROUP, "placementdecisions", "PlacementDecision", namespaced=True, version="v1beta1")
WORKS = kinds.Kind(WORK_GROUP, "manifestworks", "ManifestWork", namespaced=True)
REPLICA_SETS = kinds.Kind(
    WORK_GROUP, "manifestworkreplicasets", "ManifestWorkReplicaSet", namespaced=True, version="v1alpha1"
)
CONFIGURATION_POLICIES = kinds.Kind(
    "policy.open-cluster-management.io", "configurationpolicies", "ConfigurationPolicy", namespaced=True
)
_SERVED_SECONDS = 30.0
_POLL_SECONDS = 0.1
_NOT_YET = (404, 429, 503)


def kind_of(obj: dict[str, Any]) -> kinds.Kind:
    """Return the kind of an object; its plural is guessed as Kubernetes forms it for all kinds that are used here."""
    group, _, version = obj["apiVersion"].rpartition("/")
    name = obj["kind"].lower()
    plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return kinds.Kind(group, plural, obj["kind"], "namespace" in obj["metadata"], version)


def binding(name: str, *subjects: dict[str, str], role: str = "", namespace: str = "") -> dict[str, Any]:
    """Return what gives these subjects a ClusterRole of the same name; with `role`, that Role of the namespace."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": RBAC, "kind": "Role" if role else "ClusterRole", "name": role or name},
        "subjects": list(subjects),
    }


def cluster_role(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a ClusterRole."""
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


async def create(api: client.Client, objects: Iterable[dict[str, Any]]) -> None:
    """Create objects in their order; one that is there already is left as it is. Raises ClientError."""
    for obj in objects:
        try:
            await api.create(kind_of(obj), obj)
        except client.ApiError as error:
            if error.reason != "AlreadyExists":
                raise


async def define(api: client.Client, crds: Iterable[dict[str, Any]]) -> None:
    """Create definitions and wait until all are served. Raises InstallError, ClientError."""
    waiting = list(crds)
    await create(api, waiting)
    try:
        async with asyncio.timeout(_SERVED_SECONDS):
            while waiting:
                waiting = [crd for crd in waiting if not await _served(api, crd)]
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        names = ", ".join(crd["metadata"]["name"] for crd in waiting)
        raise install.InstallError(f"never served: {names}") from None


async def _served(api: client.Client, crd: dict[str, Any]) -> bool:
    spec = crd["spec"]
    version = next(each["name"] for each in spec["versions"] if each["storage"])
    try:
        await api.list(kinds.Kind(spec["group"], spec["names"]["plural"], spec["names"]["kind"], version=version))
    except client.ApiError as error:
        if error.code in _NOT_YET:
            return False
        raise
    return True
