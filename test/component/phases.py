"""A world that is brought to a phase, held there while a test disturbs it, and let go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from test import polling
from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.observe import catalog
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

_SERVED = {(kind.group, kind.plural) for kind in kinds.ALL}
_WATCHED = [one.selection for one in catalog.watched(load.load(bindata.root() / "transitions"))]
_OPTIONAL = [one.resource for one in _WATCHED if one.optional]
UNSERVED = [one for one in _OPTIONAL if (one.group, one.plural) not in _SERVED]
"""Kinds that a cluster need not have (the lifecycle agent's), which are asked for once in a while."""
IDLE, SINGLE = 4, 5
OPEN = IDLE + len(_WATCHED) - len(UNSERVED)
"""Watches while nothing is requested, then on a single node (etcd's voters too), and while a request is open."""
CONVERGING = OPEN + 1
"""And while the cluster follows: what somebody accepts is watched too."""
NODES = 3
"""Of these watches, those of nodes: control plane, workers, and all others by their metadata."""


async def until_watching(world: World, number: int, seconds: float = 10.0) -> None:
    """Wait until an operator has so many watches open."""
    await polling.until(f"{number} watches are open", lambda: len(world.server.watches()) == number, seconds)


async def reach(world: World, phase: str, **options: Any) -> None:
    """Bring a world to a phase and keep it there: a fact is missing, nobody echoes, or nothing follows the change."""
    await world.idle_operator(**options)
    await bring(world, phase)


async def bring(world: World, phase: str) -> None:
    """Bring a world whose operator is idle to a phase, likewise."""
    world.operands.on = phase == "Completed"
    world.echo.on = phase in {"Converging", "Completed"}
    if phase == "Idle":
        return
    if phase == "Pending":
        await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": False}})
    await world.ask_for()
    await world.until_phase(phase)
    await until_watching(world, {"Completed": IDLE, "Converging": CONVERGING}.get(phase, OPEN))


async def go_on(world: World, phase: str) -> None:
    """Take away what kept it there; Completed is kept by nothing."""
    if phase == "Idle":
        await world.ask_for()
    if phase == "Pending":
        await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    world.echo.on = world.operands.on = True
    if phase in {"Converging", "Completed"}:
        await world.operands.go_on()
    else:
        await world.echo.go_on()
