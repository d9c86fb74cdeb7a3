"""Advisories: what a person must do, told early, gone once it is done; and what outlives a request."""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import MESSAGE_LIMIT, LastTransition, TopologyPair, TopologyTransition
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, Phase
from topology_controller.checks import advisories
from topology_controller.observe import catalog, facts, fields

from . import machine_worlds, measured_cluster, worlds

if TYPE_CHECKING:
    from topology_api.types import Advisory
    from topology_controller.decide.state import Decision
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
SETTINGS = worlds.MATRIX.single_node_settings
LEASES = f"ClusterRole {advisories.LEASES_ROLE}"


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
    found = {"own_operator": worlds.own(backup_time=AFTER), "leader_leases": (lease(137),), **changes}
    return dataclasses.replace(worlds.healthy(), **found)


def lease(seconds: int | None, **changes: Any) -> facts.Lease:
    held = facts.Lease("some-5d7f-x2x2x_1", worlds.NOW, seconds, READER.namespace, "some-lock")
    return dataclasses.replace(held, **changes)


def operand(key: str, found: facts.Fact[facts.Operand]) -> facts.Facts:
    return cluster(operands={**cluster().operands, key: found})


def registry(found: facts.Fact[facts.Operand], **changes: Any) -> dict[str, Any]:
    """The configuration of the registry is this."""
    operands = {**cluster().operands, measured_cluster.REGISTRY_CONFIGURATION: found}
    return {"operands": operands, **changes}


NO_REGISTRY = dataclasses.replace(worlds.version(), lacks=frozenset({"ImageRegistry"}))
ONE = facts.Managed("Managed", 1)


@EVER
@pytest.mark.parametrize(
    ("name", "left", "command", "done"),
    [
        (
            AdvisoryName.ROUTER_REPLICAS_PINNED,
            {"ingress_controller": facts.IngressController(1, 1)},
            "oc -n openshift-ingress-operator patch ingresscontroller default ",
            [{"ingress_controller": facts.IngressController(*one)} for one in ((2, 1), (3, 0), (None, 1))],
        ),
        (
            AdvisoryName.DNSMASQ_CONFIGURATION_LEFT,
            {"dnsmasq": True},
            "oc delete machineconfig 50-master-dnsmasq-configuration",
            [{"dnsmasq": worlds.MISSING}],
        ),
        (
            AdvisoryName.IMAGE_REGISTRY_REPLICAS_FIXED,
            registry(ONE),
            f"oc patch {measured_cluster.REGISTRY_CONFIGURATION} ",
            [
                registry(ONE, cluster_version=NO_REGISTRY),
                *(
                    registry(facts.Managed(state, count))
                    for state, count in (("Managed", 2), ("Managed", None), ("Removed", 1), ("Unmanaged", 1))
                ),
            ],
        ),
    ],
    ids=["pinned", "dnsmasq", "registry"],
)
def test_what_a_person_has_to_do_is_told_until_it_is_done(
    record: TopologyTransition | None,
    name: AdvisoryName,
    left: dict[str, Any],
    command: str,
    done: list[dict[str, Any]],
) -> None:
    found = told(cluster(**left), record)
    assert set(found) == {name}
    assert found[name].command.startswith(command)
    follows_nothing = name is AdvisoryName.IMAGE_REGISTRY_REPLICAS_FIXED
    assert ("so nothing waits for it" in found[name].message) is follows_nothing
    assert told(cluster(), record) == {}, "a cluster that leaves nothing to a person has none"
    assert [told(cluster(**changes), record) for changes in done] == [{}] * len(done)
    assert told(cluster(**left), record, target=worlds.SNO) == {}


def native_left(reason: str, **statuses: str) -> facts.NativeController:
    """Conditions that the native controller has left behind."""
    left = tuple(
        facts.Condition(f"TopologyTransitionController{type_}", status, reason) for type_, status in statuses.items()
    )
    return facts.NativeController(present=True, conditions=facts.Conditions(left))


def with_everything() -> facts.Facts:
    """A cluster in which each advisory is true."""
    return cluster(
        ingress_controller=facts.IngressController(1, 1),
        dnsmasq=True,
        lifecycle_agent=True,
        own_operator=worlds.own(backends=None),
        native_controller=native_left("PreflightCheckFailed", Upgradeable="False"),
        machines=machine_worlds.three(addresses=(), phase="Failed"),
        etcd=dataclasses.replace(worlds.etcd(), desired_replicas=1),
        leader_leases=(lease(270),),
        operands={
            **cluster().operands,
            measured_cluster.REGISTRY_CONFIGURATION: facts.Managed("Managed", 1),
            SETTINGS[0].key: facts.SingleNodeSetting("cluster", None, present=True),
        },
    )


