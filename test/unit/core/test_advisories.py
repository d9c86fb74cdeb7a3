"""Advisories: what a person must do, told as early as it is known, and gone once it is done."""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import MESSAGE_LIMIT, TopologyPair, TopologyTransition
from topology_api.vocabulary import AdvisoryName, Phase
from topology_controller.checks import advisories
from topology_controller.observe import facts

from . import measured_cluster, strategies, worlds

if TYPE_CHECKING:
    from topology_api.types import Advisory
    from topology_controller.definitions import operands as matrices

INFRASTRUCTURE = TopologyPair(control_plane="HighlyAvailable", infrastructure="SingleReplica")
MOVED = worlds.NOW - timedelta(minutes=10)
BEFORE, AFTER = MOVED - timedelta(seconds=1), MOVED + timedelta(seconds=1)
PENDING = TopologyTransition(phase=Phase.PENDING, source=worlds.SNO, target=worlds.HA)
CONVERGING = TopologyTransition(phase=Phase.CONVERGING, source=worlds.SNO, target=worlds.HA, admitted_time=MOVED)
COMPLETED = CONVERGING.model_copy(update={"phase": Phase.COMPLETED})
EVER = pytest.mark.parametrize(
    "record", [None, PENDING, CONVERGING, COMPLETED], ids=["none", "before", "after", "done"]
)
READER = worlds.MATRIX.startup_readers[0]


def told(
    known: facts.Facts,
    record: TopologyTransition | None = None,
    target: TopologyPair = worlds.HA,
    matrix: matrices.Matrix = worlds.MATRIX,
) -> dict[str, Advisory]:
    found = advisories.advise(known, target, matrix, record, worlds.NOW)
    assert len({one.name for one in found}) == len(found)
    assert all(len(one.message) <= MESSAGE_LIMIT and one.command.startswith("oc ") for one in found)
    return {one.name: one for one in found}


def cluster(**changes: Any) -> facts.Facts:
    """Nothing is left to a person: the operators were started and a backup was taken after the change."""
    operands = {**worlds.healthy().operands, **started(AFTER)}
    found = {"own_operator": worlds.own(backup_time=AFTER), "operands": operands, **changes}
    return dataclasses.replace(worlds.healthy(), **found)


def started(*created: Any) -> dict[str, facts.Fact[facts.Operand]]:
    pods = tuple(facts.Pod(f"p-{index}", when, deleting=False) for index, when in enumerate(created))
    return {reader.key: pods for reader in worlds.MATRIX.startup_readers}


def operand(key: str, found: facts.Fact[facts.Operand]) -> facts.Facts:
    return cluster(operands={**cluster().operands, key: found})


@EVER
def test_a_pinned_router(record: TopologyTransition | None) -> None:
    pinned = cluster(ingress_controller=facts.IngressController(1, 1))
    found = told(pinned, record)
    assert set(found) == {AdvisoryName.ROUTER_REPLICAS_PINNED}
    advisory = found[AdvisoryName.ROUTER_REPLICAS_PINNED]
    assert measured_cluster.ROUTER in advisory.message
    assert "RouterReplicas waits" in advisory.message
    assert advisory.command == (
        """oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{"spec":{"replicas":2}}'"""
    )
    for fixed in (facts.IngressController(2, 1), facts.IngressController(3, 0), facts.IngressController(None, 1)):
        assert told(cluster(ingress_controller=fixed), record) == {}
    assert told(pinned, record, target=INFRASTRUCTURE) == {}, "one is what that topology implies"


@EVER
def test_what_the_assisted_installer_left(record: TopologyTransition | None) -> None:
    found = told(cluster(dnsmasq=facts.Present()), record)
    assert set(found) == {AdvisoryName.DNSMASQ_CONFIGURATION_LEFT}
    advisory = found[AdvisoryName.DNSMASQ_CONFIGURATION_LEFT]
    assert "each new master resolve the names of the API" in advisory.message
    assert advisory.command == "oc delete machineconfig 50-master-dnsmasq-configuration"
    assert told(cluster(dnsmasq=worlds.MISSING), record) == {}
    assert told(cluster(dnsmasq=facts.Present()), record, target=worlds.SNO) == {}


def native_left(reason: str, **statuses: str) -> facts.NativeController:
    """Conditions that the native controller has left behind."""
    left = tuple(
        facts.Condition(f"TopologyTransitionController{type_}", status, reason) for type_, status in statuses.items()
    )
    return facts.NativeController(present=True, conditions=facts.Conditions(left))


def test_operators_that_read_the_topology_only_at_start() -> None:
    old = cluster(operands={**cluster().operands, **started(BEFORE)})
    assert told(old) == told(old, PENDING) == {}, "nothing has moved: there is nothing to read yet"
    for record in (CONVERGING, COMPLETED):
        found = told(old, record)
        assert set(found) == {AdvisoryName.TOPOLOGY_READ_AT_START}
        advisory = found[AdvisoryName.TOPOLOGY_READ_AT_START]
        readers = worlds.MATRIX.startup_readers
        assert all(f"{reader.operator}: {reader.matters}" in advisory.message for reader in readers)
        assert advisory.command == " && ".join(reader.command for reader in readers)
    assert READER.command == f"oc -n {READER.namespace} delete pod -l {READER.selector}"


