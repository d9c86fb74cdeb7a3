"""What others do to the one write that matters: deny it by admission, apply what was before, take our fields away.

A policy or webhook of somebody else denies the change: no right is missing, and the reason that people read names what
denied it. And cluster-network-operator, on platforms with virtual IPs, reads Infrastructure and later applies the whole
typed status by server-side apply with force and without a resourceVersion (pkg/controller/infrastructureconfig and
pkg/apply/apply.go, release-4.20 to release-4.22): no version stops that, and it takes the topology back.
The version operator's own definition has none of our fields: nothing is claimed while nothing can be recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from test import polling
from test.component import backend, definitions, phases, real
from test.component import world as worlds
from test.component.test_guards_of_the_change import pending, set_schedulable
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds, kubeconfig

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component.world import World

NAME = "freeze.example.com"
WHY = "no change of the cluster before Monday"
_RULE = {
    "apiGroups": ["config.openshift.io"],
    "apiVersions": ["*"],
    "operations": ["UPDATE"],
    "resources": ["infrastructures/status"],
}
_UNCHANGED = (
    "object.status.controlPlaneTopology == oldObject.status.controlPlaneTopology"
    " && object.status.?infrastructureName == oldObject.status.?infrastructureName"
)
"""The name is in it so that a test can tell when it is in force, without a change of topology."""
_POLICY = {
    "failurePolicy": "Fail",
    "matchConstraints": {"resourceRules": [_RULE]},
    "validations": [{"expression": _UNCHANGED, "message": WHY, "reason": "Forbidden"}],
}


@contextlib.asynccontextmanager
async def denied(world: World) -> AsyncIterator[None]:
    """Deny every change of topology by a policy inside this context."""
    binding = {"policyName": NAME, "validationActions": ["Deny"]}
    numbers = itertools.count()

    async def refused() -> bool:
        change = {"infrastructureName": f"probe-{next(numbers)}"}
        try:
            await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", change)
        except clients.ApiError as error:
            return NAME in str(error)
        return False

    await world.api.create(real.POLICIES, real.POLICIES.new(NAME, spec=_POLICY))
    await world.api.create(real.POLICY_BINDINGS, real.POLICY_BINDINGS.new(NAME, spec=binding))
    await polling.until("the policy is in force", refused, seconds=30.0)
    yield
    # What a test that fails leaves is gone before the next one.
    for kind in (real.POLICY_BINDINGS, real.POLICIES):
        await world.api.delete(kind, NAME)


async def test_a_change_that_admission_denies_is_told_with_the_name_of_what_denied_it(there: World) -> None:
    world = there
    operator = await pending(world)
    async with denied(world):
        await set_schedulable(world, wanted=True)
        said = await polling.until(
            "Progressing names what denies the change",
            lambda: world.condition("Progressing"), holds=lambda found: NAME in found.get("message", ""),
        )  # fmt: skip
        assert WHY in said["message"]
        assert "grant the operator's role" not in said["message"] + operator.words()
        assert said["reason"] == "TransitionAdmitting"
        assert (await world.condition("Upgradeable"))["status"] == "False"

        # Told once: the retries find it said.
        def reports() -> int:
            return sum(one.resource == "clusteroperators" for one in world.server.writes)

        sent, reported = len(world.server.topology_changes), reports()
        await _nudge(world)
        await polling.until("the change is tried again", lambda: len(world.server.topology_changes) >= sent + 2)
        assert reports() == reported
        assert await world.moves() == []

    await _nudge(world)
    await world.completed_once(seconds=20.0)
    assert NAME not in (await world.condition("Progressing"))["message"]


async def _nudge(world: World) -> None:
    """News that means nothing."""
    version = (await world.infrastructure())["metadata"]["resourceVersion"]
    change = {"metadata": {"labels": {"example.com/nudge": version}}}
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", change)


# -- a status of before is applied

_MANAGER = "cluster-network-operator/infrastructureconfig"
_SPREAD = (worlds.DESIRED, "SingleReplica")
_PLATFORM = "baremetal"
_FIRST, _SECOND = "192.0.2.100", "2001:db8::100"
_SHAPE = simulated.Shape(control_plane=_SPREAD[0], infrastructure=_SPREAD[1], masters=3, platform="BareMetal")


async def _made_of_now(world: World) -> dict[str, Any]:
    """Read Infrastructure and make of it what that operator applies: the addresses of spec in status too."""
    found = await world.infrastructure()
    status = copy.deepcopy(found["status"])
    status.pop("topologyTransition", None)
    wanted = found["spec"]["platformSpec"][_PLATFORM]["apiServerInternalIPs"]
    status["platformStatus"][_PLATFORM]["apiServerInternalIPs"] = wanted
    spec = {"platformSpec": found["spec"]["platformSpec"]}
    return {key: found[key] for key in ("apiVersion", "kind")} | {
        "metadata": {"name": "cluster"}, "spec": spec, "status": status,
    }  # fmt: skip


async def _apply(world: World, folder: pathlib.Path, made: dict[str, Any]) -> None:
    """Apply it with force. Raises when the server refuses it, as it would a conflict."""
    access = kubeconfig.access(world.server.kubeconfig())
    headers = {**access.headers, "Content-Type": "application/apply-patch+yaml"}
    url = access.server + kinds.INFRASTRUCTURES.path("cluster", subresource="status")
    query = {"fieldManager": _MANAGER, "force": "true"}
    async with (
        aiohttp.ClientSession(raise_for_status=True) as session,
        session.patch(url, params=query, headers=headers, json=made, ssl=access.tls or True),
    ):
        pass


async def test_a_topology_that_is_set_back_is_reported_with_its_writer_and_not_fought_over(
    real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(backend.Place(real_server), tmp_path, _SHAPE) as world:
        before = {"platformStatus": {_PLATFORM: {"apiServerInternalIPs": [_FIRST]}}}
        await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", before)
        asked = {"platformSpec": {_PLATFORM: {"apiServerInternalIPs": [_FIRST, _SECOND]}}}
        await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": asked})
        await world.idle_operator()
        world.operands.on = False
        made = await _made_of_now(world)
        await world.ask_for()
        record = await world.until_phase("Converging")
        assert record["name"] == "infra-to-ha"

        # Managed fields have whole seconds: within one, who wrote the status before may seem to be the writer.
        await asyncio.sleep(1.0)
        await _apply(world, tmp_path, made)

        assert await world.pair() == _SPREAD, "force takes the topology along"
        assert (await world.record())["attempt"] == record["attempt"], "the record is in no type of theirs"
        message = (await world.until_condition("Degraded", "True", "TopologyOverwritten"))["message"]
        assert f"written by field manager {_MANAGER}" in message
        assert "was HighlyAvailable/HighlyAvailable and is HighlyAvailable/SingleReplica now" in message
        await world.until_condition("Upgradeable", "False", "TransitionInProgress")

        async def untouched() -> bool:
            return await world.pair() == _SPREAD and len(world.server.topology_changes) == 1

        await world.stays_so("the topology is not written", untouched)

        # The way out is the one that the message gives, and a field that somebody else has applied is no obstacle.
        assert """'{"spec":{"desiredTopology":null}}'""" in message
        await world.ask_for(None)
        await world.until_phase("Idle")
        await world.operands.go_on()
        await world.operands.followed(*_SPREAD)
        await world.ask_for()
        await world.until_phase("Completed")
        assert await world.pair() == worlds.MOVED
        assert len(world.server.topology_changes) == 2


# -- the definition of before is applied


@pytest.mark.on_real
async def test_put_back_while_admitting_nothing_moves_and_the_request_can_be_made_again(world: World) -> None:
    await phases.reach(world, "Admitting")
    block = await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    ours = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    # The echo arrives: the last thing that the change of topology waited for.
    await phases.go_on(world, "Admitting")

    degraded = await world.until_condition("Degraded", "True", "APINotInstalled", seconds=15.0)
    for named in ("infrastructures.config.openshift.io", "cluster-topology-operator manifests --crd-patch"):
        assert named in degraded["message"]
    # The copy of the record still says Admitting: whether a change is on its way cannot be told from here.
    assert (await world.condition("Upgradeable"))["message"] == block["message"]
    assert await world.moves() == []
    assert world.server.topology_changes == []

    await definitions.restore(world.api, kinds.INFRASTRUCTURES, ours)
    # The request was dropped with the field, so this is another one, and may be told as such.
    await world.ask_for()
    await world.until_phase("Completed", seconds=20.0)
    assert await world.moves() == [worlds.MOVED]
    assert len(world.server.topology_changes) == 1
    await world.until_condition("Degraded", "False", "AsExpected")
