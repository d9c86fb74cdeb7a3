"""The etcd operator: every Ready control-plane node becomes a voter, one at a time, by way of learner.

A learner is a started member, so EtcdMembersProgressing is False again while it still learns; only the endpoints
ConfigMap tells voters. No member is added while one is unhealthy. Here the members are pretended: the ConfigMap is all
there is. `real_etcd_operator` has processes behind it.

Where Machines are in use it goes by them, and says nothing about a node that it leaves out. What it decides by them are
pure functions, from openshift/cluster-etcd-operator at b4786ae3: pkg/operator/ceohelpers/machine_api.go (`functional`),
ceohelpers/common.go (addresses and hooks), clustermembercontroller (`may_join`), machinedeletionhooks (`hooked`),
clustermemberremovalcontroller (`leaving`), and the label selector of pkg/operator/starter.go (`considered`).
"""

from collections.abc import Collection, Iterable
from typing import Any

from topology_simulator import cluster, conditions, kinds, machine_api

from . import actor


class EtcdOperator(actor.Actor):
    """Keeps etcd's membership."""

    agent = "cluster-etcd-operator"
    watched = (
        kinds.INFRASTRUCTURES, kinds.NODES, kinds.CONFIG_MAPS, kinds.ETCDS, kinds.CLUSTER_OPERATORS, kinds.MACHINES,
    )  # fmt: skip

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._learner = ""
        self._starting = ""

    async def step(self) -> None:
        """Renew the lease, and look at the members."""
        endpoints = self.mirror.get(kinds.CONFIG_MAPS, cluster.ETCD_ENDPOINTS, cluster.ETCD_NAMESPACE)
        etcd = self.mirror.get(kinds.ETCDS, "cluster")
        if endpoints is None or etcd is None:
            return
        if self.waits.every("lease", self.pace.lease_renew):
            # The drains after the change start it again, and then it chooses by the new topology.
            seconds = 270 if self.single else 137
            renewed = {"spec": {"renewTime": conditions.now_micro(), "leaseDurationSeconds": seconds}}
            await self.api.patch(kinds.LEASES, cluster.ETCD_LEASE, renewed, cluster.ETCD_OPERATOR_NAMESPACE)
        await self._look(endpoints, etcd)

    async def _look(self, endpoints: dict[str, Any], etcd: dict[str, Any]) -> None:
        """Grow or shrink by one, say how it stands."""
        voters = await self._remove_gone(endpoints)
        masters = self._masters()
        members = voters | ({self._learner} & set(masters))
        unhealthy = tuple(sorted(name for name in members if not conditions.is_true(masters[name], "Ready")))
        if not unhealthy:
            await self._grow(endpoints, voters)
        if (left := self._left(voters, unhealthy)) and self.waits.over(("left", left), self.pace.etcd_sync):
            await self.patch(kinds.CONFIG_MAPS, endpoints, {"data": {cluster.member_id(left): None}})
        await self._hook({self.address(name) for name in {*self._voters(endpoints), self._learner} - {""}})
        await self._tell(etcd, unhealthy)

    # -- what it does about Machines

    @property
    def _machines(self) -> list[dict[str, Any]]:
        return considered(self.mirror.all(kinds.MACHINES))

    def _may_join(self, name: str) -> bool:
        return may_join(self.address(name), self._machines)

    def _is_leaving(self, name: str) -> bool:
        return is_leaving(self.address(name), self._machines)

    def _left(self, voters: set[str], unhealthy: tuple[str, ...]) -> str:
        spec = (self.mirror.get(kinds.ETCDS, "cluster") or {}).get("spec") or {}
        desired = ((spec.get("observedConfig") or {}).get("controlPlane") or {}).get("replicas") or 0
        names = {self.address(name): name for name in voters}
        healthy = {address for address, name in names.items() if name not in unhealthy}
        gone = None if self._installing() else leaving(self._machines, names.keys(), healthy, desired)
        return names.get(gone or "", "")

    async def _hook(self, members: set[str]) -> None:
        """Hold up the drain of every Machine, until it leaves and has no member any more."""
        machines = self._machines
        if not functional(machines):
            return
        for machine in machines:
            hooks = hooked(machine, members)
            if hooks is not None:
                await self.patch(kinds.MACHINES, machine, {"spec": {"lifecycleHooks": {"preDrain": hooks}}})

    def address(self, name: str) -> str:
        """Return the InternalIP that a control-plane node is known by, empty when it has not said one yet."""
        given = machine_api.internal_addresses(self._masters().get(name, {}))
        return given[0] if given else ""

    # -- members

    def _voters(self, endpoints: dict[str, Any]) -> set[str]:
        ids = endpoints.get("data") or {}
        return {name for name in self._masters() if cluster.member_id(name) in ids}

    def _masters(self) -> dict[str, dict[str, Any]]:
        return {node["metadata"]["name"]: node for node in self.nodes_with("master")}

    async def _remove_gone(self, endpoints: dict[str, Any]) -> set[str]:
        voters = self._voters(endpoints)
        gone = set(endpoints.get("data") or {}) - {cluster.member_id(name) for name in voters}
        for member in sorted(gone):
            if self.waits.over(("gone", member), self.pace.etcd_sync):
                await self.patch(kinds.CONFIG_MAPS, endpoints, {"data": {member: None}})
        if self._learner and (self._learner not in self._masters() or self._is_leaving(self._learner)):
            self._learner = ""
        return voters

    async def _grow(self, endpoints: dict[str, Any], voters: set[str]) -> None:
        masters = self._masters()
        if self._learner in voters:
            self._learner = ""
        if self._learner:
            await self._promote(endpoints)
            return
        ready = [n for n, node in masters.items() if n not in voters and conditions.is_true(node, "Ready")]
        ready = [name for name in ready if self._may_join(name)]
        self._starting = ready[0] if ready else ""
        if self._starting and self.waits.over(("start", self._starting), self.pace.etcd_start):
            self._learner, self._starting = self._starting, ""
            await self._promote(endpoints)

    async def _promote(self, endpoints: dict[str, Any]) -> None:
        name = self._learner
        if (
            not self.waits.due(("sync", name), self.pace.etcd_sync)
            or name in self.troubles.learners
            or not self._may_join(name)
        ):
            return
        await self.patch(kinds.CONFIG_MAPS, endpoints, {"data": {cluster.member_id(name): self.address(name)}})
        self.waits.clear(("sync", name), "settled")
        self._learner = ""

    async def _tell(self, etcd: dict[str, Any], unhealthy: tuple[str, ...]) -> None:
        endpoints = self.mirror.get(kinds.CONFIG_MAPS, cluster.ETCD_ENDPOINTS, cluster.ETCD_NAMESPACE)
        members = len((endpoints or {}).get("data") or {}) + bool(self._learner)
        starting = (self._starting,) if self._starting else ()
        await self.say(kinds.ETCDS, etcd, cluster.etcd_states(members, unhealthy=unhealthy, starting=starting))
        learning = self._learner if self._learner not in self.troubles.learners else ""
        await self._tell_operator(self._starting or learning, unhealthy)

    async def _tell_operator(self, rolling: str, unhealthy: tuple[str, ...]) -> None:
        """Write the ClusterOperator: Progressing while a member is rolled out, Degraded when one is ill for long."""
        if rolling or (rolling := self._installing()):
            self.waits.clear("settled")
            what = f"etcd on {rolling} is being rolled out"
            await self.say_operator("etcd", *conditions.stated("installer at work", what=what))
        elif self.waits.due("settled", self.pace.etcd_settle):
            await self.say_operator("etcd", *conditions.stated("installer at rest"))
        if unhealthy:
            message = f"EtcdMembersDegraded: {', '.join(unhealthy)} is unhealthy"
            await self._degrade("EtcdMembers_UnhealthyMembers", message)
        else:
            self.waits.clear("unhealthy")
            await self.say_operator("etcd", *conditions.stated("operator not degraded"))

    def _installing(self) -> str:
        """Return the node whose static pod is not at the latest revision."""
        status = (self.mirror.get(kinds.ETCDS, "cluster") or {}).get("status") or {}
        latest = status.get("latestAvailableRevision")
        old = (node["nodeName"] for node in status.get("nodeStatuses") or [] if node.get("currentRevision") != latest)
        return next(old, "")

    async def _degrade(self, reason: str, message: str) -> None:
        if self.waits.due("unhealthy", self.pace.inertia):
            await self.say_operator("etcd", conditions.Condition("Degraded", "True", reason, message))


