"""One thing is wrong in a cluster that has followed: exactly the check that is about it says so, and names it.

Two checks wait for others by design, and are named with them: MachineConfigPoolsRolledOut for
MachineConfigControllerObserved, and ClusterOperatorsStable for an operator whose operand shows that it has not reacted.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.observe import facts

from . import measured_cluster, operand_worlds, worlds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topology_controller.definitions import operands as matrices

DEFINITIONS = worlds.TRANSITIONS.definitions


def breaks(asked) -> Iterator[tuple[CheckName, str, object]]:
    """For each convergence check of a definition: ways to break it, with what its message must name."""
    specs = [spec.check for spec in asked.convergence.checks]
    others = {
        CheckName.CONTROL_PLANE_NODES: ("node-2", _cordoned),
        CheckName.ELIGIBLE_WORKERS: ("worker-1", _worker_gone),
        CheckName.ETCD_VOTING_MEMBERS: ("192.0.2.99", _stranger),
        CheckName.ETCD_HEALTHY: ("EtcdMembersDegraded=True", _degraded_etcd),
        CheckName.ETCD_OPERATOR_ALIVE: ("openshift-cluster-etcd-operator-lock", _no_holder),
        CheckName.CLUSTER_OPERATORS_STABLE: ("dns (Degraded=True)", _degraded_operator),
        CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED: ("machine-config-controller", _unseen),
        CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT: ("master (1 degraded machines)", _degraded_pool),
    }
    for check, (named, change) in others.items():
        if check in specs:
            yield check, named, change
    for check in specs:
        group = worlds.MATRIX.group(check)
        for operand in group.operands if group else ():
            yield check, operand.key, lambda cluster, group=group, one=operand: _broken(cluster, group, one)


def _cordoned(cluster):
    nodes = (
        *cluster.known.control_plane_nodes[:2],
        dataclasses.replace(cluster.known.control_plane_nodes[2], cordoned=True),
    )
    return cluster.but(control_plane_nodes=nodes)


def _worker_gone(cluster):
    return cluster.but(workers=(worlds.worker("worker-0"), worlds.worker("worker-1", ready="False")))


def _stranger(cluster):
    entries = (*cluster.known.etcd_endpoints.entries, ("dead", "192.0.2.99"))
    return cluster.but(etcd_endpoints=facts.EtcdEndpoints(entries))


def _degraded_etcd(cluster):
    return cluster.but(etcd=worlds.etcd(operand_worlds.REVISION + 1, EtcdMembersDegraded="True"))


def _no_holder(cluster):
    return cluster.but(etcd_lease=dataclasses.replace(cluster.known.etcd_lease, holder=""))


def _degraded_operator(cluster):
    bad = worlds.conditions(Available="True", Progressing="False", Degraded="True")
    return cluster.but(
        cluster_operators=tuple(
            dataclasses.replace(one, conditions=bad) if one.name == "dns" else one
            for one in cluster.known.cluster_operators
        )
    )


def _unseen(cluster):
    return cluster.but(controller_config=dataclasses.replace(cluster.known.controller_config, control_plane="Other"))


def _degraded_pool(cluster):
    first, *rest = cluster.known.machine_config_pools
    return cluster.but(machine_config_pools=(dataclasses.replace(first, degraded=1), *rest))


def _broken(
    cluster: measured_cluster.MeasuredCluster, group: matrices.Group, operand: matrices.Operand
) -> measured_cluster.MeasuredCluster:
    """An operand that is asked for as it should be, and is not there yet."""
    if operand.kind == "StaticPods":
        pods = operand_worlds.static_pods(operand_worlds.REVISION + 1)
        late = dataclasses.replace(pods.nodes[1], current=operand_worlds.REVISION, target=pods.latest)
        return cluster.having(operand.key, dataclasses.replace(pods, nodes=(pods.nodes[0], late, pods.nodes[2])))
    if operand.kind == "PodDisruptionBudget":
        return cluster.having(operand.key, facts.Unobserved(operand.key, "NotFound", missing=True))
    count = operand_worlds.replicas(operand, group.topology(cluster.asked.target.pair), 3)
    if operand.kind == "IngressController":
        return cluster.having(operand.key, facts.IngressController(None, count - 1))
    left = 0 if operand.restarts else count - 1
    return cluster.having(operand.key, dataclasses.replace(operand_worlds.workload(count), ready=left, available=left))


WAIT_FOR = {CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED: {CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT}}
CASES = [(asked, *case) for asked in DEFINITIONS for case in breaks(asked)]


@pytest.mark.parametrize(
    ("asked", "check", "named", "change"),
    CASES,
    ids=[f"{asked.name}-{check}-{named.rpartition('/')[2]}" for asked, check, named, _ in CASES],
)
def test_only_the_check_that_is_about_it_fails(asked, check, named, change):
    cluster = change(measured_cluster.followed(asked))
    answers = cluster.answers()
    assert cluster.unmet() == {check} | WAIT_FOR.get(check, set())
    assert answers[check].status is CheckStatus.UNMET
    assert named in answers[check].message
    for waiting in WAIT_FOR.get(check, ()):
        assert check in answers[waiting].message
