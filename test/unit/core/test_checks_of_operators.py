"""The other operators: at rest, seen to react after the change, rendered and installed anew where it differs."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import OperandBaseline, PoolBaseline
from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.checks import catalog, operators
from topology_controller.observe import facts

from . import measured_cluster, operand_worlds, worlds


def ask(check: CheckName, known: facts.Facts) -> tuple[CheckStatus, str]:
    found = catalog.answer(worlds.question(known, check))
    return found.status, found.message


def stable(*found: facts.Fact[facts.ClusterOperator]) -> tuple[CheckStatus, str]:
    return ask(CheckName.CLUSTER_OPERATORS_STABLE, worlds.healthy(cluster_operators=found))


def operator(name: str = "dns", **statuses: str) -> facts.ClusterOperator:
    return facts.ClusterOperator(
        name, worlds.conditions(**{"Available": "True", "Progressing": "False", "Degraded": "False", **statuses})
    )


@pytest.mark.parametrize(("type_", "status"), [("Progressing", "True"), ("Degraded", "True"), ("Degraded", "Unknown")])
def test_an_operator_that_is_not_stable_is_named(type_: str, status: str) -> None:
    found, message = stable(operator(), operator("etcd", **{type_: status}))
    assert found is (CheckStatus.UNKNOWN if status == "Unknown" else CheckStatus.UNMET)
    assert f"etcd ({type_}={status})" in message
    assert "dns" not in message


RESTARTING = "SyncLoopRefresh_InProgress"
"""Why the console operator is Progressing after each write of Infrastructure, ours too."""


def progressing(name: str, reason: str, **statuses: str) -> facts.ClusterOperator:
    rest = operator(name, **statuses).conditions
    kept = tuple(one for one in rest if one.type != "Progressing")
    return facts.ClusterOperator(
        name,
        facts.Conditions((*kept, facts.Condition("Progressing", "True", reason))),
        settled_time=operand_worlds.REACTED,
    )


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (progressing("console", RESTARTING), ""),
        (progressing("console", "DownloadsDeploymentSync_Failed"), "console (Progressing=True)"),
        (progressing("console", f"RouteSync_Waiting::{RESTARTING}"), "console (Progressing=True)"),
        (progressing("console", RESTARTING, Available="False"), "console (Available=False)"),
        (progressing("console", RESTARTING, Degraded="True"), "console (Degraded=True)"),
        (progressing("dns", RESTARTING), "dns (Progressing=True)"),
    ],
)
def test_a_console_that_our_own_write_restarts_is_at_rest_and_no_other(found: facts.ClusterOperator, why: str) -> None:
    status, message = stable(operator(), found)
    assert status is (CheckStatus.UNMET if why else CheckStatus.MET)
    assert (f"Found: {why}." in message) is bool(why)


def test_an_operator_that_never_spoke_proves_nothing() -> None:
    mute = facts.ClusterOperator("mute", facts.Conditions())
    found, message = stable(operator(), mute)
    assert found is CheckStatus.UNKNOWN
    assert "mute (Available=absent, Progressing=absent, Degraded=absent)" in message
    found, message = stable(operator("dns", Progressing="True"), mute)
    assert found is CheckStatus.UNMET, "one that says no is enough to know"
    assert "dns (Progressing=True)" in message
    assert "mute (" in message


def test_no_operators_or_unreadable_ones_prove_nothing() -> None:
    assert stable()[0] is CheckStatus.UNKNOWN
    assert stable(operator(), worlds.BROKEN)[0] is CheckStatus.UNKNOWN
    assert stable(operator("topology"))[0] is CheckStatus.UNKNOWN, "our own does not count"
    known = worlds.healthy(cluster_operators=worlds.BROKEN)
    assert ask(CheckName.CLUSTER_OPERATORS_STABLE, known)[0] is CheckStatus.UNKNOWN


def upgrade(found: facts.Fact[facts.ClusterVersion]) -> tuple[CheckStatus, str]:
    return ask(CheckName.NO_UPGRADE_IN_PROGRESS, worlds.healthy(cluster_version=found))


def test_an_upgrade_holds_it_back() -> None:
    status, message = upgrade(worlds.version())
    assert status is CheckStatus.MET
    assert "z-stream" in message
    status, message = upgrade(worlds.version(progressing="True"))
    assert status is CheckStatus.UNMET
    assert "(Because)" in message
    assert upgrade(worlds.version(progressing="Unknown"))[0] is CheckStatus.UNKNOWN
    assert upgrade(facts.ClusterVersion("4.20.1", facts.Conditions()))[0] is CheckStatus.UNKNOWN
    assert upgrade(worlds.BROKEN)[0] is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (worlds.BLOCK, CheckStatus.MET),
        (f"Cluster operator dns should not be upgraded; topology: {worlds.BLOCK}\n* and more", CheckStatus.MET),
        ("Cluster operator dns should not be upgraded", CheckStatus.UNMET),
        (operators.block_message("sno-to-ha-compact", "DualReplica"), CheckStatus.UNMET),
        (operators.block_message("another", "HighlyAvailable"), CheckStatus.UNMET),
        ("", CheckStatus.UNMET),
        (None, CheckStatus.UNMET),
    ],
)
def test_the_echo_is_ours_or_none(message: str | None, status: CheckStatus) -> None:
    assert operators.upgrades_blocked(worlds.version(message), worlds.BLOCK).status is status
    for other in ("True", "Unknown"):
        said = facts.Condition("Upgradeable", other, "", message or "")
        without = facts.ClusterVersion("4.20.1", facts.Conditions((said,)))
        assert operators.upgrades_blocked(without, worlds.BLOCK).status is CheckStatus.UNMET


def test_without_cluster_version_the_echo_is_unknown() -> None:
    assert operators.upgrades_blocked(worlds.BROKEN, worlds.BLOCK).status is CheckStatus.UNKNOWN


STABLE = CheckName.CLUSTER_OPERATORS_STABLE
BUSY = measured_cluster.followed()
QUIET = BUSY.without_reaction()
"""Nothing is Progressing: nobody has been busy since the change."""
FEWER = operand_worlds.workload(1)
BEFORE = operand_worlds.static_pods(operand_worlds.REVISION)
MULTUS = "deployments.apps/openshift-multus/multus-admission-controller"
GONE = facts.Unobserved(MULTUS, "NotFound", kind=facts.Kind.MISSING)
OPERATORS = worlds.cluster_operators(operand_worlds.REACTED)
REST = tuple(one for one in OPERATORS if one.name != "console")
UPGRADED = dataclasses.replace(worlds.version(), newest="4.20.2")
MET, UNMET, UNKNOWN = CheckStatus.MET, CheckStatus.UNMET, CheckStatus.UNKNOWN
CONFIGURATION = "consoles.operator.openshift.io/cluster"


def registry(count: int) -> measured_cluster.MeasuredCluster:
    """As its configuration asks for one: no topology makes its operator react."""
    configured = QUIET.having(measured_cluster.REGISTRY_CONFIGURATION, facts.Managed("Managed", 1))
    return configured.having(measured_cluster.REGISTRY, operand_worlds.workload(count))


@pytest.mark.parametrize(
    ("cluster", "status", "words"),
    [
        # Its own check waits for the rest.
        (BUSY.having(measured_cluster.CONSOLE, FEWER), MET, ""),
        (QUIET.having(measured_cluster.CONSOLE, FEWER), UNMET,
         f"console (has not reacted yet: {measured_cluster.CONSOLE} asks for 1 of 2)"),
        (QUIET, MET, ""),
        (BUSY.having(measured_cluster.CONSOLE, worlds.BROKEN), MET, ""),
        (QUIET.having(measured_cluster.CONSOLE, worlds.BROKEN), UNKNOWN, str(worlds.BROKEN)),
        (QUIET.having(MULTUS, GONE), UNMET, "network ("),
        # Gone before, too.
        (QUIET.having(MULTUS, GONE).measured_by(
            operands=measured_cluster.baseline(QUIET.having(MULTUS, GONE).known).operands), UNMET, "kube-apiserver ("),
        # It does what it was told.
        (QUIET.having(measured_cluster.ROUTER, facts.IngressController(1, 1)), MET, ""),
        (QUIET.having(measured_cluster.ROUTER, facts.IngressController(None, 1)), UNMET, "ingress ("),
        (registry(1), MET, ""),
        (registry(0), MET, ""),
        *((QUIET.having(measured_cluster.CONSOLE, FEWER).having(CONFIGURATION, facts.Managed(state, None)), MET, "")
          for state in ("Removed", "Unmanaged")),
        (QUIET.having(measured_cluster.KUBE_API_SERVER, BEFORE), UNMET, "is still at revision 7"),
        # No topology makes a new revision of these.
        (QUIET.having("kubeschedulers.operator.openshift.io/cluster", BEFORE), MET, ""),
        (BUSY.unmeasured(), UNKNOWN, "oc edit infrastructure cluster --subresource=status"),
        # No revision and no rendered configuration has to be another there.
        (measured_cluster.followed(worlds.named("infra-to-ha")).unmeasured(), MET, ""),
        (BUSY.but(cluster_operators=REST), UNMET, "console (missing, it was there when the topology changed)"),
        # A newer payload may have none of it: what waits for it would wait for ever.
        (BUSY.but(cluster_operators=REST, cluster_version=UPGRADED), MET, "went from version 4.20.1 to 4.20.2"),
        (BUSY.but(cluster_version=worlds.version(progressing="True")), UNMET, "an upgrade is under way: Because"),
        (BUSY.but(cluster_version=worlds.version(progressing="Unknown")), UNKNOWN, ""),
        (BUSY.but(cluster_version=worlds.BROKEN), UNKNOWN, ""),
        (BUSY.but(cluster_version=facts.ClusterVersion("1", facts.Conditions())), UNKNOWN, ""),
        # A time that went back is no reaction.
        (BUSY.having(measured_cluster.CONSOLE, FEWER).but(cluster_operators=worlds.cluster_operators(
            operand_worlds.LONG_AGO - timedelta(hours=1))), UNMET, "console (has not reacted yet"),
    ],
)  # fmt: skip
def test_after_the_change_quiet_is_not_enough(
    cluster: measured_cluster.MeasuredCluster, status: CheckStatus, words: str
) -> None:
    found, message = cluster.ask(STABLE)
    assert (found, words in message) == (status, True), message


OBSERVED, POOLS = CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED, CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT
NEW = {"wanted_configuration": "rendered-master-2", "configuration": "rendered-master-2"}
MINUTE_AGO, AHEAD = worlds.NOW - timedelta(minutes=1), worlds.NOW + timedelta(hours=6)


def controller(**changes: Any) -> measured_cluster.MeasuredCluster:
    cluster = measured_cluster.followed()
    assert isinstance(cluster.known.controller_config, facts.ControllerConfig)
    return cluster.but(controller_config=dataclasses.replace(cluster.known.controller_config, **changes))


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"control_plane": "SingleReplica"}, CheckStatus.UNMET, "machine configs are made for SingleReplica"),
        ({"failing": "True"}, CheckStatus.UNMET, "TemplateControllerFailing=True"),
        ({"failing": "True", "failing_since": MINUTE_AGO}, CheckStatus.UNMET, "TemplateControllerFailing=True"),
        ({"failing": "True", "failing_since": AHEAD}, CheckStatus.UNMET, "TemplateControllerFailing=True"),
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
    cluster = measured_cluster.followed().unmeasured()
    status, message = cluster.ask(POOLS)
    assert status is CheckStatus.UNKNOWN
    assert measured_cluster.MASTER in message
    assert "status.topologyTransition.baseline.machineConfigPools" in message
    status, message = cluster.but(machine_config_pools=(worlds.pool(degraded=1),)).ask(POOLS)
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
    still = cluster.but(machine_config_pools=(worlds.pool(), worlds.pool(name)))
    seen_before = still.measured_by(control_plane_observed="HighlyAvailable")
    assert (still.ask(POOLS)[0], seen_before.ask(POOLS)[0]) == (CheckStatus.UNMET, CheckStatus.MET)


KUBE_API_SERVER = CheckName.KUBE_API_SERVER_REVISION
KEYS = {
    KUBE_API_SERVER: measured_cluster.KUBE_API_SERVER,
    CheckName.KUBE_SCHEDULER_REVISION: "kubeschedulers.operator.openshift.io/cluster",
    CheckName.ETCD_REVISION: measured_cluster.ETCD,
}


def having(check: CheckName, found: facts.Fact[facts.StaticPods]) -> measured_cluster.MeasuredCluster:
    return measured_cluster.followed().having(KEYS[check], found)


def test_where_the_configuration_differs_the_revision_from_before_does_not_do() -> None:
    status, message = having(KUBE_API_SERVER, BEFORE).ask(KUBE_API_SERVER)
    assert status is CheckStatus.UNMET
    wanted = "Wanted: a revision above 7 on every control-plane node. "
    assert message.startswith(f"{wanted}Found: {measured_cluster.KUBE_API_SERVER} ")
    assert "still at revision 7, from before the topology changed" in message


@pytest.mark.parametrize("check", KEYS)
def test_what_is_missing_or_cannot_be_read_is_never_met(check: CheckName) -> None:
    assert having(check, worlds.BROKEN).ask(check)[0] is CheckStatus.UNKNOWN
    missing = facts.Unobserved(KEYS[check], "NotFound", kind=facts.Kind.MISSING)
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
    status, _ = having(KUBE_API_SERVER, found).measured_by(operands=(then,)).ask(KUBE_API_SERVER)
    everywhere = all((current, target) == (latest, 0) for _, current, target, _ in nodes)
    whole = {name for name, *_ in nodes} >= set(worlds.NAMES)
    done = latest > 0 and everywhere and whole and recorded is not None and latest > recorded
    assert (status is CheckStatus.MET) is done
