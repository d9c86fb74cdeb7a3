"""What other operators run, as the watches keep it: opened with a request, by key, and waking nobody without news."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.definitions import load, model
from topology_controller.kube import client as clients
from topology_controller.kube import errors
from topology_controller.observe import catalog, facts, watches

from . import worlds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_api.vocabulary import CheckName
    from topology_controller.kube import resource

pytestmark = pytest.mark.looptime
CONSOLE = "deployments.apps/openshift-console/console"
CONSOLES = "consoles.operator.openshift.io/cluster"
READER = "pods/openshift-authentication-operator/app=authentication-operator"
CREATED = "2026-03-01T10:00:00Z"


class OperandApi:
    """Keeps objects by path; kinds in `unserved` it does not know, kinds in `forbidden` it does not show."""

    request_timeout = 10.0

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.unserved: set[str] = set()
        self.forbidden: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self._version = 100
        self._watching: dict[int, tuple[resource.Selection, asyncio.Queue[Any]]] = {}

    def put(self, kind: resource.Resource, name: str, namespace: str | None = None, **content: Any) -> None:
        self._version += 1
        metadata = {"name": name, "resourceVersion": str(self._version), **content.pop("metadata", {})}
        made = {"metadata": {**metadata, **({"namespace": namespace} if namespace else {})}, **content}
        path = kind.path(namespace, name)
        happened = "MODIFIED" if path in self.objects else "ADDED"
        self.objects[path] = made
        for selection, waiting in self._watching.values():
            if path.startswith(selection.resource.path(selection.namespace) + "/") and selection.name in {None, name}:
                waiting.put_nowait((happened, copy.deepcopy(made)))

    async def get(self, kind: resource.Resource, name: str, *, namespace: str | None = None, **_: Any) -> Any:
        self._ask("get", kind)
        found = self.objects.get(kind.path(namespace, name))
        if found is None:
            raise errors.NotFound("get", kind, namespace, name, 404, "NotFound", "nothing")
        return copy.deepcopy(found)

    async def list(self, kind: resource.Resource, *, reduce: Any, **options: Any) -> clients.Listing[Any]:
        self._ask("list", kind)
        name = (options.get("field_selector") or "").partition("metadata.name=")[2]
        start = kind.path(options.get("namespace")) + "/"
        found = [raw for path, raw in self.objects.items() if path.startswith(start) and path.endswith(name)]
        return clients.Listing(tuple(reduce(copy.deepcopy(raw)) for raw in found), str(self._version))

    async def serves(self, kind: resource.Resource) -> bool:
        self.asked.append(("discover", kind.label))
        return kind.label not in self.unserved

    @contextlib.asynccontextmanager
    async def open_watch(self, selection: resource.Selection, *_: Any) -> AsyncIterator[Any]:
        self._ask("watch", selection.resource)
        waiting: asyncio.Queue[Any] = asyncio.Queue()
        self._watching[id(waiting)] = (selection, waiting)

        async def lines() -> AsyncIterator[Any]:
            while True:
                yield await waiting.get()

        try:
            yield lines()
        finally:
            del self._watching[id(waiting)]

    def _ask(self, verb: str, kind: resource.Resource) -> None:
        self.asked.append((verb, kind.label))
        assert len(self.asked) < 5000, f"a hot loop: {self.asked[-3:]}"
        for refused, error in ((self.unserved, errors.NotFound), (self.forbidden, errors.Forbidden)):
            if kind.label in refused:
                raise error(verb, kind, None, None, 404, error.__name__, "as the test wants")


def source(key: str) -> catalog.Source:
    return next(one for one in catalog.operands(EVERYTHING) if one.operand == key)


def asking(*checks: CheckName) -> load.Transitions:
    asked = tuple(model.CheckSpec.model_construct(check=check) for check in checks)
    convergence = worlds.COMPACT.convergence.model_copy(update={"checks": asked})
    return load.Transitions((worlds.COMPACT.model_copy(update={"convergence": convergence}),), worlds.MATRIX)


EVERYTHING = asking(*(group.check for group in worlds.MATRIX.groups))


def put(server: OperandApi, key: str, **content: Any) -> None:
    selection = source(key).selection
    server.put(selection.resource, selection.name or "one", selection.namespace, **content)


def console(*, ready: int, message: str = "") -> dict[str, Any]:
    return {
        "metadata": {"generation": 4, "annotations": {"beat": message}},
        "spec": {"replicas": 2},
        "status": {
            "observedGeneration": 4,
            "readyReplicas": ready,
            "conditions": [{"type": "Available", "message": message, "lastUpdateTime": message}],
        },
    }


@contextlib.asynccontextmanager
async def watching(server: OperandApi) -> AsyncIterator[tuple[watches.Watches, list[float]]]:
    woken: list[float] = []
    client: Any = server
    loop = asyncio.get_running_loop()
    async with watches.Watches(
        client, lambda: woken.append(loop.time()), sources=catalog.watched(EVERYTHING)
    ) as watched:
        watched.open()
        await asyncio.sleep(1)
        yield watched, woken


async def test_they_are_watched_while_a_request_is_open_and_found_by_their_key():
    server = OperandApi()
    put(server, CONSOLE, **console(ready=1))
    put(server, READER, metadata={"creationTimestamp": CREATED})
    async with watching(server) as (watched, _):
        known = watched.known()
        assert known.operand(CONSOLE) == facts.Workload(4, observed=True, wanted=2, updated=0, ready=1, available=0)
        pods = known.operand(READER)
        assert isinstance(pods, tuple)
        (pod,) = pods
        assert isinstance(pod, facts.Pod)
        assert (pod.name, pod.deleting) == ("one", False)
        missing = known.operand("deployments.apps/openshift-console/downloads")
        assert isinstance(missing, facts.Unobserved)
        assert missing.missing
        assert known.disturbed == ()
        await watched.close()
        assert watched.known().operands == {}
        assert not watched.is_open


async def test_a_kind_that_the_cluster_does_not_serve_is_missing_and_no_trouble(caplog):
    server = OperandApi()
    server.unserved = {"consoles.operator.openshift.io", "imagebasedupgrades.lca.openshift.io"}
    async with watching(server) as (watched, woken):
        known = watched.known()
        for found in (known.operand(CONSOLES), known.lifecycle_agent):
            assert isinstance(found, facts.Unobserved)
            assert found.missing
            assert not found.awaited
        assert known.disturbed == ()
        assert watched.troubles == ()
        assert caplog.records == []
        woken.clear()
        await asyncio.sleep(3600)
        assert woken == []
        asked = [label for _, label in server.asked if label in server.unserved]
        assert 2 * 10 <= len(asked) <= 2 * 16


async def test_a_kind_that_every_cluster_serves_is_trouble_when_it_is_not():
    server = OperandApi()
    server.unserved = {"kubeapiservers.operator.openshift.io"}
    server.forbidden = {"consoles.operator.openshift.io"}
    async with watching(server) as (watched, _):
        assert set(watched.known().disturbed) == {"kubeapiservers.operator.openshift.io/cluster", CONSOLES}
        discovered = {label for verb, label in server.asked if verb == "discover"}
        assert discovered == {"consoles.operator.openshift.io"}, "what may not be there, and is refused"


async def test_what_changes_all_the_time_wakes_nobody():
    server = OperandApi()
    put(server, CONSOLE, **console(ready=1))
    put(server, READER, metadata={"creationTimestamp": CREATED, "annotations": {"beat": "0"}})
    async with watching(server) as (watched, woken):
        woken.clear()
        before = watched.known()
        for beat in range(100):
            put(server, CONSOLE, **console(ready=1, message=f"{beat} seconds ago"))
            put(server, READER, metadata={"creationTimestamp": CREATED, "annotations": {"beat": str(beat)}})
            await asyncio.sleep(1)
        assert woken == []
        assert watched.known() == before
        put(server, CONSOLE, **console(ready=2))
        await asyncio.sleep(1)
        assert len(woken) == 1


async def test_one_that_is_not_what_its_api_promises_is_named():
    server = OperandApi()
    put(server, CONSOLE, status={"readyReplicas": "two"})
    async with watching(server) as (watched, _):
        found = watched.known().operand(CONSOLE)
        assert isinstance(found, facts.Unobserved)
        assert found.malformed
        assert "status.readyReplicas should be an integer" in found.why
