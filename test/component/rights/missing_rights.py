"""What people see while one right is missing: a story for each right, and what became of the topology.

The rights that are made from the operand matrix have one story for all of them (`test_operands_not_to_be_read`), and so
have those to look again whether an advisory was followed (`test_advisories_not_to_be_read`).

Every story begins on a cluster of three good nodes with the right taken away, and most with a request that would move
the topology at once. A story returns when it has seen what there is to see; whether the topology may have moved stands
in the table, because that is the part that must not depend on how patient a test is.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp

from test import polling, sentences
from test.component import cluster, definitions
from test.component import world as worlds
from test.component.rights import restricted_world
from topology_api import vocabulary
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from test.component.process import Operator
    from test.component.rights.grants import Grant
    from test.component.rights.restricted_world import RestrictedWorld
    from topology_simulator.apiserver import requests

# Completed comes at most two seconds after the last fact: whole seconds, and one more.
WOULD_BE_COMPLETED = 2.2
_WOULD_BE_SEEN = 1.0


@dataclass(frozen=True, slots=True)
class Sight:
    """`story` tells and checks what is seen; `moves` says whether the topology moves all the same, and `why` not."""

    why: str
    story: Callable[[RestrictedWorld, Grant], Awaitable[None]]
    moves: bool = False

    @property
    def checks(self) -> tuple[str, ...]:
        """Which checks are Unknown without it."""
        return _CHECKS.get(self.story, ())

    @property
    def is_evidence(self) -> bool:
        """Is nothing admitted while it is not watched?"""
        return self.story is seen_to_be_missing


def unknown(*checks: str, ready: bool = True) -> Callable[[RestrictedWorld, Grant], Awaitable[None]]:
    """Checks that need the object are Unknown and name it; a list that is refused is told by /readyz too."""

    async def story(staged: RestrictedWorld, grant: Grant) -> None:
        await staged.ask_for()
        operator = await staged.operator(wait=False)
        for name in checks:
            check = await staged.until_check(name, "Unknown")
            assert grant.what in check["message"], check
            assert sentences.FORBIDDEN in check["message"], check
        condition = await staged.until_condition("Progressing", "False", "PreflightUnmet")
        named = ", ".join(f"{name} (unknown)" for name in checks)
        assert condition["message"].endswith(f" preflight checks not met: {named}"), condition
        if not ready:
            code, text = await operator.ask("/readyz")
            assert (code, grant.what in text, sentences.FORBIDDEN in text) == (500, True, True), text

    _CHECKS[story] = checks
    return story


_CHECKS: dict[Callable[[RestrictedWorld, Grant], Awaitable[None]], tuple[str, ...]] = {}


def held(message: str) -> Callable[[RestrictedWorld, Grant], Awaitable[None]]:
    """All checks are met, and Progressing says what it waits for; /readyz names the object."""

    async def story(staged: RestrictedWorld, grant: Grant) -> None:
        await staged.ask_for()
        operator = await staged.operator(wait=False)
        await staged.until_phase("Pending")
        condition = await staged.until_condition("Progressing", "False", "PreflightUnmet")
        assert message in condition["message"], condition
        code, text = await operator.ask("/readyz")
        assert (code, grant.what in text, sentences.FORBIDDEN in text) == (500, True, True), text

    return story


async def differing(staged: RestrictedWorld, grant: Grant) -> None:
    """What is watched looks well and cannot be read live: back to Pending, and the log says why."""
    await staged.ask_for()
    operator = await staged.operator()
    await operator.said(f"live evidence differs from what was watched: {NATIVE}: {grant.what}: {sentences.FORBIDDEN}")


async def blind(staged: RestrictedWorld, grant: Grant) -> None:
    """Nothing is decided and nothing is written; the log says why, and /readyz."""
    await staged.ask_for()
    operator = await staged.operator(wait=False)
    await operator.said(f"phase Idle: {grant.resource}.{grant.group}/{grant.name or 'topology'}: {sentences.FORBIDDEN}")
    code, text = await operator.ask("/readyz")
    assert (code, grant.what in text, sentences.FORBIDDEN in text) == (500, True, True), text
    assert not await staged.record()
    assert not [one for one in staged.asked() if one.resource == "infrastructures" and one.verb == "patch"]


async def seen_to_be_missing(staged: RestrictedWorld, grant: Grant) -> None:
    """Nothing is admitted, and Progressing says which object it is; /readyz too when not even a list was answered."""
    await staged.ask_for()
    operator = await staged.operator(wait=False)
    await waits_for(staged, operator, grant)


async def waits_for(staged: RestrictedWorld, operator: Operator, grant: Grant, *names: str) -> None:
    """Everything else is met: it is Pending for want of this object, and says so by one of these names."""
    known_as = (grant.what, grant.key, *names)

    async def said() -> bool:
        condition = await staged.condition("Progressing")
        message = condition.get("message", "")
        return condition.get("reason") == "PreflightUnmet" and any(name in message for name in known_as)

    await operator.said(f"cannot watch {grant.what}")
    try:
        await polling.until(f"Progressing names {' or '.join(known_as)}", said)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{await staged.describe()}") from None
    assert (await staged.record())["phase"] == "Pending"
    assert sentences.FORBIDDEN in operator.words()
    if grant.verb == "list":
        code, text = await operator.ask("/readyz")
        assert (code, grant.what in text, sentences.FORBIDDEN in text) == (500, True, True), text


async def seen_to_be_missing_where_there_is_an_agent(staged: RestrictedWorld, grant: Grant) -> None:
    """The same: without the lifecycle agent the kind is not there, and there is nothing to watch."""
    async with staged.lifecycle_agent():
        await seen_to_be_missing(staged, grant)


async def unheard_request(staged: RestrictedWorld, grant: Grant) -> None:
    """A request that is made now is not heard; the log says why."""
    operator = await staged.idle_operator()
    await operator.said(f"cannot watch {grant.what}: {sentences.FORBIDDEN}")
    await staged.ask_for()

    async def idle() -> bool:
        return bool((await staged.record())["phase"] == "Idle")

    await polling.steadily("the request is not heard", idle, _WOULD_BE_SEEN)


async def unproven(staged: RestrictedWorld, grant: Grant) -> None:
    """Admitted, and then Infrastructure cannot be read live, so it goes no further; the log says why."""
    await staged.ask_for()
    operator = await staged.operator()
    await staged.until_phase("Admitting")
    await operator.said(f"{grant.what}: {sentences.FORBIDDEN}")


async def unwritten(staged: RestrictedWorld, grant: Grant) -> None:
    """Nothing is written to Infrastructure; the log says why."""
    await staged.ask_for()
    operator = await staged.operator()
    await operator.said(f"cannot {grant.verb} {grant.what}: 403 Forbidden")
    assert not await staged.record()


async def unreported(staged: RestrictedWorld, grant: Grant) -> None:
    """ClusterOperator says nothing, so nobody echoes that upgrades are held back; the log says why."""
    await staged.ask_for()
    operator = await staged.operator()
    await operator.said(f"cannot {grant.verb} {grant.resource}.{grant.group}/topology: 403 Forbidden")
    await staged.until_phase("Admitting")
    assert not await staged.condition("Progressing")


async def uncreated(staged: RestrictedWorld, grant: Grant) -> None:
    """There is no ClusterOperator, and so no report; the log says why."""
    await staged.ask_for()
    operator = await staged.operator()
    await operator.said(f"cannot create {grant.what}")
    assert await staged.api.find(kinds.CLUSTER_OPERATORS, "topology") is None


async def unsure(staged: RestrictedWorld, grant: Grant) -> None:
    """After a conflict both objects are read again; without our own nothing is decided any more. The log says why."""
    operator = await staged.operator()

    def writes_the_record(request: requests.Request) -> bool:
        by_operator = request.user_agent.startswith("cluster-topology-operator/")
        return by_operator and (request.verb, request.target.plural) == ("patch", "infrastructures")

    await staged.until("discovery is written", lambda status: status.get("topologyTransition"))
    staged.front.faults.on_request(writes_the_record, lambda _: staged.write_in_between(), count=1)
    await staged.ask_for()
    await operator.said(f"cannot get {grant.what}: 403 Forbidden")
    assert (await staged.record())["phase"] == "Idle"


async def uninstalled(staged: RestrictedWorld, grant: Grant) -> None:
    """The cluster does not serve our fields, and nobody is told APINotInstalled; the log tells of the lost record."""
    before = await definitions.change(staged.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    try:
        operator = await staged.operator()
        await operator.said("the server dropped the record")
        assert not [one for one in staged.asked() if grant.covers(one) and one.allowed]
        assert (await staged.condition("Degraded"))["status"] == "False"
    finally:
        await definitions.restore(staged.api, kinds.INFRASTRUCTURES, before)


async def in_charge_as_before(staged: RestrictedWorld, grant: Grant) -> None:
    """The native controller is in charge by its gate and its conditions; that it died would not be seen."""
    await cluster.native_says(staged.api, "True", "AsExpected")
    await cluster.switch_native(staged.api, on=True)
    await staged.ask_for()
    await staged.operator()
    await staged.until_condition("Disabled", "True", "NativeControllerActive")
    assert [one for one in staged.asked() if grant.covers(one)], "it is asked for"


async def unelected(staged: RestrictedWorld, grant: Grant) -> None:
    """It does not lead and writes nothing; the log says why. A standby is ready all the same."""
    if grant.verb == "update":
        await staged.api.create(
            kinds.LEASES,
            {
                "apiVersion": kinds.LEASES.api_version,
                "kind": kinds.LEASES.kind,
                "metadata": {"name": grant.name, "namespace": grant.namespace},
                "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": conditions.now_micro()},
            },
        )
    await staged.ask_for()
    operator = await staged.operator()
    name = f"leases.coordination.k8s.io/{cluster.OWN_LEASE} in namespace {cluster.OWN_NAMESPACE}"
    await operator.said(f"waiting for the lease: cannot {grant.verb} {name}: 403 Forbidden")
    assert await staged.holder() == ""
    assert "leading as" not in operator.words()
    assert not await staged.record()


async def untold(staged: RestrictedWorld, grant: Grant) -> None:
    """No events; everything else goes on, to the end. The log says which were not sent."""
    await staged.ask_for()
    operator = await staged.operator()
    await staged.until_phase("Completed")
    await operator.said("event TransitionRequested was not sent: cannot create events")
    assert await staged.events() == []


async def moved_all_the_same(staged: RestrictedWorld) -> None:
    """Serving is no evidence: the topology moves."""
    await staged.ask_for()
    await staged.until("the topology has moved", lambda status: status["controlPlaneTopology"] == "HighlyAvailable")


async def strict(staged: RestrictedWorld, grant: Grant) -> None:
    """The TLS profile is not known, so the strictest holds: TLS 1.2 is refused; the log says why. It is ready."""
    operator = await staged.operator()
    await operator.said(f"cannot watch {grant.what}: cannot list {grant.what}: 403 Forbidden")
    assert not await speaks_tls12(staged, operator)
    await moved_all_the_same(staged)


async def deaf_to_profiles(staged: RestrictedWorld, grant: Grant) -> None:
    """A new TLS profile is not heard of; the log says why."""
    operator = await staged.operator()
    await operator.said(f"cannot watch {grant.what}: cannot watch {grant.what}: 403 Forbidden")
    await polling.until("the profile was read", lambda: speaks_tls12(staged, operator))
    wanted = {"spec": {"tlsSecurityProfile": {"type": "Modern"}}}
    await staged.api.patch(kinds.API_SERVERS, "cluster", wanted)
    try:
        await polling.steadily("the old one holds", lambda: speaks_tls12(staged, operator), _WOULD_BE_SEEN)
    finally:
        await staged.api.patch(kinds.API_SERVERS, "cluster", {"spec": {"tlsSecurityProfile": None}})
    await moved_all_the_same(staged)


async def without_certificates(staged: RestrictedWorld, grant: Grant) -> None:
    """No client certificate is accepted, not even Prometheus's; the log says why."""
    operator = await staged.operator()
    await operator.said(f"cannot watch {grant.what}: cannot list {grant.what}: 403 Forbidden")
    assert (await operator.ask("/metrics", tls=staged.serving.scraper().tls()))[0] == 401
    await moved_all_the_same(staged)


