"""What guards the one write that matters: each test makes the world change at the worst possible moment.

In every one of them the topology moves exactly once or not at all, never for a request or from evidence that is gone.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import backend, cluster
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component import process
    from test.component.world import World
    from topology_simulator.apiserver import requests


async def pending(world: World) -> process.Operator:
    """Bring everything to the edge: watches open, upgrades held back and echoed, one fact missing."""
    await set_schedulable(world, wanted=False)
    operator = await world.idle_operator()
    await world.ask_for()
    await world.until_check("MastersSchedulable", "Unmet")
    await polling.until(
        "the echo",
        lambda: world.api.get(kinds.CLUSTER_VERSIONS, "version"),
        holds=lambda version: conditions.find(version, "Upgradeable").get("status") == "False",
    )
    return operator


async def set_schedulable(world: World, *, wanted: bool) -> None:
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": wanted}})


async def admitting_without_echo(world: World) -> process.Operator:
    """Bring it to Admitting and keep it there: nobody echoes."""
    world.echo.on = False
    operator = await world.idle_operator()
    await world.ask_for()
    await world.until_phase("Admitting")
    await world.until_condition("Progressing", "True", "TransitionAdmitting")
    return operator


@pytest.mark.nightly("the connection ends")
@pytest.mark.on_real("delivered all the same")
@pytest.mark.parametrize("gives_up", [True, False], ids=["the connection ends", "delivered all the same"])
async def test_a_change_that_is_held_for_five_seconds_changes_nothing_on_old_evidence(
    world: World, figure: Callable[[str], None], *, gives_up: bool
) -> None:
    """Between sending and execution a node fails: what was read live is not true any more."""
    await pending(world)
    arrived: list[float] = []
    delivered: list[float] = []

    async def hold(_: requests.Request) -> None:
        arrived.append(time.time())
        await cluster.set_ready(world.api, "master-2", ready=False)
        try:
            await asyncio.sleep(5.0)
        except asyncio.CancelledError:
            if gives_up:
                raise
            # A balancer on the way delivers what it has taken, whether the client still waits or not.
            await asyncio.sleep(arrived[0] + 5.0 - time.time())
        delivered.append(time.time())

    before = world.server.mark()
    world.server.before(backend.is_change, hold)
    await set_schedulable(world, wanted=True)

    def ended() -> requests.Record | None:
        wrote = [one for one in world.server.asked() if one.verb in {"create", "patch"}]
        wrote = sorted((one for one in wrote if one.resource not in {"leases", "events"}), key=lambda one: one.time)
        place = next((place for place, one in enumerate(world.server.writes) if one.is_change), len(wrote))
        # It is recorded when it has ended, and others may have come and gone by then.
        return wrote[place] if place < len(wrote) and wrote[place].time <= arrived[0] else None

    change = await polling.until("the change has ended", ended, seconds=10.0)
    reads = [one.time for one in world.server.asked(before) if one.verb in {"get", "list"} and one.time < change.time]
    age = time.time() - min(reads)
    figure(f"sent {change.time - min(reads):.2f} s after the first read, ended with {change.code} after {age:.2f} s")
    assert change.code != 200 or age < 4.0
    await world.until_check("ControlPlaneNodes", "Unmet")
    assert await world.moves() == []
    assert bool(delivered) is not gives_up

    await cluster.set_ready(world.api, "master-2", ready=True)
    await world.completed_once()


@pytest.mark.on_real
async def test_what_is_lost_while_the_change_is_executed_is_a_problem_with_the_first_look(world: World) -> None:
    """Nothing guards nodes and voters in that moment: the topology changes, and it is said at once."""
    await pending(world)

    async def lose(_: requests.Request) -> None:
        voters = (await world.api.get(kinds.CONFIG_MAPS, "etcd-endpoints", "openshift-etcd"))["data"]
        await cluster.set_endpoints(world.api, dict.fromkeys(sorted(voters)[1:]))
        await world.api.delete(kinds.NODES, "master-1")
        await cluster.set_ready(world.api, "master-2", ready=False)

    world.server.before(backend.is_change, lose)
    await set_schedulable(world, wanted=True)
    await world.until_phase("Converging")

    degraded = await world.until_condition("Degraded", "True", "RedundancyLost")
    record = (await world.until("the problem", lambda status: "problem" in status["topologyTransition"]))[
        "topologyTransition"
    ]
    assert record["problem"]["reason"] == "RedundancyLost"
    assert record["problem"]["message"] == degraded["message"]
    for name in ("master-1 (is not a control-plane node any more)", "master-2 (Ready=False)"):
        assert name in degraded["message"]
    assert record["baseline"]["controlPlaneNodes"] == ["master-0", "master-1", "master-2"]
    saved = [write.record for write in world.server.writes if write.resource == "infrastructures"]
    after = saved[next(place for place, one in enumerate(saved) if one.get("phase") == "Converging") + 1 :]
    assert (after[0].get("problem") or {}).get("reason") == "RedundancyLost", "the first write after the change says it"


async def test_a_lease_that_is_about_to_run_out_allows_no_change(world: World) -> None:
    operator = await admitting_without_echo(world)
    fault = world.server.fault("status", code=503, verb="update", resource="leases", name=cluster.OWN_LEASE)

    # Half of the renew deadline of 13 s is one request timeout.
    short_of_time = re.compile("the lease was not renewed, [56] s are left")
    await polling.until("less than 6.5 s are left", lambda: short_of_time.search(operator.words()), 14.0)
    await world.echo.go_on()

    await operator.said("the lease has less than one request timeout left")
    assert world.server.topology_changes == []
    assert operator.alive

    world.server.lift(fault)
    await world.completed_once()
    assert operator.alive
