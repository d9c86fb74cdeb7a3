"""The wall clock is put five minutes forward or back: nothing ends too early, nothing waits five minutes more."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import cluster, phases
from test.component import world as worlds
from test.component.broken_facts import until_failing
from topology_simulator import follow, kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.component.world import World

_JUMPS = [pytest.param(300.0, id="forward"), pytest.param(-300.0, id="back")]
_LAST = "openshift-monitoring/metrics-server"
_SLACK = 2.0


@pytest.fixture
def clock(tmp_path: pathlib.Path) -> pathlib.Path:
    """What is added to the operator's clock."""
    file = tmp_path / "clock"
    file.write_text("0")
    return file


def _replace(file: pathlib.Path, text: str) -> None:
    """Write it at once: the operator reads it at any time."""
    beside = file.with_suffix(".new")
    beside.write_text(text)
    beside.replace(file)


async def jump(world: World, clock: pathlib.Path, seconds: float) -> None:
    """Move the clock of the machine; whoever renews a lease there goes by it, too."""
    await asyncio.to_thread(_replace, clock, str(seconds))
    await cluster.renew_etcd_lease(world.api, ago=-seconds)


@pytest.mark.nightly("back")
@pytest.mark.parametrize("by", _JUMPS)
async def test_a_clock_that_jumps_while_it_settles(
    world: World, clock: pathlib.Path, by: float, figure: Callable[[str], None]
) -> None:
    settle = 4
    await world.idle_operator(settle=settle, clock=clock)
    world.operands.behind.add(_LAST)
    await world.ask_for()
    await until_failing(world, "all but one operand", "MonitoringReplicas")
    began = time.monotonic()
    await follow.follow(world.api, only=[_LAST])

    async def settling() -> bool:
        message = (await world.until_condition("Progressing", "True", "TransitionConverging"))["message"]
        return " s for all of them to stay met" in message

    await polling.until("it settles", settling)
    jumped = time.monotonic()
    await jump(world, clock, by)
    await world.until_phase("Completed", seconds=settle + 15.0)
    ended = time.monotonic()
    figure(
        f"clock moved by {by:g} s while settling for {settle} s: Completed {ended - began:.2f} s after the last operand"
    )
    assert ended - began >= settle, "what the clock says is not what has been watched"
    assert ended - jumped <= (settle + _SLACK + 1.0) * polling.PATIENCE, "it may start again, once"
    await world.completed_once()


@pytest.mark.nightly("forward")
@pytest.mark.parametrize("by", _JUMPS)
async def test_a_clock_that_jumps_before_the_change(world: World, clock: pathlib.Path, by: float) -> None:
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": False}})
    await world.idle_operator(clock=clock)
    await world.ask_for()
    await until_failing(world, "one fact", "MastersSchedulable")
    requested = (await world.record())["requestedTime"]
    await jump(world, clock, by)
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    record = await world.completed_once()
    assert record["requestedTime"] == requested
    assert len(world.server.topology_changes) == 1


@pytest.mark.nightly("forward")
@pytest.mark.parametrize("by", _JUMPS)
async def test_a_clock_that_jumps_while_it_converges(world: World, clock: pathlib.Path, by: float) -> None:
    await world.idle_operator(clock=clock)
    world.operands.on = False
    await world.ask_for()
    await world.until_phase("Converging")
    await phases.until_watching(world, phases.CONVERGING)
    await jump(world, clock, by)

    async def calm() -> bool:
        degraded = await world.condition("Degraded")
        return bool((await world.record())["phase"] == "Converging" and degraded["status"] == "False")

    await world.stays_so("it goes on converging, and nothing is wrong", calm)
    assert await world.pair() == worlds.MOVED
    await world.operands.go_on()
    await world.completed_once()
