"""The whole path with the rights of the manifests, on a kube-apiserver with RBAC: all are used, and none is missing.

Both are read from the server's audit log, and what is granted from the rendered manifests: a rule that is added later
and that nothing here uses fails this test with its name. What an attacker could do with the token is asked too.
"""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING

from test import polling
from test.component import backend, cluster
from test.component.rights import grants, restricted_world
from topology_simulator import cluster as simulated
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from test.component.rights.restricted_world import RestrictedWorld
    from topology_simulator.apiserver import requests
    from topology_simulator.envtest import audit


def shown(events: list[audit.Event]) -> list[str]:
    counted = collections.Counter(
        f"{one.verb} {one.resource}/{one.subresource} {one.namespace}/{one.name}: {one.code} {one.allowed_by}"
        for one in events
    )
    return [f"{number} x {text}" for text, number in sorted(counted.items())]


async def test_the_whole_path_uses_every_right_and_is_refused_nothing(staged: RestrictedWorld, figure) -> None:
    """ClusterOperator created, discovery, Pending, cancelled, requested again, change, Completed, restart, conflict.

    The cluster has what not every cluster has: the lifecycle agent, Machines on hosts under the control plane, and
    something left to be done by a person.
    """
    async with staged.lifecycle_agent():
        await staged.add_machines()
        # The assisted installer gives it to a single node, and nobody takes it away.
        await staged.api.create(kinds.MACHINE_CONFIGS, kinds.MACHINE_CONFIGS.new(restricted_world.DNSMASQ, spec={}))
        await cluster.set_ready(staged.api, "master-2", ready=False)
        assert await staged.api.find(kinds.CLUSTER_OPERATORS, "topology") is None
        first = await staged.idle_operator()
        await restricted_world.until_known(staged, first)
        await staged.until_condition("Available", "True", "AsExpected")
        (available, *_) = (await staged.record())["available"]
        assert [one["name"] for one in available["blockers"]] == ["ControlPlaneNodes"], available

        await staged.ask_for()
        await staged.until_phase("Pending")
        await staged.until_check("ControlPlaneNodes", "Unmet")
        await staged.until_condition("Upgradeable", "False", "TransitionPending")
        await staged.ask_for(None)
        await staged.until_phase("Idle")
        await staged.until_told("TransitionCancelled")
        assert (await staged.pair()) == ("SingleReplica", "SingleReplica")

        await staged.ask_for()
        await staged.until_phase("Pending")
        await cluster.set_ready(staged.api, "master-2", ready=True)
        await staged.completed_once()
        await polling.until(
            "it is advised", staged.record,
            holds=lambda record: LEFT in [one["name"] for one in record.get("advisories") or ()],
        )  # fmt: skip
        assert await first.stop() == 0
        await first.said("is released")

        staged.through_proxy = True
        second = await staged.operator("operator-b")
        await staged.until_held("operator-b")
        await polling.until(
            "it is looked at again whether that is done", lambda: reads(staged, restricted_world.DNSMASQ)
        )

        async def write_in_between(_: requests.Request) -> None:
            change = {"metadata": {"annotations": {"somebody": "else"}}}
            await staged.api.patch(kinds.INFRASTRUCTURES, "cluster", change)

        staged.server.before(
            lambda request: backend.is_write(request) and request.target.plural == "infrastructures", write_in_between
        )
        await staged.ask_for(None)
        await staged.until_phase("Idle")
        await cluster.switch_native(staged.api, on=True)
        await polling.until(
            "the process of the native controller is looked for", lambda: reads(staged, simulated.NATIVE_LEASE)
        )
        await cluster.switch_native(staged.api, on=False)
        assert await second.stop() == 0

    asked = staged.asked()
    assert not shown(staged.refused())
    unused = [str(grant) for grant in grants.ALL if not any(grant.covers(one) for one in asked)]
    assert not unused, f"granted by the manifests and never used: {unused}\n" + "\n".join(shown(asked))
    # By our own bindings, and not because everybody may: what a cluster grants to all could be taken away.
    foreign = [one for one in asked if f'"{restricted_world.ACCOUNT}' not in one.allowed_by]
    assert not foreign, shown(foreign)
    assert set().union(*(one.notes for one in asked)) >= BY_POLICIES
    figure(f"{len(grants.ALL)} rights (verb, resource, name), each used; {len(asked)} requests, none refused")


def reads(staged: RestrictedWorld, name: str) -> bool:
    """Whether this was read by its name: nothing watches it."""
    return name in {one.name for one in staged.asked() if one.verb == "get"}


