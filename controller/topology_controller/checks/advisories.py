"""Advisories: what nobody fixes by itself, with the command that does.

Some things keep a cluster from following its topology, or leave it worse off than it should be, and no operator will
ever change them: a number that a person or the installer has fixed, a file left behind, an operator that looked only
when it started. Waiting for them in silence helps nobody (DESIGN section 7). Each is told as early as it is known,
before the change too, and disappears when it is fixed. What cannot be read gives no advisory: it is no evidence. Pure;
`decide` keeps them in the record, and the checks that depend on one name it.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api import types, vocabulary
from topology_api.vocabulary import AdvisoryName, CheckName, Topology

from ..observe import facts
from . import groups

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import Advisory, TopologyPair, TopologyTransition

    from ..definitions import operands as matrices

DNSMASQ = "50-master-dnsmasq-configuration"
SKEW = timedelta(minutes=5)
"""How far ahead of our clock a backup may claim to be; further, it says nothing."""
_REGISTRIES = 2
"""What the registry operator writes where storage is shared (pkg/storage/storage.go)."""
_BACKUP_FOLDER = "/home/core/assets/backup"


def advise(
    known: facts.Facts,
    target: TopologyPair,
    matrix: matrices.Matrix,
    record: TopologyTransition | None,
    now: datetime,
) -> tuple[Advisory, ...]:
    """Everything that a person should do on the way to `target`, or after it, in the order of `AdvisoryName`.

    What a convergence check waits for comes first: without it the transition does not complete.

    `record` says whether and when the topology was moved (`admittedTime`); `now` is aware UTC.
    """
    found = (
        _router_pinned(known, target, matrix),
        _dnsmasq_left(known, target),
        _registry_fixed(known, target, matrix),
        _read_at_start(known, matrix, record),
        _backup_outdated(known, record, now),
        _lifecycle_agent(known, record),
    )
    return tuple(advisory for advisory in found if advisory is not None)


def _advisory(name: AdvisoryName, message: str, command: str) -> Advisory:
    return types.Advisory(name=name.value, message=types.fit(message), command=command)


def _router_pinned(known: facts.Facts, target: TopologyPair, matrix: matrices.Matrix) -> Advisory | None:
    """An explicit number of routers wins over the topology (reference: upstream-controller c.3)."""
    group = matrix.group(CheckName.ROUTER_REPLICAS)
    for operand in group.operands if group is not None else ():
        found = known.operand(operand.key)
        count = groups.at(operand, group.topology(target)) if group is not None else 0
        if not isinstance(found, facts.IngressController) or isinstance(count, facts.Unobserved):
            continue
        if found.wanted_replicas is not None and found.wanted_replicas < count:
            return _advisory(
                AdvisoryName.ROUTER_REPLICAS_PINNED,
                f"{operand.key} asks for {found.wanted_replicas} replicas explicitly, as a cluster that began with one "
                f"node does. That wins over the topology: no operator raises it to the {count} that {target} "
                f"implies, and {CheckName.ROUTER_REPLICAS} waits for them",
                f"oc -n {operand.namespace} patch ingresscontroller {operand.name} --type merge "
                f"-p '{_spec(replicas=count)}'",
            )
    return None


def _dnsmasq_left(known: facts.Facts, target: TopologyPair) -> Advisory | None:
    """What the assisted installer leaves on a single node (reference: upstream-controller c.3)."""
    if not isinstance(known.dnsmasq, facts.Present) or target.control_plane == Topology.SINGLE_REPLICA:
        return None
    return _advisory(
        AdvisoryName.DNSMASQ_CONFIGURATION_LEFT,
        f"MachineConfig {DNSMASQ} is there, which the assisted installer makes for a single node. It makes each new "
        "master resolve the names of the API and of applications to itself, and no operator removes it. Removing it "
        "rolls pool master out: its nodes restart one after the other",
        f"oc delete machineconfig {DNSMASQ}",
    )


def _registry_fixed(known: facts.Facts, target: TopologyPair, matrix: matrices.Matrix) -> Advisory | None:
    """One registry is no redundancy, and on the platforms of our definitions no topology changes the number.

    cluster-image-registry-operator pkg/storage/storage.go, GetPlatformStorage (release-4.20 to 4.22).
    """
    group = matrix.group(CheckName.IMAGE_REGISTRY_REPLICAS)
    if group is None or group.managed_by is None or groups.absence(known, group) is not None:
        return None
    found = known.operand(group.managed_by.key)
    if target.infrastructure == Topology.SINGLE_REPLICA or not isinstance(found, facts.Managed):
        return None
    if found.state != "Managed" or found.replicas is None or found.replicas >= _REGISTRIES:
        return None
    return _advisory(
        AdvisoryName.IMAGE_REGISTRY_REPLICAS_FIXED,
        f"{group.managed_by.key} asks for {found.replicas} replicas, which is no redundancy: without its node images "
        "cannot be pulled from it or pushed to it. The number follows no topology on this platform, so nothing waits "
        f"for it. {_REGISTRIES} replicas need storage that several nodes can mount at once, an object store or a "
        "volume with ReadWriteMany: with ReadWriteOnce or emptyDir leave it as it is",
        f"oc patch {group.managed_by.key} --type merge -p '{_spec(replicas=_REGISTRIES)}'",
    )


def _read_at_start(known: facts.Facts, matrix: matrices.Matrix, record: TopologyTransition | None) -> Advisory | None:
    """Operators whose pods are all older than the change. They read the topology of the control plane only."""
    moved = _moved(record)
    if moved is None or record is None or (record.source and record.target and _same_control_plane(record)):
        return None
    stale = [reader for reader in matrix.startup_readers if _started_before(known.operand(reader.key), moved)]
    if not stale:
        return None
    named = "; ".join(f"{reader.operator}: {reader.matters}" for reader in stale)
    command = stale[0].command
    for reader in stale[1:]:
        # Half a command is worse than none; whoever does not fit is told once the others are done.
        longer = f"{command} && {reader.command}"
        command = longer if len(longer) <= types.MESSAGE_LIMIT else command
    return _advisory(
        AdvisoryName.TOPOLOGY_READ_AT_START,
        f"These operators read the topology only when they start, and have not been started since it moved. {named}",
        command,
    )


def _same_control_plane(record: TopologyTransition) -> bool:
    source, target = record.source, record.target
    return source is not None and target is not None and source.control_plane == target.control_plane


def _started_before(found: facts.Fact[facts.Operand], moved: datetime) -> bool:
    """Does any pod of it date from before the change?

    One that is being deleted does not count: whoever restarts it has done so. Times are whole seconds, so one that was
    created in the very second of the change may have read either.
    """
    if not isinstance(found, tuple):
        return False
    return any(isinstance(pod, facts.Pod) and not pod.deleting and pod.created <= moved for pod in found)


def _backup_outdated(known: facts.Facts, record: TopologyTransition | None, now: datetime) -> Advisory | None:
    """After the change a backup from before it would bring the old topology back with the old members."""
    moved = _moved(record)
    own, others, nodes = known.own_operator, known.cluster_operators, known.control_plane_nodes
    if moved is None or isinstance(own, facts.Unobserved) or isinstance(nodes, facts.Unobserved):
        return None
    taken = [own.backup_time]
    if _recent(taken, moved, now):
        return None
    if isinstance(others, facts.Unobserved) or any(isinstance(one, facts.Unobserved) for one in others):
        return None
    taken += [one.backup_time for one in others if isinstance(one, facts.ClusterOperator) and one.name == "etcd"]
    home = _home(nodes)
    if _recent(taken, moved, now) or home is None:
        return None
    known_of = any(one is not None for one in taken)
    found = (
        "The newest backup of etcd that is known of is older than the move of the topology"
        if known_of
        else ("No backup of etcd is known of")
    )
    return _advisory(
        AdvisoryName.ETCD_BACKUP_OUTDATED,
        f"{found}. Restoring one from before would bring the old topology and its members back. Take one and record "
        f"it as annotation {vocabulary.ETCD_BACKUP_ANNOTATION} of ClusterOperator {vocabulary.CLUSTER_OPERATOR}; the "
        "command does both",
        f"oc debug node/{home} -- chroot /host /usr/local/bin/cluster-backup.sh {_BACKUP_FOLDER} && "
        f"oc annotate clusteroperator {vocabulary.CLUSTER_OPERATOR} --overwrite "
        f'{vocabulary.ETCD_BACKUP_ANNOTATION}="$(date -u +%Y-%m-%dT%H:%M:%SZ)"',
    )


def _recent(taken: list[datetime | None], moved: datetime, now: datetime) -> bool:
    return any(moved < one <= now + SKEW for one in taken if one is not None)


def _home(nodes: tuple[facts.Fact[facts.Node], ...]) -> str | None:
    """The control-plane node to take the backup on: the first that is Ready, else the first."""
    found = sorted((node for node in nodes if isinstance(node, facts.Node)), key=lambda one: one.name)
    ready = [node for node in found if node.ready == "True" and not node.deleting]
    return next((node.name for node in (*ready, *found)), None)


def _lifecycle_agent(known: facts.Facts, record: TopologyTransition | None) -> Advisory | None:
    """An image-based install is never inferred, since the agent runs on ordinary single nodes too (DESIGN section 9).

    Told before the change only: the label stops this operator, which is of no use once the topology has moved.
    """
    infrastructure = known.infrastructure
    if not isinstance(known.lifecycle_agent, facts.Present) or isinstance(infrastructure, facts.Unobserved):
        return None
    if infrastructure.image_based_install or _moved(record) is not None:
        return None
    return _advisory(
        AdvisoryName.LIFECYCLE_AGENT_PRESENT,
        "The lifecycle agent runs on this cluster. If the cluster was installed from an image, its topology is fixed "
        "by that image: set the label, and nothing will be moved. If it was not, there is nothing to do",
        f"oc label infrastructure cluster {vocabulary.IMAGE_BASED_INSTALL_LABEL}=true",
    )


def _moved(record: TopologyTransition | None) -> datetime | None:
    """When the topology was moved, None before that."""
    return record.admitted_time if record is not None else None


def _spec(**fields: int) -> str:
    return json.dumps({"spec": fields}, separators=(",", ":"))
