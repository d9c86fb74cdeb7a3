"""What has no machine under it in the lab, and what real operators and controllers leave to others.

`Daemons` are the machine-config-daemons of all nodes, beside a real machine config operator: pkg/daemon/drain.go
performDrain, pkg/daemon/daemon.go completeUpdate (release-4.21). `Pods` is the scheduler and what kubelets do to pods:
bound, ready while their node is, gone when they are deleted; an installer's ends with the static pod of its revision,
of which there is the mirror (library-go pkg/operator/staticpod/installerpod/cmd.go, 93ac9206a). `Etcds` are the etcd
containers of static pods, real ones. `Workloads` and `Console` are the simulator's, but for the status of workloads,
which kube-controller-manager writes.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import logging
import re
from typing import TYPE_CHECKING, Any, ClassVar

import yaml

from topology_simulator import binaries, client, cluster, conditions, kinds, machine_api
from topology_simulator.actors import actor, console, workloads
from topology_simulator.etcd import certificates, gateway, keeping, member

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping

    from topology_simulator import operands

_LOG = logging.getLogger(__name__)

_DRAIN, _DRAINED = (cluster.PREFIX + name for name in ("desiredDrain", "lastAppliedDrain"))
_BOOT_BEFORE = cluster.PREFIX + "bootBefore"
_AT_ONCE = "?gracePeriodSeconds=0"
"""Behind the name of what is deleted: a kubelet's last word about a pod."""

_SECRETS = kinds.Kind("", "secrets", "Secret", namespaced=True)
_SHORT = ("installer-", "revision-pruner-")
_FLAG = re.compile(r"--(pod|revision)=(\S+)")
_GONE_SECONDS = 5.0
"""Until a deletion is asked for again, of which no news has come."""


def other(part: type[actor.Actor], **attributes: Any) -> type[actor.Actor]:
    """Return an actor that is `part` but for these attributes of its class."""
    return type(f"Other{part.__name__}", (part,), attributes)


async def nothing(_: actor.Actor) -> None:
    """Be the step of an actor where the real one runs."""


class Daemons(actor.Actor):
    """The machine-config-daemon of each node; its kubelet reboots it (`topology_simulator.actors.kubelets`)."""

    agent = "machine-config-daemon"
    watched = (kinds.NODES, kinds.MACHINE_CONFIG_POOLS)

    async def step(self) -> None:
        """Take every node a step further."""
        for node in self.mirror.all(kinds.NODES):
            notes = cluster.notes(node)
            if cluster.CURRENT not in notes:
                await self._adopt(node)
            elif notes.get(cluster.DESIRED) != notes[cluster.CURRENT]:
                await self._update(node, notes)

    async def _adopt(self, node: dict[str, Any]) -> None:
        """Begin with what the machine config server gave the machine: the configuration that its pool has."""
        pools = {pool["metadata"]["name"]: pool for pool in self.mirror.all(kinds.MACHINE_CONFIG_POOLS)}
        pool = pools.get(cluster.pool_of(node, pools.values()), {})
        places = ((pool.get(part) or {}).get("configuration") or {} for part in ("status", "spec"))
        served = next((place["name"] for place in places if place.get("name")), "")
        if served and conditions.is_true(node, "Ready"):
            uncordoned = f"uncordon-{served}"
            await self._note(node, {_DRAIN: uncordoned, _DRAINED: uncordoned, cluster.DESIRED: served} | _done(served))

    async def _update(self, node: dict[str, Any], notes: Mapping[str, str]) -> None:
        """Drain where the topology lets it, reboot, uncordon, and be done."""
        name, wanted, state = node["metadata"]["name"], notes[cluster.DESIRED], notes.get(cluster.STATE)
        if state == cluster.DONE:
            # pkg/daemon/drain.go drainRequired: the pods of a single node have nowhere to go.
            single = notes.get(cluster.TOPOLOGY) == "SingleReplica"
            drain = {} if single else {_DRAIN: f"drain-{wanted}"}
            self.waits.clear(("install", name))
            await self._note(node, {cluster.STATE: "Working"} | drain)
        elif state == "Working":
            boot = node["status"]["nodeInfo"]["bootID"]
            if notes.get(_DRAIN) == notes.get(_DRAINED) and self.waits.due(("install", name), self.pace.install):
                await self._note(node, {cluster.STATE: "Rebooting", _BOOT_BEFORE: boot})
        elif node["status"]["nodeInfo"]["bootID"] == notes.get(_BOOT_BEFORE) or not conditions.is_true(node, "Ready"):
            return
        elif notes.get(_DRAIN) != f"uncordon-{wanted}":
            await self._note(node, {_DRAIN: f"uncordon-{wanted}"})
        elif notes.get(_DRAINED) == notes.get(_DRAIN):
            await self._note(node, _done(wanted) | {_BOOT_BEFORE: None})

    async def _note(self, node: dict[str, Any], notes: Mapping[str, str | None]) -> None:
        await self.patch(kinds.NODES, node, {"metadata": {"annotations": notes}})