@pytest.mark.parametrize(
    ("pods", "stale"),
    [
        ((facts.Pod("old", BEFORE, deleting=False),), True),
        ((facts.Pod("same-second", MOVED, deleting=False),), True),
        ((facts.Pod("new", AFTER, deleting=False), facts.Pod("old", BEFORE, deleting=False)), True),
        ((facts.Pod("new", AFTER, deleting=False),), False),
        ((facts.Pod("new", AFTER, deleting=False), facts.Pod("old", BEFORE, deleting=True)), False),
        ((), False),
        (worlds.BROKEN, False),
        ((worlds.BROKEN,), False),
    ],
)
def test_an_operator_is_started_again_once_none_of_its_pods_is_from_before(pods: Any, stale: bool) -> None:  # noqa: FBT001 - a column of the table
    found = told(operand(READER.key, pods), CONVERGING)
    assert set(found) == ({AdvisoryName.TOPOLOGY_READ_AT_START} if stale else set())
    if stale:
        assert found[AdvisoryName.TOPOLOGY_READ_AT_START].command == READER.command, "only the one that is stale"


def etcd(backup: Any) -> tuple[facts.ClusterOperator, ...]:
    return tuple(
        dataclasses.replace(one, backup_time=backup) if one.name == "etcd" else one
        for one in worlds.cluster_operators()
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "outdated"),
    [
        (None, None, True),
        (BEFORE, None, True),
        (None, BEFORE, True),
        (MOVED, MOVED, True),
        (AFTER, None, False),
        (None, AFTER, False),
        (BEFORE, AFTER, False),
        (worlds.NOW + timedelta(minutes=4), None, False),
        (worlds.NOW + timedelta(days=400), None, True),
    ],
)
def test_a_backup_from_before_the_change(ours: Any, theirs: Any, outdated: bool) -> None:  # noqa: FBT001 - a column of the table
    known = cluster(own_operator=worlds.own(backup_time=ours), cluster_operators=etcd(theirs))
    assert told(known, PENDING) == told(known) == {}, "nothing has moved yet"
    for record in (CONVERGING, COMPLETED):
        assert set(told(known, record)) == ({AdvisoryName.ETCD_BACKUP_OUTDATED} if outdated else set())


def test_the_lifecycle_agent_is_told_before_the_change_only() -> None:
    agent = cluster(lifecycle_agent=facts.Present())
    for record in (None, PENDING):
        found = told(agent, record)
        assert set(found) == {AdvisoryName.LIFECYCLE_AGENT_PRESENT}
        advisory = found[AdvisoryName.LIFECYCLE_AGENT_PRESENT]
        assert advisory.command == "oc label infrastructure cluster topology.openshift.io/image-based-install=true"
        assert "installed from an image" in advisory.message
        assert told(worlds.with_infrastructure(agent, image_based_install=True), record) == {}
        assert told(cluster(lifecycle_agent=worlds.MISSING), record) == {}
    assert told(agent, CONVERGING) == told(agent, COMPLETED) == {}, "the label would stop us half way"


@measured_cluster.PATIENT
@given(strategies.worlds_of_any_kind(), st.none() | strategies.records(), st.integers(0, 10**6))
def test_whatever_is_known_there_is_an_answer_that_the_record_can_hold(
    known: facts.Facts, record: TopologyTransition | None, later: int
) -> None:
    found = advisories.advise(known, worlds.HA, worlds.MATRIX, record, worlds.NOW)
    again = advisories.advise(known, worlds.HA, worlds.MATRIX, record, worlds.NOW + timedelta(seconds=later))
    both = {item.name for item in found} & {item.name for item in again}
    shown = [[item for item in items if item.name in both] for items in (found, again)]
    assert shown[0] == shown[1], "no age is in a message"
    # The only one that time alone brings: past the deadline it does not wait for the machines to restart.
    appeared = {item.name for item in again} - both
    assert appeared <= {AdvisoryName.TOPOLOGY_READ_AT_START}
    assert both == {item.name for item in found}
    held = TopologyTransition(phase=Phase.PENDING, advisories=found).to_api()
    assert TopologyTransition.from_api(json.loads(json.dumps(held))).advisories == found


# What the native controller leaves behind

OFF, ON = (facts.FeatureGates((("4.20.1", on),)) for on in (False, True))


@EVER
@pytest.mark.parametrize(
    ("left", "shown"),
    [
        (native_left("PreflightCheckFailed", Upgradeable="False", Progressing="False"), True),
        (native_left("TopologyTransitionInProgress", Upgradeable="False", Progressing="True"), True),
        (native_left("TopologyTransitionInProgress", Progressing="True"), True),
        (native_left("AsExpected", Upgradeable="True", Progressing="False"), False),
        (facts.NativeController(present=False), False),
        (worlds.BROKEN, False),
    ],
)
def test_conditions_without_an_author_are_to_be_removed_where_they_block(
    record: TopologyTransition | None,
    left: facts.Fact[facts.NativeController],
    shown: bool,  # noqa: FBT001 - a column of the table
) -> None:
    known = cluster(native_controller=left, feature_gates=OFF)
    assert (AdvisoryName.NATIVE_CONDITIONS_LEFT in told(known, record)) is shown
    for gates in (ON, worlds.BROKEN):
        on = cluster(native_controller=left, feature_gates=gates)
        assert AdvisoryName.NATIVE_CONDITIONS_LEFT not in told(on, record), "its author may live"
