"""One convergence fact is not good, all others are: it is waited for by name, and nothing is finished until then.

Each case keeps one operand behind, or spoils one fact after the topology has moved: Converging, the failing check with
what is wanted and what was found, in the record, in Progressing and in the metric. Mending it is all that is needed.
The cases of one check share a world; between two of them a guard budget that is not there keeps it Converging.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from typing import TYPE_CHECKING

import pytest
import yaml

from test import polling
from test.component import cluster
from test.component import world as worlds
from test.component.broken_facts import (
    LAST,
    VOTERS,
    Case,
    condition,
    endpoints,
    node,
    ready,
    until_failing,
)
from topology_simulator import cluster as simulated
from topology_simulator import conditions, follow, kinds, operands

if TYPE_CHECKING:
    from test.component.broken_facts import Change
    from test.component.process import Operator
    from topology_simulator import client

_CO, _CV, _ETCD = kinds.CLUSTER_OPERATORS, kinds.CLUSTER_VERSIONS, kinds.ETCDS
_BUDGET, _DOWNLOADS = "openshift-etcd/etcd-guard-pdb", "openshift-console/downloads"
_TOPOLOGY_NOTE = "machineconfiguration.openshift.io/controlPlaneTopology"
_STARTED = "4.21.9"


def _only(part: str) -> Change:
    return functools.partial(follow.follow, only=[part])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Behind(Case):
    """A case that may begin with the change: `parts` do not follow it, and `spoil` has nothing to do."""

    parts: tuple[str, ...] = ()


async def _nothing(_: client.Client) -> None:
    """It is behind since the change."""


def behind(part: str, check: str, found: str, *also: str) -> Behind:
    """Something that does not follow the change."""
    return Behind(
        id=f"{part} stays", check=check, found=found, also=also, parts=(part,), spoil=_nothing, repair=_only(part)
    )


def fallen(part: str, check: str, found: str, *also: str) -> Behind:
    """Something that has followed, and falls back."""
    spoil = functools.partial(follow.spoil, part=part)
    return Behind(id=f"{part} falls back", check=check, found=found, also=also, spoil=spoil, repair=_only(part))


def changed(
    name: str, check: str, found: str, spoil: Change, repair: Change, *also: str, status: str = "Unmet"
) -> Behind:
    """Any other change."""
    return Behind(id=name, check=check, found=found, also=also, spoil=spoil, repair=repair, status=status)


def revisions(operator: str, kind: kinds.Kind, **change: int) -> Change:
    """Change the static pods' entry of the last node."""

    async def spoil(api: client.Client) -> None:
        status = (await api.get(kind, "cluster"))["status"]
        *others, last = status["nodeStatuses"]
        await api.patch_status(kind, "cluster", {"nodeStatuses": [*others, {**last, **change}]})

    assert any(one.operator == operator and one.kind is kind for one in operands.STATIC_PODS)
    return spoil


def upgrading(*, on: bool) -> Change:
    """Start a patch upgrade, or end it."""

    async def change(api: client.Client) -> None:
        version = await api.get(_CV, "version")
        entry = {**version["status"]["history"][-1], "version": _STARTED, "state": "Partial" if on else "Completed"}
        states = conditions.merged(version, [conditions.Condition("Progressing", str(on), "Working", "towards it")])
        history = [entry, version["status"]["history"][-1]]
        await api.patch_status(_CV, "version", {"conditions": states, "history": history})

    return change


async def operator_gone(api: client.Client) -> None:
    """A ClusterOperator that reported at the change disappears."""
    await api.delete(_CO, "monitoring")


async def operator_back(api: client.Client) -> None:
    """And is made again by its operator."""
    made = kinds.CLUSTER_OPERATORS.new("monitoring", spec={})
    await api.create(_CO, made)
    await api.patch_status(_CO, "monitoring", {"conditions": conditions.written(conditions.steady("monitoring"))})


async def pin_router(api: client.Client) -> None:
    """Somebody writes a number."""
    await api.patch(kinds.INGRESS_CONTROLLERS, "default", {"spec": {"replicas": 1}}, simulated.INGRESS_NAMESPACE)


async def free_router(api: client.Client) -> None:
    """And takes it away again."""
    await api.patch(kinds.INGRESS_CONTROLLERS, "default", {"spec": {"replicas": None}}, simulated.INGRESS_NAMESPACE)


async def ask_for_another_registry(api: client.Client) -> None:
    """The registry runs with one replica, and its configuration has just been changed to two."""
    await api.patch(kinds.REGISTRIES, "cluster", {"spec": {"managementState": "Managed", "replicas": 1}})
    await follow.follow(api, only=["image-registry"])
    await api.patch(kinds.REGISTRIES, "cluster", {"spec": {"replicas": 2}})


async def scale_registry(api: client.Client) -> None:
    """Its operator has seen the new number."""
    await follow.follow(api, only=["image-registry"])


