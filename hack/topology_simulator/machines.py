"""Machines: what their kubelet says about them when it registers and every time after.

The size matters: a real Node carries 8 to 16 KiB, half of it the list of images, and a watcher of nodes pays for
that at every heartbeat. Names and digests are made from the machine's number, so a node is the same each time.
"""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Any

from . import conditions

KUBELET = "v1.34.4"
LABEL = "node-role.kubernetes.io/"
_NETWORK = ipaddress.IPv4Address("192.168.126.0")
_IMAGES = 44
_REGISTRY = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"


def address(number: int) -> str:
    """Return the machine's address: master-0 has 192.168.126.10."""
    return str(_NETWORK + 10 + number)


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
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.openshift.io/os_id": "rhel",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels | {LABEL + role: "" for role in roles},
            "annotations": {
                "k8s.ovn.org/node-primary-ifaddr": f'{{"ipv4":"{address(number_of(name))}/24"}}',
                "k8s.ovn.org/node-chassis-id": digest("chassis", name)[:36],
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": {},
        "status": _status(name, ready=ready, cpus=cpus, memory_kib=memory_kib),
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


def beat(obj: dict[str, Any], *, ready: bool) -> list[dict[str, Any]]:
    """Return a node's conditions with the time of this heartbeat."""
    present = conditions.merged(obj, states(ready=ready)) or obj["status"]["conditions"]
    return [{**condition, "lastHeartbeatTime": conditions.now()} for condition in present]


def _status(name: str, *, ready: bool, cpus: int, memory_kib: int) -> dict[str, Any]:
    capacity = {
        "cpu": str(cpus),
        "memory": f"{memory_kib}Ki",
        "ephemeral-storage": "124766188Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "pods": "250",
    }
    reserved = {"cpu": f"{cpus * 1000 - 500}m", "memory": f"{memory_kib - (1152 << 10)}Ki"}
    since = conditions.now()
    return {
        "addresses": [
            {"type": "InternalIP", "address": address(number_of(name))},
            {"type": "Hostname", "address": name},
        ],
        "capacity": capacity,
        # A tenth of the disk is kept free by eviction, and a GiB is the system's.
        "allocatable": capacity | reserved | {"ephemeral-storage": "113910777036"},
        "conditions": [
            {**condition, "lastHeartbeatTime": since} for condition in conditions.written(states(ready=ready))
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": boot_id(name, 0),
            "containerRuntimeVersion": "cri-o://1.34.3",
            "kernelVersion": "5.14.0-570.60.1.el9_6.x86_64",
            "kubeProxyVersion": "",
            "kubeletVersion": KUBELET,
            "machineID": digest("machine", name)[:32],
            "operatingSystem": "linux",
            "osImage": "Red Hat Enterprise Linux CoreOS 9.6.20260915-0 (Plow)",
            "systemUUID": digest("system", name)[:32],
        },
        "images": [_image(name, number) for number in range(_IMAGES)],
    }


def boot_id(name: str, boots: int) -> str:
    """Return an id that is new after every boot."""
    hexadecimal = digest("boot", name, boots)
    return "-".join(hexadecimal[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


def _image(name: str, number: int) -> dict[str, Any]:
    tag = digest("image", name, number)
    names = [f"{_REGISTRY}@sha256:{tag}", f"{_REGISTRY}:<none>"]
    return {"names": names, "sizeBytes": 200_000_000 + int(tag[:6], 16) * 40}
