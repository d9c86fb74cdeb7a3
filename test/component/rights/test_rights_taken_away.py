"""A right is taken away: what people see then, and that the topology does not move. One story of each verb.

That each right is used, and that none lacks, is shown by `test_least_rights`; what a check says of each object that may
not be read, by its unit tests. Of operands nothing is admitted before the change without, and nothing is Completed
after it: what has to be seen is made from the operand matrix, as the rights are.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from typing import TYPE_CHECKING

import pytest

from test import polling, sentences
from test.component import cluster, plugin, process, real
from test.component import world as worlds
from test.component.rights import grants, restricted_world
from topology_api import vocabulary
from topology_controller import bindata
from topology_controller.definitions import load
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Awaitable, Callable

    from test.component.rights.grants import Grant
    from test.component.rights.restricted_world import RestrictedWorld
    from topology_controller.definitions import operands

    Story = Callable[[RestrictedWorld, Grant], Awaitable[None]]

_UNKNOWN = {
    "etcds": ("EtcdHealthy", "EtcdScalingSafe"),
    "schedulers": ("MastersSchedulable",),
    "clusterversions": ("NoUpgradeInProgress",),
    "machineconfigpools": ("MachineConfigPoolsReady",),
    "nodes": ("ControlPlaneNodes", "DedicatedWorkers", "EtcdVotingMembers"),
}
"""Resources that are listed for evidence, and the checks that are Unknown without."""
_NATIVE = "It is not known whether the native controller is in charge"


def named(verb: str, resource: str, subresource: str = "") -> Grant:
    return next(one for one in grants.ALL if (one.verb, one.resource, one.subresource) == (verb, resource, subresource))


async def blind(staged: RestrictedWorld, grant: Grant) -> None:
    """Nothing is decided and nothing is written; the log says why, and /readyz."""
    operator = await staged.operator(wait=False)
    await operator.said(f"phase Idle: {grant.what}: {sentences.FORBIDDEN}")
    code, text = await operator.ask("/readyz")
    assert (code, grant.what in text, sentences.FORBIDDEN in text) == (500, True, True), text
    assert not await staged.record()
    assert not [one for one in staged.asked() if one.resource == "infrastructures" and one.verb == "patch"]


async def unwatched(staged: RestrictedWorld, grant: Grant) -> None:
    """Everything else is met: nothing is admitted for want of this object, and Progressing names it."""
    operator = await staged.operator(wait=False)
    await operator.said(f"cannot watch {grant.what}")
    await staged.until_condition("Progressing", "False", "PreflightUnmet")
    await polling.until(
        f"Progressing names {grant.what}",
        lambda: staged.condition("Progressing"),
        holds=lambda found: grant.what in found["message"] or grant.key in found["message"],
    )
    assert (await staged.record())["phase"] == "Pending"
    assert sentences.FORBIDDEN in operator.words()


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
    tls = staged.serving.tls()
    await polling.until("Prometheus is let in", lambda: operator.ask("/metrics", tls=tls), holds=process.lets_in)
    await staged.until("the topology has moved", lambda status: status["controlPlaneTopology"] == "HighlyAvailable")


STORIES: tuple[tuple[Grant, Story, bool], ...] = (
    (named("list", "infrastructures"), blind, False),
    (named("watch", "kubeschedulers"), unwatched, False),
    (named("get", "featuregates"), differing, False),
    (named("patch", "infrastructures", "status"), unwritten, False),
    (named("update", "leases"), unelected, False),
    (named("create", "events"), untold, True),
    (named("create", "tokenreviews"), unable_to_ask, True),
)
"""Each with whether the topology moves all the same."""


def test_there_is_a_story_of_each_verb() -> None:
    assert {grant.verb for grant, _, _ in STORIES} == {grant.verb for grant in grants.ALL}


@pytest.mark.nightly("create events@default", "create tokenreviews")
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


# -- operands: the rights that were made from the matrix, less those of settings for one node, which no check waits for


MATRIX = load.load(bindata.root() / "transitions").matrix
LISTS = [grant for grant in grants.OPERANDS if grant.verb == "list" and (grant.name or grant.namespace)]


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
        more = f" and {len(unnamed)} more" in check["message"]
        assert not unnamed or more or group.managed_by is not None, (unnamed, check)
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


# -- the permission to accept a check: Role topology-check-acceptor, besides reading, is what it takes

_USER = "alice"
_CHECK = "RouterReplicas"
_READING = "topology-reading"
"""What tells where the transition is, and nothing else."""
_READS = {
    "apiGroups": ["config.openshift.io"],
    "resources": ["infrastructures", "clusteroperators"],
    "verbs": ["get", "list", "watch"],
}
_GIVEN = kinds.Kind(real.RBAC, "rolebindings", "RoleBinding", namespaced=True)


@pytest.fixture
async def reader(staged: RestrictedWorld) -> AsyncIterator[clients.Client]:
    await staged.api.create(real.ROLES, real.ROLES.new(_READING, rules=[_READS]))
    await staged.api.create(real.ROLE_BINDINGS, real.bound(_READING, kind="User", name=_USER))
    yield staged.api
    # The rest is gone before the next test.
    with contextlib.suppress(clients.ApiError):
        await staged.api.delete(_GIVEN, "accepting", cluster.OWN_NAMESPACE)


async def test_without_the_role_it_is_refused_by_its_name_and_with_it_nothing_else_is_needed(
    staged: RestrictedWorld, reader: clients.Client, tmp_path: pathlib.Path
) -> None:
    command, impatient = plugin.Plugin(tmp_path, staged.server.kubeconfig()), worlds.hurried(tmp_path / "transitions")
    asking = ("accept", "--check", _CHECK, "--yes", "--as", _USER)
    # As a cluster that began with one node does: nobody raises that.
    one = {"spec": {"replicas": 1}}
    await staged.api.patch(kinds.INGRESS_CONTROLLERS, "default", one, simulated.INGRESS_NAMESPACE)
    await staged.operator("operator-a", "--transitions-dir", str(impatient))
    await staged.ask_for()
    await staged.until_check(_CHECK, "Unmet", stage="Convergence")
    # The deadline passes while the operator is away.
    assert await staged.operators[-1].stop() == 0
    begun = (dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    moved = {"admittedTime": begun, "phaseTransitionTime": begun}
    await staged.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": moved})
    await staged.operator("operator-b", "--transitions-dir", str(impatient))
    await staged.until_condition("Degraded", "True", "TransitionStuck", seconds=20.0)

    refused = await command.run(*asking)
    assert refused.code == plugin.FAILED, refused
    reason = refused.complaint.splitlines()[-1]
    assert "alice needs permission to get configmaps/topology-accepted-checks" in reason
    assert "Role topology-check-acceptor grants it: oc -n openshift-topology-operator create rolebinding" in reason
    assert "accepted" not in await staged.record()

    role = {"apiGroup": real.RBAC, "kind": "Role", "name": vocabulary.CHECK_ACCEPTOR}
    subjects = [{"kind": "User", "name": _USER}]
    await reader.create(_GIVEN, _GIVEN.new("accepting", cluster.OWN_NAMESPACE, roleRef=role, subjects=subjects))
    ended = await polling.until(
        "the role counts", lambda: command.run(*asking), 30.0, holds=lambda ended: ended.code == plugin.DONE
    )
    assert ended.printed.startswith(f"{_CHECK} was accepted at 20")
    await staged.completed_once()
    (kept,) = (await staged.record())["accepted"]
    assert kept["name"] == _CHECK
    said = await staged.until_condition("Progressing", "False", "TransitionCompleted")
    assert f" is completed, accepted without: {_CHECK}. " in said["message"]
    assert not staged.refused()
