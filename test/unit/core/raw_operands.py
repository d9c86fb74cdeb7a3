"""Objects of the API: what the other operators run, and a single-node cluster that is ready to move.

The facts of `operand_worlds`, written back. `clusters` puts them into a cluster in memory, and `follow` replaces them
there with those of another topology.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topology_api import crd
from topology_controller.observe import facts

from . import operand_worlds, worlds

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyPair

Raw = dict[str, Any]
Key = tuple[str, str | None, str]


def held(holder: str, seconds: int) -> Raw:
    """A Lease that is renewed throughout the test."""
    spec = {
        "holderIdentity": f"{holder}_0",
        "leaseDurationSeconds": seconds,
        "renewTime": "2027-01-01T00:00:00.000000Z",
    }
    return {"spec": spec}


def objects(pair: TopologyPair, *, fresh: int = 0, settled: datetime = operand_worlds.LONG_AGO) -> dict[Key, Raw]:
    """Every operand of the matrix, its operator's configuration and ClusterOperator, as under this topology.

    `settled` is when the operators came to rest.
    """
    found: dict[Key, Raw] = {}
    known: dict[str, Any] = operand_worlds.at(worlds.MATRIX, pair, fresh=fresh)
    known["etcds.operator.openshift.io/cluster"] = worlds.etcd(operand_worlds.REVISION + fresh)
    count = 1 if pair.infrastructure == "SingleReplica" else 2
    router = "ingresscontrollers.operator.openshift.io/openshift-ingress-operator/default"
    known[router] = facts.IngressController(None, count)
    for group in worlds.MATRIX.groups:
        if group.managed_by is not None:
            managed = known[group.managed_by.key]
            assert isinstance(managed, facts.Managed)
            spec = {} if managed.replicas is None else {"replicas": managed.replicas}
            found[plural(group.managed_by.resource), None, group.managed_by.name] = {"spec": spec}
        for operand in group.operands:
            raw = _raw(known[operand.key])
            if raw is not None:
                found[plural(operand.plural), operand.namespace, operand.name] = raw
    for reader in worlds.MATRIX.startup_readers:
        found["leases", reader.namespace, f"{reader.operator}-lock"] = held(f"{reader.operator}-1", 270)
    for operator in worlds.cluster_operators():
        stable = conditions(Available="True", Progressing="False", Degraded="False")
        for condition in stable:
            condition["lastTransitionTime"] = stamp(settled)
        found["clusteroperators", None, operator.name] = {"status": {"conditions": stable}}
    found["controllerconfigs", None, "machine-config-controller"] = {
        "metadata": {"generation": 1},
        "spec": {"infra": {"status": {"controlPlaneTopology": pair.control_plane}}},
        "status": {
            "observedGeneration": 1,
            "conditions": conditions(TemplateControllerCompleted="True", TemplateControllerFailing="False"),
        },
    }
    return found


def conditions(**statuses: str) -> list[Raw]:
    """Conditions as the API writes them."""
    return [{"type": type_, "status": status, "reason": "R", "message": ""} for type_, status in statuses.items()]


def plural(resource: str) -> str:
    """What a cluster in memory keeps a kind by: its plural, with the group where the plural alone is taken."""
    name, _, group = resource.partition(".")
    return resource if name == "configs" and group != "operator.openshift.io" else name


def stamp(moment: Any) -> str:
    """A time as the API writes it."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _raw(found: Any) -> Raw | None:
    if isinstance(found, facts.Workload):
        counts = {"updatedReplicas": found.updated, "readyReplicas": found.ready, "availableReplicas": found.available}
        return {
            "metadata": {"generation": found.generation},
            "spec": {"replicas": found.wanted},
            "status": {"observedGeneration": found.generation, **counts},
        }
    if isinstance(found, facts.StaticPods):
        return {"status": _revisions(found)}
    if isinstance(found, facts.Etcd):
        well = conditions(EtcdMembersAvailable="True", EtcdMembersDegraded="False", EtcdMembersProgressing="False")
        pods = found.static_pods
        return {"status": {"conditions": well, **(_revisions(pods) if isinstance(pods, facts.StaticPods) else {})}}
    if isinstance(found, facts.DisruptionBudget):
        return {"spec": {"minAvailable": found.min_available}}
    if isinstance(found, facts.IngressController):
        return {"spec": {}, "status": {"availableReplicas": found.available_replicas}}
    return None


def _revisions(found: facts.StaticPods) -> Raw:
    entries = [{"nodeName": one.node, "currentRevision": one.current} for one in found.nodes]
    return {"latestAvailableRevision": found.latest, "nodeStatuses": entries}


INFRASTRUCTURE: Key = ("infrastructures", None, "cluster")
VERSION: Key = ("clusterversions", None, "version")
MASTER_POOL: Key = ("machineconfigpools", None, "master")
OBSERVED = "machineconfiguration.openshift.io/controlPlaneTopology"


def cluster() -> dict[Key, Raw]:
    """A single-node cluster that is ready to move; nothing is requested yet."""
    found: dict[Key, Raw] = {
        INFRASTRUCTURE: {
            "spec": {},
            "status": {
                "controlPlaneTopology": "SingleReplica",
                "infrastructureTopology": "SingleReplica",
                "platformStatus": {"type": "None"},
            },
        },
        VERSION: {"status": {"desired": {"version": "4.20.1"}, "conditions": conditions(Progressing="False")}},
        ("featuregates", None, "cluster"): {"status": {"featureGates": [{"version": "4.20.1", "enabled": []}]}},
        ("configs", None, "cluster"): {"status": {}},
        ("schedulers", None, "cluster"): {"spec": {"mastersSchedulable": True}},
        ("configmaps", "openshift-etcd", "etcd-endpoints"): {
            "data": dict(zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True))
        },
        ("leases", "openshift-etcd-operator", "openshift-cluster-etcd-operator-lock"): {
            "spec": {"holderIdentity": "h", "renewTime": "2026-03-01T11:59:59.000000Z", "leaseDurationSeconds": 360000}
        },
        MASTER_POOL: pool("rendered-1"),
        **objects(worlds.SNO),
        ("customresourcedefinitions", None, "infrastructures.config.openshift.io"): crd.infrastructure(()),
    }
    for name, address in zip(worlds.NAMES, worlds.ADDRESSES, strict=True):
        found["nodes", None, name] = {
            "metadata": {
                "labels": {f"node-role.kubernetes.io/{role}": "" for role in ("control-plane", "master", "worker")},
                "annotations": {OBSERVED: "SingleReplica"},
            },
            "status": {
                "capacity": {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi"},
                "allocatable": {"memory": "30Gi", "ephemeral-storage": "90Gi"},
                "conditions": conditions(Ready="True"),
                "addresses": [{"type": "InternalIP", "address": address}],
                "nodeInfo": {"kubeletVersion": "v1.34.2"},
            },
        }
    return found


def pool(configuration: str) -> Raw:
    """A master pool that is rolled out."""
    counts = {"machineCount": 3, "updatedMachineCount": 3, "readyMachineCount": 3, "observedGeneration": 1}
    return {
        "metadata": {"generation": 1},
        "spec": {"configuration": {"name": configuration}},
        "status": {"configuration": {"name": configuration}, **counts},
    }
