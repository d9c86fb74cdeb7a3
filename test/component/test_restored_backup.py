"""etcd is restored from a backup, back to an earlier state and forth to a later one: what is shown is true soon.

Two ways. OpenShift's restore raises all versions, so that whoever goes on from one of before is answered with 410. A
plain restore gives out the versions after the backup a second time; kube-apiserver opens a watch from one that is still
to come, and is silent. Whatever the operator knew, wrote or led by then never happened, and who only looks on has no
Lease to notice it by.
"""

from __future__ import annotations

import asyncio
import collections
import pathlib
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, documented, elsewhere, phases, plugin, process
from topology_simulator import backups, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "going-back.md"
_SOON = 30.0
"""Seconds from when the API server answers again until all that is shown is true."""
_CHANGE = "just after the change"
_SAID = {
    "Pending": ("Upgradeable", "False", "TransitionPending"),
    "Admitting": ("Progressing", "True", "TransitionAdmitting"),
    "Converging": ("Progressing", "True", "TransitionConverging"),
    "Completed": ("Progressing", "False", "TransitionCompleted"),
}
"""The conditions are written a moment after the record; what is shown is compared when they say it, too."""


async def _reach(world: World, phase: str) -> None:
    """Bring an idle world to a phase."""
    if phase != _CHANGE:
        await phases.bring(world, phase)
        await world.until_condition(*_SAID[phase], seconds=20.0)
        return
    await phases.bring(world, "Admitting")
    await world.echo.go_on()
    await world.asked_until("the topology is changed", world.pair, holds=lambda pair: pair != world.installed)


async def _seen(world: World) -> dict[str, Any]:
    """What a person reads of both objects, without times."""
    infrastructure = await world.infrastructure()
    operator = await world.api.get(kinds.CLUSTER_OPERATORS, "topology")
    record = infrastructure["status"].get("topologyTransition") or {}
    copied = ((operator.get("status") or {}).get("extension") or {}).get("topologyTransition") or {}
    return {
        "desired": infrastructure["spec"].get("desiredTopology"),
        "topology": infrastructure["status"]["controlPlaneTopology"],
        "record": (record.get("phase"), record.get("attempt")),
        "copied": (copied.get("phase"), copied.get("attempt")),
        "conditions": {
            condition["type"]: (condition["status"], condition.get("reason"))
            for condition in (operator.get("status") or {}).get("conditions") or []
        },
    }


async def _put_back(world: World, saved: Any, way: backups.Way) -> float:
    """Restore, and return when (loop time) the server answered again."""
    world.echo.on = False
    await world.server.put_back(saved, bump=backups.BUMPS[way], meanwhile=world.operands.forget)
    answered = asyncio.get_running_loop().time()
    await world.operands.seen()
    return answered


async def _until_shown(world: World, wanted: dict[str, Any], since: float) -> None:
    left = since + _SOON - asyncio.get_running_loop().time()
    await world.asked_until(f"{wanted} is shown", lambda: _seen(world), left, holds=lambda shown: shown == wanted)


async def _lease(world: World) -> str:
    """The version of the operator's lease."""
    found = await world.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE)
    return str(found["metadata"]["resourceVersion"])


@pytest.mark.nightly(but=("plain-Converging",))
@pytest.mark.on_real("plain-Converging")
@pytest.mark.parametrize("phase", [*_SAID, _CHANGE])
@pytest.mark.parametrize("way", backups.BUMPS)
async def test_back_and_forth(world: World, way: backups.Way, phase: str, figure: Callable[[str], None]) -> None:
    operator = await world.idle_operator(lease=process.PATIENT)
    idle, early = await _seen(world), await world.server.snapshot()
    await _reach(world, phase)
    led = {await _lease(world)}
    shown, late = await _seen(world), await world.server.snapshot()
    led.add(await _lease(world))

    def took(since: float) -> float:
        return asyncio.get_running_loop().time() - since

    back = await _put_back(world, early, way)
    await _until_shown(world, idle, back)
    await world.ask_for()
    await world.until_phase("Pending", "Admitting", seconds=_SOON - took(back))
    figure(f"{way}, back from {phase}: a request is taken up after {took(back):.1f} s")
    assert took(back) <= _SOON
    assert set(world.operands.phases) <= {"Idle", "Pending", "Admitting"}, world.operands.phases
    assert await world.pair() == world.installed
    # Its event may be dropped with those that waited, where it was decided before the restore was noticed.
    await operator.until_metric(1, "topology_store_restored_total", _SOON)
    restored = await operator.metric("topology_store_restored_total") or 0.0

    # A later backup, plainly restored, shows itself by our lease alone; not where this has the same version in both,
    # or while all is read anew: the operator leads again when it knows its lease and has read all.
    await polling.until(
        "the lease has another version than in the later backup",
        lambda: _lease(world), holds=lambda version: version not in led,
    )  # fmt: skip
    await operator.until_metric(1, "leader_election_master_status")
    forth = await _put_back(world, late, way)
    if phase != _CHANGE:
        await _until_shown(world, shown, forth)
    await phases.go_on(world, "Converging" if phase == _CHANGE else phase)
    if phase == "Completed":
        await world.ask_for(None)
    await world.until_phase("Idle" if phase == "Completed" else "Completed", seconds=_SOON - took(forth))
    figure(f"{way}, forth to {phase}: at its end after {took(forth):.1f} s")
    assert took(forth) <= _SOON
    reasons = await world.reasons()
    for reason in ("TransitionAdmitted", "TopologyChanged", "TransitionCompleted"):
        assert reasons.count(reason) <= 1, reasons
    assert reasons.count("TransitionRequested") <= 1 + reasons.count("TransitionCancelled"), reasons
    await operator.until_metric(restored + 1, "topology_store_restored_total", _SOON)


