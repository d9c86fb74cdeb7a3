"""Facts of any kind: healthy ones in which any number of things is broken, unread, or malformed."""

from __future__ import annotations

import dataclasses
import functools
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase
from topology_controller.decide import state
from topology_controller.observe import facts

from . import operand_worlds, worlds

NEWER = st.just(facts.Newer("status.topologyTransition", "written by a newer version", phase="Rehearsing"))
UNREAD = st.sampled_from((worlds.BROKEN, facts.NOT_READ, worlds.MISSING))
STATUS = st.sampled_from(("True", "False", "Unknown", "garbage"))
TOPOLOGY = st.sampled_from(("SingleReplica", "HighlyAvailable"))
ODD_TOPOLOGY = st.sampled_from(("External", "DualReplica", "HighlyAvailableArbiter", "Mystery", None))


TAINT = facts.Taint("a", "", "NoSchedule")


def rarely(usual: Any, other: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly the usual value, so that whole healthy worlds are common."""
    return st.integers(0, 7).flatmap(lambda drawn: other if drawn == 0 else st.just(usual))


def conditions(**wanted: str) -> st.SearchStrategy[facts.Conditions]:
    return st.fixed_dictionaries({type_: rarely(status, st.none() | STATUS) for type_, status in wanted.items()}).map(
        lambda found: worlds.conditions(**{type_: status for type_, status in found.items() if status is not None})
    )


STABLE = conditions(Available="True", Progressing="False", Degraded="False")


NODE: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(("cafe", "node-9")),
    "master": st.none(),
    "ready": STATUS,
    "cordoned": st.booleans(),
    "kubelet_version": st.sampled_from((None, "v1.33.1", "v1.34.9", "v1.\u00b2.0", "x.y.z", "v1")),
    "cpus": st.sampled_from((None, 3.9, 4.0, 0.0)),
    "memory": st.sampled_from((None, 0, 2**34)),
    "free_memory": st.sampled_from((None, 0.0, 2.0**31)),
    "free_storage": st.sampled_from((None, 0.0, 2.0**33)),
    "addresses": st.sampled_from(((), ("2001:db8::1",), ("192.0.2.11", "192.0.2.10"))),
    "taints": st.sampled_from(((TAINT,), (facts.Taint("node.kubernetes.io/x", "", "NoExecute"),))),
    "pressure": st.just(("DiskPressure",)),
    "worker": st.booleans(),
}
"""What may be odd about a node, each by itself."""


def node(index: int) -> st.SearchStrategy[facts.Fact[facts.Node]]:
    changes = st.fixed_dictionaries({}, optional=NODE)
    broken: st.SearchStrategy[Any] = UNREAD | changes.map(lambda found: worlds.node(index, **found))
    return rarely(worlds.node(index), broken)


OTHERS = st.lists(
    UNREAD
    | st.builds(facts.OtherNode, st.sampled_from(("cafe", "w-1", "w-2")), st.none() | st.booleans(), st.booleans()),
    max_size=3,
).map(tuple)
MEMBER = st.tuples(
    st.sampled_from((*worlds.MEMBERS, "node-0", "cafe", "0a", "zz", "")),
    st.sampled_from((*worlds.ADDRESSES, "2001:db8::1", "garbage", "")),
)
VOICE = st.sampled_from(worlds.voices()).flatmap(
    lambda voice: st.builds(
        dataclasses.replace,
        st.just(voice),
        confirmed=rarely(usual=True, other=st.booleans()),
        leader=rarely(voice.leader, st.none() | st.sampled_from(("dead", worlds.MEMBERS[0]))),
        term=rarely(voice.term, st.integers(0, 9)),
        healthy=rarely(usual=True, other=UNREAD | st.booleans()),
        errors=rarely((), st.just(("alarm NOSPACE of member cafe",))),
        members=rarely(voice.members, st.sampled_from(((), voice.members[:2]))),
    )
)
SAID = st.builds(
    facts.EtcdMembers,
    st.lists(VOICE, max_size=3).map(tuple) | st.just(worlds.voices()),
    st.just(()) | st.just((facts.EtcdSilence("https://192.0.2.9:2379", (), "no answer in time", down=True),)),
)
POOL = UNREAD | st.builds(
    worlds.pool,
    st.sampled_from(("master", "worker")),
    configuration=st.sampled_from(("", "rendered-master-1", "rendered-master-2", "x" * 300)),
    degraded=st.integers(0, 1),
    ready=st.integers(0, 3),
)
LEASE = st.builds(
    facts.Lease,
    st.sampled_from(("", "somebody")),
    st.none() | st.integers(-4000, 4000).map(lambda age: worlds.NOW - timedelta(seconds=age)),
    st.none() | st.sampled_from((1, 137, 2**31 - 1)),
    st.booleans(),
)
SETTLED = st.none() | st.sampled_from((operand_worlds.LONG_AGO, operand_worlds.REACTED))
OPERATOR = UNREAD | st.builds(facts.ClusterOperator, st.sampled_from(("dns", "topology", "etcd")), STABLE, SETTLED)
COUNT = st.integers(0, 3)
WORKLOAD = st.builds(facts.Workload, COUNT, st.booleans(), COUNT, COUNT, COUNT, COUNT)
STATIC_PODS = st.builds(
    facts.StaticPods,
    st.integers(0, 9),
    st.lists(st.builds(facts.NodeRevision, st.sampled_from(operand_worlds.NAMES), COUNT, COUNT, COUNT), max_size=3).map(
        tuple
    ),
)
OPERAND = UNREAD | WORKLOAD | STATIC_PODS | st.builds(facts.DisruptionBudget, st.none() | COUNT)
CONTROLLER_CONFIG = st.builds(
    facts.ControllerConfig,
    st.none() | TOPOLOGY,
    STATUS,
    st.none() | st.sampled_from((worlds.NOW, worlds.NOW - timedelta(hours=1))),
)
NATIVE = st.builds(
    facts.NativeController,
    st.booleans(),
    st.sampled_from(
        (
            facts.Conditions(),
            facts.Conditions((facts.Condition("TopologyTransitionControllerUpgradeable", "False", "R", "m"),)),
        )
    ),
)
MACHINE = st.builds(
    facts.Machine,
    name=st.sampled_from(("machine-0", "machine-1", "machine-9")),
    arbiter=st.booleans(),
    phase=st.sampled_from(("", "Provisioning", "Running", "Deleting", "Failed", "Odd")),
    addresses=st.lists(st.sampled_from((*worlds.ADDRESSES, "2001:db8::1")), max_size=3, unique=True).map(tuple),
    node=st.sampled_from((None, *worlds.NAMES, "gone")),
    deleting=st.booleans(),
    guarded=st.booleans(),
    authority=st.sampled_from((None, "MachineAPI", "ClusterAPI", "Migrating")),
    host=st.sampled_from((None, "host-0", "host-1")),
    trouble=st.sampled_from(("", "no host")),
)
HOST = st.builds(
    facts.Host,
    name=st.sampled_from(("host-0", "host-1", "host-2")),
    state=st.sampled_from(
        ("", "inspecting", "provisioned", "deprovisioning", "deleting", "powering off before delete")
    ),
    deleting=st.booleans(),
    consumer=st.sampled_from((None, "machine-0", "deleted")),
    failed=st.booleans(),
    powered_on=st.booleans(),
    trouble=st.sampled_from(("", "no power")),
)
FOLLOWED = worlds.converged(worlds.healthy())


def operands() -> st.SearchStrategy[dict[str, Any]]:
    """Operands as before the change or after it, of which any may be anything."""
    both = st.sampled_from((worlds.healthy().operands, FOLLOWED.operands))
    odd = st.dictionaries(st.sampled_from(sorted(FOLLOWED.operands)), OPERAND, max_size=2)
    return st.tuples(both, rarely({}, odd)).map(lambda found: {**found[0], **found[1]})


def records() -> st.SearchStrategy[TopologyTransition]:
    """Records that somebody may have left: of any phase, whole or not, with times around now."""
    pair = st.none() | st.sampled_from((worlds.SNO, worlds.HA))
    when = st.none() | st.integers(-4000, 4000).map(lambda age: worlds.NOW - timedelta(seconds=age))
    free = st.builds(
        TopologyTransition,
        phase=st.sampled_from(Phase),
        name=st.sampled_from((None, "sno-to-ha-compact", "gone")),
        source=pair,
        target=pair,
        attempt=st.sampled_from((None, "mine", "theirs", "next")),
        requested_time=when,
        phase_transition_time=when,
        admitted_time=when,
        observed_generation=st.none() | st.just(2),
    )
    return st.sampled_from(_made()) | free


@functools.cache
def _made() -> tuple[TopologyTransition, ...]:
    """Records as this operator writes them."""
    blocked = worlds.record_of(worlds.decide(worlds.healthy(scheduler=worlds.BROKEN)))
    return worlds.admitting(), worlds.converging(), worlds.completed(), blocked


@st.composite
def worlds_of_any_kind(draw: st.DrawFn) -> facts.Facts:
    """Facts in which anything may be wrong, but usually little is."""
    healthy = worlds.healthy()
    record = draw(st.none() | records())
    pairs = st.sampled_from(
        ((worlds.SNO.control_plane, worlds.SNO.infrastructure), (worlds.HA.control_plane, worlds.HA.infrastructure))
    )
    here = draw(
        rarely(("SingleReplica", "SingleReplica"), pairs | st.tuples(TOPOLOGY | ODD_TOPOLOGY, TOPOLOGY | ODD_TOPOLOGY))
    )
    infrastructure = worlds.infrastructure(
        desired=draw(rarely("HighlyAvailable", st.none() | TOPOLOGY | st.just("DualReplica"))),
        native_desired=draw(rarely(None, TOPOLOGY)),
        control_plane=here[0],
        infrastructure=here[1],
        platform=draw(rarely("None", st.sampled_from((None, "AWS", "External")))),
        image_based_install=draw(rarely(usual=False, other=st.booleans())),
        record=draw(rarely(record, UNREAD | NEWER)),
        raw_record=None if record is None else record.to_api(),
    )
    gates = st.lists(st.tuples(st.sampled_from(("4.20.1", "4.21.0")), st.booleans()), max_size=2).map(
        lambda found: facts.FeatureGates(tuple(found))
    )
    copies = records().map(worlds.copy_of)
    version = st.builds(worlds.version, st.sampled_from((worlds.BLOCK, None, "other")), progressing=STATUS)
    sources: dict[str, st.SearchStrategy[Any]] = {
        "infrastructure": rarely(infrastructure, UNREAD),
        "installed": rarely(healthy.installed, UNREAD | st.just(facts.Installed("x has no field"))),
        "own_operator": rarely(healthy.own_operator, UNREAD | copies | st.just(worlds.own(paused=True))),
        "feature_gates": rarely(healthy.feature_gates, UNREAD | gates),
        "native_controller": rarely(healthy.native_controller, UNREAD | NATIVE),
        "cluster_version": rarely(healthy.cluster_version, UNREAD | version),
        "cluster_operators": rarely(healthy.cluster_operators, UNREAD | st.lists(OPERATOR, max_size=3).map(tuple)),
        "control_plane_nodes": st.integers(0, 7).flatmap(
            lambda drawn: UNREAD | st.just(()) if drawn == 0 else st.tuples(node(0), node(1), node(2))
        ),
        "other_nodes": rarely((), UNREAD | OTHERS),
        "machines": rarely(healthy.machines, UNREAD | st.lists(UNREAD | MACHINE, max_size=2).map(tuple)),
        "hosts": rarely(facts.NOT_READ, UNREAD | st.lists(UNREAD | HOST, max_size=1).map(tuple)),
        "scheduler": rarely(healthy.scheduler, UNREAD | st.booleans()),
        "etcd_endpoints": rarely(
            healthy.etcd_endpoints,
            UNREAD
            | st.lists(MEMBER, max_size=4, unique_by=lambda found: found[0]).map(
                lambda found: facts.EtcdEndpoints(tuple(found))
            ),
        ),
        "etcd": rarely(
            healthy.etcd,
            UNREAD
            | conditions(EtcdMembersAvailable="True", EtcdMembersDegraded="False", EtcdMembersProgressing="False").map(
                facts.Etcd
            ),
        ),
        "etcd_lease": rarely(healthy.etcd_lease, UNREAD | LEASE),
        "etcd_members": rarely(facts.EtcdMembers(worlds.voices()), UNREAD | SAID),
        "machine_config_pools": rarely(healthy.machine_config_pools, UNREAD | st.lists(POOL, max_size=3).map(tuple)),
        "ingress_controller": rarely(
            healthy.ingress_controller,
            UNREAD
            | st.builds(
                facts.IngressController,
                st.none() | st.integers(0, 3),
                st.integers(0, 3),
                st.sampled_from(((), (facts.Toleration("", "Exists", "", ""),))),
                st.sampled_from((frozenset(), frozenset({"disk=fast"}))),
            ),
        ),
        "controller_config": rarely(
            healthy.controller_config, UNREAD | st.just(FOLLOWED.controller_config) | CONTROLLER_CONFIG
        ),
        "dnsmasq": rarely(healthy.dnsmasq, UNREAD | st.sampled_from([True])),
        "lifecycle_agent": rarely(healthy.lifecycle_agent, UNREAD | st.sampled_from([True])),
        "operands": operands(),
        "live": st.booleans(),
        "disturbed": rarely((), st.just(("nodes",))),
    }
    return dataclasses.replace(healthy, **{field: draw(source) for field, source in sources.items()})


def terms() -> st.SearchStrategy[state.LeaderState]:
    """Leaders of any age, with or without an attempt of their own."""
    when = st.integers(-300, 300).map(lambda age: worlds.NOW - timedelta(seconds=age))
    return st.builds(
        state.LeaderState,
        since=when,
        next_attempt=st.just("next"),
        attempt=st.sampled_from((None, "mine", "next")),
        hold_until=rarely(None, when),
        settle_seconds=st.none() | st.just(0),
        advisories=st.none() | st.just(()),
        gate_since=st.none() | when,
        steady_since=st.none() | when,
    )
