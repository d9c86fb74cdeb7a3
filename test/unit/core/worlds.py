"""A healthy cluster as facts, and ways to break one of them.

`healthy()` is a single-node cluster that has everything the transition to three nodes needs, with the request made and
the version operator holding upgrades back: nothing keeps it from moving. `converged()` is the same cluster after
everybody has followed the topology; `ready_for(definition)` is the first for any other definition. Every test changes
what it is about with `dataclasses.replace` (or `with_infrastructure` and its siblings) and leaves the rest; what the
other operators run comes from the operand matrix (`operand_worlds`). At the end: what a decision says, condition by
condition.
"""

from __future__ import annotations

import dataclasses
import pathlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from test import sentences

from topology_api.types import RecordCopy, TopologyPair
from topology_api.vocabulary import CheckStatus, ConditionStatus, ConditionType, Phase, Reason, Stage
from topology_controller.checks import operators, result
from topology_controller.decide import phases, state
from topology_controller.definitions import load, model
from topology_controller.observe import facts
from topology_controller.report import clusteroperator

from . import operand_worlds

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition
    from topology_api.vocabulary import CheckName, EventReason
    from topology_controller.decide.state import Decision

T, F = ConditionStatus.TRUE, ConditionStatus.FALSE
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
SNO = TopologyPair(control_plane="SingleReplica", infrastructure="SingleReplica")
HA = TopologyPair(control_plane="HighlyAvailable", infrastructure="HighlyAvailable")
BINDATA = pathlib.Path(__file__).parents[3] / "bindata"
TRANSITIONS = load.load(BINDATA / "transitions")
MATRIX = TRANSITIONS.matrix


def named(name: str) -> model.Definition:
    """A shipped definition."""
    found = TRANSITIONS.named(name)
    assert found is not None, name
    return found


COMPACT = named("sno-to-ha-compact")
ONLY_COMPACT = load.Transitions((COMPACT,), MATRIX)
DIRECTLY = load.Transitions((COMPACT.asking_members(),), MATRIX)
"""The same, where the administrator has given a way to etcd's members."""
BLOCK = operators.block_message("sno-to-ha-compact", "HighlyAvailable")
DEADLINE = NOW + timedelta(minutes=30 + 3 * 30)
"""Of the compact transition when it changes the topology at NOW: three machines on platform None."""
BROKEN = facts.Unobserved("things.example.org/one", sentences.FORBIDDEN)
NAMES = ("node-0", "node-1", "node-2")
ADDRESSES = ("192.0.2.10", "192.0.2.11", "192.0.2.12")
MISSING = facts.Unobserved("things.example.org/one", sentences.MISSING, kind=facts.Kind.MISSING)
MEMBERS = ("8e9e05c52164694d", "a1b2c3", "cafe")


def unread(known: facts.Facts, *fields: str) -> facts.Facts:
    """The same cluster, where these facts cannot be read."""
    changes: dict[str, Any] = dict.fromkeys(fields, BROKEN)
    return dataclasses.replace(known, **changes)


def conditions(**statuses: str) -> facts.Conditions:
    """Conditions by type and status."""
    return facts.Conditions(tuple(facts.Condition(type_, status) for type_, status in statuses.items()))


def node(index: int = 0, **changes: Any) -> facts.Node:
    """An eligible control-plane node."""
    made = facts.Node(
        name=NAMES[index],
        master=True,
        worker=True,
        ready="True",
        cordoned=False,
        deleting=False,
        kubelet_version="v1.34.2+abc",
        cpus=8.0,
        memory=32.0 * 2**30,
        free_memory=30.0 * 2**30,
        free_storage=100.0 * 2**30,
        addresses=(ADDRESSES[index],),
        taints=(),
        observed_topology=SNO.control_plane,
    )
    return dataclasses.replace(made, **changes)


def worker(name: str = "worker-0", **changes: Any) -> facts.Node:
    """A node that carries workloads only, as `Facts.workers` has it."""
    made = dataclasses.replace(node(), name=name, master=False, worker=True, addresses=(), observed_topology=None)
    return dataclasses.replace(made, **changes)


