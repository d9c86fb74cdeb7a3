"""What a transition disturbs, and what nobody but a person can see to.

Everything here follows from the definition and the operand matrix, the same data that the operator waits by: whether a
new machine configuration is rolled out, which static pods get a new revision, who will run more replicas. The rest is a
checklist of what stands outside the cluster, where no check can look. Pure; shown by `plan`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckName, Topology

from ..checks import etcd, groups
from ..decide import convergence
from ..observe import facts
from ..operands import model as matrices
from . import answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topology_api.types import TopologyPair

    from ..transitions import load, model

_QUORUM = 3
_UNBALANCED = frozenset({"None", "External"})
"""Platforms where nobody in the cluster looks after a load balancer or names."""
_BACKUP = "oc debug node/{node} -- chroot /host /usr/local/bin/cluster-backup.sh /home/core/assets/backup"


def changes(source: TopologyPair, target: TopologyPair) -> list[answers.Change]:
    """The fields of Infrastructure's status that the flip would write."""
    return [
        {"field": f"status.{field}", "now": now, "then": then}
        for field, now, then in (
            ("controlPlaneTopology", source.control_plane, target.control_plane),
            ("infrastructureTopology", source.infrastructure, target.infrastructure),
        )
        if now != then
    ]


def disruption(
    known: facts.Facts, definition: model.Definition, source: TopologyPair, transitions: load.Transitions
) -> list[answers.Expected]:
    """What happens to the cluster on the way, in the order in which it happens."""
    asked = {spec.check for spec in definition.convergence.checks}
    asking = [group for group in transitions.matrix.groups if group.check in asked]
    target = definition.target.pair
    found = [*_two_voters(known, definition)]
    found.append(
        _expected(
            "UpgradesHeldBack",
            "From the wish until the transition is completed minor upgrades are held back. Patch upgrades are not: do "
            "not start one",
        )
    )
    found.append(
        _expected(
            "PointOfNoReturn",
            "Once status has moved there is no way back; before that the wish can be withdrawn at any time",
        )
    )
    found += _machine_config(known, asking, source, target)
    found += _static_pods(asking, source, target)
    found += _replicas(known, asking, source, target)
    found.append(
        _expected(
            "Duration",
            f"Deadline: {_minutes(known, definition)} minutes after the change; nothing is rolled back then",
        )
    )
    return found


def _minutes(known: facts.Facts, definition: model.Definition) -> int:
    return convergence.minutes(definition, known) // timedelta(minutes=1)


def _expected(name: str, message: str, command: str = "") -> answers.Expected:
    return {"name": name, "message": message, "command": command}


def _two_voters(known: facts.Facts, definition: model.Definition) -> Iterator[answers.Expected]:
    wanted = next((spec.at_least for spec in definition.preflight if spec.check is CheckName.ETCD_VOTING_MEMBERS), None)
    if wanted is None:
        return
    found = etcd.members(known)
    if isinstance(found, facts.Unobserved):
        yield _expected("TwoVoters", f"How many voters etcd has cannot be told: {found}")
    elif len(found) < min(wanted, _QUORUM):
        has = ("no voters that are known of", "one voter", "two voters")[len(found)]
        join = "the third node" if len(found) == 2 else "the second and the third node"
        yield _expected(
            "TwoVoters",
            f"etcd has {has}. With two, the loss of either node ends the quorum, and with it the API: let {join} join "
            "without delay, and take the backup before",
        )


def _machine_config(
    known: facts.Facts, asking: list[matrices.Group], source: TopologyPair, target: TopologyPair
) -> Iterator[answers.Expected]:
    group = next((one for one in asking if one.check is CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT), None)
    if group is None or matrices.same(group.variant, group.topology(source), group.topology(target)):
        yield _expected("NoReboots", "No machine configuration follows this change: no node restarts because of it")
        return
    names = groups.node_names(known)
    count = "" if isinstance(names, facts.Unobserved) else f". In pool master they are {', '.join(names)} now"
    yield _expected(
        "Reboots",
        "Every machine config pool gets another machine configuration: in each its nodes are drained and restart one "
        f"after the other{count}",
    )


def _static_pods(
    asking: list[matrices.Group], source: TopologyPair, target: TopologyPair
) -> Iterator[answers.Expected]:
    moved = [
        group.operator_of(operand)
        for group in asking
        for operand in group.operands
        if operand.kind == "StaticPods"
        and not matrices.same(operand.variant, group.topology(source), group.topology(target))
    ]
    if moved:
        yield _expected(
            "Revisions",
            f"{', '.join(moved)}: a new revision on every control-plane node, one after the other. Watches of the API "
            "are cut then, and go on at another node",
        )


def _replicas(
    known: facts.Facts, asking: list[matrices.Group], source: TopologyPair, target: TopologyPair
) -> Iterator[answers.Expected]:
    more: list[str] = []
    for group in asking:
        if isinstance(groups.absence(known, group), str):
            continue
        for operand in group.operands:
            name = f"{operand.namespace}/{operand.name}"
            if operand.replicas == "perControlPlaneNode" and group.topology(source) != group.topology(target):
                more.append(f"{name} (one for each control-plane node)")
            elif isinstance(operand.replicas, dict):
                before, after = (groups.at(operand, group.topology(pair)) for pair in (source, target))
                if isinstance(before, int) and isinstance(after, int) and before != after:
                    more.append(f"{name} ({before} to {after})")
    if more:
        yield _expected("Replicas", f"Other operators run more replicas: {', '.join(more)}")


def checklist(known: facts.Facts, definition: model.Definition, source: TopologyPair) -> list[answers.Expected]:
    """What a person has to see to before: no check can."""
    found = [_backup(known)]
    infrastructure = known.infrastructure
    platform = None if isinstance(infrastructure, facts.Unobserved) else infrastructure.platform
    grows = source.control_plane == Topology.SINGLE_REPLICA and definition.target.control_plane != source.control_plane
    if platform in _UNBALANCED and grows:
        found += [
            _expected(
                "LoadBalancer",
                f"On platform {platform} nobody in the cluster looks after a load balancer. It has to lead to every "
                "control-plane node: API on 6443 (healthy by /readyz), machine config server on 22623 (from inside "
                "only); ingress on 80 and 443 to every node that runs a router",
            ),
            _expected(
                "DNS",
                "api, api-int and *.apps have to lead to that load balancer, and no longer to the address of the "
                "single node",
            ),
        ]
    return found


def _backup(known: facts.Facts) -> answers.Expected:
    own, others, masters = known.own_operator, known.cluster_operators, known.control_plane_nodes
    times = [] if isinstance(own, facts.Unobserved) else [own.backup_time]
    if not isinstance(others, facts.Unobserved):
        times += [one.backup_time for one in others if isinstance(one, facts.ClusterOperator) and one.name == "etcd"]
    newest = max((one for one in times if one is not None), default=None)
    said = "None is known of" if newest is None else f"The newest that is known of is from {answers.stamp(newest)}"
    names = [] if isinstance(masters, facts.Unobserved) else [one for one in masters if isinstance(one, facts.Node)]
    home = next((one.name for one in names if one.ready == "True" and not one.deleting), "NODE")
    return _expected(
        "EtcdBackup",
        f"Take a backup of etcd, and another one when it is completed: one from before brings the old topology back. "
        f"{said}",
        _BACKUP.format(node=home),
    )
