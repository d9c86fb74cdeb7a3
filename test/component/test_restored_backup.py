"""etcd is restored from a backup, back to an earlier state and forth to a later one: what is shown is true soon.

Two ways. OpenShift's restore raises all versions, so that whoever goes on from one of before is answered with 410. A
plain restore gives out the versions after the backup a second time; kube-apiserver opens a watch from one that is still
to come, and is silent. Whatever the operator knew, wrote or led by then never happened.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster
from test.component.phases import bring, go_on
from test.component.test_stuck import away_for_almost_a_minute, impatient
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.component.process import Operator
    from test.component.world import World

__all__ = ["impatient"]
_SOON = 30.0
"""Seconds from when the API server answers again until all that is shown is true."""
_WAYS = {"raised": 1_000_000_000, "plain": 0}
_CHANGE = "just after the change"
_PHASES = ("Idle", "Pending", "Admitting", _CHANGE, "Converging", "Stuck", "Completed")

_SAID = {
    "Pending": ("Upgradeable", "False", "TransitionPending"),
    "Admitting": ("Progressing", "True", "TransitionAdmitting"),
    "Converging": ("Progressing", "True", "TransitionConverging"),
    "Stuck": ("Degraded", "True", "TransitionStuck"),
    "Completed": ("Progressing", "False", "TransitionCompleted"),
}
"""The conditions are written a moment after the record; what is shown is compared when they say it, too."""


async def _reach(world: World, phase: str, folder: pathlib.Path) -> None:
    """Bring an idle world to a phase."""
    if phase == _CHANGE:
        await bring(world, "Admitting")
        await world.echo.go_on()

        async def changed() -> bool:
            return await world.pair() != world.installed

        await polling.until("the topology is changed", changed)
        return
    if phase == "Idle":
        # A request that is no more: what the backup holds is older.
        await world.ask_for()
        await world.until_phase("Admitting")
        await world.ask_for(None)
        await world.until_phase("Idle")
        await world.until_condition("Progressing", "False")
        await world.until_told("TransitionCancelled")
        return
    await bring(world, "Converging" if phase == "Stuck" else phase)
    if phase == "Stuck":
        operator = await away_for_almost_a_minute(world, folder)

        async def stuck() -> bool:
            return await operator.metric("topology_transition_stuck") == 1

        await polling.until("it is stuck", stuck, 20.0)
    await world.until_condition(*_SAID[phase], seconds=20.0)


def _shown(infrastructure: dict[str, Any], operator: dict[str, Any]) -> dict[str, Any]:
    """What a person reads of both objects, without times."""
    record = infrastructure["status"].get("topologyTransition") or {}
    copied = ((operator.get("status") or {}).get("extension") or {}).get("topologyTransition") or {}
    return {
        "desired": infrastructure["spec"].get("desiredTopology"),
        "topology": infrastructure["status"]["controlPlaneTopology"],
        "phase": record.get("phase"),
        "attempt": record.get("attempt"),
        "copied": (copied.get("phase"), copied.get("attempt")),
        "conditions": {
            condition["type"]: (condition["status"], condition.get("reason"))
            for condition in (operator.get("status") or {}).get("conditions") or []
        },
    }


async def _seen(world: World) -> dict[str, Any]:
    return _shown(await world.infrastructure(), await world.api.get(kinds.CLUSTER_OPERATORS, "topology"))


async def _put_back(world: World, saved: Any, way: str) -> float:
    """Restore, and return when (loop time) the server answered again."""
    world.echo.on = False
    await world.server.put_back(saved, bump=_WAYS[way], meanwhile=world.operands.forget)
    answered = asyncio.get_running_loop().time()
    await world.operands.seen()
    return answered


async def _until_shown(world: World, wanted: dict[str, Any], since: float) -> None:
    async def true() -> bool:
        return await _seen(world) == wanted

    try:
        await polling.until("what is shown is true", true, since + _SOON - asyncio.get_running_loop().time())
    except AssertionError as error:
        raise AssertionError(f"{error}\nwanted: {wanted}\n{await world.describe()}") from None


async def _lease(world: World) -> str:
    """The version of the operator's lease."""
    found = await world.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE)
    return str(found["metadata"]["resourceVersion"])


async def _restorations(operator: Operator) -> float:
    return await operator.metric("topology_store_restored_total") or 0.0


async def _noticed(operator: Operator, times: float) -> None:
    async def noticed() -> bool:
        return await _restorations(operator) >= times

    await polling.until(f"it was noticed for the {times:g}. time", noticed, _SOON)


def _took(since: float) -> float:
    return asyncio.get_running_loop().time() - since


@pytest.mark.nightly(but=("plain-Pending", "plain-Converging", "plain-Completed", f"raised-{_CHANGE}"))
@pytest.mark.on_real("plain-Converging")
@pytest.mark.parametrize("phase", _PHASES)
@pytest.mark.parametrize("way", _WAYS)
async def test_back_and_forth(
    world: World, impatient: pathlib.Path, way: str, phase: str, figure: Callable[[str], None]
) -> None:
    await world.idle_operator()
    idle, early = await _seen(world), await world.server.snapshot()
    await _reach(world, phase, impatient)
    led = {await _lease(world)}
    shown, late = await _seen(world), await world.server.snapshot()
    led.add(await _lease(world))
    operator = world.operators[-1]

    back = await _put_back(world, early, way)
    await _until_shown(world, idle, back)
    true_after = _took(back)
    await world.ask_for()
    await world.until_phase("Pending", "Admitting", seconds=_SOON - _took(back))
    taken_up = _took(back)
    figure(f"{way}, back from {phase}: true after {true_after:.1f} s, a request taken up after {taken_up:.1f} s")
    assert taken_up <= _SOON
    assert set(world.operands.phases) <= {"Idle", "Pending", "Admitting"}, world.operands.phases
    assert await world.pair() == world.installed
    # Its event may be dropped with those that waited, where it was decided before the restore was noticed.
    await _noticed(operator, 1)
    restored = await _restorations(operator)

    async def renewed() -> bool:
        return await _lease(world) not in led

    async def leads() -> bool:
        return await operator.metric("leader_election_master_status") == 1

    # A later backup, plainly restored, shows itself by our lease alone; not where this has the same version in both,
    # or while all is read anew: the operator leads again when it knows its lease and has read all.
    await polling.until("the lease has another version than in the later backup", renewed)
    await polling.until("it leads again", leads)
    forth = await _put_back(world, late, way)
    if phase != _CHANGE:
        await _until_shown(world, shown, forth)
    await go_on(world, "Converging" if phase in {_CHANGE, "Stuck"} else phase)
    if phase == "Completed":
        await world.ask_for(None)
        await world.until_phase("Idle", seconds=_SOON - _took(forth))
    else:
        await world.until_phase("Completed", seconds=_SOON - _took(forth))
    ended = _took(forth)
    figure(f"{way}, forth to {phase}: at its end after {ended:.1f} s")
    assert ended <= _SOON
    reasons = await world.reasons()
    for reason in ("TransitionAdmitted", "TopologyChanged", "TransitionCompleted"):
        assert reasons.count(reason) <= 1, reasons
    assert reasons.count("TransitionRequested") <= 1 + reasons.count("TransitionCancelled"), reasons
    await _noticed(operator, restored + 1)
