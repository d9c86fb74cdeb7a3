"""Reading the evidence: live, over few connections while the server is quick; and as the watches keep it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.definitions import model
from topology_controller.kube import client as clients
from topology_controller.kube import errors
from topology_controller.observe import catalog, facts, live, watches

from . import worlds
from .clusters import Cluster

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

    async def list(self, resource: Any, *, namespace: str | None = None, **_: Any) -> Any:
        return await self._answer(resource, None, namespace)

    async def _answer(self, resource: Any, name: str | None, namespace: str | None) -> Any:
        self.asked.append(resource.plural)
        self._busy += 1
        self.most = max(self.most, self._busy)
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self._busy -= 1
        raise errors.NotFound("get", resource, namespace, name, 404, "NotFound", "nothing", None)


async def _gather(server: SlowApi) -> live.Evidence:
    return await live.gather(server, facts.Facts(), catalog.EVIDENCE)  # type: ignore[arg-type]  # what it uses of one


async def test_a_quick_server_is_asked_two_things_at_a_time(looptime) -> None:
    server = SlowApi(0.002)
    await _gather(server)
    assert server.most == 2
    # Nine sources in two lanes, and Infrastructure when all are there.
    assert looptime == 6 * 0.002
    assert server.asked[-1] == "infrastructures"
    assert len(server.asked) == len(catalog.EVIDENCE) + 1


async def test_a_slow_server_is_asked_for_the_rest_at_once(looptime) -> None:
    server = SlowApi(0.5)
    evidence = await _gather(server)
    assert server.most == len(catalog.EVIDENCE)
    assert looptime == 0.1 + 0.5 + 0.5
    # The first read began with the first request, not with the last.
    assert evidence.age() == pytest.approx(1.1)


class OddApi:
    """Answers every request with one object, whatever it is."""

    request_timeout = 10.0

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw

    async def get(self, *_: Any, **__: Any) -> dict[str, Any]:
        return self._raw

    async def list(self, *_: Any, reduce: Any, **__: Any) -> Any:
        return clients.Listing((reduce(self._raw),), "1")


@pytest.mark.parametrize("metadata", [{"name": "odd"}, "no metadata at all"])
async def test_an_object_that_nobody_could_make_sense_of_is_a_fact(metadata: Any) -> None:
    def reduce(raw: dict[str, Any]) -> Any:
        return raw["spec"]["what every such object has"]

    async def reads(source: catalog.Source) -> Any:
        broken = dataclasses.replace(source, reduce=reduce)
        return await live.read(OddApi({"metadata": metadata}), broken)  # type: ignore[arg-type]  # what it uses of one

    one = await reads(catalog.INFRASTRUCTURE)
    (each,) = await reads(catalog.WORKERS)
    for found, kind in ((one, "infrastructures"), (each, "nodes")):
        assert isinstance(found, facts.Unobserved)
        assert found.malformed
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
async def test_workers_are_read_until_so_many_are_flawless(nodes: list[Any], enough: bool) -> None:  # noqa: FBT001 - a column
    assert catalog.WORKERS.enough is not None
    assert catalog.WORKERS.enough(nodes) is enough


CONSOLE = "deployments.apps/openshift-console/console"
CONSOLES = "consoles.operator.openshift.io/cluster"
POD = ("pods", "openshift-authentication-operator", "authentication-1")
READER = "pods/openshift-authentication-operator/app=authentication-operator"
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


async def test_they_are_watched_while_a_request_is_open_and_found_by_their_key():
    cluster = Cluster()
    cluster.delete(("deployments", "openshift-console", "downloads"))
    cluster.change(KEY, {"spec": {"replicas": 2}})
    async with watching(cluster) as (watched, _):
        known = watched.known()
        assert known.operand(CONSOLE) == facts.Workload(1, observed=True, wanted=2, updated=1, ready=1, available=1)
        pods = known.operand(READER)
        assert isinstance(pods, tuple)
        (pod,) = pods
        assert isinstance(pod, facts.Pod)
        assert (pod.name, pod.deleting) == ("authentication-1", False)
        missing = known.operand("deployments.apps/openshift-console/downloads")
        assert isinstance(missing, facts.Unobserved)
        assert missing.missing
        assert known.disturbed == ()
        await watched.close()
        assert watched.known().operands == {}
        assert not watched.is_open


async def test_a_kind_that_the_cluster_does_not_serve_is_missing_and_no_trouble(caplog):
    """One that every cluster serves is trouble: nobody asks whether it is served."""
    cluster = Cluster()
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
        assert woken == []
        assert ("discover", "kubeapiservers") not in cluster.asked
        asked = [plural for verb, plural in cluster.asked if verb == "list" and plural in cluster.unserved]
        assert 2 * 10 <= len([plural for plural in asked if plural != "kubeapiservers"]) <= 2 * 16


async def test_what_changes_all_the_time_wakes_nobody():
    cluster = Cluster()
    async with watching(cluster) as (watched, woken):
        woken.clear()
        before = watched.known()
        for beat in range(100):
            condition = {"type": "Available", "message": f"{beat} seconds ago", "lastUpdateTime": str(beat)}
            cluster.change(KEY, {"status": {"conditions": [condition]}})
            cluster.change(POD, {"metadata": {"annotations": {"beat": str(beat)}}})
            await asyncio.sleep(1)
        assert woken == []
        assert watched.known() == before
        cluster.change(KEY, {"spec": {"replicas": 2}})
        await asyncio.sleep(1)
        assert len(woken) == 1


async def test_one_that_is_not_what_its_api_promises_is_named():
    cluster = Cluster()
    cluster.change(KEY, {"status": {"readyReplicas": "two"}})
    async with watching(cluster) as (watched, _):
        found = watched.known().operand(CONSOLE)
        assert isinstance(found, facts.Unobserved)
        assert found.malformed
        assert "status.readyReplicas should be an integer" in found.why
