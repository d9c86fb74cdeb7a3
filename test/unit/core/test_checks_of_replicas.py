"""Workloads, guard budgets and routers: what the target implies, and what a cluster does not have need not follow."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given

from topology_api.types import OperandBaseline
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, Stage
from topology_controller.checks import catalog as checks
from topology_controller.checks import result
from topology_controller.checks.result import CheckResult
from topology_controller.definitions import model
from topology_controller.definitions import operands as matrices
from topology_controller.observe import facts

from . import measured_cluster, operand_worlds, strategies, worlds

CONSOLE, ROUTER = CheckName.CONSOLE_REPLICAS, CheckName.ROUTER_REPLICAS
REGISTRY, SERVERS = CheckName.IMAGE_REGISTRY_REPLICAS, CheckName.API_SERVER_REPLICAS
DOWNLOADS = "deployments.apps/openshift-console/downloads"
OAUTH = "deployments.apps/openshift-oauth-apiserver/apiserver"
GONE = facts.Unobserved("it", "NotFound", kind=facts.Kind.MISSING)


def downloads(**changes: Any) -> tuple[CheckStatus, str]:
    found = dataclasses.replace(operand_worlds.workload(2), **changes)
    return measured_cluster.followed().having(DOWNLOADS, found).ask(CONSOLE)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"wanted": 1}, "asks for 1"),
        ({"observed": False}, "was changed, and its controller has not seen that yet"),
        ({"updated": 1}, "has 1 of 2 updated"),
        ({"ready": 1}, "has 1 of 2 ready"),
        ({"available": 0}, "has 0 of 2 available"),
        ({"wanted": 3, "updated": 3, "ready": 1, "available": 1}, "has 1 of 2 ready"),
    ],
)
def test_a_workload_that_falls_short_says_how(changes: dict[str, Any], reason: str) -> None:
    status, message = downloads(**changes)
    assert status is CheckStatus.UNMET
    assert message == (
        f"Wanted: 2 ready replicas. Found: {DOWNLOADS} {reason}. "
        "Look at oc -n openshift-console get deployments.apps downloads"
    )


def test_what_cannot_be_told_is_said_beside_what_is_wrong() -> None:
    short = dataclasses.replace(operand_worlds.workload(2), ready=1)
    cluster = measured_cluster.followed().having(measured_cluster.CONSOLE, worlds.BROKEN)
    assert cluster.ask(CONSOLE)[0] is CheckStatus.UNKNOWN
    status, message = cluster.having(DOWNLOADS, short).ask(CONSOLE)
    assert status is CheckStatus.UNMET
    assert f"and cannot tell: {worlds.BROKEN}" in message


def test_where_nothing_was_found_nothing_is_met() -> None:
    context = result.CheckContext(worlds.healthy(), worlds.COMPACT.convergence.checks[0], worlds.COMPACT, worlds.NOW)
    assert context.of(()).status is CheckStatus.UNKNOWN


FOLLOWED = measured_cluster.followed()
NODES = FOLLOWED.known.control_plane_nodes if isinstance(FOLLOWED.known.control_plane_nodes, tuple) else ()
FOURTH = worlds.node(2, name="node-3", addresses=("192.0.2.13",), observed_topology="HighlyAvailable")
OLDER, NEWER = facts.OtherNode("node-3", master=True, arbiter=False), worlds.node(2, name="node-3", master=False)
INCAPABLE = dataclasses.replace(worlds.version(), lacks=frozenset({"Console"}))
MET, UNMET, UNKNOWN = CheckStatus.MET, CheckStatus.UNMET, CheckStatus.UNKNOWN


def console(**changes: Any) -> measured_cluster.MeasuredCluster:
    """Its Deployment, for which each write of Infrastructure is a restart."""
    return FOLLOWED.having(measured_cluster.CONSOLE, dataclasses.replace(operand_worlds.workload(2), **changes))


def gone(key: str) -> measured_cluster.MeasuredCluster:
    return FOLLOWED.having(key, GONE)


def absent_before(key: str) -> measured_cluster.MeasuredCluster:
    """It is gone, and was when the topology changed."""
    return gone(key).measured_by(operands=(OperandBaseline(name=key, missing=True),))


def configured(
    configuration: facts.Fact[facts.Operand], found: facts.Fact[facts.Operand]
) -> measured_cluster.MeasuredCluster:
    """The registry with that configuration."""
    return FOLLOWED.having(measured_cluster.REGISTRY_CONFIGURATION, configuration).having(
        measured_cluster.REGISTRY, found
    )


def alone(state: str) -> measured_cluster.MeasuredCluster:
    """A console of one replica whose operator was told to keep off."""
    configuration = facts.Managed(state, None)
    one = FOLLOWED.having(measured_cluster.CONSOLE, operand_worlds.workload(1))
    return one.having("consoles.operator.openshift.io/cluster", configuration)


def by_matrix(**changes: Any) -> measured_cluster.MeasuredCluster:
    """By a matrix in which the check of the console has another entry."""
    groups = tuple(
        group.model_copy(update=changes) if group.check is CONSOLE else group for group in worlds.MATRIX.groups
    )
    matrix = worlds.MATRIX.model_copy(update={"groups": groups})
    return dataclasses.replace(FOLLOWED, convergence=dataclasses.replace(FOLLOWED.convergence, matrix=matrix))


NAMELESS = tuple(
    operand.model_copy(update={"replicas": {}})
    for group in worlds.MATRIX.groups if group.check is CONSOLE for operand in group.operands
)  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "check", "status", "words"),
    [
        # What is Unmet is written, which starts the pods of the console again: a restart takes nothing back.
        (console(observed=False), CONSOLE, MET, ""),
        (console(updated=0, ready=1, available=1), CONSOLE, MET, ""),
        (console(wanted=1, updated=1, ready=1, available=1), CONSOLE, UNMET, "asks for 1"),
        (console(ready=0, available=0), CONSOLE, UNMET, "has 0 of 2 available"),
        (FOLLOWED.having(DOWNLOADS, operand_worlds.workload(3)), CONSOLE, MET, ""),
        # As many servers as there are nodes that its operators select: by the older label.
        (FOLLOWED.but(control_plane_nodes=(*NODES, FOURTH)), SERVERS, UNMET, f"{OAUTH} asks for 3"),
        (FOLLOWED.but(control_plane_nodes=(*NODES, NEWER)), SERVERS, MET, ""),
        (FOLLOWED.but(other_nodes=(OLDER,)), SERVERS, UNMET, "4 ready replicas"),
        *((FOLLOWED.but(control_plane_nodes=nobody), SERVERS, UNKNOWN, "")
          for nobody in (worlds.BROKEN, (), (worlds.BROKEN,))),
        *((FOLLOWED.but(other_nodes=unread), SERVERS, UNKNOWN, "") for unread in (worlds.BROKEN, (worlds.BROKEN,))),
        # What the cluster does not have.
        (gone(measured_cluster.CONSOLE).but(cluster_version=INCAPABLE), CONSOLE, MET, "Console is not enabled"),
        (gone(measured_cluster.CONSOLE).but(cluster_version=worlds.BROKEN), CONSOLE, UNKNOWN, ""),
        (gone(measured_cluster.CONSOLE), CONSOLE, UNMET, f"{measured_cluster.CONSOLE} does not exist"),
        (absent_before(measured_cluster.CONSOLE), CONSOLE, UNMET, f"{measured_cluster.CONSOLE} does not exist"),
        (gone(measured_cluster.CONSOLE).unmeasured(), CONSOLE, UNMET, "does not exist"),
        (gone(OAUTH), SERVERS, UNMET, f"{OAUTH} does not exist any more"),
        (absent_before(OAUTH), SERVERS, MET, f"{OAUTH} did not exist when the topology changed either"),
        (FOLLOWED.unmeasured(), SERVERS, MET, ""),
        (gone(OAUTH).unmeasured(), SERVERS, UNKNOWN, "oc edit infrastructure cluster --subresource=status"),
        # Whatever the topology, a registry has what its configuration asks for, which is 1 at its creation.
        *((configured(facts.Managed("Managed", count), operand_worlds.workload(count)), REGISTRY, MET, "")
          for count in range(4)),
        (configured(facts.Managed("Managed", 1), operand_worlds.workload(0)), REGISTRY, UNMET, "1 ready replica."),
        (configured(facts.Managed("Managed", 2), operand_worlds.workload(1)), REGISTRY, UNMET, "asks for 1. Look at"),
        (configured(facts.Managed("Managed", 1), GONE), REGISTRY, UNMET, ""),
        (configured(facts.Managed("Managed", None), operand_worlds.workload(1)), REGISTRY, UNKNOWN, "spec.replicas"),
        *((configured(unread, operand_worlds.workload(1)), REGISTRY, UNKNOWN, "")
          for unread in (worlds.BROKEN, GONE, facts.StaticPods(1, ()))),
        *((configured(facts.Managed(state, 2), found), REGISTRY, MET, f"has managementState {state}")
          for state in ("Removed", "Unmanaged") for found in (GONE, operand_worlds.workload(0))),
        (alone("Removed"), CONSOLE, MET, ""),
        (alone("Unmanaged"), CONSOLE, UNMET, "Scale it yourself"),
        *((FOLLOWED.having(measured_cluster.ROUTER, facts.IngressController(asks, 2)), ROUTER, MET, "")
          for asks in (None, 2, 5)),
        *((FOLLOWED.having(measured_cluster.ROUTER, facts.IngressController(asks, 1)), ROUTER, UNMET, "has 1 of 2")
          for asks in (None, 3)),
        *((FOLLOWED.having(measured_cluster.ROUTER, facts.IngressController(asks, have)), ROUTER, UNMET,
           AdvisoryName.ROUTER_REPLICAS_PINNED) for asks, have in ((1, 1), (1, 2), (0, 0))),
        # A matrix that says nothing of it lets nothing pass.
        (dataclasses.replace(FOLLOWED, convergence=dataclasses.replace(
            FOLLOWED.convergence, matrix=type(worlds.MATRIX)())), CONSOLE, UNKNOWN, ""),
        (by_matrix(operands=()), CONSOLE, UNKNOWN, "names no operand for ConsoleReplicas"),
        (by_matrix(operands=NAMELESS), CONSOLE, UNKNOWN, "what topology HighlyAvailable implies for it"),
    ],
)  # fmt: skip
def test_what_follows_what_need_not_and_what_is_not_known(
    cluster: measured_cluster.MeasuredCluster, check: CheckName, status: CheckStatus, words: str
) -> None:
    found, message = cluster.ask(check)
    assert (found, words in message) == (status, True), message


@pytest.mark.parametrize(
    ("node", "reason"),
    [((7, 8, 8), "failed to install revision 8"), ((7, 8, 5), "on its way to 8"), ((7, 0, 7), "at revision 7 of 8")],
)
def test_only_a_failure_of_the_revision_that_is_tried_is_said(node: tuple[int, int, int], reason: str) -> None:
    """Current, target, last failed: lastFailedRevision survives later success."""
    entries = tuple(facts.NodeRevision(name, *(node if name == "node-1" else (8, 0, 0))) for name in worlds.NAMES)
    behind = FOLLOWED.having(measured_cluster.KUBE_API_SERVER, facts.StaticPods(8, entries))
    status, message = behind.ask(CheckName.KUBE_API_SERVER_REVISION)
    assert (status, reason in message) == (UNMET, True), message


@pytest.mark.parametrize(
    "operand",
    [operand for group in worlds.MATRIX.groups for operand in group.operands],
    ids=lambda operand: operand.key,
)
def test_what_a_baseline_does_not_mention_is_in_use_where_it_exists(operand: matrices.Operand) -> None:
    """A newer version has added it to the matrix since the topology changed. Guard budgets are never recorded."""
    group = next(group for group in worlds.MATRIX.groups if operand in group.operands)
    cluster = measured_cluster.followed().without_reaction()
    assert cluster.convergence.baseline is not None
    recorded = cluster.convergence.baseline.operands
    younger = cluster.measured_by(operands=tuple(entry for entry in recorded if entry.name != operand.key))
    assert younger.unmet() == set()
    answer = younger.having(operand.key, GONE).answers()[group.check]
    if operand.kind == "PodDisruptionBudget":
        assert answer.status is CheckStatus.UNMET
        return
    assert answer.status is CheckStatus.MET
    why = f"{operand.key} does not exist, and the record has no entry of it"
    assert any(why in finding.text for finding in answer.findings)
    assert younger.having(operand.key, GONE).unmet() == set()
    assert younger.having(operand.key, worlds.BROKEN).ask(group.check)[0] is CheckStatus.UNKNOWN


@measured_cluster.PATIENT
@given(strategies.WORKLOAD)
def test_met_means_asked_for_updated_ready_and_available(found: facts.Workload) -> None:
    status, _ = measured_cluster.followed().having(DOWNLOADS, found).ask(CONSOLE)
    enough = min(found.wanted, found.updated, found.ready, found.available) >= 2
    assert (status is CheckStatus.MET) is (found.observed and enough)


GUARDS = CheckName.GUARD_POD_DISRUPTION_BUDGETS
ETCD_GUARD = "poddisruptionbudgets.policy/openshift-etcd/etcd-guard-pdb"


@pytest.mark.parametrize("found", [0, 1, 3, None])
def test_another_number_than_one_less_than_the_nodes_is_unmet(found: int | None) -> None:
    status, message = measured_cluster.followed().having(ETCD_GUARD, facts.DisruptionBudget(found)).ask(GUARDS)
    assert status is CheckStatus.UNMET
    assert f"Wanted: minAvailable 2. Found: {ETCD_GUARD} " in message


def test_nothing_is_nudged_where_all_is_well_or_unreadable() -> None:
    assert "oc annotate" not in measured_cluster.followed().ask(GUARDS)[1]
    assert "oc annotate" not in measured_cluster.followed().having(ETCD_GUARD, worlds.BROKEN).ask(GUARDS)[1]


def test_a_single_node_needs_none() -> None:
    single = model.Target.model_validate({"controlPlane": "SingleReplica", "infrastructure": "SingleReplica"})
    cluster = measured_cluster.followed().having(
        ETCD_GUARD, facts.Unobserved(ETCD_GUARD, "NotFound", kind=facts.Kind.MISSING)
    )
    assert cluster.ask(GUARDS)[0] is CheckStatus.UNMET
    asked = cluster.asked.model_copy(update={"target": single})
    assert dataclasses.replace(cluster, asked=asked).ask(GUARDS)[0] is CheckStatus.MET


SURVIVES = CheckName.ROUTER_SURVIVES_DRAINS
TWO_ROUTERS = (
    'oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p \'{"spec":{"replicas":2}}\''
)
ACCEPTED = "topology.openshift.io/router-drain-accepted"
ACCEPT = f"To accept one, annotate ClusterOperator topology with {ACCEPTED}=true"
BY_DEFINITION = worlds.COMPACT.model_copy(
    update={"preflight": (*worlds.COMPACT.preflight, model.CheckSpec(check=SURVIVES))}
)


def survives(known: facts.Facts) -> CheckResult:
    """The answer of the check where a definition asks it."""
    results = checks.ask(Stage.PREFLIGHT, BY_DEFINITION, known, worlds.NOW)
    return next(result for result in results if result.name is SURVIVES)


def accepting(known: facts.Facts) -> facts.Facts:
    """The same, where an administrator accepts that the only router is drained."""
    return dataclasses.replace(known, own_operator=worlds.own(router_drain_accepted=True))


@pytest.mark.parametrize(
    ("router", "status", "reason"),
    [
        (facts.IngressController(2, 2), CheckStatus.MET, "2 replicas or more available"),
        (facts.IngressController(3, 2), CheckStatus.MET, "2 replicas or more available"),
        (facts.IngressController(1, 1), CheckStatus.UNMET, f"1 requested, 1 available. Run: {TWO_ROUTERS}"),
        (facts.IngressController(None, 1), CheckStatus.UNMET, "none requested, 1 available. Run: oc"),
        (facts.IngressController(2, 1), CheckStatus.UNMET, "2 requested, 1 available. Wait until they are available"),
        (worlds.BROKEN, CheckStatus.UNKNOWN, str(worlds.BROKEN)),
    ],
)  # fmt: skip
def test_a_single_router_does_not_survive_the_drains_after_the_change(
    router: facts.Fact[facts.IngressController], status: CheckStatus, reason: str
) -> None:
    known = worlds.healthy(ingress_controller=router)
    answer = survives(known)
    assert answer.status is status
    assert reason in answer.message
    assert answer.message.endswith(ACCEPT) is (status is CheckStatus.UNMET)
    assert len(answer.message) <= 300, answer.message
    accepted = survives(accepting(known))
    assert accepted.status is CheckStatus.MET, "whatever the router is"
    assert ACCEPTED in accepted.message
