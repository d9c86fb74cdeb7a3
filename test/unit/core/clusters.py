"""A cluster in memory behind the client's methods, for the loop in virtual time.

`Cluster` keeps raw objects with one global version, answers lists, gets, watches, creates and guarded status patches,
and echoes an upgrade block as the version operator would. `fault` is asked before each write and may raise; `after` is
asked when the write has happened and may raise too (an answer that was lost). `Running` wires a real `Reconciler`, real
watches, the real queue and the real hands to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from topology_controller import act, reconcile
from topology_controller.definitions import settings
from topology_controller.kube import client as clients
from topology_controller.kube import errors, queue
from topology_controller.observe import catalog, facts, members, watches
from topology_controller.report import events, metrics, view
from topology_simulator.apiserver import patch as merge_patches

from . import raw_operands, worlds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime

    from topology_controller.definitions import load
    from topology_controller.kube import resource

Raw = dict[str, Any]
Key = tuple[str, str | None, str]
INFRASTRUCTURE: Key = raw_operands.INFRASTRUCTURE
OPERATOR: Key = ("clusteroperators", None, "topology")
VERSION: Key = raw_operands.VERSION
MASTER_POOL: Key = raw_operands.MASTER_POOL
NATIVE: Key = ("configs", None, "cluster")
BACKENDS = "topology.openshift.io/load-balancer-backends"
ROUTER: Key = ("ingresscontrollers", "openshift-ingress-operator", "default")


def _copied(raw: Raw) -> Raw:
    """In a fraction of the time that `copy.deepcopy` takes, which was an eighth of all that runs in this cluster."""
    copied: Raw = json.loads(json.dumps(raw))
    return copied


def accept(*_: object) -> None:
    """Nothing is wrong with it."""


class Cluster:
    """The API. `writes` has every write that happened, `asked` every request."""

    request_timeout = 10.0

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[Key, Raw] = {}
        self.asked: list[tuple[str, str]] = []
        self.writes: list[tuple[str, Raw]] = []
        self.echo = True
        self.limit = 6000
        self._followed = 0
        self.skew = timedelta()
        """How far the wall clock of the operator has been moved."""
        self.latency: Callable[[], float] = lambda: 0.0
        self.fault: Callable[[str, Raw], None] = accept
        self.after: Callable[[str, Raw], None] = accept
        self.annotations: dict[str, str] = {BACKENDS: ",".join(worlds.ADDRESSES)}
        """What an administrator sets on ClusterOperator topology, as soon as it is there."""
        self.before_get: Callable[[str], None] = accept
        self.unserved: set[str] = set()
        """Kinds by plural that the server does not have, and that the operator may not list either."""
        self.flowing = asyncio.Event()
        """While it is not set, what happens waits on its way to the watches."""
        self.flowing.set()
        self.deaf: set[str] = set()
        """Kinds by plural whose watches end with the next news, and whose lists are answered with 429."""
        self._watching: dict[int, tuple[resource.Selection, asyncio.Queue[tuple[str, Raw]]]] = {}
        for key, raw in raw_operands.cluster().items():
            self.put(key, raw)

    # What happens in the cluster.
    def put(self, key: Key, raw: Raw) -> Raw:
        """Create or replace an object and tell the watches."""
        self.version += 1
        _plural, namespace, name = key
        made = _copied(raw)
        metadata = {"name": name, "uid": f"uid-{name}", "generation": 1, **made.get("metadata", {})}
        if namespace:
            metadata["namespace"] = namespace
        made["metadata"] = {**metadata, "resourceVersion": str(self.version)}
        kind = "MODIFIED" if key in self.objects else "ADDED"
        self.objects[key] = made
        for selection, waiting in list(self._watching.values()):
            if self._selects(selection, key, made):
                waiting.put_nowait((kind, _copied(made)))
        return _copied(made)

    def change(self, key: Key, patch: Raw) -> Raw:
        """Merge into an object, as somebody else."""
        return self.put(key, merge_patches.merge(self.objects[key], patch))

    def delete(self, key: Key) -> None:
        """Delete an object and tell the watches."""
        self.version += 1
        gone = self.objects.pop(key)
        gone["metadata"]["resourceVersion"] = str(self.version)
        for selection, waiting in list(self._watching.values()):
            if self._selects(selection, key, gone):
                waiting.put_nowait(("DELETED", _copied(gone)))

    def ask_for(self, topology: str | None) -> None:
        """Make, change or cancel the request."""
        metadata = {"generation": self.objects[INFRASTRUCTURE]["metadata"]["generation"] + 1}
        self.change(INFRASTRUCTURE, {"metadata": metadata, "spec": {"desiredTopology": topology}})

    def switch_gate(self, **versions: bool) -> None:
        """Switch MutableTopology on or off for each version (v4_20_1)."""
        gates = [
            {"version": version[1:].replace("_", "."), "enabled": [{"name": "MutableTopology"}] if on else []}
            for version, on in versions.items()
        ]
        self.change(("featuregates", None, "cluster"), {"status": {"featureGates": gates}})

    def native_says(self, reason: str | None = "AsExpected") -> None:
        """The native controller reports; None takes its conditions away."""
        state = {"type": "TopologyTransitionControllerUpgradeable", "status": "True", "reason": reason}
        self.change(NATIVE, {"status": {"conditions": [] if reason is None else [state]}})

    def native_appears(self) -> None:
        """The native controller is in charge."""
        self.switch_gate(v4_20_1=True)
        self.native_says()

    def follow(self, configuration: str = "rendered-2") -> None:
        """Let the other operators follow the topology."""
        self.put(MASTER_POOL, raw_operands.pool(configuration))
        for name in worlds.NAMES:
            self.change(
                ("nodes", None, name), {"metadata": {"annotations": {raw_operands.OBSERVED: "HighlyAvailable"}}}
            )
        self._followed += 1
        for key, raw in raw_operands.objects(worlds.HA, fresh=self._followed, settled=virtual_now()).items():
            self.put(key, raw)

    def now(self) -> datetime:
        """The wall clock of the operator."""
        return virtual_now() + self.skew

    # What is seen of it.
    @property
    def phase(self) -> str | None:
        """Phase of the record."""
        found = self.objects[INFRASTRUCTURE]["status"].get("topologyTransition") or {}
        return found.get("phase")

    @property
    def record(self) -> Raw:
        """The record, as it stands there."""
        return dict(self.objects[INFRASTRUCTURE]["status"].get("topologyTransition") or {})

    @property
    def topology(self) -> str:
        """The topology of the control plane."""
        return str(self.objects[INFRASTRUCTURE]["status"]["controlPlaneTopology"])

    @property
    def changes(self) -> int:
        """How often topology was written."""
        return sum("controlPlaneTopology" in body.get("status", {}) for _, body in self.writes)

    @property
    def watched(self) -> set[str]:
        """Plurals that are being watched."""
        return {selection.resource.plural for selection, _ in self._watching.values()}

    def condition(self, type_: str) -> tuple[str, str]:
        """Status and reason of a condition of ClusterOperator topology."""
        found = self.objects[OPERATOR]["status"]["conditions"]
        return next((item["status"], item["reason"]) for item in found if item["type"] == type_)

    def says(self, type_: str = "Progressing") -> str:
        """Its message."""
        found = self.objects[OPERATOR]["status"]["conditions"]
        return next(str(item["message"]) for item in found if item["type"] == type_)

    def error(self, kind: type[errors.KubeError], status: int = 0, verb: str = "patch") -> errors.KubeError:
        """An error as the client raises it."""
        return kind(verb, catalog.INFRASTRUCTURES, None, "cluster", status, kind.__name__, "as the test wants")

    def refusal(self, begin: str, kind: type[errors.KubeError] = errors.Forbidden) -> Callable[..., None]:
        """A `fault`, or a `before_get`, of what begins like that."""

        def refuse(where: str, *body: Raw) -> None:
            if where.startswith(begin):
                raise self.error(kind, 403 if kind is errors.Forbidden else 500, "patch" if body else "get")

        return refuse

    # The client's methods.
    async def get(self, kind: resource.Resource, name: str, *, namespace: str | None = None, **_: Any) -> Raw:
        """Read one object."""
        self._count("get", kind.plural)
        await self._pause()
        self.before_get(f"{kind.plural}/{name}")
        found = self.objects.get((raw_operands.plural(f"{kind.plural}.{kind.group}"), namespace, name))
        if found is None:
            raise self.error(errors.NotFound, 404, "get")
        return _copied(found)

    async def list(
        self, selection: resource.Selection, reduce: Any = lambda raw: raw, **_: Any
    ) -> clients.Listing[Any]:
        """Read a list."""
        kind = selection.resource
        self._count("list", kind.plural)
        await self._pause()
        if kind.plural in self.unserved:
            raise self.error(errors.Forbidden, 403, "list")
        if kind.plural in self.deaf:
            raise self.error(errors.Throttled, 429, "list")
        items = tuple(reduce(_copied(raw)) for key, raw in self.objects.items() if self._selects(selection, key, raw))
        return clients.Listing(items, str(self.version))

    async def serves(self, kind: resource.Resource) -> bool:
        """Discovery."""
        self._count("discover", kind.plural)
        return kind.plural not in self.unserved

    @contextlib.asynccontextmanager
    async def open_watch(self, selection: resource.Selection, _version: str, *_: Any) -> AsyncIterator[Any]:
        """Watch from now on; these tests never miss anything between list and watch."""
        self._count("watch", selection.resource.plural)
        happening: asyncio.Queue[tuple[str, Raw]] = asyncio.Queue()
        self._watching[id(happening)] = (selection, happening)

        async def lines() -> AsyncIterator[tuple[str, Raw]]:
            while True:
                news = await happening.get()
                await self.flowing.wait()
                if selection.resource.plural in self.deaf:
                    raise self.error(errors.Unreachable, 0, "watch")
                yield news

        try:
            yield lines()
        finally:
            del self._watching[id(happening)]

    async def create(self, kind: resource.Resource, body: Raw, **_: Any) -> Raw:
        """Create an object."""
        return await self._write((kind.plural, None, body["metadata"]["name"]), body, create=True)

    async def merge_patch(self, kind: resource.Resource, name: str, body: Raw, **options: Any) -> Raw:
        """Patch a status."""
        assert options["subresource"] == "status"
        return await self._write((kind.plural, None, name), body, create=False)

    async def _write(self, key: Key, body: Raw, *, create: bool) -> Raw:
        where = f"{key[0]}/{key[2]}"
        self._count("write", where)
        await self._pause()
        self.fault(where, body)
        if create and key in self.objects:
            raise self.error(errors.AlreadyExists, 409)
        if not create and key not in self.objects:
            raise self.error(errors.NotFound, 404)
        version = body["metadata"].get("resourceVersion")
        if not create and version != self.objects[key]["metadata"]["resourceVersion"]:
            raise self.error(errors.Conflict, 409)
        self.writes.append((where, _copied(body)))
        if create:
            made = self.put(key, merge_patches.merge(body, {"metadata": {"annotations": self.annotations}}))
        elif merge_patches.merge(self.objects[key], {"status": body["status"]}) == self.objects[key]:
            made = _copied(self.objects[key])  # what changes nothing has no new version, and no watch tells of it
        else:
            made = self.change(key, {"status": body["status"]})
        if key == OPERATOR and self.echo:
            self._echo()
        self.after(where, body)
        return made

    def _echo(self) -> None:
        said = self.objects[OPERATOR].get("status", {}).get("conditions", [])
        found = raw_operands.conditions(Progressing="False")
        found += [item for item in said if item["type"] == "Upgradeable" and item["status"] == "False"]
        if found != self.objects[VERSION]["status"]["conditions"]:
            self.change(VERSION, {"status": {"conditions": found}})

    async def _pause(self) -> None:
        await asyncio.sleep(self.latency())

    def _count(self, verb: str, what: str) -> None:
        self.asked.append((verb, what))
        # Virtual time stands still in a hot loop: without this such a test would hang and not fail.
        assert len(self.asked) < self.limit, f"a hot loop: {self.asked[-5:]}"

    @staticmethod
    def _selects(selection: resource.Selection, key: Key, raw: Raw) -> bool:
        plural, namespace, name = key
        kind = selection.resource
        if plural != raw_operands.plural(f"{kind.plural}.{kind.group}") or selection.namespace not in {None, namespace}:
            return False
        if selection.name not in {None, name}:
            return False
        labels = raw["metadata"].get("labels", {})
        label, among, values = (selection.label_selector or "").partition(" in ")
        if among:
            return labels.get(label) in values.strip("()").split(",")
        for term in (selection.label_selector or "").split(","):
            label, _, value = term.removeprefix("!").partition("=")
            if label and (label in labels) is term.startswith("!"):
                return False
            if value and labels.get(label) != value:
                return False
        return True


class Told:
    """Remembers what would become events: the same name is the same event."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self._names: set[str] = set()

    def record(self, infrastructure: facts.Infrastructure, record: Any, spec: Any) -> None:
        """Remember the reason."""
        assert infrastructure.uid
        assert record is not None
        name = events.name(infrastructure.uid, spec.reason, record)
        if name not in self._names:
            self._names.add(name)
            self.reasons.append(spec.reason.value)