def _done(config: str) -> dict[str, str | None]:
    return {cluster.CURRENT: config, cluster.STATE: cluster.DONE, cluster.REASON: ""}


class Pods(actor.Actor):
    """The scheduler, and what kubelets say of pods."""

    agent = "scheduler-and-kubelets"
    watched = (kinds.NODES, kinds.PODS)

    async def step(self) -> None:
        """Bind, start, stop and remove."""
        nodes = {node["metadata"]["name"]: node for node in self.mirror.all(kinds.NODES)}
        pods = self.mirror.all(kinds.PODS)
        load = collections.Counter(place for pod in pods for place in _places(pod, pod["spec"].get("nodeName")))
        for pod in pods:
            meta, home = pod["metadata"], pod["spec"].get("nodeName")
            if "deletionTimestamp" in meta:
                if self.waits.due(("gone", meta["uid"]), self.pace.replica):
                    self.waits.start(("gone", meta["uid"]), _GONE_SECONDS)
                    await self.api.delete(kinds.PODS, meta["name"] + _AT_ONCE, meta["namespace"])
            elif not home:
                free = [name for name, node in nodes.items() if cluster.counts_as_ready(node)]
                spread = sorted(free, key=lambda name: [load[place] for place in _places(pod, name)])
                if place := _only_place(pod) or next(iter(spread), ""):
                    load.update(_places(pod, place))
                    await self._bind(pod, place)
            elif home in nodes and meta["name"].startswith(_SHORT):
                if self.waits.due(("start", meta["uid"]), self.pace.replica) and pod["status"]["phase"] != "Succeeded":
                    await self._install(pod)
            elif home in nodes and "etcd" not in (meta.get("labels") or {}):
                await self._run(pod, nodes[home])

    async def _bind(self, pod: dict[str, Any], node: str) -> None:
        meta = pod["metadata"]
        binding = kinds.Kind("", f"pods/{meta['name']}/binding", "Binding", namespaced=True)
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        await self.api.create(binding, binding.new(meta["name"], meta["namespace"], target=target))
        self.mirror.keep(kinds.PODS, {**pod, "spec": {**pod["spec"], "nodeName": node}})

    async def _install(self, pod: dict[str, Any]) -> None:
        """End a pod of an operator of static pods; an installer's puts the revision there that its flags have."""
        meta, home, (container,) = pod["metadata"], pod["spec"]["nodeName"], pod["spec"]["containers"]
        flags = dict(_FLAG.findall(" ".join(container.get("args") or ())))
        if meta["name"].startswith("installer-"):
            name, namespace = f"{flags['pod']}-{flags['revision']}", meta["namespace"]
            static = yaml.safe_load((await self.api.get(kinds.CONFIG_MAPS, name, namespace))["data"]["pod.yaml"])
            mirror = kinds.PODS.new(f"{static['metadata']['name']}-{home}", namespace)
            mirror["metadata"]["labels"] = {**static["metadata"]["labels"], "revision": flags["revision"]}
            mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": name}  # drains let it be
            containers = [{"name": each["name"], "image": each["image"]} for each in static["spec"]["containers"]]
            mirror["spec"] = {"nodeName": home, "hostNetwork": True, "containers": containers}
            if self.mirror.get(kinds.PODS, mirror["metadata"]["name"], namespace):
                await self.api.delete(kinds.PODS, mirror["metadata"]["name"] + _AT_ONCE, namespace)
            await self.api.create(kinds.PODS, mirror)
        await self.say(kinds.PODS, pod, (), phase="Succeeded")

    async def _run(self, pod: dict[str, Any], node: dict[str, Any]) -> None:
        timer, ready = ("start", pod["metadata"]["uid"]), conditions.is_true(node, "Ready")
        if conditions.is_true(pod, "Ready") is ready:
            self.waits.clear(timer)
        elif not ready or self.waits.due(timer, self.pace.replica):
            await _say_running(self, pod, node, ready=ready)


