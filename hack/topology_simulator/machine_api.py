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
_CLUSTER = "edge-7f4kd"
_CLUSTER_LABEL = "machine.openshift.io/cluster-api-cluster"
_TYPE = "machine.openshift.io/cluster-api-machine-type"
_PROVIDER = "baremetal.cluster.k8s.io/v1alpha1"
USER_DATA = {"name": "master-user-data-managed", "namespace": NAMESPACE}
DEPLOY = {"method": "install_coreos"}


def machine_name(node: str) -> str:
    """Return the name of the Machine that an installer makes for a node."""
    return f"{_CLUSTER}-{node}"


def machine(node: str, *, role: str = "master", linked: bool = False, hooked: bool = False) -> dict[str, Any]:
    """Return a new Machine for a node; `linked` to the host of the same name, `hooked` by the etcd operator."""
    obj = kinds.MACHINES.new(machine_name(node), NAMESPACE)
    obj["metadata"]["labels"] = {_CLUSTER_LABEL: _CLUSTER, ROLE: role, _TYPE: role}
    if linked:
        obj["metadata"]["annotations"] = {HOST: f"{NAMESPACE}/{node}"}
    value = {
        "apiVersion": _PROVIDER,
        "kind": "BareMetalMachineProviderSpec",
        "customDeploy": dict(DEPLOY),
        "userData": dict(USER_DATA),
    }
    hooks = {"preDrain": [dict(HOOK)]} if hooked else {}
    return {**obj, "spec": {"lifecycleHooks": hooks, "providerSpec": {"value": value}}, "status": {}}


def host(node: str, *, external: bool = False, consumer: bool = False) -> dict[str, Any]:
    """Return a new host; an `external` one runs already and its hardware is given, `consumer` is its Machine."""
    obj = kinds.BARE_METAL_HOSTS.new(node, NAMESPACE)
    number = machines.number_of(node)
    spec: dict[str, Any] = {
        "online": True,
        "bmc": {"address": f"redfish://192.168.111.1/redfish/v1/Systems/{node}", "credentialsName": f"{node}-bmc"},
        "bootMACAddress": f"52:54:00:00:00:{number % 256:02x}",
    }
    if external:
        spec["externallyProvisioned"] = True
        obj["metadata"]["annotations"] = {HARDWARE: json.dumps(hardware(node), separators=(",", ":"))}
    if consumer:
        spec["consumerRef"] = consumer_of(machine_name(node))
    return {**obj, "spec": spec, "status": {}}


def consumer_of(name: str) -> dict[str, str]:
    """Return how a host refers to its Machine."""
    kind = kinds.MACHINES
    return {"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "namespace": NAMESPACE}


def hardware(node: str) -> dict[str, Any]:
    """Return what an inspection of a node's machine finds."""
    number = machines.number_of(node)
    nic = {"name": "enp1s0", "mac": f"52:54:00:00:00:{number % 256:02x}", "ip": machines.address(number)}
    return {"hostname": node, "nics": [nic], "ramMebibytes": 32 << 10}


def addresses(obj: dict[str, Any] | None) -> list[dict[str, str]]:
    """Return the addresses of the Machine on a host, none without one."""
    details = ((obj or {}).get("status") or {}).get("hardware") or {}
    given = [{"type": "InternalIP", "address": nic["ip"]} for nic in details.get("nics") or []]
    names = [{"type": type_, "address": details["hostname"]} for type_ in ("Hostname", "InternalDNS")]
    return [*given, *names] if details.get("hostname") else given


def host_status(state: str, *, ident: str, powered_on: bool = True, error: str = "") -> dict[str, Any]:
    """Return the status of a host that is not inspected yet; `error` is what its management controller last said."""
    status: dict[str, Any] = {
        "provisioning": {"state": state, "ID": ident},
        "poweredOn": powered_on,
        "operationalStatus": "error" if error else "OK",
        "errorMessage": error,
        "errorCount": 1 if error else 0,
        "provisioningFailCount": 0,
    }
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
