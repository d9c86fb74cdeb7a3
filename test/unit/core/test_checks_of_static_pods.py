"""Static pods: at their newest revision on every control-plane node, made since the change where it must."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import OperandBaseline
from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.observe import facts

from . import measured_cluster, operand_worlds, worlds

KAS, SCHEDULER, ETCD = CheckName.KUBE_API_SERVER_REVISION, CheckName.KUBE_SCHEDULER_REVISION, CheckName.ETCD_REVISION
KEYS = {
    KAS: measured_cluster.KUBE_API_SERVER,
    SCHEDULER: "kubeschedulers.operator.openshift.io/cluster",
    ETCD: measured_cluster.ETCD,
}
BEFORE = operand_worlds.REVISION


def pods(latest: int, **nodes: tuple[int, int, int]) -> facts.StaticPods:
    """Current, target and last failed revision by node; the others are at the newest."""
    entries = {name.replace("-", "_"): (latest, 0, 0) for name in worlds.NAMES} | nodes
    return facts.StaticPods(
        latest, tuple(facts.NodeRevision(name.replace("_", "-"), *found) for name, found in entries.items())
    )


def having(check: CheckName, found: facts.Fact[facts.StaticPods]) -> measured_cluster.MeasuredCluster:
    return measured_cluster.followed().having(KEYS[check], found)


@pytest.mark.parametrize("check", KEYS)
@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ((7, 8, 0), "node-1 is at revision 7 and on its way to 8"),
        ((7, 8, 8), "node-1 failed to install revision 8"),
        ((7, 0, 0), "node-1 is at revision 7 of 8"),
        ((7, 0, 7), "node-1 is at revision 7 of 8"),
        ((7, 8, 5), "node-1 is at revision 7 and on its way to 8"),
        ((8, 9, 0), "node-1 is at revision 8 and on its way to 9"),
        ((0, 0, 0), "node-1 is at revision 0 of 8"),
    ],
)
def test_a_node_that_is_behind_is_named(check: CheckName, node: tuple[int, int, int], reason: str) -> None:
    status, message = having(check, pods(8, node_1=node)).ask(check)
    assert status is CheckStatus.UNMET
    assert KEYS[check] in message
    assert reason in message
    assert "node-0" not in message


@pytest.mark.parametrize("check", KEYS)
def test_every_control_plane_node_has_an_entry(check: CheckName) -> None:
    status, message = having(check, operand_worlds.static_pods(8, ("node-0", "node-2"))).ask(check)
    assert status is CheckStatus.UNMET
    assert "node-1 has no entry" in message


def test_where_the_configuration_differs_the_revision_from_before_does_not_do() -> None:
    status, message = having(KAS, operand_worlds.static_pods(BEFORE)).ask(KAS)
    assert status is CheckStatus.UNMET
    assert f"Wanted: {measured_cluster.KUBE_API_SERVER} at a revision above 7" in message
    assert "still at revision 7, from before the topology changed" in message


@pytest.mark.parametrize("check", [SCHEDULER, ETCD])
def test_where_it_does_not_differ_the_revision_from_before_does(check: CheckName) -> None:
    assert having(check, operand_worlds.static_pods(BEFORE)).ask(check)[0] is CheckStatus.MET
    assert having(check, operand_worlds.static_pods(BEFORE)).unmeasured().ask(check)[0] is CheckStatus.MET


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
    behind = cluster.having(measured_cluster.KUBE_API_SERVER, pods(8, node_1=(7, 8, 0)))
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