class Lease:
    """A lease whose time the test sets."""

    def __init__(self) -> None:
        self.left = float("inf")

    def time_left(self) -> float:
        """Seconds left."""
        return self.left


def virtual_now() -> datetime:
    """The wall clock of these tests goes with the loop."""
    return worlds.NOW + timedelta(seconds=asyncio.get_running_loop().time())


@dataclasses.dataclass
class Running:
    """One operator at work on a cluster."""

    cluster: Cluster
    loop: reconcile.Reconciler
    watches: watches.Watches
    queue: queue.WorkQueue
    metrics: metrics.Metrics
    told: Told
    lease: Lease
    topologies: list[str]
    latest: view.Latest

    @property
    def retries(self) -> float:
        """How many deliveries have failed."""
        return self.metrics.registry.get_sample_value("workqueue_retries_total", {"name": "topology"}) or 0.0


class Etcd:
    """etcd's members as the operator reads them. `asked` has the moments; a reading lasts `lasting` seconds."""

    def __init__(self) -> None:
        self.fact: facts.Fact[facts.EtcdMembers] = facts.EtcdMembers(worlds.voices())
        self.lasting = 0.01
        self.asked: list[float] = []
        self.published: list[Any] = []
        self.before: Callable[[], None] = accept

    async def read(self, published: Any) -> Any:
        """Answer, as `members.Members` does."""
        self.published.append(published)
        self.asked.append(asyncio.get_running_loop().time())
        self.before()
        await asyncio.sleep(self.lasting)
        return self.fact


