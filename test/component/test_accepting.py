"""The way out of a transition that is stuck: somebody accepts that a check will not come, and it is completed without.

As an administrator does it, with the command as its own process, while the operator runs beside it. The permission is
tested on a real API server (`rights/test_accepting.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import sentences
from test.component import backend, cluster, plugin, test_stuck
from test.component import world as worlds
from test.component.broken_facts import until_failing
from topology_api import vocabulary
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component.world import World

impatient = test_stuck.impatient
CHECK = "RouterReplicas"
WHY = "one router is enough here"


@pytest.fixture
async def world(tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    """On the embedded server: on the real one the same is told with the rights that it takes."""
    async with worlds.opened(backend.Place(None), tmp_path) as made:
        yield made


@pytest.fixture
def command(world: World, tmp_path: pathlib.Path) -> plugin.Plugin:
    return plugin.Plugin(tmp_path, world.server.kubeconfig())


async def pin_the_router(world: World) -> None:
    """Ask for one router, as a cluster that began with one node does: nobody raises that."""
    await world.api.patch(kinds.INGRESS_CONTROLLERS, "default", {"spec": {"replicas": 1}}, simulated.INGRESS_NAMESPACE)


async def ship(world: World) -> None:
    """Make the ConfigMap that the manifests ship."""
    made = kinds.CONFIG_MAPS.new(vocabulary.ACCEPTED_CHECKS)
    made["metadata"]["namespace"] = cluster.OWN_NAMESPACE
    await world.api.create(kinds.CONFIG_MAPS, made)


async def refuses(command: plugin.Plugin) -> None:
    """Other checks are refused, with what could be accepted."""
    for check, why in (
        ("EtcdHealthy", "EtcdHealthy can never be accepted"),
        ("MonitoringReplicas", "MonitoringReplicas is Met: there is nothing to accept"),
    ):
        refused = await command.run("accept", "--check", check, "--yes")
        assert refused.code == plugin.BLOCKED, refused
        assert refused.reason.startswith(why), refused
        assert refused.reason.endswith(f"Could be accepted now: {CHECK}"), refused


async def test_past_the_deadline_it_is_completed_without_the_check_and_that_is_shown_from_then_on(
    world: World, impatient: pathlib.Path, command: plugin.Plugin
) -> None:
    asking = ("accept", "--check", CHECK, "--yes", "--reason", WHY)
    await pin_the_router(world)
    await world.operator("operator-a", "--transitions-dir", str(impatient))
    await world.until_phase("Idle")
    early = await command.run(*asking)
    assert (early.code, "the phase is Idle" in early.reason) == (plugin.BLOCKED, True), early
    await world.ask_for()
    await until_failing(world, "the router is pinned", CHECK)
    early = await command.run(*asking, "--transitions-dir", str(impatient))
    assert early.code == plugin.BLOCKED, early
    assert early.reason.startswith(f"{CHECK} may still come: nothing is accepted before the deadline, 20"), early
    await test_stuck.away_for_almost_a_minute(world, impatient)
    await world.until_condition("Degraded", "True", "TransitionStuck", seconds=20.0)

    # What the operator says counts: this command has other definitions, by which the deadline is far away.
    told = await command.run("status")
    assert f"oc topology accept --check {CHECK}" in told.printed
    await refuses(command)
    missing = await command.run(*asking)
    assert missing.code == plugin.FAILED, missing
    assert "configmaps/topology-accepted-checks in namespace openshift-topology-operator does not exist" in (
        missing.complaint
    )
    await ship(world)
    silent = await command.run("accept", "--check", CHECK)
    assert silent.code == plugin.USAGE, silent
    assert "there is no terminal to ask at: --yes accepts without being asked" in silent.complaint
    assert (await world.record())["phase"] == "Converging"

    accepted = await command.run(*asking)
    assert accepted.code == plugin.DONE, accepted
    assert accepted.printed.startswith(f"{CHECK} was accepted at 20"), accepted
    assert f"If you accept that {CHECK} will not be met" in accepted.complaint
    await world.completed_once()
    record = await world.record()
    (kept,) = record["accepted"]
    check = await world.check(CHECK, "Convergence")
    assert (kept["name"], kept["reason"], check["status"]) == (CHECK, WHY, "Unmet")
    assert check["message"].startswith(kept["message"].removesuffix(" ... (cut)"))
    await world.until_condition("Degraded", "False", "AsExpected")
    await world.until_condition("Upgradeable", "True", "AsExpected")
    said = await world.until_condition("Progressing", "False", "TransitionCompleted")
    assert f" is completed, accepted without: {CHECK}. Left to do: " in said["message"]
    await world.until_told("TransitionCompleted")
    notes = [one["note"] for one in await world.events() if one["reason"] == "TransitionCompleted"]
    assert [one.partition(" is completed")[2] for one in notes] == [f", accepted without: {CHECK}"]
    code, told_ = await command.json("status")
    assert (code, told_["phase"], told_["stuck"]) == (plugin.DONE, "Completed", False)
    assert [(one["name"], one["reason"]) for one in told_["accepted"]] == [(CHECK, WHY)]
    assert "Accepted without" in (await command.run("status")).printed
    again = await command.run(*asking)
    assert (again.code, again.complaint) == (plugin.DONE, ""), again
    waited = await command.run("wait")
    assert (
        waited.printed
        == f"{sentences.COMPLETED}, accepted without: {CHECK}. 3 actions required, see: oc topology status\n"
    )
    assert len(world.server.topology_changes) == 1
