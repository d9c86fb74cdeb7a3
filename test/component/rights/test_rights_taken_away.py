"""A right is taken away: what people see then, and that the topology does not move. One story of each verb.

That each right is used, and that none lacks, is shown by `test_least_rights`; what a check says of each object that may
not be read, by its unit tests. Of operands nothing is admitted before the change without, and nothing is Completed
after it: what has to be seen is made from the operand matrix, as the rights are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import polling, sentences
from test.component import cluster
from test.component import world as worlds
from test.component.rights import grants, restricted_world
from topology_controller import bindata
from topology_controller.definitions import load
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from test.component.rights.grants import Grant
    from test.component.rights.restricted_world import RestrictedWorld
    from topology_controller.definitions import operands

    Story = Callable[[RestrictedWorld, Grant], Awaitable[None]]

_UNKNOWN = {
    "etcds": ("EtcdHealthy",),
    "schedulers": ("MastersSchedulable",),
    "clusterversions": ("NoUpgradeInProgress",),
    "machineconfigpools": ("MachineConfigPoolsReady",),
    "nodes": ("ControlPlaneNodes", "DedicatedWorkers", "EtcdVotingMembers"),
}
"""Resources that are listed for evidence, and the checks that are Unknown without."""
_NATIVE = "It is not known whether the native controller is in charge"


def named(verb: str, resource: str, subresource: str = "") -> Grant:
    return next(
        one for one in grants.BY_HAND if (one.verb, one.resource, one.subresource) == (verb, resource, subresource)
    )


async def blind(staged: RestrictedWorld, grant: Grant) -> None:
    """Nothing is decided and nothing is written; the log says why, and /readyz."""
    operator = await staged.operator(wait=False)
    await operator.said(f"phase Idle: {grant.what}: {sentences.FORBIDDEN}")
    code, text = await operator.ask("/readyz")
    assert (code, grant.what in text, sentences.FORBIDDEN in text) == (500, True, True), text
    assert not await staged.record()
    assert not [one for one in staged.asked() if one.resource == "infrastructures" and one.verb == "patch"]


async def unwatched(staged: RestrictedWorld, grant: Grant) -> None:
    """Nothing is admitted, and Progressing says which object it is."""
    operator = await staged.operator(wait=False)
    await restricted_world.waits_for(staged, operator, grant)


async def differing(staged: RestrictedWorld, grant: Grant) -> None:
    """What is watched looks well and cannot be read live: back to Pending, and the log says why."""
    operator = await staged.operator()
    await operator.said(f"live evidence differs from what was watched: {_NATIVE}: {grant.what}: {sentences.FORBIDDEN}")


async def unwritten(staged: RestrictedWorld, grant: Grant) -> None:
    """Nothing is written to Infrastructure; the log says why."""
    operator = await staged.operator()
    await operator.said(f"cannot {grant.verb} {grant.what}: 403 Forbidden")
    assert not await staged.record()


async def unelected(staged: RestrictedWorld, grant: Grant) -> None:
    """It does not lead and writes nothing; the log says why. A standby is ready all the same."""
    free = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": conditions.now_micro()}
    await staged.api.create(kinds.LEASES, kinds.LEASES.new(grant.name, grant.namespace, spec=free))
    operator = await staged.operator()
    name = f"leases.coordination.k8s.io/{cluster.OWN_LEASE} in namespace {cluster.OWN_NAMESPACE}"
    await operator.said(f"waiting for the lease: cannot {grant.verb} {name}: 403 Forbidden")
    assert await staged.holder() == ""
    assert not await staged.record()


async def untold(staged: RestrictedWorld, grant: Grant) -> None:
    """No events; everything else goes on, to the end. The log says which were not sent."""
    operator = await staged.operator()
    await staged.until_phase("Completed")
    await operator.said("event TransitionRequested was not sent: cannot create events")
    assert await staged.events() == []


async def unable_to_ask(staged: RestrictedWorld, grant: Grant) -> None:
    """Nobody with a token is let in, 503 says why; Prometheus, with its certificate, is. The topology moves."""
    operator = await staged.operator()
    await restricted_world.until_known(staged, operator, (503, f"not allowed to ask the API server for {grant.what}"))
    await operator.said(f"cannot create {grant.what}: 403 Forbidden")
    prometheus = staged.serving.scraper().tls()

    async def let_in() -> bool:
        return (await operator.ask("/metrics", tls=prometheus))[0] == 200

    await polling.until("Prometheus is let in", let_in)
    await staged.until("the topology has moved", lambda status: status["controlPlaneTopology"] == "HighlyAvailable")


STORIES: tuple[tuple[Grant, Story, bool], ...] = (
    (named("list", "infrastructures"), blind, False),
    (named("watch", "machineconfigpools"), unwatched, False),
    (named("get", "featuregates"), differing, False),
    (named("patch", "infrastructures", "status"), unwritten, False),
    (named("update", "leases"), unelected, False),
    (named("create", "events"), untold, True),
    (named("create", "tokenreviews"), unable_to_ask, True),
)
"""Each with whether the topology moves all the same."""


def test_there_is_a_story_of_each_verb() -> None:
    assert {grant.verb for grant, _, _ in STORIES} == {grant.verb for grant in grants.ALL}


@pytest.mark.parametrize(("grant", "story", "moves"), STORIES, ids=[str(grant) for grant, _, _ in STORIES])
async def test_without_the_right_to(staged: RestrictedWorld, grant: Grant, story: Story, *, moves: bool) -> None:
    await staged.take(grant)
    await staged.ask_for()
    await story(staged, grant)
    assert await staged.pair() == (worlds.MOVED if moves else worlds.INSTALLED)
    assert (worlds.MOVED in staged.operands.history) is moves
    refused = staged.refused()
    assert refused, "what was taken away was not even tried"
    assert not {f"{one.verb} {one.resource} {one.name}" for one in refused if not grant.covers(one)}


async def test_without_any_right_to_list_evidence_each_check_is_unknown_and_all_heals_without_a_restart(
    staged: RestrictedWorld,
) -> None:
    taken = {named("list", resource): checks for resource, checks in _UNKNOWN.items()}
    await staged.take(*taken)
    await staged.ask_for()
    operator = await staged.operator(wait=False)
    for grant, checks in taken.items():
        for name in checks:
            check = await staged.until_check(name, "Unknown")
            assert grant.what in check["message"], check
            assert sentences.FORBIDDEN in check["message"], check
    code, text = await operator.ask("/readyz")
    assert code == 500
    assert not [str(grant) for grant in taken if grant.what not in text], text
    assert await staged.pair() == worlds.INSTALLED
    await staged.give_back()
    await staged.completed_once(seconds=20.0)
    await operator.ready()
    assert operator.alive


# -- operands: the rights that were made from the matrix


MATRIX = load.load(bindata.root() / "transitions").matrix


LISTS = [grant for grant in grants.OPERANDS if grant.verb == "list"]


async def test_nothing_is_admitted_without_the_right_to_look_at_an_operand(staged: RestrictedWorld) -> None:
    schedulers = [grant for grant in grants.OPERANDS if grant.resource == "kubeschedulers" and grant.verb != "get"]
    assert {grant.verb for grant in schedulers} == {"list", "watch"}
    operator = await staged.idle_operator()
    for grant in schedulers:
        await staged.take(grant)
        await staged.ask_for()
        await restricted_world.waits_for(staged, operator, grant)
        assert [event for event in staged.refused() if grant.covers(event)], f"{grant}: was not even tried"
        await staged.ask_for(None)
        await staged.until_phase("Idle")
        await staged.give_back()
    assert worlds.MOVED not in staged.operands.history
    assert not [event for event in staged.refused() if not any(grant.covers(event) for grant in schedulers)]


async def test_after_the_change_each_check_names_the_operands_that_may_not_be_read(staged: RestrictedWorld) -> None:
    """The rights are lost between two leaders: the second reports what it cannot tell, and finishes with them."""
    staged.operands.on = False
    await staged.ask_for()
    first = await staged.operator()
    await staged.until_phase("Converging")
    await staged.take(*LISTS)
    await first.stop()
    second = await staged.operator("operator-b", wait=False)
    for group in MATRIX.groups:
        mine = [grant for grant in LISTS if of(group, grant)]
        if not mine:
            continue
        check = await staged.until_check(group.check.value, "Unknown", stage="Convergence")
        assert sentences.FORBIDDEN in check["message"], check
        # Where a configuration says whether there is anything at all, that alone is named as long as it is not known.
        unnamed = [str(grant) for grant in mine if grant.what not in check["message"]]
        assert not unnamed or group.managed_by is not None, (unnamed, check)
    code, text = await second.ask("/readyz")
    assert code == 500
    assert not [str(grant) for grant in LISTS if grant.what not in text], text
    assert await staged.pair() == worlds.MOVED
    await staged.give_back()
    await staged.operands.go_on()
    await staged.completed_once(seconds=30.0)


def of(group: operands.Group, grant: Grant) -> bool:
    """Whether it is the right to look at an operand of this group."""
    what = f"{grant.resource}.{grant.group}"
    return any(
        (one.plural, one.name) == (what, grant.name) and grant.namespace in {"", one.namespace}
        for one in group.operands
    )