async def deaf_to_authorities(staged: RestrictedWorld, grant: Grant) -> None:
    """The CA that was read holds, and a new one is not heard of; the log says why."""
    operator = await staged.operator()
    await operator.said(f"cannot watch {grant.what}: cannot watch {grant.what}: 403 Forbidden")
    assert (await operator.ask("/metrics", tls=staged.serving.scraper().tls()))[0] == 200
    await moved_all_the_same(staged)


async def unaccepted(staged: RestrictedWorld, grant: Grant) -> None:
    """What somebody accepts is not heard of, and nothing else suffers: not readiness, not the end. The log says why."""
    await staged.ask_for()
    operator = await staged.operator()
    await operator.said(f"cannot watch {grant.what}: {sentences.FORBIDDEN}")
    await staged.until_phase("Completed")
    await operator.ready()
    assert (await staged.condition("Degraded"))["status"] == "False"


async def unable_to_ask(staged: RestrictedWorld, grant: Grant) -> None:
    """Nobody with a token is let in, 503 says why; Prometheus, with its certificate, is."""
    operator = await staged.operator()
    await restricted_world.until_known(staged, operator, (503, f"not allowed to ask the API server for {grant.what}"))
    await operator.said(f"cannot create {grant.what}: 403 Forbidden")
    prometheus = staged.serving.scraper().tls()

    async def let_in() -> bool:
        return (await operator.ask("/metrics", tls=prometheus))[0] == 200

    await polling.until("Prometheus is let in", let_in)
    await moved_all_the_same(staged)