# -- who goes by the page


@pytest.mark.nightly
async def test_an_operator_elsewhere_begins_anew_and_takes_the_request_up_again(
    here: World, tmp_path: pathlib.Path
) -> None:
    """Its lease is in another cluster, and says nothing of this one."""
    async with elsewhere.opened(here, None, tmp_path) as pair:
        operator = await pair.operator()
        await here.until_phase("Idle")
        backup = await here.server.snapshot()
        await phases.bring(here, "Completed")
        await _put_back(here, backup, "plain")
        await here.until_condition("Progressing", "False", "AsExpected", seconds=_SOON)
        assert await here.pair() == here.installed
        await cluster.set_ready(here.api, "master-2", ready=False)
        await here.ask_for()
        await here.until_check("ControlPlaneNodes", "Unmet", seconds=_SOON)
        await operator.until_metric(1, "topology_store_restored_total", _SOON)


async def test_what_the_page_says_leads_from_the_backup_to_completed_again(here: World, tmp_path: pathlib.Path) -> None:
    """docs/going-back.md in its order; what it shows of `oc get` is run by `test_documented_commands`."""
    status, cancel, again = [one.arguments[1:] for one in documented.of(PAGE) if one.arguments[0] == "topology"]
    command = plugin.Plugin(tmp_path, here.server.kubeconfig())
    await here.idle_operator()
    await phases.bring(here, "Pending")
    backup = await here.server.snapshot()
    await phases.go_on(here, "Pending")
    await here.until_phase("Completed")

    await _put_back(here, backup, "raised")
    seen = await command.run(*status)
    assert (seen.code, "Pending" in seen.printed, "MastersSchedulable" in seen.printed) == (0, True, True), seen
    assert (await command.run(*cancel)).code == 0
    await here.until_phase("Idle")
    # What the page calls nodes and members that are back.
    await here.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    here.echo.on = here.operands.on = True
    asking = asyncio.create_task(command.run(*again))
    await here.until_phase("Completed", seconds=30.0)
    made = await asking
    assert (made.code, "Completed: the cluster is HighlyAvailable" in made.printed) == (0, True), made


# -- a server that comes back as it was: it begins with 429 for kinds it has yet to look at, and 410 for all versions

RESTARTED = 6 * phases.OPEN + 50
"""Requests from a restart to Completed at most: each watch asks, is judged by a list of one, lists, asks again and may
be told to wait twice; a transition (12) with its writes afterwards, discovery, and the lease."""


@pytest.mark.on_real("restarts")
@pytest.mark.parametrize("how", ["restarts", "forgets its history"])
async def test_a_server_that_comes_back_costs_one_list_for_each_watch(
    world: World, how: str, figure: Callable[[str], None]
) -> None:
    """Where its log is compacted there is 410 on every watch, and no fault is in force."""
    phase = "Admitting" if how == "restarts" else "Converging"
    await phases.reach(world, phase, lease=process.PATIENT)
    before = world.server.mark()
    if how == "restarts":
        await world.server.restart(down=0.5)
    else:
        await world.server.forget_history()
    await phases.go_on(world, phase)
    await world.completed_once(seconds=30.0)
    asked = world.server.asked(before)
    figure(f"it {how}: {len(asked)} requests until Completed")
    assert len(asked) <= RESTARTED, collections.Counter((one.verb, one.resource, one.code) for one in asked)
    assert len(world.server.topology_changes) == 1