@contextlib.asynccontextmanager
async def running(
    cluster: Cluster,
    lease: Lease | None = None,
    *,
    etcd: Etcd | None = None,
    transitions: load.Transitions = worlds.ONLY_COMPACT,
    configuration: settings.Current | None = None,
    told: Told | None = None,
) -> AsyncIterator[Running]:
    """Run the loop until the block ends; what ends the loop by itself is raised."""
    client: Any = cluster
    way: Any = etcd
    lease = lease or Lease()
    measured = metrics.Metrics(transitions, lease="l", clock=asyncio.get_running_loop().time)
    poll = None if etcd is None else members.Poll(way)
    events_told: Any = told or Told()
    topologies: list[str] = []
    work = queue.WorkQueue(measured)
    configuration = configuration or settings.Current(None, transitions)
    configuration.changed = work.add
    async with watches.Watches(client, work.add, sources=catalog.watched(transitions), etcd=poll) as watched:
        watched.installed = facts.Installed()
        await watched.first_answers()
        hands, shown = act.Act(client, lease.time_left), view.Latest()
        deps = reconcile.Dependencies(
            client, watched, work, hands, events_told, measured, shown, "1.2.3", "ns", configuration,
            etcd=way, on_topology=topologies.append, now=cluster.now,
        )  # fmt: skip
        loop = reconcile.Reconciler(deps)
        work.add()
        task = asyncio.create_task(loop.run())
        try:
            yield Running(cluster, loop, watched, work, measured, events_told, lease, topologies, shown)
            if task.done():
                task.result()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