async def speaks_tls12(staged: RestrictedWorld, operator: Operator) -> bool:
    """Does it let in who speaks nothing newer?"""
    old = staged.nobody()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        return (await operator.ask("/healthz", tls=old))[0] == 200
    except aiohttp.ClientConnectorError:
        return False


async def unknown_where_there_are_machines(staged: RestrictedWorld, grant: Grant) -> None:
    """The same, of what is read only because a Machine names it."""
    async with staged.machines():
        await unknown("ControlPlaneMachines", ready=False)(staged, grant)


async def seen_to_be_missing_where_there_are_machines(staged: RestrictedWorld, grant: Grant) -> None:
    """The same, of what is watched only because a Machine names it."""
    async with staged.machines():
        await seen_to_be_missing(staged, grant)


def through_proxy(sight: Callable[[RestrictedWorld, Grant], Awaitable[None]]) -> bool:
    """Does the story need to come in between the operator and the server?"""
    return sight is unsure


def has_moved(staged: RestrictedWorld) -> bool:
    """Has the topology moved at any time of the story, as a watch saw it?"""
    return worlds.MOVED in staged.operands.history


NATIVE = "It is not known whether the native controller is in charge"
_ETCD = "etcd-endpoints@openshift-etcd"
_LOCK = "openshift-cluster-etcd-operator-lock@openshift-etcd-operator"
_NATIVE_LOCK = "config-operator-lock@openshift-config-operator"
_ROUTERS = "ingresscontrollers=default@openshift-ingress-operator"
_MACHINES, _HOSTS = "machines@openshift-machine-api", "baremetalhosts@openshift-machine-api"
_AUTHORITY = "configmaps=extension-apiserver-authentication@kube-system"
_ACCEPTED = f"configmaps={vocabulary.ACCEPTED_CHECKS}@{cluster.OWN_NAMESPACE}"
_OWN = f"{cluster.OWN_LEASE}@{cluster.OWN_NAMESPACE}"

