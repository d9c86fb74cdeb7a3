"""Advisories about what stands under the control plane, where Machines are in use.

None of it keeps a topology from changing: `checks.machines` asks whether something is on its way out, and this is about
what is not there, or not well. `checks.advisories` puts them behind the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import AdvisoryName, Topology

from .. import shell
from ..observe import facts
from ..observe import machines as observed
from . import machines, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topology_api.types import Advisory, TopologyPair

_COLUMNS = (
    f"{machines.LOOK} -l '{observed.SELECTOR}' -o custom-columns="
    "'NAME:.metadata.name,PHASE:.status.phase,NODE:.status.nodeRef.name,ADDRESSES:.status.addresses[*].address'"
)
_VOTERS = 3
"""Members that a highly available control plane has at least."""


def advise(known: facts.Facts, target: TopologyPair) -> Iterator[Advisory]:
    """Yield them in the order of `AdvisoryName`; nothing where no Machine is Running."""
    if not machines.in_use(known):
        return
    whole = {node.name: node for node in facts.readable(known.control_plane_nodes)}
    homeless = missing(known)
    if homeless:
        yield result.advisory(
            AdvisoryName.CONTROL_PLANE_MACHINE_MISSING,
            f"The etcd operator goes by Machines on this cluster, and no Machine in {observed.NAMESPACE} has the "
            f"address of {result.listed(homeless)}. It adds no etcd member on such a node, and does not say so. Give "
            "each of them a Machine with role master and the address of the node",
            _COLUMNS,
        )
    troubles = dict(_troubles(known, whole))
    if troubles:
        yield result.advisory(
            AdvisoryName.CONTROL_PLANE_HOST_TROUBLE,
            f"What stands under a control-plane node needs a look. {result.listed(troubles)}",
            next(iter(troubles.values())),
        )
    etcd = known.etcd
    wanted = None if isinstance(etcd, facts.Unobserved) else etcd.desired_replicas
    if target.control_plane == Topology.HIGHLY_AVAILABLE and wanted is not None and wanted < _VOTERS:
        yield result.advisory(
            AdvisoryName.ETCD_REPLICAS_BEHIND,
            f"The etcd operator wants {wanted} member{'' if wanted == 1 else 's'}: it reads the number from the "
            "install-config, which nothing updates. So it will remove the member of a control-plane Machine that is "
            f"deleted at once, while there are more, and not wait for another one. Delete no such Machine while etcd "
            f"has {_VOTERS} voters or fewer. The command shows the number; no supported way to change it is known",
            "oc -n kube-system get configmap cluster-config-v1 -o yaml",
        )


def missing(known: facts.Facts) -> tuple[str, ...]:
    """Control-plane nodes to which no Machine belongs by its address, sorted; none while Machines are not all read."""
    if isinstance(known.machines, facts.Unobserved) or len(facts.readable(known.machines)) != len(known.machines):
        return ()
    bound = {claim.node for claim in machines.claims(known) if claim.bound_by is machines.BoundBy.ADDRESS}
    masters = (node for node in facts.readable(known.control_plane_nodes) if node.master and node.addresses)
    return tuple(sorted(node.name for node in masters if node.name not in bound))


def _troubles(known: facts.Facts, nodes: dict[str, facts.Node]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong under a control-plane node, with the command that shows it; one thing for each Machine."""
    for claim in machines.claims(known):
        node, machine, host = nodes.get(claim.node or ""), claim.machine, claim.host
        if node is None:
            continue
        below = f"of Machine {machine.name}, node {node.name}"
        if host is not None and host.failed:
            text = f"BareMetalHost {host.name} {below}, is in error: {host.trouble or 'no message'}"
            yield text, _describe("baremetalhost", host.name)
        elif machine.phase == "Failed":
            text = f"Machine {machine.name} of node {node.name} is Failed: {machine.trouble or 'no message'}"
            yield text, _describe(machines.KIND, machine.name)
        elif host is not None and node.ready == "True" and not host.powered_on:
            yield (
                f"BareMetalHost {host.name} {below}, is powered off, and the node is Ready",
                _describe("baremetalhost", host.name),
            )


def _describe(kind: str, name: str) -> str:
    return shell.command("oc -n {} describe {} {}", observed.NAMESPACE, kind, name)