@pytest.mark.parametrize(
    ("leases", "stale"),
    [
        ((lease(137), lease(270)), True),
        ((lease(270, renew_time=worlds.NOW - timedelta(seconds=330)), lease(137)), True),
        ((lease(270, renew_time=worlds.NOW - timedelta(seconds=331)), lease(137)), False),
        ((lease(270, renew_time=BEFORE), lease(137, renew_time=MOVED)), True),  # listed ten minutes ago
        ((lease(270, renew_time=BEFORE), lease(137, renew_time=worlds.NOW + timedelta(1))), False),
        ((lease(270, holder=""),), False),
        ((lease(270, renew_time=None), lease(None), lease(137), lease(271)), False),
        ((), False),
        (worlds.BROKEN, False),
        ((worlds.BROKEN,), False),
    ],
)
def test_an_operator_is_started_again_once_its_lease_has_other_times(*, leases: Any, stale: bool) -> None:
    known = cluster(leader_leases=leases)
    found = told(known, CONVERGING)
    assert set(found) == ({AdvisoryName.TOPOLOGY_READ_AT_START} if stale else set())
    if stale:
        advisory = found[AdvisoryName.TOPOLOGY_READ_AT_START]
        assert advisory.command == f"oc -n {READER.namespace} delete pod some-5d7f-x2x2x"
        assert advisory.message.startswith(f"Not started since the topology changed: {READER.namespace}/some-lock. ")
        assert "Until then: a Lease of 270 s lets a takeover take up to 330 s" in advisory.message
        assert f"{READER.operator}: {READER.matters}" in advisory.message
    assert told(known, PENDING) == {}, "nothing has moved: there is nothing to read yet"
    only_infrastructure = CONVERGING.model_copy(update={"source": INFRASTRUCTURE})
    assert told(known, only_infrastructure) == {}, "they read that of the control plane"


def test_an_operator_without_such_a_lease_is_started_again_while_its_operand_shows_it() -> None:
    (*_, source, _) = catalog.remaining(worlds.MATRIX)
    raw: dict[str, Any] = {"metadata": {"name": "virt-template-validator"}, "spec": {"replicas": 1}}
    ((advisory),) = told(operand(source.key, source.reduce(raw)), CONVERGING).values()
    assert advisory.message.startswith("Not started since the topology changed: ssp-operator. Until then: ssp-ope")
    assert advisory.command == "oc -n openshift-cnv delete pod -l control-plane=ssp-operator"
    with_lease = dataclasses.replace(operand(source.key, source.reduce(raw)), leader_leases=(lease(270),))
    ((both),) = told(with_lease, CONVERGING).values()
    assert both.message.startswith(f"Not started since the topology changed: ssp-operator, {READER.namespace}/some")
    assert both.command.startswith(f"{advisory.command} && ")
    refused = facts.Unobserved("leases", "forbidden", facts.Kind.FORBIDDEN)
    ((unknown),) = told(dataclasses.replace(with_lease, leader_leases=refused), CONVERGING).values()
    assert f"others are not known, because Leases may not be listed ({LEASES}" in unknown.message
    raw["spec"]["replicas"] = 2
    assert told(operand(source.key, source.reduce(raw)), CONVERGING) == {}


@pytest.mark.parametrize("holder", [f"{worlds.NAMES[0]}_1", "no pod$_1"])
def test_a_holder_that_is_no_pod_is_shown_and_not_deleted(holder: str) -> None:
    found = told(cluster(leader_leases=(lease(270, holder=holder),)), CONVERGING)
    command = found[AdvisoryName.TOPOLOGY_READ_AT_START].command
    assert command == f"oc -n {READER.namespace} get lease some-lock -o yaml"


def test_who_may_not_list_leases_is_told_so() -> None:
    refused = facts.Unobserved("leases", "forbidden", facts.Kind.FORBIDDEN)
    found = told(cluster(leader_leases=refused), CONVERGING)
    assert LEASES in found[AdvisoryName.TOPOLOGY_READ_AT_START].message


@pytest.mark.parametrize(
    ("taken", "outdated"),
    [
        (None, True),
        (BEFORE, True),
        (MOVED, True),
        (AFTER, False),
        (worlds.NOW + timedelta(minutes=4), False),
        (worlds.NOW + timedelta(days=400), True),
    ],
)
def test_a_backup_from_before_the_change(*, taken: Any, outdated: bool) -> None:
    known = cluster(own_operator=worlds.own(backup_time=taken))
    assert told(known, PENDING) == told(known) == {}, "nothing has moved yet"
    for record in (CONVERGING, COMPLETED):
        assert set(told(known, record)) == ({AdvisoryName.ETCD_BACKUP_OUTDATED} if outdated else set())


