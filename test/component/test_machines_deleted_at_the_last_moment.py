"""A Machine that is deleted just before the change: what was deleted before the last look at Machines keeps it.

What is deleted after that look is the one thing that cannot be excluded (docs/machines.md). Fifty races, each in a
cluster of its own, spread over the time in which an operator is admitting.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import machine_world
from test.component import world as worlds
from test.component.machine_world import CHECK
from topology_simulator import kinds, machine_api

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.component import backend
    from test.component.world import World

_MACHINE = machine_api.machine_name("master-1")
_RACES = 50
_LONGEST = 0.2
_AT_ONCE = 10
_ON_REAL = 5


def last_look(world: World) -> float:
    """When the last live list of Machines arrived, in UNIX seconds; 0 when there was none."""
    looked = [one.time for one in world.server.asked() if one.resource == "machines" and one.verb == "list"]
    return max(looked, default=0.0)


async def settled(world: World) -> bool:
    """Whether the topology has changed; waits until that, or until the deletion is what keeps it."""

    async def outcome() -> str:
        if world.server.topology_changes:
            return "changed"
        found = await world.check(CHECK)
        return "kept" if found.get("status") == "Unmet" else ""

    return await polling.until("the topology changes, or the deletion keeps it", outcome, 20.0) == "changed"


async def race(place: backend.Place, folder: pathlib.Path, delay: float) -> tuple[bool, float]:
    """Delete so many seconds after Admitting: did the topology change, and how long after the deletion was the look?"""
    async with worlds.opened(place, folder, machine_world.control_plane()) as world:
        world.echo.on = False
        await world.idle_operator("operator-a", *machine_world.own_definition(folder))
        await world.ask_for()
        await world.until_phase("Admitting")
        admitting = time.time()

        async def deleted() -> float:
            await asyncio.sleep(delay)
            await machine_world.delete(world.api, kinds.MACHINES, _MACHINE)
            return time.time()

        answered, _ = await asyncio.gather(deleted(), world.echo.go_on())
        changed = await settled(world)
        after = last_look(world) - answered
        if changed:
            assert last_look(world) > admitting, "changed without a look at Machines"
            assert after <= 0, f"changed, though deleted {-after * 1000:.1f} ms before the last look\n{world.logs()}"
        else:
            await machine_world.stays_unchanged(world)
            assert await world.moves() == []
        return changed, after


@pytest.mark.nightly(but=("0",))
@pytest.mark.on_real("0")
@pytest.mark.parametrize("part", range(_RACES // _AT_ONCE), ids=str)
async def test_what_was_deleted_before_the_last_look_keeps_the_topology(
    apiserver: backend.Place, tmp_path: pathlib.Path, part: int, figure: Callable[[str], None]
) -> None:
    if apiserver.is_real:
        delays = [_LONGEST * step / (_ON_REAL - 1) for step in range(_ON_REAL)]
    else:
        # Most of them within the time that the change itself takes.
        delays = [_LONGEST * ((step * (_RACES // _AT_ONCE) + part) / _RACES) ** 2 for step in range(_AT_ONCE)]
    ended = [await race(apiserver, tmp_path, delay) for delay in delays]
    changed = sum(did for did, _ in ended)
    figure(f"part {part}: of {len(ended)} races {changed} ended in a change, the others were kept by the deletion")


@pytest.mark.on_real
async def test_a_machine_deleted_while_nobody_echoes_is_seen_by_the_live_list_alone(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    """The watch of Machines is deaf; the list before the change is not."""
    async with worlds.opened(apiserver, tmp_path, machine_world.control_plane()) as world:
        world.echo.on = False
        await world.idle_operator("operator-a", *machine_world.own_definition(tmp_path))
        await world.ask_for()
        await world.until_phase("Admitting")
        deaf = world.server.fault("silent", verb="watch", resource="machines")
        await machine_world.delete(world.api, kinds.MACHINES, _MACHINE)
        await world.echo.go_on()
        await machine_world.until_message(world, CHECK, "Unmet", _MACHINE, "is being deleted")
        assert await world.moves() == []
        world.server.lift(deaf)
