"""The policies do not stand in the way of whom they are for, from the request to its removal, and of nobody else less.

With the rights of the manifests alone the whole path is `test_least_rights`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component.admission import changes, policy_server
from test.component.rights import restricted_world
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real


_PATCH = ("patch", "infrastructure", "cluster", "--type", "merge", "-p")


@pytest.fixture
async def staged(furnished: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[restricted_world.RestrictedWorld]:
    """A cluster of three good nodes, in which the operator runs by a token of its ServiceAccount."""
    async with restricted_world.opened(restricted_world.SharedCluster(furnished), tmp_path) as made:
        yield made


async def test_while_no_operator_runs_upgrades_stay_blocked_and_nothing_is_confirmed(
    staged: restricted_world.RestrictedWorld, ground: policy_server.PolicyServer
) -> None:
    """It is evicted in every roll-out of machine configuration: then nothing puts its report right."""
    staged.operands.on = False
    operator = await staged.idle_operator()
    await ground.in_force()
    code, _, said = await ground.kubectl("requester", *_PATCH, '{"spec":{"desiredTopology":"HighlyAvailable"}}')
    assert code == 0, said
    attempt = (await staged.until_phase("Converging"))["attempt"]
    await staged.until_condition("Upgradeable", "False", "TransitionInProgress")
    await operator.kill()
    before = await staged.api.get(kinds.CLUSTER_OPERATORS, "topology")
    lift = {**next(one for one in before["status"]["conditions"] if one["type"] == "Upgradeable"), "status": "True"}
    forged = {**before["status"]["extension"], "phase": "Completed"}
    for who, what, change in (
        ("ingress", "/status", {"status": {"conditions": [lift]}}),
        ("ingress", "/status", {"status": {"extension": forged, "conditions": [lift]}}),
        ("ingress", "/status", {"status": None}),
        ("janitor", "", {"metadata": {"annotations": changes.CONFIRMED}}),
    ):
        tried = policy_server.Request("PATCH", change, path=policy_server.OPERATOR + what)
        answer = await ground.send(who, tried, dry=False)
        assert answer.refused_by == policy_server.REPORT_POLICY, answer
    back = {"status": {"controlPlaneTopology": "SingleReplica"}}
    moved = policy_server.Request("PATCH", back, path=f"{policy_server.INFRASTRUCTURE}/status")
    assert (await ground.send("ingress", moved, dry=False)).refused_by == policy_server.STATUS_POLICY
    assert await staged.api.get(kinds.CLUSTER_OPERATORS, "topology") == before
    await staged.operator("operator-b")
    await staged.operands.go_on()
    await staged.completed_once()
    assert (await staged.record())["attempt"] == attempt
    await staged.until_condition("Upgradeable", "True")
    code, _, said = await ground.kubectl("requester", *_PATCH, '{"spec":{"desiredTopology":null}}')
    assert code == 0, said
    await staged.until_phase("Idle")
    assert not staged.refused()
