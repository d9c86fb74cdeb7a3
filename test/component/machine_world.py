"""Clusters whose nodes stand on Machines, and what happens to those: made, deleted and held, without a controller.

Platform BareMetal. `INFRASTRUCTURE` grows by the shipped definition that such clusters have; `CONTROL_PLANE` by one
of the administrator's own (`own_definition`), which is how platforms that are not shipped are led.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import yaml

from test import polling
from test.component import cluster, plugin
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds, machine_api, machines

if TYPE_CHECKING:
    from collections.abc import Collection

    from test.component.world import World

NAMESPACE = machine_api.NAMESPACE
CHECK = "ControlPlaneMachines"
_HA = "HighlyAvailable"
_TRANSITIONS = pathlib.Path(__file__).parents[2] / "bindata" / "transitions"


def infrastructure(machines_: int = 3, *, workers: int = 2, platform: str = "BareMetal") -> simulated.Shape:
    """Return a control plane of three, of which so many have a Machine, whose infrastructure may become available."""
    return simulated.Shape(
        control_plane=_HA, masters=3, machines=machines_, workers=workers, schedulable=False, platform=platform
    )


def control_plane(machines_: int = 3) -> simulated.Shape:
    """Return a single node that has grown to three, of which so many have a Machine."""
    return simulated.Shape(masters=3, machines=machines_, platform="BareMetal")


def own_definition(folder: pathlib.Path, *, asks: bool = True) -> tuple[str, str]:
    """Write the definition of a compact cluster for BareMetal; return the flags. With `asks` it asks for Machines."""
    definition = yaml.safe_load((_TRANSITIONS / "sno-to-ha-compact.yaml").read_text())
    asked = [spec for spec in definition["preflight"] if spec["check"] != CHECK]
    definition["preflight"] = [*asked, {"check": CHECK}] if asks else asked
    definition |= {"name": "own-to-ha", "platforms": ["BareMetal"]}
    definition["convergence"].pop("machineMinutes", None)
    folder = folder / "definitions"
    folder.mkdir(exist_ok=True)
    (folder / "own-to-ha.yaml").write_text(yaml.safe_dump(definition, sort_keys=False))
    return "--transitions-dir", str(folder)


# -- what an administrator and a machine controller do


async def add(
    api: clients.Client,
    node: str,
    *,
    role: str = "master",
    phase: str = "Running",
    hooked: bool = True,
    linked: bool = False,
    addresses: list[str] | None = None,
    node_ref: str = "",
) -> None:
    """Make a Machine as its controller leaves it; by default it runs under this node."""
    made = machine_api.machine(node, role=role, linked=linked, hooked=hooked)
    made["metadata"]["finalizers"] = [machine_api.MACHINE_FINALIZER]
    await api.create(kinds.MACHINES, made)
    given = [machines.address(machines.number_of(node))] if addresses is None else addresses
    status: dict[str, Any] = {"phase": phase, "addresses": [{"type": "InternalIP", "address": one} for one in given]}
    if node_ref:
        status["nodeRef"] = {"kind": "Node", "name": node_ref}
    await set_machine(api, node, **status)


async def set_machine(api: clients.Client, node: str, **status: Any) -> None:
    """Write fields of a Machine's status."""
    name = machine_api.machine_name(node)
    await api.patch(kinds.MACHINES, name, {"status": status}, NAMESPACE, "status")


async def delete(api: clients.Client, kind: kinds.Kind, name: str) -> None:
    """Delete a Machine or a host: its finalizer holds it."""
    await api.delete(kind, name, NAMESPACE)
    assert machine_api.leaves(await api.get(kind, name, NAMESPACE))


async def let_go(api: clients.Client, kind: kinds.Kind, name: str) -> None:
    """Take the finalizers away: what is being deleted is gone."""
    await api.patch(kind, name, {"metadata": {"finalizers": None}}, NAMESPACE)


async def until_gone(api: clients.Client, kind: kinds.Kind, name: str) -> None:
    async def gone() -> bool:
        return await api.find(kind, name, NAMESPACE) is None

    await polling.until(f"{kind.kind} {name} is gone", gone)


async def without_voter(api: clients.Client, *nodes: str) -> None:
    """Let etcd have no member on these nodes."""
    await cluster.set_endpoints(api, dict.fromkeys(map(simulated.member_id, nodes)))


async def with_voter(api: clients.Client, *nodes: str) -> None:
    """Let etcd have a voter on these nodes."""
    data: dict[str, str | None] = {
        simulated.member_id(node): machines.address(machines.number_of(node)) for node in nodes
    }
    await cluster.set_endpoints(api, data)


async def withdraw(api: clients.Client, *withdrawn: kinds.Kind) -> None:
    """Let the server know these kinds no more, as where the capability is disabled."""
    for kind in withdrawn:
        await api.delete(kinds.DEFINITIONS, f"{kind.plural}.{kind.group}")

        async def unknown(kind: kinds.Kind = kind) -> bool:
            try:
                await api.list(kind)
            except clients.ApiError as error:
                return error.code == 404
            return False

        await polling.until(f"{kind.plural} are not served", unknown)


# -- what people see


async def until_message(world: World, check: str, status: str, *parts: str) -> str:
    """Wait until a preflight check has a status and says each of these."""

    async def said() -> str:
        found = await world.check(check)
        text = str(found.get("message", ""))
        return text if found.get("status") == status and all(part in text for part in parts) else ""

    try:
        return await polling.until(f"{check} is {status} and says {parts}", said)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{await world.describe()}") from None


async def advisories(world: World) -> dict[str, dict[str, Any]]:
    """Return the advisories of the record by name."""
    return {one["name"]: one for one in (await world.record()).get("advisories") or []}


async def until_advised(world: World, name: str, *, shown: bool = True) -> dict[str, Any]:
    """Wait until an advisory is there, and return it; or until it is not."""

    async def asked() -> dict[str, Any] | None:
        found = await advisories(world)
        return {"advisory": found.get(name)} if (name in found) is shown else None

    advisory: dict[str, Any] = (await polling.until(f"advisory {name}: {shown}", asked))["advisory"] or {}
    return advisory


async def stays_unchanged(world: World) -> None:
    """Assert that no change of the topology is even tried by the next decisions."""

    async def unchanged() -> bool:
        return not world.server.topology_changes

    await world.stays_so("the topology does not change", unchanged)


async def planned(world: World, folder: pathlib.Path, *flags: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the answer of `plan HighlyAvailable -o json`."""
    return await plugin.Plugin(folder, world.server.kubeconfig()).json("plan", _HA, *flags)


def named(checks: Collection[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return one check of a plan."""
    return next(check for check in checks if check["name"] == name)
