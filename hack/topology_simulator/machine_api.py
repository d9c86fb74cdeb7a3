"""Machines and bare-metal hosts as objects: what an installer, an administrator and their controllers write. Pure.

Fields and names: openshift/api machine/v1beta1 (types_machine.go), metal3-io baremetal-operator
apis/metal3.io/v1alpha1 (baremetalhost_types.go), and cluster-api-provider-baremetal
pkg/cloud/baremetal/actuators/machine/actuator.go, which ties the two together.
"""

import json
from typing import Any

from . import kinds, machines

NAMESPACE = "openshift-machine-api"
ROLE = "machine.openshift.io/cluster-api-machine-role"
CONTROL_PLANE = ("master", "arbiter")
"""Roles whose Machines the etcd operator looks at."""
HOOK = {"name": "EtcdQuorumOperator", "owner": "clusteroperator/etcd"}
"""The preDrain hook of the etcd operator."""
HOST = "metal3.io/BareMetalHost"
"""Annotation of a Machine: namespace/name of its host."""
INSTANCE_STATE = "machine.openshift.io/instance-state"
HARDWARE = "inspect.metal3.io/hardwaredetails"
"""Annotation of a host that is not inspected: its hardware."""
MACHINE_FINALIZER = "machine.machine.openshift.io"
HOST_FINALIZER = "baremetalhost.metal3.io"
_PROVIDED = kinds.ACCOUNT["machine"]["spec"]["providerSpec"]["value"]
USER_DATA, DEPLOY = _PROVIDED["userData"], _PROVIDED["customDeploy"]


def machine_name(node: str) -> str:
    """Return the name of the Machine that an installer makes for a node."""
    return str(machine(node)["metadata"]["name"])


def machine(node: str, *, role: str = "master", linked: bool = False, hooked: bool = False) -> dict[str, Any]:
    """Return a new Machine for a node; `linked` to the host of the same name, `hooked` by the etcd operator."""
    obj: dict[str, Any] = kinds.filled(kinds.ACCOUNT["machine"], node=node, role=role)
    if linked:
        obj["metadata"]["annotations"] = {HOST: f"{NAMESPACE}/{node}"}
    if hooked:
        obj["spec"]["lifecycleHooks"] = {"preDrain": [dict(HOOK)]}
    return obj


def host(node: str, *, external: bool = False, consumer: bool = False) -> dict[str, Any]:
    """Return a new host; an `external` one runs already and its hardware is given, `consumer` is its Machine."""
    obj: dict[str, Any] = kinds.filled(kinds.ACCOUNT["host"], node=node, number=machines.number_of(node) % 256)
    if external:
        obj["spec"]["externallyProvisioned"] = True
        obj["metadata"]["annotations"] = {HARDWARE: json.dumps(hardware(node), separators=(",", ":"))}
    if consumer:
        obj["spec"]["consumerRef"] = consumer_of(machine_name(node))
    return obj


def consumer_of(name: str) -> dict[str, str]:
    """Return how a host refers to its Machine."""
    kind = kinds.MACHINES
    return {"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "namespace": NAMESPACE}


def hardware(node: str) -> dict[str, Any]:
    """Return what an inspection of a node's machine finds."""
    number = machines.number_of(node)
    words = {"node": node, "number": number % 256, "address": machines.address(number)}
    details: dict[str, Any] = kinds.filled(kinds.ACCOUNT["hardware"], **words)
    return details


def addresses(obj: dict[str, Any] | None) -> list[dict[str, str]]:
    """Return the addresses of the Machine on a host, none without one."""
    details = ((obj or {}).get("status") or {}).get("hardware") or {}
    given = [{"type": "InternalIP", "address": nic["ip"]} for nic in details.get("nics") or []]
    names = [{"type": type_, "address": details["hostname"]} for type_ in ("Hostname", "InternalDNS")]
    return [*given, *names] if details.get("hostname") else given


def host_status(state: str, *, ident: str, powered_on: bool = True, error: str = "") -> dict[str, Any]:
    """Return the status of a host that is not inspected yet; `error` is what its management controller last said."""
    words = {"operational": "error" if error else "OK", "error": error, "errors": 1 if error else 0}
    part = kinds.ACCOUNT["host_status"]
    status = kinds.filled(part, state=state, ident=ident, powered_on=powered_on, **words)
    return {**status, "errorType": "power management error"} if error else status


def running(node: str) -> dict[str, Any]:
    """Return the status of a Machine that has run since the installation, but for what only the server knows."""
    given = {"status": {"hardware": hardware(node)}}
    return {"phase": "Running", "addresses": addresses(given), "nodeRef": {"kind": "Node", "name": node}}


def installed(node: str, *, bare_metal: bool) -> list[dict[str, Any]]:
    """Return the Machine of a control-plane node, and the host below it, as an installation leaves them."""
    obj = machine(node, linked=bare_metal, hooked=True)
    obj["metadata"]["finalizers"] = [MACHINE_FINALIZER]
    obj["status"] = running(node)
    if not bare_metal:
        obj["spec"]["providerSpec"] = {"value": {"kind": "SomeOtherProviderSpec"}}
        return [obj]
    below = host(node, consumer=True)
    below["metadata"]["finalizers"] = [HOST_FINALIZER]
    below["spec"] |= {"externallyProvisioned": True}
    status = host_status("externally provisioned", ident=machines.boot_id(f"host {node}", 0))
    below["status"] = {**status, "hardware": hardware(node)}
    return [obj, below]


def leaves(obj: dict[str, Any]) -> bool:
    """Whether an object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def phase(obj: dict[str, Any]) -> str:
    """Return the phase of a Machine, empty while it has none."""
    return str((obj.get("status") or {}).get("phase") or "")


def host_state(obj: dict[str, Any]) -> str:
    """Return the state of a host, empty while it has none."""
    return str(((obj.get("status") or {}).get("provisioning") or {}).get("state") or "")


def internal_addresses(obj: dict[str, Any]) -> list[str]:
    """Return every InternalIP of a Machine or a Node, in its order."""
    given = (obj.get("status") or {}).get("addresses") or []
    return [address["address"] for address in given if address["type"] == "InternalIP"]
