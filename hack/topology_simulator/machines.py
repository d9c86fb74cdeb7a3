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
    digests = {word: digest(word, name) for word in ("chassis", "machine", "system")}
    left = {"left_cpus": cpus * 1000 - 500, "left_memory": memory_kib - (1152 << 10)}
    sizes = {"address": address(number_of(name)), "cpus": cpus, "memory": memory_kib}
    node: dict[str, Any] = kinds.filled(
        kinds.ACCOUNT["node"], name=name, boot=boot_id(name, 0), **digests, **sizes, **left
    )
    node["metadata"]["labels"] |= {LABEL + role: "" for role in roles}
    beat = {"lastHeartbeatTime": conditions.now()}
    tags = [digest("image", name, number) for number in range(_IMAGES)]
    node["status"]["conditions"] = [{**condition, **beat} for condition in conditions.written(states(ready=ready))]
    node["status"]["images"] = [
        {
            "names": [f"{_REGISTRY}@sha256:{tag}", f"{_REGISTRY}:<none>"],
            "sizeBytes": 200_000_000 + int(tag[:6], 16) * 40,
        }
        for tag in tags
    ]
    return node


def states(*, ready: bool) -> list[conditions.Condition]:
    """Return the conditions of a node."""
    return conditions.stated("node", "node ready" if ready else "node not ready")


def boot_id(name: str, boots: int) -> str:
    """Return an id that is new after every boot."""
    hexadecimal = digest("boot", name, boots)
    return "-".join(hexadecimal[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
