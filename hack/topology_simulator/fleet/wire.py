"""The kinds of a hub, and objects of kinds that are in no table: the engines' and those that give rights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import client, install, kinds

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
        await install.create(api, obj)
