"""When a transition is called completed: as soon as everything has been quiet for the settle time, and no earlier.

Nothing waits for a fixed time: what is measured here is from the last operand that became ready to phase Completed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component.broken_facts import until_failing
from topology_simulator import follow

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World
    from topology_simulator.apiserver import requests

_LAST = "openshift-monitoring/metrics-server"
_SOON = 15.0
"""Seconds after the settle time by which it is Completed, whatever else the machine does."""


async def until_last(world: World, settle: int) -> None:
    """Bring it to where one operand is missing."""
    await world.idle_operator(settle=settle)
    world.operands.behind.add(_LAST)
    await world.ask_for()
    await until_failing(world, "all but one operand", "MonitoringReplicas")


async def follow_now(world: World) -> float:
    """Let the last operand become ready; returns the moment at which the server was told."""
    moments: list[float] = []

    async def note(_: requests.Request) -> None:
        moments.append(time.monotonic())

    namespace, _, name = _LAST.partition("/")
    hook = world.server.before(
        lambda request: (
            (request.target.namespace, request.target.name, request.target.subresource) == (namespace, name, "status")
        ),
        note,
        count=None,
    )
    await follow.follow(world.api, only=[_LAST])
    world.server.unhook(hook)
    assert len(moments) == 1, moments
    return moments[0]


@pytest.mark.nightly("0", "3")
@pytest.mark.parametrize("settle", [0, 1, 3])
async def test_it_is_completed_as_soon_as_the_settle_time_is_over(
    world: World, settle: int, figure: Callable[[str], None]
) -> None:
    await until_last(world, settle)
    ready = await follow_now(world)
    await world.until_phase("Completed", seconds=settle + _SOON)
    lasted = time.monotonic() - ready
    figure(f"last operand ready to Completed, settle time {settle} s: {lasted:.2f} s")
    assert settle <= lasted
    await world.completed_once()


async def test_whatever_falls_back_while_it_settles_starts_it_again(
    world: World, figure: Callable[[str], None]
) -> None:
    settle = 3
    await until_last(world, settle)
    first = await follow_now(world)

    async def settling() -> bool:
        message = (await world.until_condition("Progressing", "True", "TransitionConverging"))["message"]
        return " s for all of them to stay met" in message

    await polling.until("it settles", settling)
    # The conditions come before the record: until that is written as well, it would seem to have fallen back already.
    await world.until_check("MonitoringReplicas", "Met", stage="Convergence")
    await polling.steadily("half of the time has passed", settling, settle / 2)
    await follow.spoil(world.api, _LAST)
    await until_failing(world, "one falls back", "MonitoringReplicas")
    again = await follow_now(world)
    await world.until_phase("Completed", seconds=settle + _SOON)
    lasted, whole = time.monotonic() - again, time.monotonic() - first
    figure(
        f"fell back while settling for {settle} s: Completed {lasted:.2f} s after it was ready again ({whole:.2f} s)"
    )
    assert settle <= lasted
    await world.completed_once()
