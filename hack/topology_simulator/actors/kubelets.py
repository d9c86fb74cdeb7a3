"""Kubelets: every Node in the API gets one that boots, beats, reboots on order, and can be taken down.

Joining is nothing but creating a Node. Its machine is off as long as the Node has the annotation `POWER` with the value
`off`. The not-ready taint, which the API server puts on new nodes, is handled here too.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from topology_simulator import client, conditions, kinds, machines, pace

from . import actor

_STATE = "machineconfiguration.openshift.io/state"
_TAINT = "node.kubernetes.io/not-ready"
POWER = "topology-simulator/power"
"""Annotation of a Node: `off` makes it NotReady, as if its machine had lost power."""
CONTROL_PLANE, WORKER = ("control-plane", "master"), ("worker",)
"""Roles that a machine may join with."""


@dataclass(slots=True)
class _Machine:
    """What a kubelet knows and the API does not."""

    booted: bool
    boots: int = 0
    rebooted: bool = False


async def join(api: client.Client, name: str, roles: tuple[str, ...] = CONTROL_PLANE) -> None:
    """Register a node that is not ready yet. Raises ApiError 409 when there is one of that name."""
    await api.create(kinds.NODES, machines.node(name, roles=roles, ready=False))


class Kubelets(actor.Actor):
    """All kubelets of the cluster."""

    agent = "kubelet"
    watched = (kinds.NODES,)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._machines: dict[str, _Machine] = {}

    async def step(self) -> None:
        """Let every kubelet say what is new, or beat when it is time."""
        nodes = self.mirror.all(kinds.NODES)
        for gone in set(self._machines) - {node["metadata"]["name"] for node in nodes}:
            del self._machines[gone]
            self.waits.clear(("boot", gone), ("reboot", gone), ("beat", gone))
        for node in nodes:
            await self._tend(node)

    async def _tend(self, node: dict[str, Any]) -> None:
        name = node["metadata"]["name"]
        machine = self._machines.setdefault(name, _Machine(booted=conditions.is_true(node, "Ready")))
        if not (node.get("status") or {}).get("capacity"):
            labels = machines.node(name, roles=(), ready=False)
            await self.patch(kinds.NODES, node, {"metadata": {"labels": labels["metadata"]["labels"]}})
            await self.patch(kinds.NODES, node, {"status": labels["status"]}, "status")
            return
        if not machine.booted:
            machine.booted = self.waits.due(("boot", name), self.pace.boot)
        rebooting = self._reboot(name, node, machine)
        off = (node["metadata"].get("annotations") or {}).get(POWER) == "off"
        ready = machine.booted and not rebooting and not off and name not in self.troubles.off
        await self._report(name, node, machine, ready=ready)

    def _reboot(self, name: str, node: dict[str, Any], machine: _Machine) -> bool:
        """Whether the node is down because the machine config daemon asked for a reboot."""
        if (node["metadata"].get("annotations") or {}).get(_STATE) != "Rebooting":
            machine.rebooted = False
            self.waits.clear(("reboot", name))
            return False
        if not machine.rebooted and self.waits.due(("reboot", name), self.pace.reboot):
            machine.rebooted = True
            machine.boots += 1
        return not machine.rebooted

    async def _report(self, name: str, node: dict[str, Any], machine: _Machine, *, ready: bool) -> None:
        info = node["status"].get("nodeInfo") or {}
        boot_id = machines.boot_id(name, machine.boots) if machine.boots else info.get("bootID")
        news = conditions.is_true(node, "Ready") is not ready or info.get("bootID") != boot_id
        if news or self.waits.due(("beat", name), self.pace.heartbeat):
            self.waits.start(("beat", name), self.pace.heartbeat)
            states = conditions.merged(node, machines.states(ready=ready)) or node["status"]["conditions"]
            beat = [{**condition, "lastHeartbeatTime": conditions.now()} for condition in states]
            change = {"conditions": beat, "nodeInfo": {"bootID": boot_id}}
            await self.patch(kinds.NODES, node, {"status": change}, "status")
        taints = (node.get("spec") or {}).get("taints") or []
        if any(taint.get("key") == _TAINT for taint in taints) is ready:
            others = [taint for taint in taints if taint.get("key") != _TAINT]
            mine = [] if ready else [{"key": _TAINT, "effect": "NoSchedule"}]
            await self.patch(kinds.NODES, node, {"spec": {"taints": [*others, *mine] or None}})


_CLIENT = ("kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"])
_SERVER = ("kubernetes.io/kubelet-serving", ["digital signature", "server auth"])


class Bootstrap(actor.Actor):
    """Machines that wait for their certificates, until their nodes are there.

    As on a real cluster, there are two requests for each node, one after the other: that of the client, which the
    machine's bootstrap account makes, and that of the server, which the node itself makes (kubernetes/kubernetes
    pkg/kubelet/certificate/bootstrap). Both wait for a person. None is signed: that one is approved is enough.
    """

    agent = "kubelet-bootstrap"
    watched = (kinds.SIGNING_REQUESTS, kinds.NODES)

    def __init__(self, api: client.Client, names: Iterable[str], speeds: pace.Pace) -> None:
        super().__init__(api, speeds)
        self._names = tuple(names)

    async def step(self) -> None:
        """Ask for the first certificate, register once it is approved, and ask for the second."""
        for name in self._names:
            if self.mirror.get(kinds.NODES, name) is not None:
                await self._ask(name, "server", *_SERVER)
            elif await self._ask(name, "client", *_CLIENT):
                await join(self.api, name)

    async def _ask(self, node: str, whose: str, signer: str, usages: list[str]) -> bool:
        """Whether this request is approved; it is made first where there is none."""
        name = f"csr-{node}-{whose}"
        request = self.mirror.get(kinds.SIGNING_REQUESTS, name)
        if request is None:
            spec = {"request": _request(node), "signerName": signer, "usages": usages}
            stored = await self.api.create(kinds.SIGNING_REQUESTS, kinds.SIGNING_REQUESTS.new(name, spec=spec))
            self.mirror.keep(kinds.SIGNING_REQUESTS, stored)
        return conditions.is_true(request, "Approved")


def _request(node: str) -> str:
    """Return what is to be signed, as the API has it: PEM in base64."""
    key = ec.generate_private_key(ec.SECP256R1())
    names: Any = [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, f"system:node:{node}")]
    subject = x509.Name([x509.NameAttribute(oid, text) for oid, text in names])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    request = request.add_extension(x509.SubjectAlternativeName([x509.DNSName(node)]), critical=False)
    return base64.b64encode(request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)).decode()