LEFT = "DnsmasqConfigurationLeft"
BY_POLICIES = {"cluster-topology-operator-status/topology-changed", "cluster-topology-operator-report/copy-changed"}
"""What the policies note at writes of the operator: they were in force, and let it through."""
MUST_NOT = """
update,patch,delete infrastructures.config.openshift.io cluster -
patch clusteroperators/status.config.openshift.io etcd -
patch clusteroperators.config.openshift.io topology -
patch clusterversions/status.config.openshift.io version -
create,list machineconfigs.machineconfiguration.openshift.io - -
patch customresourcedefinitions.apiextensions.k8s.io infrastructures.config.openshift.io -
update,patch,delete nodes/status master-0 -
get,list,watch,create secrets - -,openshift-etcd,openshift-topology-operator,kube-system,openshift-config
patch configmaps etcd-endpoints openshift-etcd
get,update,patch,delete configmaps topology-accepted-checks openshift-topology-operator
get,patch,delete deployments.apps console openshift-console
create pods - openshift-topology-operator
create pods/exec etcd-master-0 openshift-etcd
create serviceaccounts/token cluster-topology-operator openshift-topology-operator
impersonate serviceaccounts default kube-system
update leases.coordination.k8s.io openshift-cluster-etcd-operator-lock openshift-etcd-operator
create events - kube-system
patch events topology.0 default
create events.events.k8s.io - default
patch deployments.apps cluster-topology-operator openshift-topology-operator
escalate,bind,patch clusterroles.rbac.authorization.k8s.io cluster-topology-operator -
delete validatingadmissionpolicies.admissionregistration.k8s.io - -
"""
"""Verbs, resource, name (- for any) and namespaces (- for none, or all): what would hurt most. That nothing else is
granted, is read from the manifests (test/unit/manifests/test_rights.py)."""


def must_not() -> Iterator[dict[str, str]]:
    for line in MUST_NOT.strip().splitlines():
        verbs, what, name, namespaces = ("" if part == "-" else part for part in line.split())
        resource, _, group = what.partition(".")
        plural, _, subresource = resource.partition("/")
        for verb, namespace in itertools.product(verbs.split(","), namespaces.split(",")):
            asked = {"group": group, "resource": plural, "subresource": subresource, "verb": verb, "name": name}
            yield {**asked, "namespace": namespace.strip("-")}


async def test_who_has_stolen_the_token_cannot_do_more_than_the_operator_does(staged: RestrictedWorld) -> None:
    """Asked with the token itself, by SelfSubjectAccessReview, and by trying what would hurt most."""
    async with staged.as_operator() as thief:
        assert not [asked for asked in must_not() if await restricted_world.may(thief, asked)]
        # The review tells the truth: what is granted is not denied by it.
        for grant in grants.ALL:
            assert await restricted_world.may(thief, grant.attributes()), str(grant)
        for attempt in (
            thief.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": "HighlyAvailable"}}),
            thief.patch_status(kinds.CLUSTER_OPERATORS, "etcd", {"conditions": []}),
            thief.patch(kinds.CONFIG_MAPS, simulated.ETCD_ENDPOINTS, {"data": None}, simulated.ETCD_NAMESPACE),
            thief.patch(kinds.NODES, "master-0", {"spec": {"unschedulable": True}}),
            thief.list(restricted_world.SECRETS),
            thief.list(restricted_world.SECRETS, cluster.OWN_NAMESPACE),
        ):
            assert await restricted_world.code_of(attempt) == 403


async def test_a_report_under_another_name_is_refused(staged: RestrictedWorld) -> None:
    """RBAC cannot limit a create by name, so a policy does; where it is taken away, the report stays empty."""
    status = {"conditions": conditions.written([conditions.Condition("Upgradeable", "False", "Blocked", "")])}
    intruder = kinds.CLUSTER_OPERATORS.new("intruder", spec={}, status=status)
    async with staged.as_operator() as thief:
        assert await restricted_world.code_of(thief.create(kinds.CLUSTER_OPERATORS, intruder)) == 403
        await staged.api.create(kinds.CLUSTER_OPERATORS, intruder)
        try:
            found = await staged.api.get(kinds.CLUSTER_OPERATORS, "intruder")
            assert not conditions.find(found, "Upgradeable"), found
            attempt = thief.patch_status(kinds.CLUSTER_OPERATORS, "intruder", status)
            assert await restricted_world.code_of(attempt) == 403
        finally:
            await staged.api.delete(kinds.CLUSTER_OPERATORS, "intruder")
