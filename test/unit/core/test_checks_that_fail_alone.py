"""One thing is wrong in a cluster that has followed: exactly the check that is about it says so, and names it.

Two checks wait for others by design, and are named with them: MachineConfigPoolsRolledOut for
MachineConfigControllerObserved, and ClusterOperatorsStable for an operator whose operand shows that it has not reacted.
"""

import dataclasses
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api import types
from topology_api.vocabulary import CheckName, CheckStatus, Phase, Stage
from topology_controller.checks import catalog, result
from topology_controller.definitions import model
from topology_controller.definitions import operands as matrices
from topology_controller.observe import facts
from topology_controller.report import metrics

from . import measured_cluster, operand_worlds, strategies, worlds

DEFINITIONS = worlds.TRANSITIONS.definitions
NAMES = [one.name for one in DEFINITIONS]


@pytest.mark.parametrize("asked", DEFINITIONS, ids=NAMES)
def test_at_the_change_itself_nothing_has_followed_yet(asked):
    """What is true before the change too must not be taken for a reaction: nothing that moves may be Met."""
    before = worlds.ready_for(asked)
    cluster = dataclasses.replace(measured_cluster.followed(asked), known=before)
    moving = {CheckName.CLUSTER_OPERATORS_STABLE, CheckName.MONITORING_REPLICAS, CheckName.ROUTER_REPLICAS}
    if asked.source.control_plane.value != "HighlyAvailable":
        moving |= {CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED, CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT}
    if asked.source.control_plane.value == "SingleReplica":
        moving |= {CheckName.KUBE_API_SERVER_REVISION, CheckName.CONSOLE_REPLICAS}
        moving |= {CheckName.GUARD_POD_DISRUPTION_BUDGETS, CheckName.MULTUS_ADMISSION_REPLICAS}
    assert moving <= cluster.unmet()


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
            named = "IngressController default" if operand.kind == "IngressController" else operand.key
            yield check, named, lambda cluster, group=group, one=operand: _broken(cluster, group, one)


def _cordoned(cluster):
    *others, last = cluster.known.control_plane_nodes
    return cluster.but(control_plane_nodes=(*others, dataclasses.replace(last, cordoned=True)))


def _worker_gone(cluster):
    return cluster.but(workers=(worlds.worker("worker-0"), worlds.worker("worker-1", ready="False")))


def _stranger(cluster):
    entries = (*cluster.known.etcd_endpoints, ("dead", "192.0.2.99"))
    return cluster.but(etcd_endpoints=facts.EtcdEndpoints(entries))


def _degraded_etcd(cluster):
    return cluster.but(etcd=worlds.etcd(operand_worlds.REVISION + 1, EtcdMembersDegraded="True"))


def _no_holder(cluster):
    return cluster.but(etcd_lease=dataclasses.replace(cluster.known.etcd_lease, holder=""))


def _degraded_operator(cluster):
    bad = worlds.conditions(Available="True", Progressing="False", Degraded="True")
    listed = cluster.known.cluster_operators
    changed = [dataclasses.replace(one, conditions=bad) if one.name == "dns" else one for one in listed]
    return cluster.but(cluster_operators=tuple(changed))


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
        return cluster.having(operand.key, facts.Unobserved(operand.key, "NotFound", kind=facts.Kind.MISSING))
    count = operand_worlds.replicas(operand, group.topology(cluster.asked.target.pair), 3)
    if operand.kind == "IngressController":
        return cluster.having(operand.key, facts.IngressController(None, count - 1))
    left = 0 if operand.restarts else count - 1
    return cluster.having(operand.key, dataclasses.replace(operand_worlds.workload(count), ready=left, available=left))


@pytest.mark.parametrize(("pool", "hint"), [("master", "Pool master is paused; "), ("worker", "Look at oc get ")])
def test_nodes_that_are_behind_are_excused_by_a_pause_of_their_own_pool_only(pool, hint):
    asked = next(one for one in DEFINITIONS if one.source.control_plane.value == "SingleReplica")
    cluster = measured_cluster.followed(asked)
    first, *others = facts.readable(cluster.known.control_plane_nodes)
    pools = [worlds.pool(name, paused=name == pool) for name in ("master", "worker")]
    behind = dataclasses.replace(first, observed_topology="SingleReplica")
    answers = cluster.but(control_plane_nodes=(behind, *others), machine_config_pools=tuple(pools)).answers()
    assert hint in answers[CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED].message


