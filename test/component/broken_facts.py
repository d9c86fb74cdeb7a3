"""Facts that are spoilt and repaired through the API, one at a time, and what must be seen of each.

`test_one_fact_broken` does it before the change, `test_one_operand_behind` after it. A `Case` is one fact; the
functions here make the two changes that it consists of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from test.component import cluster, machine_world
from topology_simulator import cluster as simulated
from topology_simulator import conditions, configured, kinds, machine_api, machines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from test.component.world import World
    from topology_simulator import client

    Change = Callable[[client.Client], Awaitable[object]]

VOTERS = {simulated.member_id(name): machines.address(machines.number_of(name)) for name in cluster.MASTERS}
LAST = simulated.member_id("master-2")
ROLE = machines.LABEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How a fact is spoilt and repaired, which check must fail, and a part of what it must have found.

    `also` are checks that look at the same fact and fail with it.
    """

    id: str
    check: str
    found: str
    spoil: Change
    repair: Change
    status: str = "Unmet"
    also: tuple[str, ...] = ()


def condition(kind: kinds.Kind, name: str, type_: str, status: str) -> Change:
    """Set one condition."""
    return lambda api: cluster.set_conditions(api, kind, name, conditions.Condition(type_, status, "Told", "by a test"))


def without(kind: kinds.Kind, name: str, type_: str) -> Change:
    """Take one condition away."""
    return lambda api: cluster.set_conditions(api, kind, name, without=(type_,))


def paused_pool(name: str, *, paused: bool) -> Change:
    """Pause a machine config pool, or not, as its operator takes note of it."""

    async def change(api: client.Client) -> None:
        made = await api.patch(kinds.MACHINE_CONFIG_POOLS, name, {"spec": {"paused": paused}})
        seen = {"observedGeneration": made["metadata"]["generation"]}
        await api.patch_status(kinds.MACHINE_CONFIG_POOLS, name, seen)

    return change


def node(name: str, **change: object) -> Change:
    """Merge-patch a node."""
    return lambda api: api.patch(kinds.NODES, name, change)


def labelled(name: str, role: str, value: str | None) -> Change:
    """Give or take a role."""
    return node(name, metadata={"labels": {ROLE + role: value}})


def ready(*, ready: bool) -> Change:
    """Let master-2 be Ready or not."""
    return lambda api: cluster.set_ready(api, "master-2", ready=ready)


def endpoints(**data: str | None) -> Change:
    """Merge into the endpoints."""
    return lambda api: cluster.set_endpoints(api, dict(data))


async def endpoints_by_node_name(api: client.Client) -> None:
    """What the etcd operator writes when it could not list the members."""
    by_name = dict(zip(cluster.MASTERS, VOTERS.values(), strict=True))
    await cluster.set_endpoints(api, {**dict.fromkeys(VOTERS), **by_name})


async def endpoints_by_member_id(api: client.Client) -> None:
    """What it writes otherwise."""
    await cluster.set_endpoints(api, {**VOTERS, **dict.fromkeys(cluster.MASTERS)})


async def delete_machine(api: client.Client) -> None:
    """The Machine of a node is being deleted; the others have none."""
    await machine_world.add(api, "master-1")
    await machine_world.delete(api, kinds.MACHINES, machine_api.machine_name("master-1"))


async def finish_deletion(api: client.Client) -> None:
    """And is gone."""
    await machine_world.let_go(api, kinds.MACHINES, machine_api.machine_name("master-1"))
    await machine_world.until_gone(api, kinds.MACHINES, machine_api.machine_name("master-1"))


async def delete_operators(api: client.Client) -> None:
    """A cluster without operators."""
    for name in configured.OPERATORS:
        await api.delete(kinds.CLUSTER_OPERATORS, name)


async def one_operator(api: client.Client) -> None:
    """And with one again."""
    made = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "dns"}, "spec": {}}
    await api.create(kinds.CLUSTER_OPERATORS, made)
    status = {"conditions": conditions.written(conditions.steady("dns"))}
    await api.patch_status(kinds.CLUSTER_OPERATORS, "dns", status)


async def delete_node(api: client.Client) -> None:
    """A third node that is not there."""
    await api.delete(kinds.NODES, "master-2")


async def begin_deleting(api: client.Client) -> None:
    """A node that is being deleted, and held back by a finalizer."""
    await api.patch(kinds.NODES, "master-2", {"metadata": {"finalizers": ["example.com/hold"]}})
    await api.delete(kinds.NODES, "master-2")


async def register_again(api: client.Client) -> None:
    """And the one that comes in its place."""
    await api.patch(kinds.NODES, "master-2", {"metadata": {"finalizers": None}})
    await cluster.add_node(api, "master-2")


async def restore_lease(api: client.Client) -> None:
    """The lease as the etcd operator makes it."""
    meta = {"name": simulated.ETCD_LEASE, "namespace": simulated.ETCD_OPERATOR_NAMESPACE}
    spec = simulated.lease_spec("etcd-operator", 1)
    made = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
    await api.create(kinds.LEASES, made)


def lease(**spec: object) -> Change:
    """Change the lease of the etcd operator."""
    return lambda api: api.patch(kinds.LEASES, simulated.ETCD_LEASE, {"spec": spec}, simulated.ETCD_OPERATOR_NAMESPACE)


def schedulable(*, wanted: bool) -> Change:
    """Set Scheduler's mastersSchedulable."""
    return lambda api: api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": wanted}})


async def until_failing(world: World, case: str, *checks: str) -> list[dict[str, Any]]:
    """Wait until exactly these checks are not Met, and return all checks."""

    def exactly(status: dict[str, Any]) -> bool:
        found = (status.get("topologyTransition") or {}).get("checks") or []
        return {one["name"] for one in found if one["status"] != "Met"} == set(checks) if found else False

    status = await world.until(f"{case}: exactly {', '.join(checks)} not Met", exactly)
    found: list[dict[str, Any]] = status["topologyTransition"]["checks"]
    return found
