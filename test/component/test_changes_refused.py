"""The API server answers the change of topology with something else than yes.

A policy or webhook of somebody else denies the write: no right is missing, and the reason that people read has to name
what denied it. What becomes of a write without an answer is said by `test_guards_of_the_change`.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import real
from test.component.test_guards_of_the_change import pending, set_schedulable
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component.world import World

NAME = "freeze.example.com"
WHY = "no change of the cluster before Monday"
WEBHOOK = f'admission webhook "{NAME}" denied the request: {WHY}'
_POLICY = {
    "failurePolicy": "Fail",
    "matchConstraints": {
        "resourceRules": [
            {
                "apiGroups": ["config.openshift.io"],
                "apiVersions": ["*"],
                "operations": ["UPDATE"],
                "resources": ["infrastructures/status"],
            }
        ]
    },
    "validations": [
        {
            "expression": "object.status.controlPlaneTopology == oldObject.status.controlPlaneTopology"
            " && object.status.?infrastructureName == oldObject.status.?infrastructureName",
            "message": WHY,
            "reason": "Forbidden",
        }
    ],
}
"""The name is in it so that a test can tell when it is in force, without a change of topology."""


@contextlib.asynccontextmanager
async def denied(world: World) -> AsyncIterator[None]:
    """Deny every change of topology inside this context: by a policy on the real server, else in a webhook's words."""
    if not world.server.is_real:
        change = {"resource": "infrastructures", "subresource": "status", "body": '"controlPlaneTopology"'}
        fault = world.server.fault("status", code=403, message=WEBHOOK, **change)
        yield
        world.server.lift(fault)
        return
    binding = {"policyName": NAME, "validationActions": ["Deny"]}
    try:
        await world.api.create(real.POLICIES, real.POLICIES.new(NAME, spec=_POLICY))
        await world.api.create(real.POLICY_BINDINGS, real.POLICY_BINDINGS.new(NAME, spec=binding))
        await _in_force(world)
        yield
    finally:
        for kind in (real.POLICY_BINDINGS, real.POLICIES):
            await world.api.delete(kind, NAME)


async def _in_force(world: World) -> None:
    numbers = itertools.count()

    async def refused() -> bool:
        try:
            await world.api.patch_status(
                kinds.INFRASTRUCTURES, "cluster", {"infrastructureName": f"probe-{next(numbers)}"}
            )
        except clients.ApiError as error:
            return NAME in str(error)
        return False

    await polling.until("the policy is in force", refused, seconds=30.0)


@pytest.mark.on_real
async def test_a_change_that_admission_denies_is_told_with_the_name_of_what_denied_it(world: World) -> None:
    operator = await pending(world)
    async with denied(world):
        await set_schedulable(world, wanted=True)

        async def told() -> str:
            said = await world.condition("Progressing")
            return said["message"] if NAME in said.get("message", "") else ""

        message = await polling.until("Progressing names what denies the change", told)
        assert WHY in message
        assert "403" in message
        assert "grant the operator's role" not in message + operator.words()
        assert (await world.condition("Progressing"))["reason"] == "TransitionAdmitting"
        assert (await world.condition("Upgradeable"))["status"] == "False"
        assert await world.moves() == []
        assert operator.alive

        # Told once: the retries find it said.
        sent, reports = len(world.server.topology_changes), _reports(world)
        await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"metadata": {"labels": {"example.com/nudge": "1"}}})

        async def denied_again() -> bool:
            return len(world.server.topology_changes) >= sent + 2

        await polling.until("the change is tried again", denied_again)
        assert _reports(world) == reports
        assert await world.moves() == []

    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"metadata": {"labels": {"example.com/nudge": "2"}}})
    await world.completed_once(seconds=20.0)
    assert NAME not in (await world.condition("Progressing"))["message"]


def _reports(world: World) -> int:
    return sum(one.resource == "clusteroperators" for one in world.server.writes)
