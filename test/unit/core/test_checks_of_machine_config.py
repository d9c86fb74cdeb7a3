"""Machine configuration and static pods: rendered or installed anew where the configuration differs, everywhere."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import OperandBaseline, PoolBaseline
from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.observe import facts

from . import measured_cluster, operand_worlds, worlds

OBSERVED, POOLS = CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED, CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT
NEW = {"wanted_configuration": "rendered-master-2", "configuration": "rendered-master-2"}
MINUTE_AGO = worlds.NOW - timedelta(minutes=1)


def controller(**changes: Any) -> measured_cluster.MeasuredCluster:
    cluster = measured_cluster.followed()
    assert isinstance(cluster.known.controller_config, facts.ControllerConfig)
    return cluster.but(controller_config=dataclasses.replace(cluster.known.controller_config, **changes))


def pools(*found: facts.Fact[facts.MachineConfigPool]) -> measured_cluster.MeasuredCluster:
    return measured_cluster.followed().but(machine_config_pools=found)


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"control_plane": "SingleReplica"}, CheckStatus.UNMET, "it is made for SingleReplica"),
        ({"failing": "True"}, CheckStatus.UNMET, "TemplateControllerFailing=True"),
        ({"failing": "True", "failing_since": MINUTE_AGO}, CheckStatus.UNMET, "TemplateControllerFailing=True"),
        ({"failing": "Unknown"}, CheckStatus.UNKNOWN, "TemplateControllerFailing=Unknown"),
    ],
)
def test_the_controller_must_work_with_the_new_topology(
    changes: dict[str, Any], status: CheckStatus, reason: str
) -> None:
    found, message = controller(**changes).ask(OBSERVED)
    assert found is status
    assert reason in message
    assert "controllerconfigs.machineconfiguration.openshift.io/machine-config-controller" in message


def test_templates_that_fail_for_a_moment_take_nothing_back() -> None:
    """An API error that passes sets the condition too."""
    late = worlds.NOW - timedelta(seconds=59)
    assert controller(failing="True", failing_since=late).ask(OBSERVED)[0] is CheckStatus.MET


def test_no_control_plane_node_may_still_go_by_the_single_node() -> None:
    """The daemon drains a node unless its annotation says SingleReplica; that is all it asks."""
    nodes = (
        worlds.node(0, observed_topology="HighlyAvailable"),
        worlds.node(1, observed_topology="SingleReplica"),
        worlds.node(2, observed_topology=None),
    )
    status, message = measured_cluster.followed().but(control_plane_nodes=nodes).ask(OBSERVED)
    assert status is CheckStatus.UNMET
    assert "Found: node-1. " in message
    assert measured_cluster.followed().but(control_plane_nodes=nodes[::2]).ask(OBSERVED)[0] is CheckStatus.MET


def test_no_controller_and_no_nodes_prove_nothing() -> None:
    cluster = measured_cluster.followed()
    for nothing in (worlds.BROKEN, worlds.MISSING):
        assert cluster.but(controller_config=nothing).ask(OBSERVED)[0] is CheckStatus.UNKNOWN
    for nobody in (worlds.BROKEN, (), (worlds.node(0, observed_topology="HighlyAvailable"), worlds.BROKEN)):
        assert cluster.but(control_plane_nodes=nobody).ask(OBSERVED)[0] is CheckStatus.UNKNOWN


def test_without_a_baseline_nobody_knows_whether_it_is_another_configuration() -> None:
    status, message = measured_cluster.followed().unmeasured().ask(POOLS)
    assert status is CheckStatus.UNKNOWN
    assert measured_cluster.MASTER in message
    assert "status.topologyTransition.baseline.machineConfigPools" in message
    status, message = pools(worlds.pool(degraded=1)).unmeasured().ask(POOLS)
    assert status is CheckStatus.UNMET, "that it has not rolled out can be told all the same"


def recorded(*names: str) -> measured_cluster.MeasuredCluster:
    """A cluster with these pools, each at rest at the configuration that the baseline has of it."""
    before = tuple(PoolBaseline(name=name, configuration=worlds.pool(name).configuration) for name in names)
    return measured_cluster.followed().measured_by(machine_config_pools=before)


@pytest.mark.parametrize("name", ["worker", "infra"])
def test_every_pool_with_machines_must_leave_its_baseline(name: str) -> None:
    """For 4.6 s after its templates are rendered every pool still looks finished."""
    cluster = recorded("master", name)
    status, message = cluster.but(machine_config_pools=(worlds.pool(**NEW), worlds.pool(name))).ask(POOLS)
    assert status is CheckStatus.UNMET
    assert f"{name} (still at rendered-{name}-1" in message
    rolled = (worlds.pool(**NEW), worlds.rolled(worlds.pool(name)))
    assert cluster.but(machine_config_pools=rolled).ask(POOLS)[0] is CheckStatus.MET


KAS, SCHEDULER, ETCD = CheckName.KUBE_API_SERVER_REVISION, CheckName.KUBE_SCHEDULER_REVISION, CheckName.ETCD_REVISION
KEYS = {
    KAS: measured_cluster.KUBE_API_SERVER,
    SCHEDULER: "kubeschedulers.operator.openshift.io/cluster",
    ETCD: measured_cluster.ETCD,
}
BEFORE = operand_worlds.REVISION


def revisions(latest: int, **nodes: tuple[int, int, int]) -> facts.StaticPods:
    """Current, target and last failed revision by node; the others are at the newest."""
    entries = {name.replace("-", "_"): (latest, 0, 0) for name in worlds.NAMES} | nodes
    return facts.StaticPods(
        latest, tuple(facts.NodeRevision(name.replace("_", "-"), *found) for name, found in entries.items())
    )


def having(check: CheckName, found: facts.Fact[facts.StaticPods]) -> measured_cluster.MeasuredCluster:
    return measured_cluster.followed().having(KEYS[check], found)


def test_where_the_configuration_differs_the_revision_from_before_does_not_do() -> None:
    status, message = having(KAS, operand_worlds.static_pods(BEFORE)).ask(KAS)
    assert status is CheckStatus.UNMET
    assert f"Wanted: {measured_cluster.KUBE_API_SERVER} at a revision above 7" in message
    assert "still at revision 7, from before the topology changed" in message


@pytest.mark.parametrize(
    "recorded",
    [(), (OperandBaseline(name=measured_cluster.KUBE_API_SERVER, missing=True),)],
    ids=["younger than the record", "absent at the change"],
)
def test_what_a_baseline_has_no_revision_of_is_asked_for_its_present_state(
    recorded: tuple[OperandBaseline, ...],
) -> None:
    cluster = measured_cluster.followed().without_reaction().measured_by(operands=recorded, cluster_operators=())
    assert cluster.unmet() == set(), "neither it nor its operator has anything to be compared with"
    behind = cluster.having(measured_cluster.KUBE_API_SERVER, revisions(8, node_1=(7, 8, 0)))
    assert behind.ask(KAS)[0] is CheckStatus.UNMET
    assert cluster.having(measured_cluster.KUBE_API_SERVER, worlds.BROKEN).ask(KAS)[0] is CheckStatus.UNKNOWN


@pytest.mark.parametrize("check", KEYS)
def test_what_is_missing_or_cannot_be_read_is_never_met(check: CheckName) -> None:
    assert having(check, worlds.BROKEN).ask(check)[0] is CheckStatus.UNKNOWN
    missing = facts.Unobserved(KEYS[check], "NotFound", missing=True)
    status, message = having(check, missing).ask(check)
    assert status is CheckStatus.UNMET
    assert f"{KEYS[check]} does not exist" in message
    for nodes in (worlds.BROKEN, ()):
        assert measured_cluster.followed().but(control_plane_nodes=nodes).ask(check)[0] is CheckStatus.UNKNOWN


REVISION = st.integers(0, 9)


@measured_cluster.PATIENT
@given(
    REVISION,
    st.lists(st.tuples(st.sampled_from((*worlds.NAMES, "node-9")), REVISION, REVISION, REVISION), max_size=5),
    st.none() | REVISION,
)
def test_met_means_new_and_everywhere(
    latest: int, nodes: list[tuple[str, int, int, int]], recorded: int | None
) -> None:
    found = facts.StaticPods(latest, tuple(facts.NodeRevision(*node) for node in nodes))
    then = OperandBaseline(name=measured_cluster.KUBE_API_SERVER, revision=recorded)
    status, _ = having(KAS, found).measured_by(operands=(then,)).ask(KAS)
    everywhere = all((current, target) == (latest, 0) for _, current, target, _ in nodes)
    whole = {name for name, *_ in nodes} >= set(worlds.NAMES)
    done = latest > 0 and everywhere and whole and recorded is not None and latest > recorded
    assert (status is CheckStatus.MET) is done
