"""What happens to a cluster and to our objects while it converges: the truth is told, nothing is undone, it goes on.

The topology is written once, whatever is lost afterwards. What somebody takes away from us is made again from what is
left: the record from its copy in ClusterOperator `topology`, and that from the record.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster
from test.component import world as worlds
from test.component.broken_facts import LAST, VOTERS, condition, endpoints, until_failing
from test.component.phases import reach
from topology_simulator import client as clients
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from test.component.world import World

_BRAKE = "openshift-multus/multus-admission-controller"
_WAITS = ("MultusAdmissionReplicas", "ClusterOperatorsStable")
_HEAD = ("name", "source", "target", "attempt", "requestedTime", "admittedTime", "completedTime", "baseline")


async def converging(world: World, **options: Any) -> dict[str, Any]:
    """Bring it to where everything has followed but one workload, and return the record."""
    await world.idle_operator(**options)
    world.operands.behind.add(_BRAKE)
    await world.ask_for()
    await until_failing(world, "all but one", *_WAITS)
    return await world.record()


async def still_converging(world: World) -> None:
    """It goes on converging, and upgrades stay held back."""
    record = await world.until_phase("Converging")
    assert await world.pair() == worlds.MOVED
    assert record["name"] == worlds.NAME
    await world.until_condition("Progressing", "True", "TransitionConverging")
    await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    await world.until_condition("Available", "True")


# -- the cluster


async def test_a_machine_that_dies_and_is_replaced(world: World) -> None:
    await converging(world)
    await world.api.delete(kinds.NODES, "master-2")
    # Its etcd member is no node's any more, and the budgets are for three.
    lost = {"ControlPlaneNodes", "EtcdVotingMembers", "GuardPodDisruptionBudgets"}
    await until_failing(world, "node gone", *_WAITS, *lost)
    found = await world.check("ControlPlaneNodes", "Convergence")
    assert "Found: 2" in found["message"], found
    await still_converging(world)

    await cluster.add_node(world.api, "master-2")
    await world.operands.go_on()
    await world.completed_once()


async def test_an_etcd_member_that_is_lost(world: World) -> None:
    await converging(world)
    await condition(kinds.ETCDS, "cluster", "EtcdMembersDegraded", "True")(world.api)
    await endpoints(**{LAST: None})(world.api)
    await until_failing(world, "member gone", *_WAITS, "EtcdVotingMembers", "EtcdHealthy", "ControlPlaneNodes")
    await still_converging(world)

    await endpoints(**{LAST: VOTERS[LAST]})(world.api)
    await condition(kinds.ETCDS, "cluster", "EtcdMembersDegraded", "False")(world.api)
    await until_failing(world, "member back", *_WAITS)
    await world.operands.go_on()
    await world.completed_once()


async def test_a_patch_upgrade_that_starts_and_ends(world: World) -> None:
    await converging(world)
    version = await world.api.get(kinds.CLUSTER_VERSIONS, "version")
    before = version["status"]["history"]
    entry = {**before[0], "version": "4.21.9", "state": "Partial"}
    working = conditions.merged(version, [conditions.Condition("Progressing", "True", "Working", "10% complete")])
    await world.api.patch_status(
        kinds.CLUSTER_VERSIONS, "version", {"conditions": working, "history": [entry, *before]}
    )

    async def upgrading() -> bool:
        message = (await world.check("ClusterOperatorsStable", "Convergence"))["message"]
        return "an upgrade is under way" in message

    await polling.until("the upgrade is named", upgrading)
    await still_converging(world)
    # The operands come to rest while it goes on, which proves nothing.
    await world.operands.go_on()
    await until_failing(world, "only the upgrade is left", "ClusterOperatorsStable")

    done = {"history": [{**entry, "state": "Completed"}, *before], "desired": {"version": "4.21.9"}}
    await world.api.patch_status(kinds.CLUSTER_VERSIONS, "version", done)
    await condition(kinds.CLUSTER_VERSIONS, "version", "Progressing", "False")(world.api)
    await world.completed_once()
    said = await world.check("ClusterOperatorsStable", "Convergence")
    assert "from version 4.21.7 to 4.21.9 since the topology changed" in said["message"], said


# -- the operator


@pytest.mark.nightly("everything follows-SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("meanwhile", ["everything follows", "nothing follows"])
async def test_an_operator_that_is_evicted_is_gone_on_for(world: World, number: signal.Signals, meanwhile: str) -> None:
    record = await converging(world)
    first = world.operators[0]
    first.send(number)
    await first.ended()
    if number is signal.SIGKILL:
        await world.forget_lease()
    if meanwhile == "everything follows":
        await world.operands.go_on()

    second = await world.operator("operator-b")
    if meanwhile == "nothing follows":
        await second.said("leading as")
        await until_failing(world, "as it was left", *_WAITS)
        await still_converging(world)
        await world.operands.go_on()
    ended = await world.completed_once()
    assert {one: ended[one] for one in _HEAD if one != "completedTime"} == {
        one: record[one] for one in _HEAD if one != "completedTime"
    }
    assert [one.who for one in world.server.topology_changes] == [first.name]


# -- what we have written


@pytest.mark.nightly("Pending", "Admitting")
@pytest.mark.parametrize("phase", ["Pending", "Admitting", "Converging", "Completed"])
async def test_our_clusteroperator_is_deleted_by_hand(world: World, phase: str) -> None:
    await reach(world, phase)
    await world.until_told("TransitionRequested")
    settled = {
        "Pending": ("Progressing", "False", "PreflightUnmet"),
        "Admitting": ("Progressing", "True", "TransitionAdmitting"),
        "Converging": ("Progressing", "True", "TransitionConverging"),
        "Completed": ("Progressing", "False", "TransitionCompleted"),
    }[phase]
    await world.until_condition(*settled)
    uid = (await world.api.get(kinds.CLUSTER_OPERATORS, "topology"))["metadata"]["uid"]
    record = await world.record()
    await world.api.delete(kinds.CLUSTER_OPERATORS, "topology")

    async def made_again() -> dict[str, Any]:
        found = await world.api.find(kinds.CLUSTER_OPERATORS, "topology")
        copy = ((found or {}).get("status") or {}).get("extension")
        return found if found and copy and found["metadata"]["uid"] != uid else {}

    made = await polling.until("it is made again, with the copy of the record", made_again)
    copied = {one: made["status"]["extension"].get(one) for one in _HEAD}
    now = await world.record()
    assert copied == {one: now.get(one) for one in _HEAD}
    assert {one: now.get(one) for one in _HEAD} == {one: record.get(one) for one in _HEAD}
    await world.until_condition(*settled)

    await go_on_from(world, phase)
    await world.completed_once()


async def go_on_from(world: World, phase: str) -> None:
    """Take away what keeps it in this phase."""
    if phase == "Pending":
        await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    world.echo.on = world.operands.on = True
    await world.echo.go_on()
    if phase in {"Converging", "Completed"}:
        await world.operands.go_on()


async def write_typed(world: World) -> None:
    """PUT the status as a client does whose types do not know our field."""

    async def put() -> bool:
        found = await world.infrastructure()
        found["status"].pop("topologyTransition")
        try:
            await world.api.put_status(kinds.INFRASTRUCTURES, found)
        except clients.ApiError as error:
            if error.code != 409:
                raise
            return False
        return True

    await polling.until("the status is written", put)


@pytest.mark.nightly("is away-Pending", "watches-Converging", "is away-Completed")
@pytest.mark.on_real(first=True)
@pytest.mark.parametrize("phase", ["Pending", "Converging", "Completed"])
@pytest.mark.parametrize("operator", ["watches", "is away"])
async def test_a_typed_writer_drops_our_record_and_it_is_rebuilt(world: World, phase: str, operator: str) -> None:
    await reach(world, phase)
    await world.until_told("TransitionRequested")
    lost = await world.record()

    async def copied() -> bool:
        found = (await world.api.get(kinds.CLUSTER_OPERATORS, "topology"))["status"].get("extension") or {}
        return all(found.get(one) == lost.get(one) for one in ("phase", *_HEAD))

    await polling.until("the copy is written", copied)
    # Here it is about the record: what becomes of events that were not told is the next test's.
    told = {"Pending": "TransitionBlocked", "Converging": "TopologyChanged", "Completed": "TransitionCompleted"}
    await world.until_told(told[phase])
    if operator == "is away":
        assert await world.operators[0].stop() == 0
    await write_typed(world)
    assert operator == "watches" or not await world.record()
    if operator == "is away":
        await world.operator("operator-b")
    rebuilt = await world.until_phase(phase)
    if (operator, phase) == ("is away", "Completed"):
        # After a restart everything is proven again: completed a second time, and later.
        assert rebuilt["completedTime"] >= lost["completedTime"]
        lost["completedTime"] = rebuilt["completedTime"]
    assert {one: rebuilt.get(one) for one in _HEAD} == {one: lost.get(one) for one in _HEAD}
    assert ("baseline" in rebuilt) is (phase in {"Converging", "Completed"})
    await go_on_from(world, phase)
    await world.completed_once()


async def test_what_was_not_told_is_told_by_whoever_rebuilds_the_record(world: World) -> None:
    """Events are not taken, the operator is evicted, the record is dropped, and another one starts."""
    refused = world.server.fault("status", code=503, verb="create", resource="events")
    await reach(world, "Converging")
    await world.until_condition("Progressing", "True", "TransitionConverging")
    assert await world.operators[0].stop(seconds=20.0) == 0
    await write_typed(world)
    world.server.lift(refused)
    assert await world.reasons() == []
    await world.operator("operator-b")
    await world.until_told("TransitionAdmitted", "TopologyChanged")
    await world.operands.go_on()
    await world.completed_once()


async def test_a_typed_writer_while_admitting_costs_a_new_attempt(world: World) -> None:
    await reach(world, "Admitting")
    old = (await world.record())["attempt"]
    await write_typed(world)

    async def anew() -> bool:
        found = await world.record()
        return found.get("phase") == "Admitting" and found["attempt"] != old

    await polling.until("there is an attempt of its own", anew)
    assert world.server.topology_changes == []
    await go_on_from(world, "Admitting")
    await world.completed_once()


async def test_a_baseline_that_is_rebuilt_still_counts(world: World) -> None:
    """Nothing has followed when the record is lost: what was there before is not taken for what came after."""
    await reach(world, "Converging")
    before = await world.record()
    await write_typed(world)
    await world.until("the record is back", lambda status: status.get("topologyTransition"))

    async def waits() -> bool:
        found = await world.record()
        return bool(found["phase"] == "Converging" and found["baseline"] == before["baseline"])

    await world.stays_so("it goes on waiting", waits)
    pools = await world.check("MachineConfigPoolsRolledOut", "Convergence")
    revision = await world.check("KubeAPIServerRevision", "Convergence")
    assert pools["status"] == revision["status"] == "Unmet"
    await world.operands.go_on()
    await world.completed_once()
