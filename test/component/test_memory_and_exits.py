"""How the operator ends, and what it costs to keep it."""

from __future__ import annotations

import pathlib
import re
import signal
from typing import TYPE_CHECKING

import pytest

from test import skips
from test.component import cluster
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

OK, FAILED, LOST_LEASE = 0, 1, 3
_NOISE = ("Traceback", "Task was destroyed", "never retrieved", "never awaited", "ResourceWarning", "Unclosed")
_MEMORY_MIB = 64
"""DESIGN section 13: resident memory with everything on."""


def _resident_mib(pid: int) -> float:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None, status
    return int(found[1]) / 1024


@pytest.mark.parametrize(
    ("moment", "number"), [("idle", signal.SIGINT), ("converging", signal.SIGTERM)], ids=["idle", "converging"]
)
async def test_asked_to_stop_it_gives_back_the_lease_and_ends_with_0(
    world: World, moment: str, number: signal.Signals
) -> None:
    operator = await world.idle_operator()
    assert await world.holder() == operator.name
    world.operands.on = False
    if moment == "converging":
        await world.ask_for()
        await world.until_phase("Converging")
    operator.send(number)
    assert await operator.ended() == OK
    assert await world.holder() == ""
    for noise in _NOISE:
        assert noise not in operator.words()
    assert "asked to stop" in operator.words()
    assert operator.words().splitlines()[-1].endswith("is released")


async def test_asked_twice_it_leaves_at_once(world: World) -> None:
    operator = await world.idle_operator()
    # Nothing is answered any more, so giving back the lease takes as long as a request may.
    held = world.server.fault("silent")
    operator.send(signal.SIGTERM)
    await operator.said("asked to stop")
    assert operator.alive
    operator.send(signal.SIGTERM)
    assert await operator.ended(seconds=2.0) == FAILED
    assert "asked twice to stop: leaving at once" in operator.words()
    world.server.lift(held)


async def test_asked_once_with_a_silent_server_it_still_ends_in_time(world: World) -> None:
    operator = await world.idle_operator()
    held = world.server.fault("silent")
    assert await operator.stop(seconds=10.0) == OK
    world.server.lift(held)


async def test_a_lost_lease_ends_with_3_and_says_who_has_it(world: World) -> None:
    operator = await world.idle_operator(
        lease=("--lease-duration", "15", "--renew-deadline", "13", "--retry-period", "1")
    )
    change = {"spec": {"holderIdentity": "somebody-else"}}
    await world.api.patch(kinds.LEASES, cluster.OWN_LEASE, change, cluster.OWN_NAMESPACE)
    assert await operator.ended() == LOST_LEASE
    last = operator.words().splitlines()[-1]
    assert "lease" in last
    assert "somebody-else" in operator.words()
    assert (await world.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE))["spec"][
        "holderIdentity"
    ] == "somebody-else"


@pytest.mark.on_real
@pytest.mark.skipif(
    not pathlib.Path("/proc/self/status").exists(), reason=f"{skips.ELSEWHERE}needs /proc to read memory"
)
async def test_with_everything_watched_it_stays_within_its_memory(world: World) -> None:
    operator = await world.idle_operator()
    world.echo.on = False
    await world.ask_for()
    await world.until_phase("Admitting")
    mib = _resident_mib(operator.process.pid)
    assert mib <= _MEMORY_MIB, f"{mib:.1f} MiB resident, wanted at most {_MEMORY_MIB}"
