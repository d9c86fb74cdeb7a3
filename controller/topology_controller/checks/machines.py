"""Machines: is anything under a control-plane node on its way out or unwell, and why does etcd leave a node out?

The etcd operator decides by Machines, and says so only in a log. `left_out` is its rule: cluster-etcd-operator (main)
pkg/operator/ceohelpers/machine_api.go, IsFunctional; clustermembercontroller/clustermembercontroller.go,
getEtcdPeerURLToAdd; clustermemberremovalcontroller/clustermemberremovalcontroller.go, attemptToScaleDown.

A Machine belongs to a node whose InternalIP it has, as that operator sees it; else to the node that its nodeRef names,
which the machine controller drains. Two Machines may claim one node, and one Machine two nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from topology_api.types import Advisory, TopologyPair
from topology_api.vocabulary import AdvisoryName, CheckStatus, Topology

from .. import shell
from ..observe import facts
from ..observe import nodes as observed
from . import result
from .result import CheckContext, CheckResult, Finding, need

KIND = "machines.machine.openshift.io"  # written out, because `machines` alone may be another API's
LOOK = f"oc -n {observed.NAMESPACE} get {KIND}"
_MIGRATING = "Migrating"
_GOING = frozenset({"deprovisioning", "deleting", "powering off before delete"})
"""States of a host that is being taken away (baremetal-operator apis/metal3.io/v1alpha1/baremetalhost_types.go)."""
_STAYS = "no Machine and no BareMetalHost of a control-plane node on its way out"
_COLUMNS = result.worded("ListMachines", look=LOOK, selector=observed.SELECTOR)
_VOTERS = 3
ADDRESS: Final = "Address"
NODE_REF: Final = "NodeRef"


@dataclass(frozen=True, slots=True)
class Claim:
    """A Machine, a node that it belongs to, and the host that it stands on."""

    machine: observed.Machine
    node: str | None = None
    bound_by: Literal["Address", "NodeRef"] | None = None  # how it belongs to that node
    host: observed.Host | None = None

    @property
    def leaving(self) -> bool:
        """Is the Machine, or the host below it, on its way out?"""
        return bool(self.machine_going or self.host_going)

    @property
    def machine_going(self) -> bool:
        """Does the machine controller take it away?"""
        return self.machine.deleting or self.machine.phase == "Deleting"

    @property
    def host_going(self) -> str:
        """What happens to a host that is taken away; empty when nothing does."""
        if self.host is not None and self.host.deleting:
            return "is being deleted"
        return f"is {self.host.state}" if self.host is not None and self.host.state in _GOING else ""

    @property
    def waits(self) -> bool:
        """Will it bring a control-plane node that is not there yet?"""
        return self.node is None and not (self.machine.arbiter or self.leaving or self.machine.phase == "Failed")


@facts.once
def in_use(known: facts.Facts) -> bool:
    """Does the etcd operator go by Machines here? One that is Running is what it asks for."""
    return any(machine.phase == "Running" for machine in facts.readable(known.machines))


@facts.once
def claims(known: facts.Facts) -> tuple[Claim, ...]:
    """Every Machine that could be read, sorted by name, once for each node that it belongs to."""
    nodes = facts.readable(known.control_plane_nodes)
    names = {node.name for node in nodes} | {node.name for node in facts.readable(known.other_nodes)}
    homes: dict[str, list[str]] = {}
    for node in nodes:
        for address in node.addresses:
            homes.setdefault(address, []).append(node.name)
    by_name = {host.name: host for host in facts.readable(known.hosts)}
    consumed = {host.consumer: host for host in by_name.values() if host.consumer}
    claimed: list[Claim] = []
    for machine in facts.readable(known.machines):
        host = by_name.get(machine.host or "") or consumed.get(machine.name)
        by_address = dict.fromkeys(name for address in machine.addresses for name in homes.get(address, ()))
        claimed += [Claim(machine, name, ADDRESS, host) for name in by_address]
        if machine.node in names and machine.node not in by_address:
            claimed.append(Claim(machine, machine.node, NODE_REF, host))
        elif not by_address:
            claimed.append(Claim(machine, host=host))
    return tuple(claimed)


@facts.once
def left_out(known: facts.Facts) -> dict[str, str]:
    """Control-plane nodes on which the etcd operator adds no member, each with the reason; empty where not in use."""
    if not in_use(known):
        return {}
    reasons: dict[str, str] = {}
    for node in [node for node in facts.readable(known.control_plane_nodes) if node.addresses]:
        address, own = " or ".join(node.addresses), [claim for claim in claims(known) if claim.node == node.name]
        if bound := [claim.machine for claim in own if claim.bound_by == ADDRESS]:
            # Where several have the address the etcd operator takes whichever it finds first.
            reasons[node.name] = next(filter(None, map(_unfit, bound)), "")
        elif own:
            reasons[node.name] = f"Machine {own[0].machine.name} refers to it but lacks its address {address}"
        elif _complete(known):
            reasons[node.name] = f"no Machine in {observed.NAMESPACE} has its address {address}"
    return {name: why for name, why in reasons.items() if why}


def _complete(known: facts.Facts) -> bool:
    """Could every Machine be read? One that could not may be the one that is missed."""
    return isinstance(known.machines, tuple) and len(facts.readable(known.machines)) == len(known.machines)


def _unfit(machine: observed.Machine) -> str:
    lacks = "" if machine.guarded else f"Machine {machine.name} lacks preDrain hook {observed.HOOK}"
    return f"Machine {machine.name} is being deleted" if machine.deleting else lacks


def on_the_way(known: facts.Facts) -> str:
    """The Machines that have no node yet, each with how far it is; empty where Machines are not in use."""
    waiting = [claim for claim in claims(known) if claim.waits] if in_use(known) else []
    coming = []
    for claim in waiting:
        host, phase = claim.host, claim.machine.phase or "no phase yet"
        below = "" if host is None else f"; BareMetalHost {host.name} is {host.state or 'not looked at yet'}"
        coming.append(f"Machine {claim.machine.name} ({phase}{below})")
    return f"on the way: {result.listed(coming)}" if coming else ""


def control_plane(context: CheckContext) -> CheckResult:
    """Nothing under a control-plane node is on its way out: the etcd operator removes the member of such a Machine."""
    # As soon as there are more voters than the install-config says: one on a grown single node.
    known = context.facts
    if isinstance(known.machines, facts.Unobserved):
        if known.machines.missing:
            return context.met(f"Machine API is not in use here: the API server does not serve {KIND}")
        return context.unknown(known.machines)
    names = {node.name for node in need(result.every(known.control_plane_nodes))}
    unread = [item for item in known.machines if isinstance(item, facts.Unobserved)]
    findings = (
        *(_judged(claim, known.hosts) for claim in claims(known) if claim.node in names),
        *(Finding("Machine", item.what, CheckStatus.UNKNOWN, str(item)) for item in unread),
    )
    if not in_use(known) and not unread and not any(finding.status is CheckStatus.UNMET for finding in findings):
        which = f"none of {len(known.machines)} is Running" if known.machines else "there is none"
        return context.met(f"Machine API is not in use here: of Machines with role master or arbiter {which}")
    unmet = [finding for finding in findings if finding.status is CheckStatus.UNMET]
    unknown = [finding.text for finding in findings if finding.status is CheckStatus.UNKNOWN]
    if not unmet and not unknown:
        # Not which ones: that one is replaced by another is no news.
        return context.met("No Machine or BareMetalHost of a control-plane node is on its way out", findings)
    if not unmet:
        return context.unknown(unknown, findings)
    texts = [finding.text for finding in unmet] + [f"cannot tell: {text}" for text in unknown]
    where = " and ".join(dict.fromkeys(finding.where for finding in unmet))
    return context.unmet(_STAYS, texts, f"Look at {where}", findings)


def _judged(claim: Claim, hosts: facts.Fact[tuple[facts.Fact[observed.Host], ...]]) -> Finding:
    machine, subject = claim.machine, f"Machine {claim.machine.name} of node {claim.node}"
    status, text, where = CheckStatus.MET, f"{subject} stays", ""
    if claim.machine_going:
        status, text, where = CheckStatus.UNMET, f"{subject} is being deleted", LOOK
    elif claim.host is not None and claim.host_going:
        status, text = CheckStatus.UNMET, f"BareMetalHost {claim.host.name} of {subject} {claim.host_going}"
        where = f"oc -n {observed.NAMESPACE} get baremetalhosts"
    elif machine.authority == _MIGRATING:
        status, text = CheckStatus.UNKNOWN, f"{subject} is {_MIGRATING}: what is half handed over is not judged"
    elif (unread := _unread_host(machine, hosts)) is not None:
        status, text = CheckStatus.UNKNOWN, f"{subject}: {unread}"
    return Finding("Machine", machine.name, status, text, _STAYS if where else "", where)


def _unread_host(
    machine: observed.Machine, hosts: facts.Fact[tuple[facts.Fact[observed.Host], ...]]
) -> facts.Unobserved | None:
    """The host that it names, if that could not be read; a host that is not there is none."""
    if machine.host is None:
        return None
    if isinstance(hosts, facts.Unobserved):
        return None if hosts.missing else hosts
    own = f"baremetalhosts.metal3.io/{machine.host} in namespace {observed.NAMESPACE}"  # as `Resource.describe` has it
    return next((item for item in hosts if isinstance(item, facts.Unobserved) and item.what == own), None)


def advise(known: facts.Facts, target: TopologyPair) -> Iterator[Advisory]:
    """Yield what is missing or unwell under the control plane, in the order of `AdvisoryName`."""
    if not in_use(known):
        return
    if homeless := missing(known):
        values = {"namespace": observed.NAMESPACE, "nodes": result.listed(homeless)}
        yield result.advisory(AdvisoryName.CONTROL_PLANE_MACHINE_MISSING, _COLUMNS, **values)
    if troubles := dict(_troubles(known)):
        name, command = AdvisoryName.CONTROL_PLANE_HOST_TROUBLE, next(iter(troubles.values()))
        yield result.advisory(name, command, troubles=result.listed(troubles))
    etcd = known.etcd
    wanted = None if isinstance(etcd, facts.Unobserved) else etcd.desired_replicas
    if target.control_plane == Topology.HIGHLY_AVAILABLE and wanted is not None and wanted < _VOTERS:
        command, several = "oc -n kube-system get configmap cluster-config-v1 -o yaml", "" if wanted == 1 else "s"
        values = {"wanted": f"{wanted} member{several}", "voters": str(_VOTERS)}
        yield result.advisory(AdvisoryName.ETCD_REPLICAS_BEHIND, command, **values)


def missing(known: facts.Facts) -> tuple[str, ...]:
    """Control-plane nodes to which no Machine belongs by its address, sorted; none while Machines are not all read."""
    if not _complete(known):
        return ()
    bound = {claim.node for claim in claims(known) if claim.bound_by == ADDRESS}
    masters = (node for node in facts.readable(known.control_plane_nodes) if node.master and node.addresses)
    return tuple(sorted(node.name for node in masters if node.name not in bound))


def _troubles(known: facts.Facts) -> Iterator[tuple[str, str]]:
    """Yield what is wrong under a control-plane node, with the command that shows it; one thing for each Machine."""
    nodes = {node.name: node for node in facts.readable(known.control_plane_nodes)}
    for claim in [claim for claim in claims(known) if claim.node in nodes]:
        node, machine, host = nodes[claim.node or ""], claim.machine, claim.host
        below = f"of Machine {machine.name}, node {node.name}"
        if host is not None and host.failed:
            text = f"BareMetalHost {host.name} {below}, is in error: {host.trouble or 'no message'}"
            yield text, _describe("baremetalhost", host.name)
        elif machine.phase == "Failed":
            text = f"Machine {machine.name} of node {node.name} is Failed: {machine.trouble or 'no message'}"
            yield text, _describe(KIND, machine.name)
        elif host is not None and node.ready == "True" and not host.powered_on:
            text = f"BareMetalHost {host.name} {below}, is powered off, and the node is Ready"
            yield text, _describe("baremetalhost", host.name)


def _describe(kind: str, name: str) -> str:
    return shell.command("oc -n {} describe {} {}", observed.NAMESPACE, kind, name)