def budget_of(count: int) -> Change:
    """Let the budget of etcd's guards allow another number."""
    name, namespace = "etcd-guard-pdb", "openshift-etcd"
    return lambda api: api.patch(kinds.DISRUPTION_BUDGETS, name, {"spec": {"minAvailable": count}}, namespace)


_LAGS = "master-2 is at revision {} and on its way to {}"

CASES: tuple[Behind, ...] = (
    changed(
        "node-not-ready", "ControlPlaneNodes", "master-2 (Ready=False)", ready(ready=False), ready(ready=True)
    ),
    changed(
        "voter-lost", "EtcdVotingMembers", "Found: 2: master-0, master-1",
        endpoints(**{LAST: None}), endpoints(**{LAST: VOTERS[LAST]}), "ControlPlaneNodes",
    ),
    changed(
        "etcd-member-degraded", "EtcdHealthy", "EtcdMembersDegraded=True",
        condition(_ETCD, "cluster", "EtcdMembersDegraded", "True"),
        condition(_ETCD, "cluster", "EtcdMembersDegraded", "False"),
    ),
    changed(
        "etcd-operator-with-another-clock", "EtcdOperatorAlive", "the clocks disagree",
        lambda api: cluster.renew_etcd_lease(api, ago=3600.0), cluster.renew_etcd_lease, status="Unknown",
    ),
    changed(
        "operator-progressing", "ClusterOperatorsStable", "dns (Progressing=True)",
        condition(_CO, "dns", "Progressing", "True"), condition(_CO, "dns", "Progressing", "False"),
    ),
    changed(
        "operator-gone", "ClusterOperatorsStable", "monitoring (missing, it was there when the topology changed)",
        operator_gone, operator_back,
    ),
    changed(
        "patch-upgrade", "ClusterOperatorsStable", "an upgrade is under way",
        upgrading(on=True), upgrading(on=False),
    ),
    behind(
        "machine-config/controller", "MachineConfigControllerObserved", "it is made for SingleReplica",
        "MachineConfigPoolsRolledOut",
    ),
    fallen(
        "machine-config/controller", "MachineConfigControllerObserved", "TemplateControllerFailing=True",
        "MachineConfigPoolsRolledOut",
    ),
    changed(
        "node-goes-by-the-old-topology", "MachineConfigControllerObserved", "Found: master-1. ",
        node("master-1", metadata={"annotations": {_TOPOLOGY_NOTE: "SingleReplica"}}),
        node("master-1", metadata={"annotations": {_TOPOLOGY_NOTE: "HighlyAvailable"}}),
        "MachineConfigPoolsRolledOut",
    ),
    behind(
        "machine-config/pools", "MachineConfigPoolsRolledOut", "the configuration from before the topology changed"
    ),
    fallen("machine-config/pools", "MachineConfigPoolsRolledOut", "1 degraded machines"),
    behind(
        "static-pods/kube-apiserver", "KubeAPIServerRevision", "still at revision 9, from before the topology changed",
        "ClusterOperatorsStable",
    ),
    fallen("static-pods/kube-apiserver", "KubeAPIServerRevision", _LAGS.format(10, 11)),
    changed(
        "installer-failed", "KubeAPIServerRevision", "master-2 failed to install revision 11",
        revisions("kube-apiserver", kinds.KUBE_API_SERVERS, targetRevision=11, lastFailedRevision=11),
        revisions("kube-apiserver", kinds.KUBE_API_SERVERS, targetRevision=0, lastFailedRevision=11),
    ),
    fallen("static-pods/kube-controller-manager", "KubeControllerManagerRevision", _LAGS.format(9, 10)),
    fallen("static-pods/kube-scheduler", "KubeSchedulerRevision", _LAGS.format(9, 10)),
    fallen("static-pods/etcd", "EtcdRevision", _LAGS.format(9, 10)),
    fallen(
        "openshift-oauth-apiserver/apiserver", "APIServerReplicas", "openshift-oauth-apiserver/apiserver has 2 of 3"
    ),
    fallen("openshift-authentication/oauth-openshift", "OAuthReplicas", "oauth-openshift has 2 of 3 ready"),
    behind("console", "ConsoleReplicas", "console asks for 1", "ClusterOperatorsStable"),
    fallen(_DOWNLOADS, "ConsoleReplicas", "openshift-console/downloads has 1 of 2 ready"),
    behind(
        "openshift-ingress-operator/default", "RouterReplicas", "default has 1 of 2 available",
        "ClusterOperatorsStable",
    ),
    fallen("openshift-ingress-operator/default", "RouterReplicas", "default has 0 of 2 available"),
    changed("router-pinned", "RouterReplicas", "has spec.replicas set to 1", pin_router, free_router),
    behind("monitoring", "MonitoringReplicas", "prometheus-k8s asks for 1", "ClusterOperatorsStable"),
    fallen(
        "openshift-monitoring/thanos-querier", "MonitoringReplicas",
        "openshift-monitoring/thanos-querier has 1 of 2 ready",
    ),
    changed(
        "registry-configured", "ImageRegistryReplicas", "image-registry asks for 1", ask_for_another_registry,
        scale_registry,
    ),
    fallen("openshift-operator-lifecycle-manager/packageserver", "PackageServerReplicas", "has 1 of 2 ready"),
    behind("network", "MultusAdmissionReplicas", "asks for 1", "ClusterOperatorsStable"),
    fallen("openshift-multus/multus-admission-controller", "MultusAdmissionReplicas", "has 1 of 2 ready"),
    behind(
        "openshift-kube-apiserver/kube-apiserver-guard-pdb", "GuardPodDisruptionBudgets",
        "openshift-kube-apiserver/kube-apiserver-guard-pdb with minAvailable 2",
    ),
    fallen(
        "openshift-kube-scheduler/openshift-kube-scheduler-guard-pdb", "GuardPodDisruptionBudgets",
        "openshift-kube-scheduler/openshift-kube-scheduler-guard-pdb",
    ),
    changed("budget-too-small", "GuardPodDisruptionBudgets", "minAvailable 1", budget_of(1), budget_of(2)),
)  # fmt: skip


