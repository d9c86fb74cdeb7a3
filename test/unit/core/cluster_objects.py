"""The objects of a single-node cluster that is ready to move, as the API has them. `clusters` keeps them."""

from __future__ import annotations

from typing import Any

from topology_api import crd

from . import raw_operands, worlds

Raw = dict[str, Any]
Key = tuple[str, str | None, str]
INFRASTRUCTURE: Key = ("infrastructures", None, "cluster")
VERSION: Key = ("clusterversions", None, "version")
MASTER_POOL: Key = ("machineconfigpools", None, "master")
OBSERVED = "machineconfiguration.openshift.io/controlPlaneTopology"


def objects() -> dict[Key, Raw]:
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
        VERSION: {
            "status": {"desired": {"version": "4.20.1"}, "conditions": raw_operands.conditions(Progressing="False")}
        },
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
        **raw_operands.objects(worlds.SNO),
        ("customresourcedefinitions", None, "infrastructures.config.openshift.io"): crd.infrastructure(()),
    }
    for name, address in zip(worlds.NAMES, worlds.ADDRESSES, strict=True):
        found["nodes", None, name] = {
            "metadata": {
                "labels": {f"node-role.kubernetes.io/{role}": "" for role in ("control-plane", "master", "worker")},
                "annotations": {OBSERVED: "SingleReplica"},
            },
            "status": {
                "capacity": {"cpu": "8", "memory": "32Gi"},
                "conditions": raw_operands.conditions(Ready="True"),
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
