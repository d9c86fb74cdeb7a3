"""What the etcd operator decides by Machines: who may become a member, whose hook is missing, who loses its member.

Pure functions of Machines as they are listed. Taken from openshift/cluster-etcd-operator at b4786ae3:
pkg/operator/ceohelpers/machine_api.go (`functional`), ceohelpers/common.go (addresses and hooks),
clustermembercontroller (`may_join`), machinedeletionhooks (`hooked`), and clustermemberremovalcontroller (`leaving`).
A Machine that the label selector of pkg/operator/starter.go leaves out is not there for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from topology_simulator import machine_api

Object = dict[str, Any]


def considered(machines: Iterable[Object]) -> list[Object]:
    """Return the Machines that the etcd operator lists."""
    return [machine for machine in machines if machine_api.is_control_plane(machine)]


def functional(machines: Iterable[Object]) -> bool:
    """Whether Machines count at all: one of them runs."""
    return any(machine_api.phase(machine) == "Running" for machine in machines)


def may_join(address: str, machines: Collection[Object]) -> bool:
    """Whether the node with this InternalIP may become a member, or be promoted. If not, only a log at V(2) says so."""
    if not functional(machines):
        return True
    machine = _at(address, machines)
    return machine is not None and not machine_api.leaves(machine) and has_hook(machine)


def is_leaving(address: str, machines: Collection[Object]) -> bool:
    """Whether the Machine with this address is being deleted: a learner there is removed at once."""
    machine = _at(address, machines)
    return functional(machines) and machine is not None and machine_api.leaves(machine) and has_hook(machine)


def has_hook(machine: Object) -> bool:
    """Whether the etcd operator holds the drain of this Machine up."""
    return machine_api.HOOK in _hooks(machine)


def hooked(machine: Object, members: Collection[str]) -> list[dict[str, str]] | None:
    """Return the preDrain hooks that a Machine is to have, None where nothing is to be changed.

    The hook comes to every Machine that stays, and goes once no member is at an address of one that leaves.
    """
    hooks = _hooks(machine)
    if machine_api.leaves(machine):
        housed = set(machine_api.internal_addresses(machine)) & set(members)
        kept = [hook for hook in hooks if hook != machine_api.HOOK]
        return kept if len(kept) < len(hooks) and not housed else None
    return None if has_hook(machine) else [*hooks, dict(machine_api.HOOK)]


def leaving(
    machines: Collection[Object], voters: Collection[str], healthy: Collection[str], desired: int
) -> str | None:
    """Return the address of the voter that is to be removed because its Machine leaves, None when no voter is.

    `voters` and `healthy` are addresses; `desired` is what the install-config said, which grows with no cluster.
    """
    going = {
        address
        for machine in machines
        if machine_api.leaves(machine) and has_hook(machine)
        for address in machine_api.internal_addresses(machine)
        if address in voters
    }
    if not functional(machines) or not desired or len(voters) < desired or not going:
        return None
    ill = going - set(healthy)
    all_are_well = len(healthy) == len(voters)
    if len(healthy) < desired // 2 + 1 or not (ill or all_are_well) or (all_are_well and len(healthy) <= desired):
        return None
    return min(ill or going)


def _hooks(machine: Object) -> list[dict[str, str]]:
    hooks = (machine.get("spec") or {}).get("lifecycleHooks") or {}
    return list(hooks.get("preDrain") or [])


def _at(address: str, machines: Iterable[Object]) -> Object | None:
    return next((machine for machine in machines if address in machine_api.internal_addresses(machine)), None)
