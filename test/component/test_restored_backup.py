"""etcd is restored from a backup, back to an earlier state and forth to a later one: what is shown is true soon.

Two ways. OpenShift's restore raises all versions, so that whoever goes on from one of before is answered with 410. A
plain restore gives out the versions after the backup a second time; kube-apiserver opens a watch from one that is still
to come, and is silent. Whatever the operator knew, wrote or led by then never happened, and who only looks on has no
Lease to notice it by.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import backend, cluster, documented, elsewhere, phases, plugin, process
from test.component import world as worlds
from topology_simulator import backups, kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from test.component import forked
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

    async def changed() -> bool:
        return await world.pair() != world.installed

    await polling.until("the topology is changed", changed)


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


async def _noticed(operator: process.Operator, times: float) -> None:
    async def noticed() -> bool:
        return (await operator.metric("topology_store_restored_total") or 0.0) >= times

    await polling.until(f"it was noticed for the {times:g}. time", noticed, _SOON)


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
    await _noticed(operator, 1)
    restored = await operator.metric("topology_store_restored_total") or 0.0

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
    await _noticed(operator, restored + 1)


# -- who looks on, and goes by the page; on the embedded server: what is tested is on this side of it


@pytest.fixture
async def here(tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(), tmp_path) as made:
        yield made


async def _until_said(following: asyncio.subprocess.Process | forked.Process, words: str) -> None:
    """Wait for a line that has these words: `wait` complains about what it waits for, `status` prints."""
    streams = [one for one in (following.stdout, following.stderr) if one is not None]

    async def read(stream: asyncio.StreamReader) -> None:
        while line := (await stream.readline()).decode():
            if words in line:
                return
        await asyncio.Event().wait()

    tasks = [asyncio.create_task(read(one)) for one in streams]
    done, late = await asyncio.wait(tasks, timeout=_SOON * polling.PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    for task in late:
        task.cancel()
    assert done, f"not said: {words!r}"


@pytest.mark.nightly
@pytest.mark.parametrize("way", backups.BUMPS)
async def test_who_looks_on_is_shown_the_cluster_of_the_backup(
    here: World, tmp_path: pathlib.Path, way: backups.Way
) -> None:
    """`wait`, `status --watch`, and the page of who leads and of who stands by; none is started anew."""
    leading = await here.idle_operator()
    command = plugin.Plugin(tmp_path, here.server.kubeconfig())
    backup = await here.server.snapshot()
    await phases.bring(here, "Converging")
    operators = (leading, await here.operator("operator-b"))

    async def until_shown(operator: process.Operator, phase: str) -> None:
        async def shown() -> bool:
            return bool(json.loads((await operator.ask("/state"))[1])["phase"] == phase)

        await polling.until(f"the page of {operator.name} shows {phase}", shown, _SOON)

    for operator in operators:
        await until_shown(operator, "Converging")
    async with command.running("wait") as waiting, command.running("status", "--watch") as watching:
        for following in (waiting, watching):
            await _until_said(following, "Converging")
        await _put_back(here, backup, way)
        await _until_said(waiting, "there is no request to wait for")
        await _until_said(watching, "Idle: the cluster is SingleReplica")
        watching.terminate()
        await asyncio.gather(waiting.communicate(), watching.communicate())
        assert waiting.returncode == plugin.FAILED
    for operator in operators:
        await until_shown(operator, "Idle")


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
        await _noticed(operator, 1)


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
