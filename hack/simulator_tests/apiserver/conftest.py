"""A running API server in the test's own loop, and a client that says little."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from topology_simulator.apiserver import server

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
DEADLINE = 10.0

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
NODES = "/api/v1/nodes"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def widget_crd() -> dict[str, Any]:
    condition = {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
    }
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "minimum": 0, "maximum": 10, "default": 1},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "ratio": {"type": "number"},
            "note": {"type": "string", "nullable": True},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        },
    }
    schema = {
        "type": "object",
        "properties": {
            "spec": spec,
            "status": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "conditions": {
                        "type": "array",
                        "items": condition,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["type"],
                    },
                },
            },
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                    "additionalPrinterColumns": [
                        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                        {
                            "name": "Ready",
                            "type": "string",
                            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
                        },
                        {
                            "name": "Age",
                            "type": "date",
                            "jsonPath": ".metadata.creationTimestamp",
                            "priority": 1,
                        },
                    ],
                }
            ],
        },
    }


def schema_of(crd: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def widget(name: str = "one", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@dataclass
class Reply:
    code: int
    body: Any
    headers: Any

    @property
    def version(self) -> str:
        found: str = self.body["metadata"]["resourceVersion"]
        return found

    @property
    def fields(self) -> list[str]:
        return [cause["field"] for cause in self.body["details"]["causes"]]


class Watch:
    """An open watch, read event by event."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(DEADLINE):
            line = await self.response.content.readline()
        assert line.endswith(b"\n"), f"the watch ended with {line!r}"
        found: dict[str, Any] = json.loads(line)
        return found

    async def take(self, count: int) -> list[tuple[str, str]]:
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]

    async def rest(self) -> bytes:
        async with asyncio.timeout(DEADLINE):
            return await self.response.content.read()

    def close(self) -> None:
        self.response.close()


class Client:
    def __init__(self, api: server.ApiServer, session: aiohttp.ClientSession) -> None:
        self.api = api
        self.session = session
        self._open: list[Watch] = []

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str = "",
        agent: str = "tester/1",
        **query: Any,
    ) -> Reply:
        accept = query.pop("accept", "application/json")
        headers = {"Accept": accept, "User-Agent": agent}
        data = None
        if body is not None:
            data = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
            headers["Content-Type"] = media or "application/json"
        async with self.session.request(
            method, self.api.url + path, params=query, data=data, headers=headers
        ) as response:
            raw = await response.read()
            is_json = response.content_type == "application/json" and raw
            return Reply(response.status, json.loads(raw) if is_json else raw, response.headers)

    async def get(self, path: str, **query: Any) -> Reply:
        return await self.call("GET", path, **query)

    async def post(self, path: str, body: Any, **query: Any) -> Reply:
        return await self.call("POST", path, body, **query)

    async def put(self, path: str, body: Any, **query: Any) -> Reply:
        return await self.call("PUT", path, body, **query)

    async def merge(self, path: str, body: Any, **query: Any) -> Reply:
        return await self.call("PATCH", path, body, media=MERGE, **query)

    async def delete(self, path: str, body: Any = None, **query: Any) -> Reply:
        return await self.call("DELETE", path, body, **query)

    async def watch(self, path: str, *, accept: str = "application/json", **query: Any) -> Watch:
        response = await self.session.get(
            self.api.url + path, params={"watch": "1", **query}, headers={"Accept": accept}
        )
        assert response.status == 200, await response.text()
        opened = Watch(response)
        self._open.append(opened)
        return opened

    def close(self) -> None:
        for one in self._open:
            one.close()


@pytest.fixture
async def api():
    made = server.ApiServer(crds=[widget_crd()])
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def client(api):
    timeout = aiohttp.ClientTimeout(total=DEADLINE)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        made = Client(api, session)
        yield made
        made.close()


@pytest.fixture
def samples():
    """Builders of objects, for tests that cannot import this file."""
    return Samples


class Samples:
    WIDGETS, NODES, CONFIG_MAPS, DEADLINE = WIDGETS, NODES, CONFIG_MAPS, DEADLINE
    widget = staticmethod(widget)
    widget_crd = staticmethod(widget_crd)
    schema_of = staticmethod(schema_of)
    node = staticmethod(node)
    config_map = staticmethod(config_map)
    client = Client
