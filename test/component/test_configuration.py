"""The configuration of a running operator: followed as kubelet swaps it, in the middle of a transition.

What the file may say and what each mistake is answered with is tested without processes (test/unit/configuration).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from test import polling
from test.component import backend, cluster
from test.component import world as worlds
from test.unit.configuration.files import HEAD, Volume
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib


async def until_lease(world: worlds.World, seconds: int) -> None:
    """Wait until others see that they have to wait for the holder for so long."""

    async def ask() -> bool:
        found = await world.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE)
        return bool(found["spec"]["leaseDurationSeconds"] == seconds)

    await polling.until(f"the lease says {seconds} s", ask)


async def test_it_is_followed_through_a_transition_and_a_bad_one_is_told_by_its_line(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    volume = Volume(folder)
    flags = ("--config", str(volume.file))
    # Without flags for the lease its figures follow the topology, as on a real cluster.
    async with worlds.opened(backend.Place(None), tmp_path) as world:
        operator = await world.idle_operator("operator-a", *flags, settle=None, lease=())
        await until_lease(world, 270)  # a single node may be rebooting

        volume.swap(f"{HEAD}logLevel: debug\nsettleSeconds: 3600\nminimumNodeResources: {{cpu: 512}}\n")
        words = await operator.said("the log level is debug now")
        assert "is in force" in words
        await world.ask_for()
        found = await world.until_check("ControlPlaneNodes", "Unmet")
        assert "of 512 CPUs" in found["message"]

        volume.swap(f"{HEAD}logLevel: debug\nsettleSeconds: 3600\n")
        await world.until_phase("Converging")
        await until_lease(world, 137)
        await world.until_condition("Progressing", "True", "TransitionConverging")

        volume.swap(f"{HEAD}logLevel: debug\nsettleSeconds: a moment\n")
        degraded = await world.until_condition("Degraded", "True", "ConfigurationInvalid")
        assert f"{volume.file}:4: settleSeconds is 'a moment'" in degraded["message"]
        assert (await world.record())["phase"] == "Converging"

        volume.swap(f"{HEAD}logLevel: warning\nsettleSeconds: 1\n")
        await world.until_condition("Degraded", "False", "AsExpected")
        await world.completed_once()
        assert await world.moves() == [worlds.MOVED]
        assert await operator.metric("leader_election_master_status") == 1
        assert "the log level is warning now" in operator.words()
        said = operator.words()
        assert await operator.stop() == 0
        assert operator.words() == said, "warnings only: nothing to say about an end that was asked for"
        assert await world.holder() == ""


async def test_without_an_election_the_one_that_works_counts_as_the_leader(tmp_path: pathlib.Path) -> None:
    async with worlds.opened(backend.Place(None), tmp_path) as world:
        operator = await world.operator("operator-a", "--no-leader-elect", lease=())
        await world.until_phase("Idle")
        assert await operator.metric("leader_election_master_status") == 1
        assert await operator.metric("topology_transition_phase", phase="Idle") == 1
