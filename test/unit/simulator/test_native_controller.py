"""OpenShift's own controller of topologies, as others see it: on while its gate is on, gone but for its conditions."""

from __future__ import annotations

import pytest

from topology_simulator import conditions, kinds, pace, play, scenario
from topology_simulator.actors import native

TYPE = "TopologyTransitionControllerUpgradeable"


@pytest.fixture
def switch(living):
    """Turn the gate on or off, as a scenario does."""
    player = play.Player(living.api, living.actors, pace.FAST, lambda _: None)

    async def switched(*, on):
        await player._switch(scenario.Gate(name=native.GATE, enabled=on))

    return switched


async def ask_for(living, topology):
    await living.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"controlPlaneTopology": topology}})


@pytest.fixture
def reason(living):
    async def found():
        return conditions.of(await living.api.get(kinds.CONFIGS, "cluster"), TYPE).get("reason")

    return found


async def topology(living):
    return (await living.api.get(kinds.INFRASTRUCTURES, "cluster"))["status"]["controlPlaneTopology"]


async def test_it_moves_the_topology_once_there_are_three_voters(living, switch, reason):
    await switch(on=True)
    await living.eventually(reason, "AsExpected")
    await ask_for(living, "HighlyAvailable")
    await living.eventually(reason, "PreflightCheckFailed")
    assert await topology(living) == "SingleReplica"
    await living.join("master-1", "master-2")
    await living.eventually(lambda: topology(living), "HighlyAvailable")
    await living.eventually(reason, "TopologyTransitionComplete")


async def test_it_says_what_it_does_not_know(living, switch, reason):
    await switch(on=True)
    await ask_for(living, "DualReplica")
    await living.eventually(reason, "UnsupportedTransition")
    await ask_for(living, None)
    await living.eventually(reason, "AsExpected")


async def test_switched_off_it_leaves_its_conditions_and_does_nothing(living, switch, reason):
    assert await reason() is None
    await switch(on=True)
    await living.eventually(reason, "AsExpected")
    await switch(on=False)
    await living.join("master-1", "master-2")
    await living.eventually(living.voters, ["master-0", "master-1", "master-2"])
    await ask_for(living, "HighlyAvailable")
    await living.eventually(lambda: living.operator("etcd", "Progressing"), "False")
    assert await topology(living) == "SingleReplica"
    assert await reason() == "AsExpected"
    gates = (await living.api.get(kinds.FEATURE_GATES, "cluster"))["status"]["featureGates"]
    names = [[one["name"] for one in gates[0][part]].count(native.GATE) for part in ("enabled", "disabled")]
    assert names == [0, 1]