Object = dict[str, Any]


def considered(machines: Iterable[Object]) -> list[Object]:
    """Return the Machines that the etcd operator lists."""
    return [
        each
        for each in machines
        if (each["metadata"].get("labels") or {}).get(machine_api.ROLE) in machine_api.CONTROL_PLANE
    ]


def functional(machines: Iterable[Object]) -> bool:
    """Whether Machines count at all: one of them runs."""
    return any(machine_api.phase(machine) == "Running" for machine in machines)


def may_join(address: str, machines: Collection[Object]) -> bool:
    """Whether the node with this InternalIP may become a member, or be promoted. If not, only a log at V(2) says so."""
    if not functional(machines):
        return True
    machine = _at(address, machines)
    return machine is not None and not machine_api.leaves(machine) and has_hook(machine)


def is_leaving(address: str, machines: Collection[Object]) -> bool:
    """Whether the Machine with this address is being deleted: a learner there is removed at once."""
    machine = _at(address, machines)
    return functional(machines) and machine is not None and machine_api.leaves(machine) and has_hook(machine)


def has_hook(machine: Object) -> bool:
    """Whether the etcd operator holds the drain of this Machine up."""
    return machine_api.HOOK in _hooks(machine)


def hooked(machine: Object, members: Collection[str]) -> list[dict[str, str]] | None:
    """Return the preDrain hooks that a Machine is to have, None where nothing is to be changed.

    The hook comes to every Machine that stays, and goes once no member is at an address of one that leaves.
    """
    hooks = _hooks(machine)
    if machine_api.leaves(machine):
        housed = set(machine_api.internal_addresses(machine)) & set(members)
        kept = [hook for hook in hooks if hook != machine_api.HOOK]
        return kept if len(kept) < len(hooks) and not housed else None
    return None if has_hook(machine) else [*hooks, dict(machine_api.HOOK)]


def leaving(
    machines: Collection[Object], voters: Collection[str], healthy: Collection[str], desired: int
) -> str | None:
    """Return the address of the voter that is to be removed because its Machine leaves, None when no voter is.

    `voters` and `healthy` are addresses; `desired` is what the install-config said, which grows with no cluster.
    """
    going = {
        address
        for machine in machines
        if machine_api.leaves(machine) and has_hook(machine)
        for address in machine_api.internal_addresses(machine)
        if address in voters
    }
    if not functional(machines) or not desired or len(voters) < desired or not going:
        return None
    ill = going - set(healthy)
    all_are_well = len(healthy) == len(voters)
    if len(healthy) < desired // 2 + 1 or not (ill or all_are_well) or (all_are_well and len(healthy) <= desired):
        return None
    return min(ill or going)


def _hooks(machine: Object) -> list[dict[str, str]]:
    hooks = (machine.get("spec") or {}).get("lifecycleHooks") or {}
    return list(hooks.get("preDrain") or [])


def _at(address: str, machines: Iterable[Object]) -> Object | None:
    return next((machine for machine in machines if address in machine_api.internal_addresses(machine)), None)
