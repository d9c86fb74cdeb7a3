"""Reading the evidence: live, over few connections while the server is quick; as the watches keep it; and Machines."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller.definitions import model
from topology_controller.kube import client as clients
from topology_controller.kube import errors
from topology_controller.observe import catalog, facts, fields, live, nodes, parse, watches

from . import worlds
from .clusters import Cluster, accept, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.looptime


class SlowApi:
    """Takes so many virtual seconds for every answer, which is that there is nothing."""

    request_timeout = 10.0

    def __init__(self, seconds: float) -> None:
        self.asked: list[str] = []
        self.most = 0
        self._seconds = seconds
        self._busy = 0

    async def get(self, resource: Any, name: str, *, namespace: str | None = None) -> Any:
        return await self._answer(resource, name, namespace)

    async def list(self, selection: Any, *_: Any, **__: Any) -> Any:
        return await self._answer(selection.resource, None, selection.namespace)

    async def _answer(self, resource: Any, name: str | None, namespace: str | None) -> Any:
        self.asked.append(resource.plural)
        self._busy += 1
        self.most = max(self.most, self._busy)
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self._busy -= 1
        raise errors.NotFound("get", resource, namespace, name, 404, "NotFound", "nothing", None)


@pytest.mark.parametrize(
    ("seconds", "most", "lasts"),
    # Nine sources in two lanes, and Infrastructure when all are there; after a tenth of a second the rest at once.
    [(0.002, 2, 6 * 0.002), (0.5, len(catalog.evidence()), 0.1 + 0.5 + 0.5)],
)
async def test_a_quick_server_is_asked_two_things_at_a_time(
    seconds: float, most: int, lasts: float, looptime: Any
) -> None:
    server = SlowApi(seconds)
    evidence = await live.gather(server, facts.Facts(), catalog.evidence())  # type: ignore[arg-type]  # what it uses
    assert (server.most, server.asked[-1]) == (most, "infrastructures")
    assert looptime == lasts
    assert len(server.asked) == len(catalog.evidence()) + 1
    assert evidence.age() == pytest.approx(lasts), "the first read began with the first request, not with the last"


class OddApi:
    """Answers every request with one object, whatever it is."""

    request_timeout = 10.0

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw

    async def get(self, *_: Any, **__: Any) -> dict[str, Any]:
        return self._raw

    async def list(self, _: Any, reduce: Any, **__: Any) -> Any:
        return clients.Listing((reduce(self._raw),), "1")


@pytest.mark.parametrize("metadata", [{"name": "odd"}, "no metadata at all"])
async def test_an_object_that_nobody_could_make_sense_of_is_a_fact(metadata: Any) -> None:
    def reduce(raw: dict[str, Any]) -> Any:
        return raw["spec"]["what every such object has"]

    async def reads(source: catalog.Source) -> Any:
        broken = dataclasses.replace(source, reduce=reduce)
        return await live.read(OddApi({"metadata": metadata}), broken)  # type: ignore[arg-type]  # what it uses of one

    one = await reads(catalog.Sources.infrastructure)
    (each,) = await reads(catalog.Sources.workers)
    for found, kind in ((one, "infrastructures"), (each, "nodes")):
        assert isinstance(found, facts.Unobserved)
        assert found.kind is facts.Kind.MALFORMED
        assert kind in str(found)


@pytest.mark.parametrize(
    ("nodes", "enough"),
    [
        ([worlds.worker(f"w{n}") for n in range(model.MOST_ASKED_FOR)], True),
        ([worlds.worker(f"w{n}") for n in range(model.MOST_ASKED_FOR - 1)], False),
        ([worlds.worker(f"w{n}", taints=(facts.Taint("infra", "", "NoSchedule"),)) for n in range(40)], False),
        ([worlds.BROKEN] * 40, False),
    ],
    ids=["flawless", "one-less", "tainted", "unreadable"],
)
async def test_workers_are_read_until_so_many_are_flawless(*, nodes: list[Any], enough: bool) -> None:
    assert catalog.Sources.workers.enough is not None
    assert catalog.Sources.workers.enough(nodes) is enough


CONSOLE = "deployments.apps/openshift-console/console"
CONSOLES = "consoles.operator.openshift.io/cluster"
KEY, CONFIGURED = ("deployments", "openshift-console", "console"), ("consoles", None, "cluster")


@contextlib.asynccontextmanager
async def watching(cluster: Cluster) -> AsyncIterator[tuple[watches.Watches, list[float]]]:
    woken: list[float] = []
    client: Any = cluster
    loop = asyncio.get_running_loop()
    sources = catalog.watched(worlds.TRANSITIONS)
    async with watches.Watches(client, lambda: woken.append(loop.time()), sources=sources) as watched:
        watched.open()
        await asyncio.sleep(1)
        yield watched, woken


async def test_they_are_watched_while_a_request_is_open_and_found_by_their_key(cluster: Cluster):
    cluster.delete(("deployments", "openshift-console", "downloads"))
    cluster.change(KEY, {"spec": {"replicas": 2}})
    async with watching(cluster) as (watched, _):
        known = watched.known()
        assert known.operand(CONSOLE) == facts.Workload(1, observed=True, wanted=2, updated=1, ready=1, available=1)
        missing = known.operand("deployments.apps/openshift-console/downloads")
        assert isinstance(missing, facts.Unobserved)
        assert missing.missing
        assert known.disturbed == ()
        await watched.close()
        assert watched.known().operands == {}
        assert not watched.is_open


async def test_a_kind_that_the_cluster_does_not_serve_is_missing_and_no_trouble(cluster: Cluster, caplog):
    """One that every cluster serves is trouble: nobody asks whether it is served."""
    cluster.unserved = {"consoles", "imagebasedupgrades", "kubeapiservers"}
    async with watching(cluster) as (watched, woken):
        known = watched.known()
        for found in (known.operand(CONSOLES), known.lifecycle_agent):
            assert isinstance(found, facts.Unobserved)
            assert found.missing
            assert not found.awaited
        assert known.disturbed == ("kubeapiservers.operator.openshift.io/cluster",)
        woken.clear()
        await asyncio.sleep(3600)
        assert woken == [61], "once, when what it had brought is too old"
        assert ("discover", "kubeapiservers") not in cluster.asked
        asked = [plural for verb, plural in cluster.asked if verb == "list" and plural in cluster.unserved]
        assert 2 * 10 <= len([plural for plural in asked if plural != "kubeapiservers"]) <= 2 * 16


async def test_what_changes_all_the_time_wakes_nobody(cluster: Cluster):
    async with watching(cluster) as (watched, woken):
        woken.clear()
        before = watched.known()
        for beat in range(100):
            condition = {"type": "Available", "message": f"{beat} seconds ago", "lastUpdateTime": str(beat)}
            cluster.change(KEY, {"status": {"conditions": [condition]}})
            await asyncio.sleep(1)
        assert woken == []
        assert watched.known() == before
        cluster.change(KEY, {"spec": {"replicas": 2}})
        await asyncio.sleep(1)
        assert len(woken) == 1


async def test_one_that_is_not_what_its_api_promises_is_named(cluster: Cluster):
    cluster.change(KEY, {"status": {"readyReplicas": "two"}})
    async with watching(cluster) as (watched, _):
        found = watched.known().operand(CONSOLE)
        assert isinstance(found, facts.Unobserved)
        assert found.kind is facts.Kind.MALFORMED
        assert "status.readyReplicas should be an integer" in found.why


HOOK = {"name": "EtcdQuorumOperator", "owner": "clusteroperator/etcd"}
ROLE = "machine.openshift.io/cluster-api-machine-role"


def raw_machine(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "site-master-0",
            "labels": {ROLE: "master"},
            "annotations": {"metal3.io/BareMetalHost": "openshift-machine-api/host-0"},
        },
        "spec": {"lifecycleHooks": {"preDrain": [{"name": "other", "owner": "x"}, HOOK]}},
        "status": {
            "phase": "Running",
            "nodeRef": {"kind": "Node", "name": "master-0", "uid": "u"},
            "addresses": [
                {"type": "InternalIP", "address": "192.0.2.10"},
                {"type": "InternalIP", "address": "2001:DB8:0::1"},
                {"type": "Hostname", "address": "master-0"},
                {"type": "ExternalIP", "address": "198.51.100.1"},
            ],
            "authoritativeAPI": "MachineAPI",
            **status,
        },
    }


def test_a_machine_as_the_etcd_operator_looks_at_it() -> None:
    assert nodes.machine(raw_machine()) == nodes.Machine(
        name="site-master-0",
        phase="Running",
        addresses=("192.0.2.10", "2001:db8::1"),
        node="master-0",
        guarded=True,
        authority="MachineAPI",
        host="host-0",
    )


def test_what_a_machine_need_not_have() -> None:
    assert nodes.machine({"metadata": {"name": "m"}}) == nodes.Machine(name="m")
    raw = raw_machine(errorMessage=" no\n host  left " + "x" * 1000, phase="Failed", authoritativeAPI="Migrating")
    raw["metadata"] |= {"labels": {ROLE: "arbiter"}, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    found = nodes.machine(raw)
    assert (found.arbiter, found.deleting, found.phase, found.authority) == (True, True, "Failed", "Migrating")
    assert found.trouble.startswith("no host left x")
    assert len(found.trouble) == 256
    assert nodes.machine(raw_machine(errorReason="InsufficientResources")).trouble == "InsufficientResources"


@pytest.mark.parametrize(
    "hooks",
    [[], [{"name": "EtcdQuorumOperator", "owner": "another"}], [{"name": "x", "owner": "clusteroperator/etcd"}]],
)
def test_only_the_hook_of_that_operator_is_its_hook(hooks: Any) -> None:
    raw = raw_machine()
    raw["spec"]["lifecycleHooks"]["preDrain"] = hooks
    raw["spec"]["lifecycleHooks"]["preTerminate"] = [HOOK]
    assert nodes.machine(raw).guarded is False


MALFORMED = [
    ("machine", {"status": {"addresses": "x"}}, "status.addresses should be a list"),
    ("machine", {"metadata": {"name": "m", "annotations": {"metal3.io/BareMetalHost": 7}}}, "should be a string"),
    ("machine", {"metadata": {"name": "M m"}}, "metadata.name should be a DNS subdomain"),
    ("host", {"status": {"poweredOn": "yes"}}, "status.poweredOn should be a boolean"),
    ("machine", {"status": {"addresses": ["x"]}}, "status.addresses[] should be an object"),
    ("host", {"spec": {"consumerRef": "m"}}, "spec.consumerRef should be an object"),
]


@pytest.mark.parametrize(("reader", "raw", "what"), MALFORMED)
def test_what_its_api_does_not_promise_is_malformed_and_says_where(reader: str, raw: Any, what: str) -> None:
    with pytest.raises(fields.Malformed) as raised:
        getattr(nodes, reader)({"metadata": {"name": "m"}, **raw})
    assert what in str(raised.value)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["status", "spec", "metadata", "addresses", "phase", "nodeRef", "name", "provisioning"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON, JSON, JSON)
def test_whatever_stands_there_is_a_fact_or_malformed(metadata: Any, spec: Any, status: Any) -> None:
    for reader in (nodes.machine, nodes.host):
        try:
            found = reader({"metadata": metadata, "spec": spec, "status": status})
        except fields.Malformed:
            continue
        assert hash(found) is not None
        assert sum(sys.getsizeof(getattr(found, field)) for field in found.__slots__) < 8000


def test_the_number_of_members_that_the_etcd_operator_wants() -> None:
    def wanted(spec: Any) -> int | None:
        found = parse.etcd({"spec": spec, "status": {}})
        assert isinstance(found, facts.Etcd)
        return found.desired_replicas

    assert wanted({"observedConfig": {"controlPlane": {"replicas": 1}}}) == 1
    assert wanted({}) is None
    assert wanted(None) is None
    assert wanted({"observedConfig": {"controlPlane": {"replicas": "1"}}}) is None, "the conditions are still read"
    merged = {"observedConfig": {"controlPlane": {"replicas": 1}}}
    merged["unsupportedConfigOverrides"] = {"controlPlane": {"replicas": 3}}
    assert wanted(merged) == 3, "as ReadDesiredControlPlaneReplicasCount merges them"


NAMESPACE = "openshift-machine-api"
UNDER = {"machines", "baremetalhosts"}


def object_of(index: int, **more: Any) -> dict[str, Any]:
    """The Machine of a node of the cluster in memory, on a host."""
    addresses = [{"type": "InternalIP", "address": worlds.ADDRESSES[index]}]
    raw = raw_machine(nodeRef={"name": worlds.NAMES[index]}, addresses=addresses)
    on_host = {"metal3.io/BareMetalHost": f"{NAMESPACE}/host-{index}"}
    return {**raw, "metadata": {"labels": raw["metadata"]["labels"], "annotations": on_host, **more}}


def with_machines(cluster: Cluster) -> Cluster:
    host = {"status": {"provisioning": {"state": "provisioned"}}}
    for index in range(3):
        cluster.put(("machines", NAMESPACE, f"machine-{index}"), object_of(index))
        cluster.put(("baremetalhosts", NAMESPACE, f"host-{index}"), host)
    return cluster


def reads_of_the_change(cluster: Cluster) -> list[str]:
    """What was read between the record of the attempt and the change of the topology."""
    asked = cluster.asked
    writes = [place for place, entry in enumerate(asked) if entry == ("write", "infrastructures/cluster")]
    return [what for verb, what in asked[writes[-2] : writes[-1]] if verb in {"get", "list"}]


def check(cluster: Cluster, name: str = "ControlPlaneMachines") -> dict[str, Any]:
    return next(one for one in cluster.record["checks"] if one["name"] == name)


@pytest.mark.parametrize(("make", "under"), [(accept, set()), (lambda cluster: accept(with_machines(cluster)), UNDER)])
async def test_with_machines_on_hosts_both_are_read_live(cluster: Cluster, make: Any, under: set[str]) -> None:
    """Without them the change costs no request more."""
    make(cluster)
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert cluster.topology == "HighlyAvailable"
        assert cluster.watched & UNDER == under | {"machines"}
        read = reads_of_the_change(cluster)
        assert UNDER.intersection(read) == under
        assert len(read) == 13 + len(under), "the twelve, and Infrastructure"
        cluster.follow()
        await asyncio.sleep(70)
        assert cluster.phase == "Completed"
        await asyncio.sleep(60)
        assert not cluster.watched & UNDER, "what follows from a source ends with it"


async def test_a_right_that_lacks_holds_and_heals_without_a_restart(caplog: pytest.LogCaptureFixture) -> None:
    cluster, refusing = Cluster(), [True]
    listing = cluster.list

    async def refused(selection: Any, reduce: Any = None, **options: Any) -> Any:
        if selection.resource.plural == "machines" and refusing:
            raise cluster.error(errors.Forbidden, 403, "list")
        return await listing(selection, reduce, **options)

    cluster.list = refused  # type: ignore[method-assign]  # a fault of this one list
    async with running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        assert (cluster.phase, check(cluster)["status"]) == ("Pending", "Unknown")
        assert "machines.machine.openshift.io in namespace openshift-machine-api" in check(cluster)["message"]
        assert caplog.text.count("cannot watch machines.machine.openshift.io") == 1
        refusing.clear()
        await asyncio.sleep(120)
        assert cluster.topology == "HighlyAvailable"


async def test_what_is_refused_and_not_even_served_holds_nothing(cluster: Cluster) -> None:
    cluster.unserved = {"machines"}
    async with running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        assert cluster.topology == "HighlyAvailable"
