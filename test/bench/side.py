"""One cluster to measure on: its objects, who looks on, and how a trial is begun and undone.

Who looks on is independent of the operator: bare watches of the three objects that a transition writes, each line
stamped before it is decoded. It also answers as the version operator would, at once, because without an echo nothing is
admitted. A trial is undone in a way that is legal for an operator at work: first the fact that admitted is taken away,
then topology and record are set back in one write (as after a restored backup), then the request is cancelled where the
trial began with a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp

from topology_simulator import client, cluster, conditions, install, kinds, kubeconfig, machines, operands

from . import processes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable

    from . import servers

Raw = dict[str, Any]
DESIRED = "HighlyAvailable"
MEMBERS = 3
# Longer than what the operator reads for itself when a request is gone: a real server may let a list wait for 0.1 s.
QUIET_SECONDS = 0.25
_SETTLED_SECONDS = 1.5
_SINGLE = {"controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica"}
_WATCHED = (
    (kinds.INFRASTRUCTURES, "cluster"),
    (kinds.CLUSTER_OPERATORS, "topology"),
    (kinds.CLUSTER_VERSIONS, "version"),
)
_ECHO = "Cluster operator topology should not be upgraded between minor versions: "


class Lookout:
    """`now` maps a plural to the object as last seen; `moved` is when anything was last seen."""

    def __init__(self, session: aiohttp.ClientSession, url: str, api: client.Client) -> None:
        self.now: dict[str, Raw] = {}
        self.seen: list[tuple[str, Raw]] = []
        self.moved = 0.0
        self._session = session
        self._url = url
        self._api = api
        self._news = asyncio.Event()
        self._asked = asyncio.Event()

    def infrastructure(self) -> Raw:
        """Infrastructure `cluster` as last seen; empty before that."""
        return self.now.get(kinds.INFRASTRUCTURES.plural, {})

    def record(self) -> Raw:
        """Our record in it, empty when there is none."""
        return (self.infrastructure().get("status") or {}).get("topologyTransition") or {}

    def report(self) -> Raw:
        """ClusterOperator `topology` as last seen."""
        return self.now.get(kinds.CLUSTER_OPERATORS.plural, {})

    def echoed(self) -> bool:
        """Does ClusterVersion repeat what ClusterOperator `topology` says of upgrades?"""
        said = conditions.find(self.report(), "Upgradeable")
        heard = conditions.find(self.now.get(kinds.CLUSTER_VERSIONS.plural), "Upgradeable")
        if said.get("status") != "False":
            return not heard
        return heard.get("message") == _ECHO + str(said.get("message"))

    async def until(self, holds: Callable[[], bool], what: str, seconds: float = 20.0) -> float:
        """Wait until something holds; returns the stamp of the event that made it so. Raises BenchError."""
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            found = json.dumps(self.record())[:1500]
            raise processes.BenchError(f"waited {seconds:g} s in vain: {what}; the record is {found}") from None
        return self.moved

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing has been seen for so long."""
        while (left := self.moved + seconds - time.perf_counter()) > 0:  # noqa: ASYNC110 - time is what is waited for
            await asyncio.sleep(left)

    async def watch(self, kind: kinds.Kind, name: str) -> None:
        """See what becomes of an object, by a watch an hour. Raises BenchError when one fails."""
        while True:
            query = {"fieldSelector": f"metadata.name={name}", "timeoutSeconds": "3600"}
            async with self._session.get(self._url + kind.path(), params=query) as response:
                listing = await response.json()
            for item in listing["items"]:
                if item != self.now.get(kind.plural):
                    self._take(kind, item, time.perf_counter())
            query |= {"watch": "true", "resourceVersion": listing["metadata"]["resourceVersion"]}
            async with self._session.get(self._url + kind.path(), params=query) as response:
                async for line in response.content:
                    stamp = time.perf_counter()
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise processes.BenchError(f"the watch of {kind.plural} failed: {event['object']}")
                    if event["type"] == "DELETED":
                        self._take(kind, {}, stamp)
                    elif event["type"] != "BOOKMARK":
                        self._take(kind, event["object"], stamp)

    def _take(self, kind: kinds.Kind, obj: Raw, stamp: float) -> None:
        self.now[kind.plural] = obj
        self.moved = stamp
        self.seen.append((kind.plural, obj))
        self._news.set()
        if kind is kinds.CLUSTER_OPERATORS:
            self._asked.set()

    async def answer(self) -> None:
        """Be the version operator: repeat the block, or take it away."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            version = self.now.get(kinds.CLUSTER_VERSIONS.plural)
            if not version or self.echoed():
                continue
            said = conditions.find(self.report(), "Upgradeable")
            blocked = said.get("status") == "False"
            wanted = [conditions.Condition("Upgradeable", "False", "Blocked", _ECHO + str(said.get("message")))]
            found = conditions.merged(version, wanted if blocked else [], () if blocked else ("Upgradeable",))
            if found is not None:
                await self._api.patch_status(kinds.CLUSTER_VERSIONS, "version", {"conditions": found})


@dataclass(slots=True)
class Side:
    """A cluster with three control-plane nodes."""

    server: servers.MeasuredServer
    api: client.Client
    lookout: Lookout

    async def add_workers(self, first: int, last: int) -> None:
        """Create worker nodes of about 16 KB with these numbers."""
        # What other controllers leave behind on a real node.
        left = {f"csi.example.com/volume-{n}": machines.digest(n) * 4 for n in range(14)}
        for number in range(first, last):
            made = machines.node(f"worker-{number}", roles=("worker",), ready=True)
            made["metadata"]["annotations"] |= left
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
        spec = operands.lease_spec("etcd-operator", 3)
        await self.api.patch(kinds.LEASES, cluster.ETCD_LEASE, {"spec": spec}, cluster.ETCD_OPERATOR_NAMESPACE)

    def changed(self) -> bool:
        """Has topology moved?"""
        return bool((self.lookout.infrastructure().get("status") or {}).get("controlPlaneTopology") == DESIRED)

    def phase(self) -> str:
        """The phase in the record, "none" without one."""
        return str(self.lookout.record().get("phase", "none"))

    async def to_pending(self) -> None:
        """Undo a change, or bring about the state: the request stands, one fact is missing, the echo is there."""
        if self.changed():
            await self._set_back()
        else:
            await self.ask_for(None)
            await self.fact(there=False)
            await self.ask_for(DESIRED)
        seen = self.lookout
        await seen.until(lambda: self.phase() == "Pending" and not self.changed() and seen.echoed(), "Pending")
        await seen.quiet(QUIET_SECONDS)

    async def to_idle(self) -> None:
        """Undo a change, or bring about the state: no request, all facts there, no echo."""
        await self._set_back()
        await self.ask_for(None)
        seen = self.lookout

        def idle() -> bool:
            desired = (seen.infrastructure().get("spec") or {}).get("desiredTopology")
            free = conditions.find(seen.report(), "Upgradeable").get("status") != "False"
            return desired is None and self.phase() == "Idle" and not self.changed() and free and seen.echoed()

        await seen.until(idle, "Idle")
        await self.fact(there=True)
        await seen.quiet(QUIET_SECONDS)

    async def _set_back(self) -> None:
        """Take the fact away, and the change back.

        The operator has to say that it misses the voter before it finds its record gone. Otherwise it may begin the
        next admission with what it knew, read that live evidence differs, and begin none for a minute.
        """
        await self.fact(there=False)
        if self.phase() == "Converging":

            def missed() -> bool:
                return "EtcdVotingMembers" in conditions.find(self.lookout.report(), "Progressing").get("message", "")

            await self.lookout.until(missed, "a report that names EtcdVotingMembers")
        await self.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {**_SINGLE, "topologyTransition": None})

    async def settled(self, seconds: float = _SETTLED_SECONDS) -> None:
        """Wait until nothing has been written for so long."""
        await asyncio.sleep(seconds)
        await self.lookout.quiet(seconds)

    async def reported(self) -> float:
        """Wait for a report of the operator; returns when it was seen."""
        return await self.lookout.until(lambda: bool(self.lookout.report().get("status")), "the first report")

    async def forget_report(self) -> None:
        """Delete ClusterOperator `topology`, so that the next one comes from whoever is started now."""
        with contextlib.suppress(client.ApiError):
            await self.api.delete(kinds.CLUSTER_OPERATORS, "topology")
        await self.lookout.until(lambda: not self.lookout.report(), "ClusterOperator topology is gone")

    @contextlib.asynccontextmanager
    async def operator(self, folder: pathlib.Path) -> AsyncIterator[int]:
        """Run the operator until it is idle and has found out what could be asked for; yields its process id."""
        await self.forget_report()
        command = processes.operator_command(self.server.operator)
        async with processes.running(command, folder / "operator.log") as process:
            await self.reported()
            await self.settled()
            yield process.pid


@contextlib.asynccontextmanager
async def opened(server: servers.MeasuredServer) -> AsyncIterator[Side]:
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
        timeout, connector = aiohttp.ClientTimeout(total=None), aiohttp.TCPConnector(limit=0, ssl=access.tls or True)
        headers = {"User-Agent": "lookout", **access.headers}
        async with (
            aiohttp.ClientSession(
                connector=connector, timeout=timeout, headers=headers, read_bufsize=1 << 20
            ) as session,
            asyncio.TaskGroup() as group,
        ):
            seen = Lookout(session, access.server, api)
            tasks = [group.create_task(seen.watch(kind, name)) for kind, name in _WATCHED]
            tasks.append(group.create_task(seen.answer()))
            await seen.until(lambda: bool(seen.infrastructure()), "an Infrastructure")
            yield Side(server, api, seen)
            for task in tasks:
                task.cancel()
