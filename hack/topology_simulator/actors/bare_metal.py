"""The bare metal operator: a host is registered, inspected, deployed and wiped, and what it deploys joins the cluster.

States, their order and what a deletion leads to are those of metal3-io/baremetal-operator at 02aa5059
(internal/controller/metal3.io/host_state_machine.go: `checkInitiateDelete` and the handlers;
baremetalhost_controller.go: finalizer, hardware details from an annotation). Left out: RAID, firmware, BIOS settings,
images, detached and paused hosts, retries and their counts.
"""

import json
from typing import Any

from topology_simulator import client, kinds, machine_api

from . import actor, kubelets

_AFTER = {
    "registering": "inspecting",
    "inspecting": "preparing",
    "preparing": "available",
    "provisioning": "provisioned",
    "deprovisioning": "available",
    "powering off before delete": "deleting",
}
"""Where a state leads to by itself."""
_ON_DELETION = {
    "": "deleting",
    "registering": "deleting",
    "unmanaged": "deleting",
    "provisioning": "deprovisioning",
    "provisioned": "deprovisioning",
}
"""Where the deletion of a host leads to; from all others to `powering off before delete`."""
_UNDER_WAY = frozenset({"deprovisioning", "powering off before delete", "deleting"})
_SILENT = "Failed to get power state for node: the management controller does not answer"


class BareMetalOperator(actor.Actor):
    """Keeps every host."""

    agent = "baremetal-operator"
    watched = (kinds.BARE_METAL_HOSTS,)

    async def step(self) -> None:
        """Lead every host one step further."""
        for host in self.mirror.all(kinds.BARE_METAL_HOSTS):
            meta = host["metadata"]
            finalizers = meta.get("finalizers") or []
            if machine_api.leaves(host):
                await self._remove(host)
            elif machine_api.HOST_FINALIZER not in finalizers:
                wanted = {"metadata": {"finalizers": [*finalizers, machine_api.HOST_FINALIZER]}}
                await self.patch(kinds.BARE_METAL_HOSTS, host, wanted)
            else:
                await self._keep(host)

    async def _keep(self, host: dict[str, Any]) -> None:
        name, spec, state = host["metadata"]["name"], host["spec"], machine_api.host_state(host)
        deployed = "image" in spec or "customDeploy" in spec
        error = _SILENT if name in self.troubles.silent else ""
        if error != (host.get("status") or {}).get("errorMessage", ""):
            await self._write(host, state, error=error)
        elif error:
            return
        elif not state:
            await self._write(host, "registering")
        elif state == "registering" and spec.get("externallyProvisioned"):
            await self._after(host, "externally provisioned")
        elif state == "available" and deployed:
            await self._after(host, "provisioning")
        elif state == "provisioned" and not deployed:
            await self._after(host, "deprovisioning")
        elif state in _AFTER:
            await self._after(host, _AFTER[state])
        elif state == "externally provisioned" and host["status"].get("poweredOn") is not spec["online"]:
            await self._write(host, state)

    async def _after(self, host: dict[str, Any], state: str) -> None:
        """Go to a state once the one before has taken its time."""
        name = host["metadata"]["name"]
        if self.waits.over((name, state), self.pace.host):
            if state == "provisioned":
                # What was deployed starts: its kubelet registers a control-plane node.
                with client.allowing(409):
                    await kubelets.join(self.api, name)
            await self._write(host, state)

    async def _remove(self, host: dict[str, Any]) -> None:
        finalizers, state = host["metadata"].get("finalizers") or [], machine_api.host_state(host)
        if state not in _UNDER_WAY:
            await self._write(host, _ON_DELETION.get(state, "powering off before delete"))
        elif state == "deprovisioning":
            await self._after(host, "powering off before delete")
        elif state != "deleting":
            await self._after(host, _AFTER[state])
        elif machine_api.HOST_FINALIZER in finalizers:
            rest = [name for name in finalizers if name != machine_api.HOST_FINALIZER]
            await self.patch(kinds.BARE_METAL_HOSTS, host, {"metadata": {"finalizers": rest}})

    async def _write(self, host: dict[str, Any], state: str, *, error: str = "") -> None:
        meta = host["metadata"]
        known = (host.get("status") or {}).get("hardware")
        details = (meta.get("annotations") or {}).get(machine_api.HARDWARE)
        hardware = known or (json.loads(details) if details else None)
        if hardware is None and state == "preparing":
            hardware = machine_api.hardware(meta["name"])
        powered_on = host["spec"]["online"] and state not in {"available", "powering off before delete", "deleting"}
        if (host.get("status") or {}).get("poweredOn", powered_on) is not powered_on:
            power = {"metadata": {"annotations": {kubelets.POWER: None if powered_on else "off"}}}
            with client.allowing(404):
                await self.api.patch(kinds.NODES, meta["name"], power)
        status = machine_api.host_status(state, ident=meta["uid"], powered_on=powered_on, error=error)
        change = {"errorType": None, **status, **({"hardware": hardware} if hardware else {})}
        await self.patch(kinds.BARE_METAL_HOSTS, host, {"status": change}, "status")
