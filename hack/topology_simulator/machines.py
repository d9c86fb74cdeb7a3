"""Machines: what their kubelet says about them when it registers and every time after.

Names and digests are made from the machine's number, so a node is the same each time.
"""

import hashlib
import ipaddress
from typing import Any

from . import conditions, kinds

LABEL = "node-role.kubernetes.io/"
network = ipaddress.IPv4Address("192.168.126.0")
"""Of all machines. The lab moves it to loopback where something real is to listen at their addresses."""
_IMAGES = 44
_REGISTRY = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"


def address(number: int) -> str:
    """Return the machine's address: master-0 has 192.168.126.10."""
    return str(network + 10 + number)


def digest(*words: object) -> str:
    """Return 64 hexadecimal digits that stand for these words."""
    return hashlib.sha256(" ".join(map(str, words)).encode()).hexdigest()


def number_of(name: str) -> int:
    """Return the number at the end of a machine's name; names without one get one past the usual."""
    tail = name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 100 + sum(name.encode()) % 100


def node(
    name: str, *, roles: tuple[str, ...], ready: bool, cpus: int = 8, memory_kib: int = 32 << 20
) -> dict[str, Any]:
    """Return the Node that a kubelet registers, with its status."""
    labels = kinds.ACCOUNT["node_labels"] | {"kubernetes.io/hostname": name}
    capacity = {"cpu": str(cpus), "memory": f"{memory_kib}Ki"} | kinds.ACCOUNT["node_capacity"]
    reserved = {"cpu": f"{cpus * 1000 - 500}m", "memory": f"{memory_kib - (1152 << 10)}Ki"}
    beat = {"lastHeartbeatTime": conditions.now()}
    tags = [digest("image", name, number) for number in range(_IMAGES)]
    where = address(number_of(name))
    status = {
        "addresses": [{"type": "InternalIP", "address": where}, {"type": "Hostname", "address": name}],
        "capacity": capacity,
        # A tenth of the disk is kept free by eviction, and a GiB is the system's.
        "allocatable": capacity | reserved | {"ephemeral-storage": "113910777036"},
        "conditions": [{**condition, **beat} for condition in conditions.written(states(ready=ready))],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": kinds.ACCOUNT["node_info"]
        | {
            "bootID": boot_id(name, 0),
            "machineID": digest("machine", name)[:32],
            "systemUUID": digest("system", name)[:32],
        },
        "images": [
            {
                "names": [f"{_REGISTRY}@sha256:{tag}", f"{_REGISTRY}:<none>"],
                "sizeBytes": 200_000_000 + int(tag[:6], 16) * 40,
            }
            for tag in tags
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels | {LABEL + role: "" for role in roles},
            "annotations": {
                "k8s.ovn.org/node-primary-ifaddr": f'{{"ipv4":"{where}/24"}}',
                "k8s.ovn.org/node-chassis-id": digest("chassis", name)[:36],
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": {},
        "status": status,
    }


def states(*, ready: bool) -> list[conditions.Condition]:
    """Return the conditions of a node."""
    good = "kubelet has what it needs"
    network = "container runtime network not ready: NetworkReady=false"
    return [
        conditions.Condition("MemoryPressure", "False", "KubeletHasSufficientMemory", good),
        conditions.Condition("DiskPressure", "False", "KubeletHasNoDiskPressure", good),
        conditions.Condition("PIDPressure", "False", "KubeletHasSufficientPID", good),
        conditions.Condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
        if ready
        else conditions.Condition("Ready", "False", "KubeletNotReady", network),
    ]


def boot_id(name: str, boots: int) -> str:
    """Return an id that is new after every boot."""
    hexadecimal = digest("boot", name, boots)
    return "-".join(hexadecimal[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
