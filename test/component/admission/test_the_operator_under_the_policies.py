"""The policies do not stand in the way of whom they are for: the whole path, and the request that begins it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from test.component.admission import policy_server
from test.component.rights import restricted_world

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real


@pytest.fixture
async def staged(furnished: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[restricted_world.RestrictedWorld]:
    """A cluster of three good nodes, in which the operator runs by a token of its ServiceAccount."""
    async with restricted_world.opened(restricted_world.SharedCluster(furnished), tmp_path) as made:
        yield made


async def test_a_requester_asks_and_the_operator_moves_the_topology(
    staged: restricted_world.RestrictedWorld, ground: policy_server.PolicyServer
) -> None:
    await staged.idle_operator()
    await ground.in_force()
    patch = json.dumps({"spec": {"desiredTopology": "HighlyAvailable"}})
    code, _, said = await ground.kubectl("requester", "patch", "infrastructure", "cluster", "--type=merge", "-p", patch)
    assert code == 0, said
    await staged.completed_once()
    assert await staged.pair() == ("HighlyAvailable", "HighlyAvailable")
    moved = policy_server.Request(
        "PATCH", {"status": {"controlPlaneTopology": "SingleReplica"}}, path=f"{policy_server.INFRASTRUCTURE}/status"
    )
    assert (await ground.send("ingress", moved, dry=False)).refused_by == policy_server.STATUS_POLICY
    forged = policy_server.Request(
        "PATCH", {"status": {"extension": {"phase": "Idle"}}}, path=f"{policy_server.OPERATOR}/status"
    )
    assert (await ground.send("ingress", forged, dry=False)).refused_by == policy_server.REPORT_POLICY
    code, _, said = await ground.kubectl(
        "requester", "patch", "infrastructure", "cluster", "--type=merge", "-p", '{"spec":{"desiredTopology":null}}'
    )
    assert code == 0, said
    await staged.until_phase("Idle")
    assert not staged.refused()