def test_a_backup_is_not_asked_for_where_evidence_of_one_may_be_unread() -> None:
    known = cluster(own_operator=worlds.own())
    for field in ("own_operator", "control_plane_nodes"):
        assert told(worlds.unread(known, field), CONVERGING) == {}
    assert told(dataclasses.replace(known, control_plane_nodes=()), CONVERGING) == {}, "there is nowhere to take it"


@EVER
def test_what_cannot_be_read_gives_no_advisory(record: TopologyTransition | None) -> None:
    assert told(facts.Facts(), record) == {}
    broken = {field.name: worlds.BROKEN for field in dataclasses.fields(facts.Facts) if field.init}
    operands = dict.fromkeys(cluster().operands, worlds.BROKEN)
    unread: dict[str, Any] = {**broken, "operands": operands, "live": False, "disturbed": ()}
    assert told(facts.Facts(**unread), record) == {}


def test_several_come_in_the_order_of_the_vocabulary() -> None:
    known = with_everything()
    order = [name.value for name in AdvisoryName]
    before, after = AdvisoryName.LIFECYCLE_AGENT_PRESENT, order[3:5]
    assert list(told(known, CONVERGING)) == [name for name in order if name != before]
    assert list(told(known, PENDING)) == [name for name in order if name not in after]


def object_with(setting: matrices.SingleNodeSetting, value: Any) -> dict[str, Any]:
    """What the server has where that field is this."""
    raw: Any = value
    for part in reversed(setting.field.split(".")):
        raw = {part: raw}
    return {"metadata": {"name": setting.name or "some", "namespace": setting.namespace or "some"}, **raw}


@pytest.mark.parametrize("setting", SETTINGS, ids=[setting.kind for setting in SETTINGS])
def test_a_setting_for_one_node_is_advised_until_it_is_gone(setting: matrices.SingleNodeSetting) -> None:
    (source,) = [one for one in catalog.single_node_settings(worlds.MATRIX) if one.key == setting.key]

    def told_of(raw: dict[str, Any], record: TopologyTransition, target: TopologyPair = worlds.HA) -> Any:
        facts_ = source.reduce(raw) if source.single else (worlds.BROKEN, source.reduce(raw))
        return told(operand(setting.key, facts_), record, target).get(AdvisoryName.SINGLE_NODE_SETTINGS)

    for value in setting.values:
        raw = object_with(setting, value)
        after, before = told_of(raw, COMPLETED), told_of(raw, PENDING)
        assert f"{setting.field} of {setting.kind} " in after.message
        assert setting.matters in after.message
        assert json.dumps(setting.back) in after.command
        assert ("are still there" in after.message, "Set them back after the change" in after.message) == (True, False)
        assert ("are still there" in before.message, "Set them back after the change" in before.message) == (
            False,
            True,
        )
        assert told_of(raw, COMPLETED, worlds.SNO) is None
    others: list[Any] = [setting.back, None, 1, 0, [], "", "false", "yes", {"a": 1}]
    for other in others:
        assert told_of(object_with(setting, other), COMPLETED) is None, other
    with pytest.raises(fields.Malformed):
        source.reduce({"metadata": {"name": "some"}, "spec": []})
    for kind in facts.Kind:
        assert told(operand(setting.key, facts.Unobserved("it", "why", kind)), COMPLETED) == {}


OFF, ON = (facts.FeatureGates((("4.20.1", on),)) for on in (False, True))


@EVER
@pytest.mark.parametrize(
    ("left", "shown"),
    [
        (native_left("PreflightCheckFailed", Upgradeable="False", Progressing="False"), True),
        (native_left("TopologyTransitionInProgress", Progressing="True"), True),
        (native_left("AsExpected", Upgradeable="True", Progressing="False"), False),
        (facts.NativeController(present=False), False),
        (worlds.BROKEN, False),
    ],
)
def test_conditions_without_an_author_are_to_be_removed_where_they_block(
    *, record: TopologyTransition | None, left: facts.Fact[facts.NativeController], shown: bool
) -> None:
    known = cluster(native_controller=left, feature_gates=OFF)
    assert (AdvisoryName.NATIVE_CONDITIONS_LEFT in told(known, record)) is shown
    for gates in (ON, worlds.BROKEN):
        on = cluster(native_controller=left, feature_gates=gates)
        assert AdvisoryName.NATIVE_CONDITIONS_LEFT not in told(on, record), "its author may live"