LOOKED_AT_AGAIN = (
    "configs.imageregistry.operator.openshift.io/cluster",
    "ingresscontrollers.operator.openshift.io/default in namespace openshift-ingress-operator",
    f"machineconfigs.machineconfiguration.openshift.io/{restricted_world.DNSMASQ}",
)
"""What is read by its name once Completed, while an advisory is left."""

SIGHTS: dict[str, Sight] = {
    "get infrastructures=cluster": Sight("the last read before the change", unproven),
    "list infrastructures=cluster": Sight("the request", blind),
    "watch infrastructures=cluster": Sight("a request that is made later", unheard_request),
    "patch infrastructures/status=cluster": Sight("the record and the change", unwritten),
    "get featuregates=cluster": Sight("read live for the change", differing),
    "get configs=cluster": Sight("read live for the change", differing),
    "list featuregates=cluster": Sight("is the native controller there?", held(NATIVE)),
    "watch featuregates=cluster": Sight("does the native controller come?", seen_to_be_missing),
    "list configs=cluster": Sight("does the native controller act?", held(NATIVE)),
    "watch configs=cluster": Sight("does the native controller begin to act?", seen_to_be_missing),
    "get schedulers=cluster": Sight("read live for the change", unknown("MastersSchedulable")),
    "list schedulers=cluster": Sight("may masters carry workloads?", unknown("MastersSchedulable", ready=False)),
    "watch schedulers=cluster": Sight("the same, as it changes", seen_to_be_missing),
    "get clusterversions=version": Sight("read live for the change", unknown("NoUpgradeInProgress")),
    "list clusterversions=version": Sight("does an upgrade run?", unknown("NoUpgradeInProgress", ready=False)),
    "watch clusterversions=version": Sight("the same, and the echo of our upgrade block", seen_to_be_missing),
    "list clusteroperators": Sight("our own report and everybody's", blind),
    "watch clusteroperators": Sight("the same, as it changes", seen_to_be_missing),
    "get clusteroperators=topology": Sight("read again after a conflict", unsure),
    "create clusteroperators": Sight("our report, where it is missing", uncreated),
    "patch clusteroperators/status=topology": Sight("our report", unreported),
    "get etcds=cluster": Sight("read live for the change", unknown("EtcdHealthy")),
    "list etcds=cluster": Sight("is etcd healthy?", unknown("EtcdHealthy", ready=False)),
    "watch etcds=cluster": Sight("the same, as it changes", seen_to_be_missing),
    "list machineconfigpools": Sight("can every pool follow?", unknown("MachineConfigPoolsReady", ready=False)),
    "watch machineconfigpools": Sight("the roll-out", seen_to_be_missing),
    "list nodes": Sight(
        "who is there?", unknown("ControlPlaneNodes", "DedicatedWorkers", "EtcdVotingMembers", ready=False)
    ),
    "watch nodes": Sight("the same, as it changes", seen_to_be_missing),
    "get customresourcedefinitions=infrastructures.config.openshift.io": Sight("APINotInstalled", uninstalled),
    f"get leases={_OWN}": Sight("who leads?", unelected),
    f"update leases={_OWN}": Sight("taking, renewing and releasing the lease", unelected),
    f"create leases@{cluster.OWN_NAMESPACE}": Sight("the first leader ever", unelected),
    "list apiservers=cluster": Sight("which TLS is wanted?", strict, moves=True),
    "watch apiservers=cluster": Sight("the same, as it changes", deaf_to_profiles, moves=True),
    f"list {_ACCEPTED}": Sight("what somebody accepts", unaccepted, moves=True),
    f"watch {_ACCEPTED}": Sight("the same, as it changes", unaccepted, moves=True),
    f"list {_AUTHORITY}": Sight("who signs clients?", without_certificates, moves=True),
    f"watch {_AUTHORITY}": Sight("the same, as it changes", deaf_to_authorities, moves=True),
    "create tokenreviews": Sight("who has this token?", unable_to_ask, moves=True),
    "create subjectaccessreviews": Sight("may they?", unable_to_ask, moves=True),
    "create events@default": Sight("events", untold, moves=True),
    f"get configmaps={_ETCD}": Sight("read live for the change", unknown("ControlPlaneNodes", "EtcdVotingMembers")),
    f"list configmaps={_ETCD}": Sight(
        "the voters of etcd", unknown("ControlPlaneNodes", "EtcdVotingMembers", ready=False)
    ),
    f"watch configmaps={_ETCD}": Sight("the same, as it changes", seen_to_be_missing),
    f"get leases={_LOCK}": Sight("read live for the change", unknown("EtcdOperatorAlive")),
    f"list leases={_LOCK}": Sight("is the etcd operator alive?", unknown("EtcdOperatorAlive", ready=False)),
    f"watch leases={_LOCK}": Sight("the same, as it changes", seen_to_be_missing),
    f"get leases={_NATIVE_LOCK}": Sight("does the native controller's process live?", in_charge_as_before),
    "list controllerconfigs=machine-config-controller": Sight("has it heard of the change?", seen_to_be_missing),
    "watch controllerconfigs=machine-config-controller": Sight("the same, as it changes", seen_to_be_missing),
    f"list machineconfigs={restricted_world.DNSMASQ}": Sight("was it left behind?", seen_to_be_missing),
    f"watch machineconfigs={restricted_world.DNSMASQ}": Sight("the same, as it changes", seen_to_be_missing),
    "list imagebasedupgrades=upgrade": Sight(
        "is the lifecycle agent here?", seen_to_be_missing_where_there_is_an_agent
    ),
    "watch imagebasedupgrades=upgrade": Sight(
        "does the lifecycle agent come?", seen_to_be_missing_where_there_is_an_agent
    ),
    f"list {_MACHINES}": Sight("which Machines are there?", unknown("ControlPlaneMachines", ready=False)),
    f"watch {_MACHINES}": Sight("the same, as it changes", seen_to_be_missing),
    f"list {_HOSTS}": Sight("what is below a Machine?", unknown_where_there_are_machines),
    f"watch {_HOSTS}": Sight("the same, as it changes", seen_to_be_missing_where_there_are_machines),
    f"list {_ROUTERS}": Sight("how many routers were asked for?", seen_to_be_missing),
    f"watch {_ROUTERS}": Sight("the same, as it changes", seen_to_be_missing),
}
