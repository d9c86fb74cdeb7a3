"""A running API server in the test's own loop, and a client that says little."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from simulator_tests.parity import samples as parity
from topology_simulator.apiserver import server

MERGE = "application/merge-patch+json"
DEADLINE = 10.0


@dataclass
class Reply:
    code: int
    body: Any
    headers: Any

    @property
    def version(self) -> str:
        found: str = self.body["metadata"]["resourceVersion"]
        return found


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
        headers = {"Accept": "application/json", "User-Agent": agent}
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

    async def merge(self, path: str, body: Any, **query: Any) -> Reply:
        return await self.call("PATCH", path, body, media=MERGE, **query)

    async def delete(self, path: str, body: Any = None, **query: Any) -> Reply:
        return await self.call("DELETE", path, body, **query)

    async def watch(self, path: str, **query: Any) -> Watch:
        response = await self.session.get(self.api.url + path, params={"watch": "1", **query})
        assert response.status == 200, await response.text()
        opened = Watch(response)
        self._open.append(opened)
        return opened

    def close(self) -> None:
        for one in self._open:
            one.close()


@pytest.fixture
async def api():
    made = server.ApiServer(crds=[parity.WIDGET])
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
    WIDGETS, CONFIG_MAPS = (path.format(row="default") for path in (parity.WIDGETS, parity.CONFIG_MAPS))
    NODES, DEADLINE, WIDGET = parity.NODES, DEADLINE, parity.WIDGET
    widget = staticmethod(parity.widget)
    node = staticmethod(parity.node)
    config_map = staticmethod(parity.config_map)
