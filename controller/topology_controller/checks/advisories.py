"""Advisories: what no operator fixes by itself, with the command that does.

Each is shown as early as it is known, before the change too, and disappears when it is fixed. What cannot be read gives
no advisory: it is no evidence. `decide` keeps them in the record, and checks that depend on one name it.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from topology_api import types, vocabulary
from topology_api.types import Advisory, TopologyPair, TopologyTransition
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, Topology

from .. import shell
from ..definitions import operands as matrices
from ..observe import facts
from . import load_balancer, machines, operands, result

DNSMASQ = "50-master-dnsmasq-configuration"
SKEW = timedelta(minutes=5)  # how far ahead of our clock a backup may claim to be; further, it says nothing
_REGISTRIES = 2  # what the registry operator writes where storage is shared (pkg/storage/storage.go)
LEASES_ROLE = f"{vocabulary.OPERATOR_NAME}-leases"  # ClusterRole of this operator that may be left out
_TAKEOVER = timedelta(seconds=330)
"""Until another takes over when a holder with such a Lease fails: its duration, and the period of retries."""
_POD = re.compile(r"[a-z0-9][-a-z0-9.]{0,252}")
NATIVE_BLOCKS = {"TopologyTransitionControllerUpgradeable": "False", "TopologyTransitionControllerProgressing": "True"}
NATIVE_MOVING = "TopologyTransitionInProgress"
"""The status of each condition of the native controller that blocks, and its reason while a transition is under way."""
NATIVE_CLEANUP = result.worded("NativeCleanup")


def advise(
    known: facts.Facts, target: TopologyPair, matrix: matrices.Matrix, record: TopologyTransition | None, now: datetime
) -> tuple[Advisory, ...]:
    """All that an administrator should do on the way to `target` or after it: what a check waits for comes first."""
    changed = record.admitted_time if record is not None else None
    advisories = (
        _router_pinned(known, target, matrix),
        _dnsmasq_left(known, target),
        _registry_fixed(known, target, matrix),
        _read_at_start(known, matrix, record, now),
        _backup_outdated(known, changed, now),
        load_balancer.unconfirmed(known, target, record),
        _single_node_settings(known, target, matrix, changed),
        _lifecycle_agent(known, changed),
        *machines.advise(known, target),
        native_left(known, record),
    )
    return tuple(advisory for advisory in advisories if advisory is not None)


def _router_pinned(known: facts.Facts, target: TopologyPair, matrix: matrices.Matrix) -> Advisory | None:
    """An explicit number of routers wins over the topology, and a cluster that began as a single node has one."""
    # The ingress operator writes it when it makes the default controller: cluster-ingress-operator
    # pkg/operator/operator.go (release-4.20 to 4.22).
    group = matrix.group(CheckName.ROUTER_REPLICAS)
    if group is None:
        return None
    for operand in group.operands:
        routers, count = known.operand(operand.key), operands.at(operand, group.topology(target))
        asks = routers.wanted_replicas if isinstance(routers, facts.IngressController) else None
        if asks is None or isinstance(count, facts.Unobserved) or asks >= count:
            continue
        place, body = (operand.namespace, operand.name), f'{{"spec":{{"replicas":{count}}}}}'
        command = shell.command("oc -n {} patch ingresscontroller {} --type merge -p {}", *place, body)
        values = {"kind": operand.kind, "place": f"{operand.namespace}/{operand.name}", "target": str(target)}
        values["then"] = _or_hosted(target, f"{CheckName.ROUTER_REPLICAS} waits until it is changed")
        return result.advisory(AdvisoryName.ROUTER_REPLICAS_PINNED, command, **values, asks=asks, count=count)
    return None


def _dnsmasq_left(known: facts.Facts, target: TopologyPair) -> Advisory | None:
    """What assisted-service leaves on a single node (internal/network/manifests_generator.go)."""
    if known.dnsmasq is not True or target.control_plane == Topology.SINGLE_REPLICA:
        return None
    command = f"oc delete machineconfig {DNSMASQ}"
    return result.advisory(AdvisoryName.DNSMASQ_CONFIGURATION_LEFT, command, config=DNSMASQ)


def _registry_fixed(known: facts.Facts, target: TopologyPair, matrix: matrices.Matrix) -> Advisory | None:
    # No topology changes the number: cluster-image-registry-operator pkg/storage/storage.go (release-4.20 to 4.22).
    group = matrix.group(CheckName.IMAGE_REGISTRY_REPLICAS)
    if group is None or group.managed_by is None or operands.absence(known, group) is not None:
        return None
    key, body = group.managed_by.key, f'{{"spec":{{"replicas":{_REGISTRIES}}}}}'
    registry = known.operand(key)
    if target.infrastructure == Topology.SINGLE_REPLICA or not isinstance(registry, facts.Managed):
        return None
    if registry.state != "Managed" or registry.replicas is None or registry.replicas >= _REGISTRIES:
        return None
    then = _or_hosted(target, "The number follows no topology on this platform, so nothing waits for it")
    values = {"key": key, "then": then, "asks": str(registry.replicas), "count": str(_REGISTRIES)}
    command = shell.command("oc patch {} --type merge -p {}", key, body)
    return result.advisory(AdvisoryName.IMAGE_REGISTRY_REPLICAS_FIXED, command, **values)


def _or_hosted(target: TopologyPair, then: str) -> str:
    hosted = "HyperShift wrote it when the cluster was made, and does not change it"
    return hosted if target.control_plane == vocabulary.EXTERNAL else then


def _read_at_start(
    known: facts.Facts, matrix: matrices.Matrix, record: TopologyTransition | None, now: datetime
) -> Advisory | None:
    """Operators that were started before the change: by a Lease with the duration of a single node, or by the table."""
    if record is None or record.admitted_time is None or not is_settled(record, now):
        return None
    leases = known.leader_leases if asks_for_leases(record, now) else ()
    late = [] if isinstance(leases, facts.Unobserved) else of_single_node(leases, now)
    places = {lease.namespace for lease in late}
    readers = [reader for reader in matrix.startup_readers if reader.namespace in places]
    keeping = [(operator, known.operand(operator.key)) for operator in matrix.optional_operators]
    kept = [each for each, fact in keeping if isinstance(fact, facts.SingleNodeSetting) and fact.present]
    refused = isinstance(leases, facts.Unobserved) and leases.kind is facts.Kind.FORBIDDEN
    if late or kept:
        # What is wrong stands before what is only slow.
        names = [*(operator.deployment for operator in kept), *(f"{lease.namespace}/{lease.name}" for lease in late)]
        longest = f"up to {_TAKEOVER.seconds} s instead of 163 s"
        slow = f"a Lease of {facts.SINGLE_NODE_LEASE} s lets a takeover take {longest}"
        details = [f"{operator.deployment}: {operator.matters}" for operator in kept]
        details += [*([slow] if late else []), *(f"{reader.operator}: {reader.matters}" for reader in readers)]
        details += [f"others are not known, because Leases may not be listed (ClusterRole {LEASES_ROLE})"] * refused
        cures = [operator.cure((operator.keeps or "").partition("/")[0]) for operator in kept]
        command = _one_after_the_other([*cures, *(_restart(lease, known) for lease in late)])
        message = f"Not started since the topology changed: {result.listed(names)}. Until then: {'; '.join(details)}"
    elif refused:
        command, message = result.worded("ListLeases"), ""
    else:
        return None
    values = {"role": LEASES_ROLE, "seconds": facts.SINGLE_NODE_LEASE}
    return result.advisory(AdvisoryName.TOPOLOGY_READ_AT_START, command, message, **values)


def of_single_node(leases: tuple[facts.Fact[facts.Lease], ...], now: datetime) -> list[facts.Lease]:
    """Leases whose holders were started on a single node. A holder that is gone renews no more.

    What was listed is looked at for minutes: the newest renewal, if that is not in the future, tells when it was.
    """
    held = facts.readable(leases)
    listed = min(now, max((lease.renew_time for lease in held if lease.renew_time is not None), default=now))
    return [
        lease
        for lease in held
        if lease.duration_seconds == facts.SINGLE_NODE_LEASE
        and lease.holder
        and lease.renew_time is not None
        and listed - lease.renew_time <= _TAKEOVER
    ]


def _restart(lease: facts.Lease, known: facts.Facts) -> str:
    """What starts the holder again. A pod in the network of its node has the name of that, so it is only shown."""
    pod = lease.holder.partition("_")[0]
    nodes = {node.name for node in facts.readable(known.control_plane_nodes)}
    if pod in nodes or not _POD.fullmatch(pod):
        return shell.command("oc -n {} get lease {} -o yaml", lease.namespace, lease.name)
    return shell.command("oc -n {} delete pod {}", lease.namespace, pod)


def asks_for_leases(record: TopologyTransition, now: datetime) -> bool:
    """Is it time to look at Leases? They go by the topology of the control plane."""
    source, target = record.source, record.target
    same = source is not None and target is not None and source.control_plane == target.control_plane
    return not same and is_settled(record, now)


def is_settled(record: TopologyTransition, now: datetime) -> bool:
    """Have machines restarted for the change? Operators do so with them. Past the deadline that is not awaited."""
    overdue = record.deadline_time is not None and now >= record.deadline_time
    pools = [check for check in record.checks if check.name == CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT]
    return overdue or all(check.status is CheckStatus.MET for check in pools)


def _one_after_the_other(commands: list[str]) -> str:
    """One command of several. What does not fit is shown after the others: half a command is worse than none."""
    command = commands[0]
    for following in commands[1:]:
        longer = f"{command} && {following}"
        command = longer if len(longer) <= types.MESSAGE_LIMIT else command
    return command


def _backup_outdated(known: facts.Facts, changed: datetime | None, now: datetime) -> Advisory | None:
    """After the change a backup from before it would bring the old topology back with the old members."""
    own = known.own_operator
    # Where to take it: the first control-plane node that is Ready, else the first.
    nodes = facts.readable(known.control_plane_nodes)
    homes = sorted(nodes, key=lambda node: (node.ready != "True" or node.deleting, node.name))
    if changed is None or isinstance(own, facts.Unobserved) or not homes:
        return None
    if own.backup_time is not None and changed < own.backup_time <= now + SKEW:
        return None
    older = "The newest known etcd backup is older than the change of the topology"
    evidence = older if own.backup_time is not None else "No etcd backup is known"
    operator, annotation = vocabulary.CLUSTER_OPERATOR, vocabulary.ETCD_BACKUP_ANNOTATION
    command = shell.command(
        "oc debug node/{} -- chroot /host /usr/local/bin/cluster-backup.sh /home/core/assets/backup && "
        'oc annotate clusteroperator {} --overwrite {}="$(date -u +%Y-%m-%dT%H:%M:%SZ)"',
        *(homes[0].name, operator, annotation),
    )
    values = {"evidence": evidence, "operator": operator, "annotation": annotation}
    return result.advisory(AdvisoryName.ETCD_BACKUP_OUTDATED, command, **values)


def native_left(known: facts.Facts, record: TopologyTransition | None) -> Advisory | None:
    """What a native controller that is switched off has left behind, and what blocks: nothing takes it back."""
    native = known.native_controller
    if known.mutable_topology is not False or isinstance(native, facts.Unobserved):
        return None
    conditions = [native.conditions.find(type_) for type_ in NATIVE_BLOCKS]
    stuck = [condition for condition in conditions if condition and condition.status == NATIVE_BLOCKS[condition.type]]
    if not stuck:
        return None
    begun = any(condition.reason == NATIVE_MOVING for condition in stuck)
    followed = record is not None and (record.phase.changed or record.last_transition is not None)
    alone = "No controller follows what it had begun: look at oc get co. " if begun and not followed else ""
    reason = stuck[0].reason or "not given"
    return result.advisory(AdvisoryName.NATIVE_CONDITIONS_LEFT, NATIVE_CLEANUP, reason=reason, begun=alone)


def _single_node_settings(
    known: facts.Facts, target: TopologyPair, matrix: matrices.Matrix, changed: datetime | None
) -> Advisory | None:
    """What people set where there is one node (`bindata/single-node-settings.yaml`), in each object that has it."""
    if target.control_plane == Topology.SINGLE_REPLICA:
        return None
    named, commands = [], []
    for setting in matrix.single_node_settings:
        fact = known.operands.get(setting.key)
        for item in fact if isinstance(fact, tuple) else (fact,):
            if isinstance(item, facts.SingleNodeSetting) and item.present:
                place = "/".join(filter(None, (item.namespace, item.name)))
                named.append(f"{setting.field} of {setting.kind} {place}: {setting.matters}")
                commands.append(setting.command(item.name, item.namespace))
    if not named:
        return None
    when = "are still there" if changed is not None else "are there. Set them back after the change, and not before"
    command = _one_after_the_other(commands)
    return result.advisory(AdvisoryName.SINGLE_NODE_SETTINGS, command, when=when, settings="; ".join(named))


def _lifecycle_agent(known: facts.Facts, changed: datetime | None) -> Advisory | None:
    """An image-based install is never inferred. After the change the label is of no use any more."""
    here = known.infrastructure
    there = known.lifecycle_agent is True and changed is None
    if not there or isinstance(here, facts.Unobserved) or here.image_based_install:
        return None
    command = f"oc label infrastructure cluster {vocabulary.IMAGE_BASED_INSTALL_LABEL}=true"
    return result.advisory(AdvisoryName.LIFECYCLE_AGENT_PRESENT, command)
