"""The Machine API on bare metal: a Machine gets a host, an address and a node, and gives them back in its order.

One actor for the machine controller and the node link controller of openshift/machine-api-operator at 95119612
(pkg/controller/machine/controller.go, drain_controller.go, pkg/controller/nodelink/nodelink_controller.go), and the
actuator of openshift/cluster-api-provider-baremetal at f2b0db19 (pkg/cloud/baremetal/actuators/machine/actuator.go). A
deleted Machine stays as long as a preDrain hook is on it; then its node is cordoned, its host deprovisioned and
released, its Node deleted. A Machine whose authority is not the Machine API is left alone; those of other providers
only get their node. Left out: evictions, MachineSets, health checks, the providerID of nodes, remediation.
"""

from typing import Any

from topology_simulator import client, conditions, kinds, machine_api

from . import actor

_EXISTS = frozenset({"provisioned", "externally provisioned", "unmanaged", "registering"})
_DEPLOYED = frozenset({"provisioning", "provisioned", "deprovisioning"})
_ELSEWHERE = frozenset({"ClusterAPI", "Migrating"})
_GONE = "can't find created instance"
_WANTED_OF_HOST = ("image", "customDeploy", "userData")


class MachineController(actor.Actor):
    """Keeps every Machine."""

    agent = "machine-controller"
    watched = (kinds.MACHINES, kinds.BARE_METAL_HOSTS, kinds.NODES)

    async def step(self) -> None:
        """Lead every Machine one step further."""
        for machine in self.mirror.all(kinds.MACHINES):
            if (machine.get("status") or {}).get("authoritativeAPI") in _ELSEWHERE:
                continue
            if machine_api.leaves(machine):
                await self._remove(machine)
            elif machine_api.MACHINE_FINALIZER not in (machine["metadata"].get("finalizers") or []):
                await self._finalizers(machine, [*_finalizers(machine), machine_api.MACHINE_FINALIZER])
            elif machine_api.phase(machine) != "Failed":
                await self._keep(machine)

    # -- a Machine that stays

    async def _keep(self, machine: dict[str, Any]) -> None:
        if not _is_bare_metal(machine):
            await self._link(machine)
            return
        host = self._host(machine)
        if host is not None and _is_consumer(machine, host) and machine_api.host_state(host) in _EXISTS:
            await self._run(machine, host)
            return
        status = machine.get("status") or {}
        if status.get("addresses"):
            await self._say(machine, addresses=[])
        elif (machine.get("spec") or {}).get("providerID"):
            await self._say(machine, phase="Failed", errorMessage=_GONE)
        elif not machine_api.phase(machine):
            await self._say(machine, phase="Provisioning")
        elif self.waits.due(("choose", _name(machine)), self.pace.machine):
            await self._choose(machine, host)

    async def _run(self, machine: dict[str, Any], host: dict[str, Any]) -> None:
        """Take over what the host says, then what node there is."""
        meta, below = machine["metadata"], host["metadata"]
        wanted = {
            machine_api.HOST: f"{below['namespace']}/{below['name']}",
            machine_api.INSTANCE_STATE: machine_api.host_state(host),
        }
        if not wanted.items() <= (meta.get("annotations") or {}).items():
            await self.patch(kinds.MACHINES, machine, {"metadata": {"annotations": wanted}})
        elif not (machine.get("spec") or {}).get("providerID"):
            provider = f"baremetalhost:///{below['namespace']}/{below['name']}/{below['uid']}"
            await self.patch(kinds.MACHINES, machine, {"spec": {"providerID": provider}})
        elif (machine.get("status") or {}).get("addresses", []) != machine_api.addresses(host):
            await self._say(machine, addresses=machine_api.addresses(host))
        else:
            await self._link(machine)

    async def _link(self, machine: dict[str, Any]) -> None:
        """Refer to the node that has its address, and say how far it is."""
        given = set(machine_api.internal_addresses(machine))
        nodes = [node for node in self.mirror.all(kinds.NODES) if given & set(machine_api.internal_addresses(node))]
        if nodes and ((machine.get("status") or {}).get("nodeRef") or {}).get("uid") != nodes[0]["metadata"]["uid"]:
            meta = nodes[0]["metadata"]
            await self._say(machine, nodeRef={"kind": "Node", "name": meta["name"], "uid": meta["uid"]})
        elif _is_bare_metal(machine):
            phase = "Running" if (machine.get("status") or {}).get("nodeRef") else "Provisioned"
            if machine_api.phase(machine) != phase and self.waits.over((phase, _name(machine)), self.pace.machine):
                await self._say(machine, phase=phase)

    async def _choose(self, machine: dict[str, Any], host: dict[str, Any] | None) -> None:
        """Ask a host for itself: the one that it is linked to, or one that is available."""
        if host is None:
            free = [
                candidate
                for candidate in self.mirror.all(kinds.BARE_METAL_HOSTS)
                if machine_api.host_state(candidate) == "available"
                and not candidate["spec"].get("consumerRef")
                and not machine_api.leaves(candidate)
            ]
            if not free:
                no_host = {"errorReason": "InsufficientResources", "errorMessage": "No available BareMetalHost found"}
                await self._say(machine, **no_host)
                return
            host = free[0]
        asked = {"customDeploy": dict(machine_api.DEPLOY), "userData": dict(machine_api.USER_DATA), "online": True}
        asked["consumerRef"] = machine_api.consumer_of(_name(machine))
        if not asked.items() <= host["spec"].items():
            await self.patch(kinds.BARE_METAL_HOSTS, host, {"spec": asked})
        linked = f"{host['metadata']['namespace']}/{host['metadata']['name']}"
        if (machine["metadata"].get("annotations") or {}).get(machine_api.HOST) != linked:
            await self.patch(kinds.MACHINES, machine, {"metadata": {"annotations": {machine_api.HOST: linked}}})
        if (machine.get("status") or {}).get("errorReason"):
            await self._say(machine, errorReason=None, errorMessage=None)

    # -- a Machine that leaves

    async def _remove(self, machine: dict[str, Any]) -> None:
        if machine_api.phase(machine) != "Deleting":
            await self._say(machine, phase="Deleting")
            return
        if machine_api.MACHINE_FINALIZER not in _finalizers(machine):
            return
        hooks = (machine.get("spec") or {}).get("lifecycleHooks") or {}
        if hooks.get("preDrain") or not await self._drained(machine) or hooks.get("preTerminate"):
            return
        if not await self._given_back(machine):
            return
        name = ((machine.get("status") or {}).get("nodeRef") or {}).get("name")
        if name and self.mirror.get(kinds.NODES, name) is not None:
            with client.allowing(404):
                await self.api.delete(kinds.NODES, name)
        self.waits.clear(("drain", _name(machine)))
        rest = [name for name in _finalizers(machine) if name != machine_api.MACHINE_FINALIZER]
        await self._finalizers(machine, rest)

    async def _drained(self, machine: dict[str, Any]) -> bool:
        if conditions.is_true(machine, "Drained"):
            return True
        node = self.mirror.get(kinds.NODES, ((machine.get("status") or {}).get("nodeRef") or {}).get("name", ""))
        if node is not None and not (node.get("spec") or {}).get("unschedulable"):
            await self.patch(kinds.NODES, node, {"spec": {"unschedulable": True}})
        if self.waits.due(("drain", _name(machine)), self.pace.machine):
            drained = conditions.Condition("Drained", "True", "", "Drain finished successfully")
            await self.say(kinds.MACHINES, machine, [drained])
        return False

    async def _given_back(self, machine: dict[str, Any]) -> bool:
        """Let the host be wiped and free it; whether that is done."""
        host = self._host(machine)
        if host is None or not _is_consumer(machine, host):
            return True
        spec = host["spec"]
        if any(name in spec for name in _WANTED_OF_HOST):
            change = {"spec": {**dict.fromkeys(_WANTED_OF_HOST), "online": False}}
            await self.patch(kinds.BARE_METAL_HOSTS, host, change)
            return False
        external = machine_api.host_state(host) == "externally provisioned" and host["status"].get("poweredOn")
        if machine_api.host_state(host) in _DEPLOYED or external:
            return False
        await self.patch(kinds.BARE_METAL_HOSTS, host, {"spec": {"consumerRef": None}})
        return True

    # -- shared

    def _host(self, machine: dict[str, Any]) -> dict[str, Any] | None:
        namespace, _, name = (machine["metadata"].get("annotations") or {}).get(machine_api.HOST, "").partition("/")
        return self.mirror.get(kinds.BARE_METAL_HOSTS, name, namespace)

    async def _say(self, machine: dict[str, Any], **status: Any) -> None:
        if any((machine.get("status") or {}).get(name) != value for name, value in status.items()):
            change = {**status, "lastUpdated": conditions.now()}
            await self.patch(kinds.MACHINES, machine, {"status": change}, "status")

    async def _finalizers(self, machine: dict[str, Any], wanted: list[str]) -> None:
        await self.patch(kinds.MACHINES, machine, {"metadata": {"finalizers": wanted}})


def _name(machine: dict[str, Any]) -> str:
    return str(machine["metadata"]["name"])


def _finalizers(machine: dict[str, Any]) -> list[str]:
    return list(machine["metadata"].get("finalizers") or [])


def _is_consumer(machine: dict[str, Any], host: dict[str, Any]) -> bool:
    consumer = host["spec"].get("consumerRef") or {}
    return consumer.items() >= machine_api.consumer_of(_name(machine)).items()


def _is_bare_metal(machine: dict[str, Any]) -> bool:
    value = ((machine.get("spec") or {}).get("providerSpec") or {}).get("value") or {}
    return value.get("kind") == "BareMetalMachineProviderSpec"
