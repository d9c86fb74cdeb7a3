"""One cluster to measure on: an API server of its own, the objects in it, and how a trial is begun and undone.

There are two that are alike. On one the operator works, on the other the floor. A trial is undone in a way that is
legal for an operator at work: first the fact that admitted is taken away, then topology and record are set back in one
write (as after a restored backup), then the request is cancelled where the trial began with a request. On the floor's
side the driver also writes what the operator would have written itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import time
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.kube import errors
from topology_controller.observe import catalog
from topology_simulator import client, cluster, conditions, install, kinds, kubeconfig, machines

from . import lookout

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from . import servers

Raw = dict[str, Any]
DESIRED = "HighlyAvailable"
MEMBERS = 3
# Longer than what the operator reads for itself when a request is gone: a real server may let a list wait for 0.1 s.
QUIET_SECONDS = 0.25
_AT_ONCE = 20
_SINGLE = {"controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica"}
_BEFORE = {"Pending", "Admitting"}


@dataclass(slots=True)
class Side:
    """A cluster with three control-plane nodes. `floor` says that nobody writes here but the driver and the floor."""

    server: servers.MeasuredServer
    api: client.Client
    lookout: lookout.Lookout
    floor: bool = False

    async def add_workers(self, first: int, last: int) -> None:
        """Create worker nodes of about 16 KB with these numbers."""
        free = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for number in range(first, last):
                group.create_task(self._add_worker(number, free))

    async def _add_worker(self, number: int, free: asyncio.Semaphore) -> None:
        async with free:
            made = machines.node(f"worker-{number}", roles=("worker",), ready=True)
            # What other controllers leave behind on a real node.
            made["metadata"]["annotations"] |= {
                f"csi.example.com/volume-{n}": machines.digest(n) * 4 for n in range(14)
            }
            await self.api.create(kinds.NODES, made)

    async def fact(self, *, there: bool) -> None:
        """Let the third etcd member be a voter, or not any more."""
        last = f"master-{MEMBERS - 1}"
        data = {cluster.member_id(last): machines.address(MEMBERS - 1) if there else None}
        await self.api.patch(kinds.CONFIG_MAPS, cluster.ETCD_ENDPOINTS, {"data": data}, cluster.ETCD_NAMESPACE)

    async def ask_for(self, topology: str | None) -> None:
        """Make or cancel the request."""
        await self.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": topology}})

    async def renew_lease(self) -> None:
        """Be the etcd operator that is alive."""
        spec = cluster.lease_spec("etcd-operator", 3)
        await self.api.patch(kinds.LEASES, cluster.ETCD_LEASE, {"spec": spec}, cluster.ETCD_OPERATOR_NAMESPACE)

    def changed(self) -> bool:
        """Has topology moved?"""
        return bool((self.lookout.infrastructure().get("status") or {}).get("controlPlaneTopology") == DESIRED)

    def phase(self) -> str:
        """The phase in the record, "none" without one."""
        return str(self.lookout.record().get("phase", "none"))

    async def set_back(self, record: Raw | None = None, report: Raw | None = None) -> None:
        """Undo a change; `record` and `report` are what the floor's side then shows.

        The operator has to say that it misses the voter before it finds its record gone. Otherwise it may begin the
        next admission with what it knew, read that live evidence differs, and begin none for a minute.
        """
        await self.fact(there=False)
        if not self.floor and self.phase() == "Converging":
            await self.lookout.until(self._missed, "a report that names EtcdVotingMembers")
        await self.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {**_SINGLE, "topologyTransition": None})
        if record is not None:
            await self.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": record})
        if report is not None:
            await self.api.patch_status(kinds.CLUSTER_OPERATORS, "topology", report)

    def _missed(self) -> bool:
        return "EtcdVotingMembers" in conditions.of(self.lookout.report(), "Progressing").get("message", "")

    async def to_pending(self, record: Raw | None = None, report: Raw | None = None, *, quiet: bool = True) -> None:
        """After a change: the request stands, one fact is missing, the echo is there."""
        await self.set_back(record, report)
        seen = self.lookout
        await seen.until(lambda: self.phase() == "Pending" and not self.changed() and seen.echoed(), "Pending")
        if quiet:
            await seen.quiet(QUIET_SECONDS)

    async def to_idle(self, record: Raw | None = None, report: Raw | None = None, *, quiet: bool = True) -> None:
        """After a change: no request, all facts there, no echo."""
        await self.set_back(record, report)
        await self.ask_for(None)
        seen = self.lookout

        def idle() -> bool:
            desired = (seen.infrastructure().get("spec") or {}).get("desiredTopology")
            free = conditions.of(seen.report(), "Upgradeable").get("status") != "False"
            return desired is None and self.phase() == "Idle" and not self.changed() and free and seen.echoed()

        await seen.until(idle, "Idle")
        await self.fact(there=True)
        if quiet:
            await seen.quiet(QUIET_SECONDS)


@contextlib.asynccontextmanager
async def opened(server: servers.MeasuredServer, *, floor: bool = False) -> AsyncIterator[Side]:
    """Install the cluster into an API server, and look on."""
    access = kubeconfig.load(server.admin)
    async with client.Client(access, "bench") as api:
        await install.install(api, cluster.Shape())
        await server.grant(api)
        for number in range(1, MEMBERS):
            name = f"master-{number}"
            made = machines.node(name, roles=("control-plane", "master", "worker"), ready=True)
            made["metadata"]["annotations"] |= cluster.pool_node_annotations("master", "SingleReplica")
            await api.create(kinds.NODES, made)
            await api.patch(kinds.NODES, name, {"spec": {"taints": None}})
        data = {cluster.member_id(f"master-{number}"): machines.address(number) for number in range(MEMBERS)}
        await api.patch(kinds.CONFIG_MAPS, cluster.ETCD_ENDPOINTS, {"data": data}, cluster.ETCD_NAMESPACE)
        states = conditions.written(cluster.etcd_states(MEMBERS))
        await api.patch_status(kinds.ETCDS, "cluster", {"conditions": states})
        if floor:
            skeleton = {"apiVersion": kinds.CLUSTER_OPERATORS.api_version, "kind": "ClusterOperator"}
            await api.create(kinds.CLUSTER_OPERATORS, {**skeleton, "metadata": {"name": "topology"}, "spec": {}})
        async with lookout.Lookout(access, api) as seen:
            await seen.until(lambda: bool(seen.infrastructure()), "an Infrastructure")
            yield Side(server, api, seen, floor)


@dataclass(frozen=True, slots=True)
class Script:
    """What the operator wrote in one trial, for the floor to write the same: taken from what was seen."""

    begun_record: Raw
    begun_report: Raw
    record: Raw
    report: Raw
    change: Raw

    @classmethod
    def of(cls, seen: list[tuple[float, str, Raw]]) -> Script:
        """Read the objects of a trial in the order in which they were seen; the first two are the state before it."""
        infrastructures = [obj for _, plural, obj in seen if plural == kinds.INFRASTRUCTURES.plural]
        records = [one["status"].get("topologyTransition") or {} for one in infrastructures]
        admitted = next(record for record in records if record.get("phase") == "Admitting")
        change = next(one["status"] for one in infrastructures if one["status"]["controlPlaneTopology"] == DESIRED)
        reports = [obj["status"] for _, plural, obj in seen if plural == kinds.CLUSTER_OPERATORS.plural]
        moved = ("controlPlaneTopology", "infrastructureTopology", "topologyTransition")
        return cls(records[0], reports[0], admitted, reports[1], {key: change[key] for key in moved})

    def plan(self) -> Raw:
        """Everything the floor needs to know, as JSON values."""
        said = conditions.of({"status": self.report}, "Upgradeable")["message"]
        transitions = load.load(bindata.root() / "transitions")
        definition = transitions.named(self.record["name"])
        return {
            "idle": [_source(source) for source in catalog.IDLE],
            "evidence": [_source(source) for source in catalog.watched(transitions)],
            "reads": [_read(source) for source in (*catalog.evidence(definition), *catalog.GUARDS)],
            "infrastructure": catalog.INFRASTRUCTURES.path(None, "cluster"),
            "operator": catalog.CLUSTER_OPERATORS.path(None, "topology"),
            "record": copy.deepcopy(self.record),
            "report": copy.deepcopy(self.report),
            "change": copy.deepcopy(self.change),
            "echo": json.dumps(said)[1:-1],
            "voters": MEMBERS,
        }


def _accept(source: catalog.Source, ending: str) -> str:
    if not source.selection.metadata_only:
        return "application/json"
    return f"application/json;as={errors.PARTIAL}{ending};g=meta.k8s.io;v=v1"


def _query(source: catalog.Source, **more: str) -> str:
    chosen = source.selection
    pairs = {"fieldSelector": chosen.field_selector, "labelSelector": chosen.label_selector, **more}
    return urllib.parse.urlencode({key: value for key, value in pairs.items() if value})


def _source(source: catalog.Source) -> Raw:
    path = source.selection.resource.path(source.selection.namespace)
    return {
        "field": source.field,
        "list": f"{path}?{_query(source, limit='5000')}",
        "list_accept": _accept(source, "List"),
        "watch": f"{path}?{_query(source, watch='true', allowWatchBookmarks='true')}",
        "watch_accept": _accept(source, ""),
        "optional": source.selection.optional,
    }


def _read(source: catalog.Source) -> tuple[str, str, bool]:
    chosen = source.selection
    if chosen.name is not None:
        return chosen.resource.path(chosen.namespace, chosen.name), "application/json", True
    path = f"{chosen.resource.path(chosen.namespace)}?{_query(source, limit=str(chosen.page))}"
    return path, _accept(source, "List"), source.enough is None


def unix_of(stamp: float) -> float:
    """Turn a stamp of `perf_counter` into UNIX seconds, which the audit log has."""
    return time.time() - (time.perf_counter() - stamp)