WAIT_FOR = {CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED: {CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT}}
CASES = [(asked, *case) for asked in DEFINITIONS for case in breaks(asked)]


def test_every_convergence_check_is_broken_here():
    broken = {(asked.name, check) for asked, check, _, _ in CASES}
    assert broken == {(asked.name, spec.check) for asked in DEFINITIONS for spec in asked.convergence.checks}


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


ONE_OF_EACH = {(asked.name, check): (asked, check, named, change) for asked, check, named, change in CASES}.values()


@pytest.mark.parametrize(
    ("asked", "check", "named", "change"),
    ONE_OF_EACH,
    ids=[f"{asked.name}-{check}" for asked, check, _, _ in ONE_OF_EACH],
)
def test_each_check_alone_keeps_it_from_being_completed(asked, check, named, change):
    """Whatever it is that has not followed, the record, Progressing, Degraded and the metric name it."""
    known = change(measured_cluster.followed(asked)).converging()
    found = worlds.decide(known, transitions=worlds.TRANSITIONS)
    assert found.phase is Phase.CONVERGING
    assert f"convergence checks not met: {check}" in found.note
    assert found.record is not None
    of_stage = [one for one in found.record.checks if one.stage is Stage.CONVERGENCE]
    assert named in next(one.message for one in of_stage if one.name == check)
    shown = metrics.Metrics(worlds.TRANSITIONS, lease="lease")
    shown.decided(found, known)
    labels = {"check": check.value, "stage": Stage.CONVERGENCE.value, "status": CheckStatus.UNMET.value}
    assert shown.registry.get_sample_value("topology_transition_check_status", labels) == 1
    end = found.record.deadline_time
    assert end is not None
    late = worlds.recorded(known, found.record)
    if check is not CheckName.ETCD_OPERATOR_ALIVE:
        late = dataclasses.replace(late, etcd_lease=worlds.healthy(end).etcd_lease)
    stuck = worlds.decide(late, now=end, transitions=worlds.TRANSITIONS)
    assert stuck.phase is Phase.CONVERGING
    assert stuck.degraded is not None
    assert f"Blocked by {check}: " in stuck.degraded.message


MEASURED = result.ConvergenceContext(measured_cluster.baseline(worlds.healthy()), worlds.MATRIX)
ANY = (
    strategies.OPERAND
    | st.builds(facts.IngressController, st.none() | st.integers(0, 3), st.integers(0, 3))
    | st.builds(facts.Managed, st.sampled_from(("Managed", "Removed", "odd")), st.none() | st.integers(0, 3))
)
OPERANDS = st.fixed_dictionaries(
    {}, optional={one.key: ANY for group in worlds.MATRIX.groups for one in group.operands}
)
FACTS = {
    "Deployment": facts.Workload,
    "StatefulSet": facts.Workload,
    "StaticPods": facts.StaticPods | facts.Etcd,
    "PodDisruptionBudget": facts.DisruptionBudget,
    "IngressController": facts.IngressController,
}
BASELINES = st.sampled_from((None, MEASURED.baseline, types.Baseline()))


@measured_cluster.PATIENT
@given(strategies.worlds_of_any_kind(), OPERANDS, BASELINES, st.sampled_from(DEFINITIONS))
def test_whatever_an_operand_is_there_is_an_answer_that_fits_the_record(
    known: facts.Facts,
    operands: dict[str, facts.Fact[facts.Operand]],
    baseline: types.Baseline | None,
    asked: model.Definition,
) -> None:
    """Even an object that is of another kind than the matrix says."""
    known = dataclasses.replace(known, operands=operands)
    for answer in catalog.ask(
        Stage.CONVERGENCE, asked, known, worlds.NOW, result.ConvergenceContext(baseline, worlds.MATRIX)
    ):
        assert 0 < len(answer.message) <= types.MESSAGE_LIMIT, answer
        group = worlds.MATRIX.group(answer.name)
        if group is None or not answer.met or answer.message.startswith("Nothing has to follow"):
            continue
        for operand in group.operands:
            found = known.operand(operand.key)
            absent = isinstance(found, facts.Unobserved) and found.missing
            younger = baseline is not None and operand.key not in {entry.name for entry in baseline.operands}
            left_out = absent and (operand.optional or (younger and operand.kind != "PodDisruptionBudget"))
            assert left_out or isinstance(found, FACTS[operand.kind]), (answer, operand, found)