def infrastructure(**changes: Any) -> facts.Infrastructure:
    """Infrastructure with a request and no record."""
    made = facts.Infrastructure(
        uid="u-1",
        resource_version="100",
        generation=2,
        desired="HighlyAvailable",
        native_desired=None,
        control_plane="SingleReplica",
        infrastructure="SingleReplica",
        platform="None",
        image_based_install=False,
        record=None,
        raw_record=None,
        topology_writer="somebody",
    )
    return dataclasses.replace(made, **changes)


def own(**changes: Any) -> facts.OwnOperator:
    """ClusterOperator topology before its first report; where the load balancer leads is confirmed."""
    made = facts.OwnOperator(resource_version="7", paused=False, status={}, backends=facts.Backends(ADDRESSES))
    return dataclasses.replace(made, **changes)


def pool(name: str = "master", **changes: Any) -> facts.MachineConfigPool:
    """A machine config pool at rest, at the configuration from before the change."""
    made = facts.MachineConfigPool(name, f"rendered-{name}-1", f"rendered-{name}-1", 3, 3, 3, 0, observed=True)
    return dataclasses.replace(made, **changes)


def rolled(found: facts.MachineConfigPool) -> facts.MachineConfigPool:
    """The same pool after it has rolled out the next configuration."""
    rendered = f"rendered-{found.name}-2"
    return dataclasses.replace(found, wanted_configuration=rendered, configuration=rendered)


def version(upgradeable: str | None = BLOCK, *, progressing: str = "False") -> facts.ClusterVersion:
    """ClusterVersion; `upgradeable` is the message of Upgradeable=False, None for none."""
    found = [facts.Condition("Progressing", progressing, "Because")]
    if upgradeable is not None:
        found.append(facts.Condition("Upgradeable", "False", "MultipleReasons", upgradeable))
    return facts.ClusterVersion("4.20.1", facts.Conditions(tuple(found)), newest="4.20.1")


def cluster_operators(settled: datetime = operand_worlds.LONG_AGO) -> tuple[facts.ClusterOperator, ...]:
    """Operators at rest since then: three of any cluster, and all that answer for an operand."""
    stable = conditions(Available="True", Progressing="False", Degraded="False")
    names = {"dns", "etcd", "ingress", *(name for group in MATRIX.groups for name in group.operators)}
    return tuple(facts.ClusterOperator(name, stable, settled_time=settled) for name in sorted(names))


def etcd(revision: int = operand_worlds.REVISION, **statuses: str) -> facts.Etcd:
    """Etcd whose members are all well."""
    well = {"EtcdMembersAvailable": "True", "EtcdMembersDegraded": "False", "EtcdMembersProgressing": "False"}
    return facts.Etcd(conditions(**{**well, **statuses}), operand_worlds.static_pods(revision), unsafe_scaling=False)


def healthy(now: datetime = NOW, **changes: Any) -> facts.Facts:
    """Everything holds, and the request is made."""
    made = facts.Facts(
        infrastructure=infrastructure(),
        installed=facts.Installed(),
        own_operator=own(),
        feature_gates=facts.FeatureGates((("4.20.1", False),)),
        native_controller=facts.NativeController(present=False),
        cluster_version=version(),
        cluster_operators=cluster_operators(),
        control_plane_nodes=tuple(node(index) for index in range(3)),
        other_nodes=(),
        scheduler=True,
        etcd_endpoints=facts.EtcdEndpoints(tuple(zip(MEMBERS, ADDRESSES, strict=True))),
        etcd=etcd(),
        etcd_lease=facts.Lease("etcd-operator", now - timedelta(seconds=10), 137),
        machine_config_pools=(pool(), pool("worker", machines=0, updated=0, ready=0)),
        ingress_controller=facts.IngressController(None, 1),
        controller_config=controller_config(SNO.control_plane),
        dnsmasq=MISSING,
        lifecycle_agent=MISSING,
        workers=(),
        machines=MISSING,
        operands=operand_worlds.at(MATRIX, SNO),
    )
    return dataclasses.replace(made, **changes)