def test_every_convergence_check_of_the_definition_has_a_case() -> None:
    file = pathlib.Path(__file__).parents[2] / "bindata" / "transitions" / f"{worlds.NAME}.yaml"
    asked = {one["check"] for one in yaml.safe_load(file.read_text())["convergence"]["checks"]}
    assert asked == {case.check for case in CASES}


async def it_is_waited_for(world: worlds.World, operator: Operator, case: Behind) -> None:
    """Nothing but this is not good: assert what must be seen."""
    checks = await until_failing(world, case.id, case.check, *case.also)
    found = next(one for one in checks if (one["stage"], one["name"]) == ("Convergence", case.check))
    assert found["status"] == case.status, (case.id, found)
    assert case.found in found["message"], (case.id, found)
    record = await world.record()
    total = record["progress"]["total"]
    assert record["progress"]["met"] == total - 1 - len(case.also), case.id
    assert await world.pair() == worlds.MOVED

    async def told() -> bool:
        said = await world.until_condition("Progressing", "True", "TransitionConverging")
        return case.check in said["message"]

    await polling.until(f"{case.id}: Progressing names {case.check}", told)

    async def measured() -> bool:
        shown = {
            status: await operator.metric(
                "topology_transition_check_status", check=case.check, stage="Convergence", status=status
            )
            for status in ("Met", "Unmet", "Unknown")
        }
        return shown == {**dict.fromkeys(shown, 0.0), case.status: 1.0}

    await polling.until(f"{case.id}: the metric says {case.status}", measured)


_EACH_TIME = (
    "ClusterOperatorsStable", "ConsoleReplicas", "EtcdVotingMembers", "GuardPodDisruptionBudgets",
    "KubeAPIServerRevision", "MachineConfigPoolsRolledOut", "RouterReplicas",
)  # fmt: skip
"""One of each way in which an operand follows; unit tests have every check fail alone."""


@pytest.mark.nightly(but=_EACH_TIME)
@pytest.mark.parametrize("check", sorted({case.check for case in CASES}))
async def test_it_waits_and_names_the_operand_until_it_is_mended(world: worlds.World, check: str) -> None:
    brake, named = (
        (_DOWNLOADS, "ConsoleReplicas") if check.startswith("Guard") else (_BUDGET, "GuardPodDisruptionBudgets")
    )
    # At most one is behind since the change: the others have to be spoilt, and can be only once they have followed.
    cases = sorted((one for one in CASES if one.check == check), key=lambda one: not one.parts)
    operator = await world.idle_operator()
    world.operands.behind |= {brake, *(part for case in cases for part in case.parts)}
    await world.ask_for()
    since_the_change = [case for case in cases if case.parts]
    await until_failing(
        world, "the change", named, *(one for case in since_the_change for one in (case.check, *case.also))
    )
    for case in cases:
        await case.spoil(world.api)
        await until_failing(world, case.id, named, case.check, *case.also)
        await follow.follow(world.api, only=[brake])
        await it_is_waited_for(world, operator, case)
        await follow.spoil(world.api, brake)
        await until_failing(world, case.id, named, case.check, *case.also)
        await case.repair(world.api)
        await until_failing(world, case.id, named)

    await follow.follow(world.api, only=[brake])
    record = await world.completed_once()
    assert {one["status"] for one in record["checks"]} == {"Met"}
    assert record["progress"]["met"] == record["progress"]["total"]


async def test_it_is_not_called_finished_while_it_waits(world: worlds.World) -> None:
    await world.idle_operator()
    world.operands.behind.add("openshift-monitoring/thanos-querier")
    await world.ask_for()
    await until_failing(world, "one workload behind", "MonitoringReplicas")

    async def converging() -> bool:
        return bool((await world.record())["phase"] == "Converging")

    await world.stays_so("it stays Converging", converging)
    await world.operands.go_on()
    await world.completed_once()
