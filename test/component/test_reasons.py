"""Whatever keeps the operator from working has a reason and a message of its own, and ends when its cause does."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, definitions
from test.component import world as worlds
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component import backend
    from test.component.world import World

_ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}


async def stays_put(world: World) -> None:
    """Nothing was written to Infrastructure by an operator, and nothing is by the next decisions."""

    async def ask() -> bool:
        return not [one for one in world.server.writes if one.resource == "infrastructures"]

    await world.stays_so("Infrastructure is not written", ask)


async def test_a_hosted_control_plane_is_looked_at_as_little_as_possible(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, simulated.Shape(hosted=True)) as world:
        await world.operator()
        await world.until_reasons(Disabled="HostedControlPlane")
        assert "controllerAvailabilityPolicy" in (await world.condition("Disabled"))["message"]
        with pytest.raises(clients.ApiError, match=r"cannot be reached from status\.controlPlaneTopology External"):
            await world.ask_for()
        await stays_put(world)
        asked = {one.resource for one in world.server.asked()}
        assert not asked & {"nodes", "etcds", "configmaps"}, asked


@pytest.mark.on_real
async def test_a_crd_without_our_fields_is_degraded_with_the_command_and_installing_it_recovers(world: World) -> None:
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    await world.operator()
    await world.until_reasons(Degraded="APINotInstalled")
    message = (await world.condition("Degraded"))["message"]
    assert "infrastructures.config.openshift.io" in message
    assert "cluster-topology-operator manifests --crd-patch" in message
    await stays_put(world)
    await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
    await world.ask_for()
    await world.until_phase("Completed")
    await world.until_reasons(Progressing="TransitionCompleted")


def lax(schema: dict[str, Any]) -> dict[str, Any]:
    """Infrastructure with any record, and anything in all fields but the request."""
    changed = definitions.without_rules(copy.deepcopy(schema))
    for part in ("spec", "status"):
        fields = changed["properties"][part]["properties"]
        for name in set(fields) - {"desiredTopology"}:
            fields[name] = _ANYTHING
    return changed


def deafen(world: World) -> None:
    """Let the operands ignore what a test spoils: they are simpler than the operator."""

    async def ignore(_: dict[str, Any]) -> None:
        """Hear nothing."""

    world.operands._act = ignore  # type: ignore[method-assign, assignment]  # one instance, for one test


async def test_a_record_that_cannot_be_read_is_replaced_and_nothing_is_made_of_it(world: World) -> None:
    await world.idle_operator()
    deafen(world)
    await definitions.change(world.api, kinds.INFRASTRUCTURES, lax)
    for spoilt in ("Idle", {"phase": "Converging", "checks": [{"name": None}]}):
        await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": spoilt})

        async def replaced() -> bool:
            found = (await world.infrastructure())["status"].get("topologyTransition")
            return isinstance(found, dict) and found.get("phase") == "Idle" and "checks" not in found

        await polling.until("the record is Idle", replaced)
    await world.ask_for()
    await world.until_phase("Converging")
    await cluster.follow_the_change(world.api)
    await world.until_phase("Completed")