def controller_config(topology: str) -> facts.ControllerConfig:
    """The machine config controller, at rest with this topology."""
    return facts.ControllerConfig(topology, failing="False")


def ready_for(definition: model.Definition, now: datetime = NOW) -> facts.Facts:
    """A cluster that stands where the definition starts and has everything that it needs, with the request made."""
    source = TopologyPair(
        control_plane=definition.source.control_plane, infrastructure=definition.source.infrastructure[0]
    )
    compact = definition.workers.max == 0
    count = 0 if compact else max(2, definition.workers.min)
    workers = tuple(worker(f"worker-{index}") for index in range(count))
    schedulable = next((one.wanted for one in definition.preflight if one.wanted is not None), compact)
    known = healthy(
        now,
        infrastructure=infrastructure(
            desired=definition.target.control_plane.value,
            control_plane=source.control_plane,
            infrastructure=source.infrastructure,
            platform=definition.platforms[0],
        ),
        cluster_version=version(operators.block_message(definition.name, definition.target.control_plane)),
        control_plane_nodes=tuple(
            node(index, worker=bool(schedulable), observed_topology=source.control_plane) for index in range(3)
        ),
        other_nodes=tuple(facts.OtherNode(one.name, master=False, arbiter=False) for one in workers),
        scheduler=bool(schedulable),
        controller_config=controller_config(source.control_plane),
        machine_config_pools=(pool(), pool("worker", machines=count, updated=count, ready=count)),
        workers=workers,
    )
    return _with_operands(known, source)


def _with_operands(known: facts.Facts, pair: TopologyPair, *, fresh: bool = False) -> facts.Facts:
    found = operand_worlds.at(MATRIX, pair, fresh=fresh)
    count = 1 if pair.infrastructure == "SingleReplica" else 2
    return dataclasses.replace(known, operands=found, ingress_controller=facts.IngressController(None, count))


def voices(**changes: Any) -> tuple[facts.EtcdVoice, ...]:
    """Three voters that answer, healthy and of one mind; the changes are made to each."""
    listed = tuple(facts.EtcdMember(id_, name) for id_, name in sorted(zip(MEMBERS, NAMES, strict=True)))
    made = (
        facts.EtcdVoice(
            endpoint=f"https://{address}:2379",
            member=id_,
            cluster="cdf8",
            members=listed,
            confirmed=True,
            leader=MEMBERS[1],
            term=7,
        )
        for id_, address in zip(MEMBERS, ADDRESSES, strict=True)
    )
    return tuple(dataclasses.replace(voice, **changes) for voice in made)


def with_infrastructure(known: facts.Facts, **changes: Any) -> facts.Facts:
    """The same facts with another Infrastructure."""
    assert isinstance(known.infrastructure, facts.Infrastructure)
    return dataclasses.replace(known, infrastructure=dataclasses.replace(known.infrastructure, **changes))


def recorded(known: facts.Facts, record: TopologyTransition | None, **changes: Any) -> facts.Facts:
    """The same facts after that record was written."""
    raw = None if record is None else record.to_api()
    return with_infrastructure(known, record=record, raw_record=raw, **changes)


def converged(known: facts.Facts, target: TopologyPair = HA) -> facts.Facts:
    """The rest of the cluster has followed: every operand, and the operators came to rest again after the change."""
    nodes, pools = known.control_plane_nodes, known.machine_config_pools
    assert isinstance(nodes, tuple)
    assert isinstance(pools, tuple)
    known = _with_operands(known, target, fresh=True)
    return dataclasses.replace(
        known,
        cluster_operators=cluster_operators(operand_worlds.REACTED),
        control_plane_nodes=tuple(
            dataclasses.replace(one, observed_topology=target.control_plane) if isinstance(one, facts.Node) else one
            for one in nodes
        ),
        etcd=etcd(operand_worlds.REVISION + 1),
        machine_config_pools=tuple(
            rolled(one) if isinstance(one, facts.MachineConfigPool) and one.machines else one for one in pools
        ),
        controller_config=controller_config(target.control_plane),
    )