async def _say_running(kubelet: actor.Actor, pod: dict[str, Any], node: dict[str, Any], *, ready: bool) -> None:
    """Write the status of a pod that runs, and of its container etcd, if it has one."""
    state = str(ready)
    types = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    wanted = [conditions.Condition(name, "True" if name in types[:2] else state, "") for name in types]
    # Nothing is sent to any: it is its node's address but for the first number, as loopback is not legal in Endpoints.
    ips = [{"ip": f"10.{address.partition('.')[2]}"} for address in machine_api.internal_addresses(node)[:1]]
    running = {"running": {"startedAt": pod["metadata"]["creationTimestamp"]}}
    containers = [
        {"name": "etcd", "ready": ready, "restartCount": 0, "image": "", "imageID": "", "state": running}
        for container in pod["spec"]["containers"]
        if container["name"] == "etcd"
    ]
    await kubelet.say(kinds.PODS, pod, wanted, phase="Running", podIPs=ips, containerStatuses=containers)


def _places(pod: Mapping[str, Any], node: str | None) -> list[object]:
    """Return what is counted of a pod on a node: first that its owner has one there, then that it is there."""
    owners = pod["metadata"].get("ownerReferences") or [{}]
    return [(node, owners[0].get("uid")), node]


def _only_place(pod: Mapping[str, Any]) -> str:
    """Return the node that a DaemonSet made a pod for; empty for other pods."""
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    fields = [field for term in affinity.get("nodeSelectorTerms") or [] for field in term.get("matchFields") or []]
    return next((field["values"][0] for field in fields if field["key"] == "metadata.name"), "")