LATER = worlds.NOW + timedelta(minutes=2)


def last(decision: Decision) -> LastTransition | None:
    return worlds.record_of(decision).last_transition


def done(record: TopologyTransition | None = None) -> facts.Facts:
    """A cluster whose transition has completed a while ago."""
    return worlds.moved(worlds.converged(worlds.healthy(LATER)), record or worlds.completed())


def test_it_stays_in_every_phase_until_the_next_one_completes() -> None:
    before = LastTransition(name="other", source=worlds.HA, target=worlds.SNO, completed_time=worlds.NOW)
    idle = worlds.decide(worlds.with_infrastructure(worlds.healthy(), desired=None), worlds.term(available=())).record
    assert idle is not None
    known = worlds.recorded(worlds.healthy(), idle.model_copy(update={"last_transition": before}))
    pending = worlds.decide(dataclasses.replace(known, scheduler=False))
    unsupported = worlds.decide(worlds.with_infrastructure(known, desired="DualReplica"))
    admitting = worlds.decide(known, worlds.term(next_attempt="mine"))
    live = dataclasses.replace(worlds.recorded(known, admitting.record), live=True)
    converging = worlds.decide(live, worlds.term(attempt="mine"))
    back = worlds.decide(
        worlds.with_infrastructure(worlds.recorded(known, pending.record), desired=None), worlds.term(available=())
    )
    steps = (pending, unsupported, admitting, converging, back)
    phases = [Phase.PENDING, Phase.UNSUPPORTED, Phase.ADMITTING, Phase.CONVERGING, Phase.IDLE]
    assert [found.phase for found in steps] == phases
    assert [last(found) for found in steps] == [before] * 5
    first = worlds.decide(done(converging.record), now=LATER)
    ended = last(worlds.decide(done(first.record), now=LATER + timedelta(seconds=62)))
    assert ended is not None
    assert ended.name == "sno-to-ha-compact"


def test_what_was_advised_for_a_request_goes_with_it() -> None:
    known = worlds.healthy(dnsmasq=True, scheduler=False)
    pending = worlds.record_of(worlds.decide(known))
    assert [item.name for item in pending.advisories] == ["DnsmasqConfigurationLeft"]
    before = LastTransition(name="other", source=worlds.HA, target=worlds.SNO)
    for record in (pending, pending.model_copy(update={"last_transition": before})):
        cancelled = worlds.with_infrastructure(worlds.recorded(known, record), desired=None, generation=3)
        found = worlds.decide(cancelled, worlds.term(available=()))
        assert (found.phase, worlds.record_of(found).advisories) == (Phase.IDLE, ())
        assert last(found) == record.last_transition


@pytest.mark.parametrize(
    ("status", "late", "shown"),
    [
        (CheckStatus.UNMET, False, False),
        (CheckStatus.UNKNOWN, False, False),
        (CheckStatus.MET, False, True),
        (None, False, True),
        (CheckStatus.UNMET, True, True),
    ],
    ids=["rolling out", "not known", "rolled out", "nothing rolls out", "past the deadline"],
)
def test_a_restart_is_advised_once_the_machines_have_restarted(
    *, status: CheckStatus | None, late: bool, shown: bool
) -> None:
    record = worlds.converging()
    pools = next(check for check in record.checks if check.name == CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT)
    others = tuple(check for check in record.checks if check is not pools)
    kept = others if status is None else (*others, pools.model_copy(update={"status": status}))
    record = record.model_copy(update={"checks": kept})
    assert record.deadline_time is not None
    now = record.deadline_time if late else record.deadline_time - timedelta(seconds=1)
    known = dataclasses.replace(worlds.healthy(), leader_leases=(lease(270, renew_time=now),))
    advised = advisories.advise(worlds.moved(known, record), worlds.HA, worlds.MATRIX, record, now)
    assert (AdvisoryName.TOPOLOGY_READ_AT_START in [item.name for item in advised]) is shown


def test_the_change_itself_advises_no_restart() -> None:
    """The machines restart in the next minutes, and the operators with them."""
    begun = worlds.moved(dataclasses.replace(worlds.healthy(), leader_leases=(lease(270),)), worlds.converging())
    rolling = worlds.record_of(worlds.decide(begun))
    assert AdvisoryName.TOPOLOGY_READ_AT_START not in [item.name for item in rolling.advisories]
    known = dataclasses.replace(done(worlds.converging()), leader_leases=(lease(270, renew_time=LATER),))
    rolled = worlds.record_of(worlds.decide(known, now=LATER))
    assert AdvisoryName.TOPOLOGY_READ_AT_START in [item.name for item in rolled.advisories]