def moved(known: facts.Facts, record: TopologyTransition | None) -> facts.Facts:
    """The same facts after the change."""
    return recorded(known, record, control_plane=HA.control_plane, infrastructure=HA.infrastructure)


def term(**changes: Any) -> state.LeaderState:
    """A leader that has just begun."""
    return dataclasses.replace(state.LeaderState(since=NOW - timedelta(hours=1), next_attempt="next"), **changes)


def context(known: facts.Facts) -> state.Context:
    here: Any = known.infrastructure
    return state.Context(known, here, None, ONLY_COMPACT, term(), NOW)


def decide(
    known: facts.Facts,
    term_: state.LeaderState | None = None,
    now: datetime = NOW,
    transitions: load.Transitions = ONLY_COMPACT,
) -> state.Decision:
    """Decide, with a leader that has just begun unless another is given. What is read live at the end is the same."""
    found = phases.decide(known, transitions, term_ or term(), now)
    if state.Step.GATHER not in found.steps or found.phase is not Phase.CONVERGING:
        return found
    return phases.decide(dataclasses.replace(known, live=True), transitions, term_ or term(), now)


def record_of(decision: state.Decision) -> TopologyTransition:
    """The record that a decision has."""
    assert decision.record is not None
    return decision.record


def admitting(known: facts.Facts | None = None, attempt: str = "mine", now: datetime = NOW) -> TopologyTransition:
    """The record of an admission under way."""
    record = record_of(decide(known or healthy(now), term(next_attempt=attempt), now))
    assert record.phase is Phase.ADMITTING
    return record


def converging(now: datetime = NOW) -> TopologyTransition:
    """The record that the change wrote."""
    before = recorded(healthy(now), admitting(now=now))
    found = decide(dataclasses.replace(before, live=True), term(attempt="mine"), now)
    assert state.Step.CHANGE in found.steps
    return record_of(found)


def completed(now: datetime = NOW) -> TopologyTransition:
    """The record of a transition that has ended."""
    return converging(now).model_copy(
        update={"phase": Phase.COMPLETED, "phase_transition_time": now, "completed_time": now}
    )


def copy_of(record: TopologyTransition) -> facts.OwnOperator:
    """ClusterOperator topology that carries the copy of a record."""
    copy = RecordCopy.of(record)
    return own(copy=copy, status={"extension": copy.to_api()})


def question(
    known: facts.Facts,
    check: CheckName,
    now: datetime = NOW,
    convergence: result.ConvergenceContext = result.ConvergenceContext(matrix=MATRIX),  # noqa: B008 - frozen
    **spec: Any,
) -> result.CheckContext:
    """A question to these facts, with the parameters of the shipped definition unless others are given."""
    default = next((one for stage in Stage for one in COMPACT.stages[stage] if one.check is check), None)
    made = model.CheckSpec.model_validate({"check": check, **spec}) if spec else default
    assert made is not None
    return result.CheckContext(known, made, COMPACT, now, convergence)


def said(decision: Decision, type_: ConditionType) -> tuple[ConditionStatus, Reason]:
    found = {condition.type: condition for condition in clusteroperator.conditions(decision)}
    assert found[type_].message, type_
    return found[type_].status, found[type_].reason


def row(decision: Decision) -> dict[str, tuple[ConditionStatus, Reason]]:
    return {type_.value: said(decision, type_) for type_ in ConditionType}


WELL = {type_.value: (F, Reason.AS_EXPECTED) for type_ in ConditionType} | {
    "Available": (T, Reason.AS_EXPECTED),
    "Upgradeable": (T, Reason.AS_EXPECTED),
}


def reasons(decision: Decision) -> list[EventReason]:
    return [happening.reason for happening in decision.happened]


def failing(record: TopologyTransition | None) -> list[str]:
    return [check.name for check in (record.checks if record else ()) if check.status is not CheckStatus.MET]
