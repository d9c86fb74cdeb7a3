"""What a transition disturbs on the way, what an administrator has to see to before, and what a hosted cluster can do.

Pure. It follows from the definition and the operand matrix, the data that the operator waits by, and what was read.

HyperShift fixes controllerAvailabilityPolicy when a HostedCluster is made, while infrastructureAvailabilityPolicy may
change and becomes status.infrastructureTopology of the hosted cluster. The numbers of routers and image registries are
written once, when their objects are made (hypershift hostedclusterconfigoperator/controllers/resources/{ingress,
registry}, 2026-08), so two advisories of the operator hold here too. Which HostedCluster it is no object of it says.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from topology_api.types import TopologyTransition
from topology_api.vocabulary import EXTERNAL, AdvisoryName, CheckName, Topology
from topology_controller import shell
from topology_controller.checks import advisories, etcd, load_balancer, operands, result
from topology_controller.decide import assessment, convergence, records
from topology_controller.definitions import operands as matrices
from topology_controller.observe import catalog, facts

from . import answers, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from topology_api.types import TopologyPair
    from topology_controller.definitions import load, model

    from . import consistency

LONE_ROUTER = "LoneRouter"
"""What is expected of a router that is alone."""
REQUIRED: Final = AdvisoryName.ROUTER_REPLICAS_PINNED.value
"""The one that always can be followed; whether a second registry can run depends on its storage."""
_HOLD: Final = frozenset({REQUIRED, AdvisoryName.IMAGE_REGISTRY_REPLICAS_FIXED.value})
_PATCH: Final = (
    "oc -n NAMESPACE patch hostedcluster NAME --type merge "
    """-p '{"spec":{"infrastructureAvailabilityPolicy":"HighlyAvailable"}}'"""
)


def disruption(
    known: facts.Facts,
    definition: model.Definition,
    source: TopologyPair,
    transitions: load.Transitions,
    left: Mapping[CheckName, str],
) -> list[answers.Expected]:
    """What happens on the way, in its order. `left`: checks that wait for an administrator, with the advisory."""
    asked = {spec.check for spec in definition.convergence.checks}
    asking = [group for group in transitions.matrix.groups if group.check in asked]
    target, item = definition.target.pair, simulate.item
    is_alone = definition.changes_control_plane and load_balancer.router_alone(known)
    blocked = "Minor upgrades are blocked from the request until the transition is completed. Patch upgrades are not"
    no_return = "The change of the topology cannot be undone; before it the request can be cancelled at any time"
    return [
        *_two_voters(known, definition),
        item("UpgradesBlocked", f"{blocked}: do not start one"),
        item("PointOfNoReturn", no_return),
        _machine_config(known, asking, source, target),
        *([item(LONE_ROUTER, result.worded("RouterAlone"), load_balancer.TWO_ROUTERS)] if is_alone else []),
        *_static_pods(asking, source, target),
        *_replicas(known, asking, source, target, left),
        item("Duration", _duration(known, definition)),
    ]


def _duration(known: facts.Facts, definition: model.Definition) -> str:
    """How long it usually takes and whose figure that is, and when it is overdue, with nodes that have yet to join."""
    here, figures = known.infrastructure, definition.convergence
    each = figures.machine_minutes.get(here.platform or "", 0) if isinstance(here, facts.Infrastructure) else 0
    least = figures.deadline_minutes + each * max(spec.at_least or 0 for spec in definition.preflight)
    minutes = max(convergence.minutes(definition, known) // timedelta(minutes=1), least)
    record = here.record if isinstance(here, facts.Infrastructure) else None
    last = record.last_transition if isinstance(record, TopologyTransition) else None
    usual, estimate = assessment.typical(definition, last), f" (the estimate of definition {definition.name})"
    source = estimate if assessment.took(definition, last) is None else ""
    unread = "at least " if each and isinstance(known.machine_config_pools, facts.Unobserved) else ""
    text = f"overdue {unread}{minutes} min after the change; nothing is rolled back then"
    text = f"{usual}{source}, {text}" if usual else text
    return f"{text[0].upper()}{text[1:]}"


def _two_voters(known: facts.Facts, definition: model.Definition) -> Iterator[answers.Expected]:
    wanted = next((spec.at_least for spec in definition.preflight if spec.check is CheckName.ETCD_VOTING_MEMBERS), None)
    if wanted is None:
        return
    members = etcd.members(known)
    if isinstance(members, facts.Unobserved):
        yield simulate.item("TwoVoters", f"How many voters etcd has is not known: {members}")
    elif len(members) < min(wanted, 3):
        has = ("no voters that are known of", "one voter", "two voters")[len(members)]
        join = "the third node" if len(members) == 2 else "the second and the third node"
        danger = "With two, the loss of either node ends the quorum, and with it the API"
        hurry = f"let {join} join without delay, and take the backup before"
        yield simulate.item("TwoVoters", f"etcd has {has}. {danger}: {hurry}")


def _machine_config(
    known: facts.Facts, asking: list[matrices.Group], source: TopologyPair, target: TopologyPair
) -> answers.Expected:
    pools = next((group for group in asking if group.check is CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT), None)
    if pools is None or matrices.same(pools.variant, pools.topology(source), pools.topology(target)):
        none = "No machine configuration follows this change: no node restarts because of it"
        return simulate.item("NoReboots", none)
    names = operands.node_names(known)
    count = "" if isinstance(names, facts.Unobserved) else f". In pool master they are {', '.join(names)} now"
    every = "Every machine config pool gets another machine configuration"
    return simulate.item("Reboots", f"{every}: in each its nodes are drained and restart one after the other{count}")


def _static_pods(
    asking: list[matrices.Group], source: TopologyPair, target: TopologyPair
) -> Iterator[answers.Expected]:
    changed = []
    for group in asking:
        pairs = group.topology(source), group.topology(target)
        pods = [operand for operand in group.operands if operand.kind == "StaticPods"]
        changed += [group.operator_of(pod) for pod in pods if not matrices.same(pod.variant, *pairs)]
    if changed:
        revisions = "a new revision on every control-plane node, one after the other"
        cut = "Watches of the API are cut then, and go on at another node"
        yield simulate.item("Revisions", f"{', '.join(changed)}: {revisions}. {cut}")


def _replicas(
    known: facts.Facts,
    asking: list[matrices.Group],
    source: TopologyPair,
    target: TopologyPair,
    left: Mapping[CheckName, str],
) -> Iterator[answers.Expected]:
    for group in asking:
        if isinstance(operands.absence(known, group), str):
            continue
        advisory = left.get(group.check)
        unless = f", once advisory {advisory} is seen to" if advisory else ""
        for operand in group.operands:
            name, workload = f"{operand.namespace}/{operand.name}", known.operand(operand.key)
            if operand.optional and isinstance(workload, facts.Unobserved) and workload.missing:
                continue  # what a site has turned off does not come with the change
            if operand.replicas == "perControlPlaneNode" and group.topology(source) != group.topology(target):
                yield simulate.item("Replicas", f"{name}: one for each control-plane node{unless}")
            elif isinstance(operand.replicas, dict):
                before, after = (operands.at(operand, group.topology(pair)) for pair in (source, target))
                if isinstance(before, int) and isinstance(after, int) and before != after:
                    yield simulate.item("Replicas", f"{name}: {before} to {after}{unless}")


def checklist(known: facts.Facts, definition: model.Definition, source: TopologyPair) -> list[answers.Expected]:
    """What an administrator has to do beforehand, because no check can verify it."""
    items = [_backup(known)]
    outside, why = load_balancer.managed_outside(known.infrastructure)
    grows = source.control_plane == Topology.SINGLE_REPLICA and definition.target.control_plane != source.control_plane
    if outside and grows:
        backends = (
            f"{why}. Yours must point to every control-plane node: API on 6443 (health check /readyz), machine "
            "config server on 22623 (from inside only); ingress on 80 and 443 to every node that runs a router"
        )
        names = "api, api-int and *.apps must resolve to that load balancer"
        dns = simulate.item("DNS", f"{names}, and no longer to the address of the single node")
        items += [simulate.item("LoadBalancer", backends), dns]
    return items


def _backup(known: facts.Facts) -> answers.Expected:
    own = known.own_operator
    newest = None if isinstance(own, facts.Unobserved) else own.backup_time
    last = "No backup is known" if newest is None else f"The newest known backup is from {answers.stamp(newest)}"
    nodes = facts.readable(known.control_plane_nodes)
    ready = next((node.name for node in nodes if node.ready == "True" and not node.deleting), "NODE")
    again = "Take an etcd backup now, and another one once it is completed"
    message = f"{again}: one from before the change brings the old topology back. {last}"
    command = shell.command(
        "oc debug node/{} -- chroot /host /usr/local/bin/cluster-backup.sh /home/core/assets/backup", ready
    )
    return simulate.item("EtcdBackup", message, command)


def hosted_sources(infrastructure: facts.Infrastructure, transitions: load.Transitions) -> tuple[catalog.Source, ...]:
    """What `add_hosted` goes by, besides Infrastructure: nothing but where two of something are wanted."""
    if (infrastructure.control_plane, infrastructure.infrastructure) != (EXTERNAL, Topology.HIGHLY_AVAILABLE):
        return ()
    group = transitions.matrix.group(CheckName.IMAGE_REGISTRY_REPLICAS)
    registry = group.managed_by.key if group is not None and group.managed_by is not None else None
    configured = [source for source in catalog.operands(transitions) if source.key == registry]
    return (catalog.Sources.cluster_version, catalog.Sources.ingress_controller, *configured)


def hosted_steps(infrastructure: facts.Infrastructure) -> list[answers.Expected]:
    """What can be done on the management cluster; nothing where there is nothing left to ask for."""
    if (infrastructure.control_plane, infrastructure.infrastructure) != (EXTERNAL, Topology.SINGLE_REPLICA):
        return []
    message = (
        "Routers and the image registry keep the numbers that they were made with; oc topology audit shows their "
        "commands afterwards. To make infrastructureTopology HighlyAvailable, on the management cluster"
    )
    return [simulate.item("HostedCluster", message, _PATCH)]


def add_hosted(
    answer: answers.Plan | answers.Overview | consistency.Audit,
    known: facts.Facts,
    here: facts.Infrastructure,
    transitions: load.Transitions,
    now: datetime,
) -> None:
    """Add what was fixed when a hosted cluster was made and no longer fits, and what its management cluster can do."""
    if here.control_plane != EXTERNAL:
        return
    every = advisories.advise(known, records.pair(here), transitions.matrix, None, now)
    left = [each for each in every if each.name in _HOLD]
    answer["advisories"] = [simulate.item(each.name, each.message, each.command) for each in left]
    answer["required"] = [each.name for each in left if each.name == REQUIRED]
    answer["next"] = hosted_steps(here)