class Etcds(actor.Actor):
    """The container etcd of each static pod, and the files that the etcd operator has mounted.

    As bindata/etcd/pod.gotpl.yaml starts it, with the certificates that the operator makes (release-4.22): one that
    joins waits until the others list it (openshift/etcd, openshift-tools/pkg/discover-etcd-initial-cluster), and it is
    ready when it answers, a learner too (pkg/cmd/readyz). The first founds the cluster: there was no bootstrap machine.
    """

    agent = "etcd-members"
    watched = (kinds.NODES, kinds.PODS)
    mounted: ClassVar[pathlib.Path | None] = None
    """What is /var/run to the operator, once there is one."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._processes = keeping.Keeping("lab-etcd-")
        self._members: dict[str, member.Member] = {}
        self._installed: dict[str, str] = {}

    async def run(self) -> None:
        """Act until cancelled; then the members are gone."""
        async with self._processes:
            await super().run()

    async def step(self) -> None:
        """Take the member of every node a step further; certificates and members change without an event."""
        self.waits.start("look", 1.0)
        if self.mounted is None:
            return
        with client.allowing(404):
            secret = await self._data(_SECRETS, "etcd-client", cluster.ETCD_OPERATOR_NAMESPACE)
            trust = (await self._data(kinds.CONFIG_MAPS, "etcd-all-bundles"))["server-ca-bundle.crt"].encode()
            certs = await self._data(_SECRETS, "etcd-all-certs")
            pair = certificates.Pair(*(base64.b64decode(secret[name]) for name in ("tls.crt", "tls.key")))
            folder = certificates.write(self.mounted / "secrets" / "etcd-client", trust, pair)
            bundle = self.mounted / "configmaps" / "etcd-ca" / "ca-bundle.crt"
            if not bundle.exists():
                bundle.parent.mkdir(parents=True)
                bundle.symlink_to("../../secrets/etcd-client/ca.crt")
            async with gateway.Gateway(certificates.tls(folder), 2.0) as asked:
                for node in self.nodes_with("master"):
                    name = node["metadata"]["name"]
                    if pod := self.mirror.get(kinds.PODS, f"etcd-{name}", cluster.ETCD_NAMESPACE):
                        await self._tend(name, node, pod, _secrets(name, trust, certs), asked)

    async def _data(self, kind: kinds.Kind, name: str, namespace: str = cluster.ETCD_NAMESPACE) -> dict[str, str]:
        data: dict[str, str] = (await self.api.get(kind, name, namespace)).get("data") or {}
        return data

    async def _tend(
        self, name: str, node: dict[str, Any], pod: dict[str, Any], given: member.Secrets, asked: gateway.Gateway
    ) -> None:
        """Let a member run while its node does, anew with each new pod; say what its readiness probe does."""
        up, uid = conditions.is_true(node, "Ready"), pod["metadata"]["uid"]
        process = self._members.get(name)
        if process is not None and process.running and (not up or self._installed[name] != uid):
            await process.kill()
        if up and name not in self.troubles.learners:
            self._installed[name] = uid
            if process is None:
                await self._join(name, node, given, asked)
            elif not process.running:
                process.give(given)
                await process.start_again()
        process = self._members.get(name)
        ready = process is not None and process.running and await asked.healthy(process.url)
        if conditions.is_true(pod, "Ready") is not ready or "containerStatuses" not in pod["status"]:
            await _say_running(self, pod, node, ready=ready)

    async def _join(self, name: str, node: dict[str, Any], given: member.Secrets, asked: gateway.Gateway) -> None:
        """Start a member for the first time, if it is listed."""
        (address, *_) = machine_api.internal_addresses(node)
        process = member.Member(name, binaries.program("etcd"), self._processes, given)
        process.url, process.peer_url = (f"https://{address}:{port}" for port in (2379, 2380))
        process.heartbeat_ms, process.election_ms = 100, 1000
        peers: dict[str, str] = {}
        for other in self._members.values():
            with contextlib.suppress(gateway.GatewayError):
                peers = {entry.name or process.name: entry.peer_urls[0] for entry in await asked.members(other.url)}
                break
        if peers.get(name) == process.peer_url or not self._members:
            self._members[name] = process
            await process.start({**peers, name: process.peer_url}, joins=bool(peers), strict=True)


def _secrets(name: str, trust: bytes, certs: Mapping[str, str]) -> member.Secrets:
    """Return the certificates of a node's member, out of those of all in base64."""
    serving, peer = (
        certificates.Pair(*(base64.b64decode(certs.get(f"etcd-{use}-{name}.{end}", "")) for end in ("crt", "key")))
        for use in ("serving", "peer")
    )
    return member.Secrets(trust, serving, peer)


class Workloads(workloads.Workloads):
    """Operators that deploy; kube-controller-manager does the rest."""

    async def _run(self, workload: operands.Workload, obj: dict[str, Any]) -> None:
        status = obj.get("status") or {}
        counts = {status.get(name) or 0 for name in ("replicas", "updatedReplicas", "availableReplicas")}
        if counts == {obj["spec"]["replicas"]} and status["observedGeneration"] == obj["metadata"]["generation"]:
            self._rolling.discard(workload.key)


class Console(console.Console):
    """The same for the console, which reads from the status whether its pods are being replaced."""

    async def _run(self, workload: operands.Workload, obj: dict[str, Any]) -> None:
        pass
