"""The two servers of the comparison, prepared alike: the same definitions, and a way to let each forget its past.

Both are told everything through the API, with credentials where there are any. The real one is handed in running; the
embedded one is started here, in the same loop. Either may be asked without the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import tempfile
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import aiohttp
import yaml
from test import processes

from simulator_tests.parity import samples, table
from topology_simulator import binaries, kubeconfig
from topology_simulator.apiserver import server as embedded_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from topology_simulator.envtest import server as real_server

_READY_SECONDS = 30.0
_PAUSE_SECONDS = 0.05


class PreparationError(Exception):
    """A step that only prepares did not succeed; the message has the request and the answer."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two servers, with an open session: rows are for one that is prepared."""

    name: str
    access: kubeconfig.Access
    session: aiohttp.ClientSession
    compact: Callable[[], Awaitable[Any]]
    """Lets the storage forget everything up to now."""
    home: pathlib.Path
    """Of kubectl: its kubeconfig, and what it keeps about the server."""

    async def kubectl(self, words: list[str], given: str, more: Mapping[str, str]) -> processes.Ended:
        """Run kubectl to its end, with `more` in its environment. Raises binaries.MissingError where there is none."""
        environment = {"KUBECONFIG": str(self.home / "kubeconfig"), "HOME": str(self.home), "PATH": os.defpath, **more}
        return await processes.run(binaries.folder() / "kubectl", *words, given=given, env=environment, cwd=self.home)

    async def version(self) -> str:
        """Return which version of Kubernetes it says it is."""
        return str((await self._get("/version"))["gitVersion"])

    async def prepare(self) -> None:
        """Create the definitions of `samples`; wait until their kinds are served and told of."""
        for one in samples.DEFINED:
            await self.create(samples.DEFINITIONS, one)
        async with asyncio.timeout(_READY_SECONDS):
            while not await self._ready():  # noqa: ASYNC110  # a server of another process has no event
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _ready(self) -> bool:
        paths = [f"{samples.BASE}/{one['spec']['names']['plural']}" for one in samples.DEFINED]
        lists = [await self._get(path) for path in paths]
        told = {one["name"] for one in (await self._get(samples.BASE)).get("resources", [])}
        openapi = (await self._get("/openapi/v3")).get("paths", {})
        return (
            all("items" in one for one in lists)
            and told >= {one["spec"]["names"]["plural"] for one in samples.DEFINED}
            and samples.BASE.removeprefix("/") in openapi
        )

    async def _get(self, path: str) -> dict[str, Any]:
        """Return what is there; nothing where it is refused."""
        url, limit = self.access.server + path, aiohttp.ClientTimeout(total=_READY_SECONDS)
        async with self.session.get(url, headers={"Accept": table.JSON}, timeout=limit) as response:
            said = await response.read()
            return json.loads(said) if response.status == HTTPStatus.OK else {}

    async def create(self, path: str, obj: dict[str, Any]) -> None:
        """Create an object. Raises PreparationError."""
        url, limit = self.access.server + path, aiohttp.ClientTimeout(total=_READY_SECONDS)
        async with self.session.post(url, json=obj, timeout=limit) as response:
            if response.status != HTTPStatus.CREATED:
                said = await response.text()
                raise PreparationError(f"{self.name}: {path}: {response.status} {said}")


@contextlib.asynccontextmanager
async def _opened(name: str, content: dict[str, Any], compact: Callable[[], Awaitable[Any]]) -> AsyncIterator[Side]:
    access = kubeconfig.access(content)
    # The session outlives the rows: a connection that is kept would be left behind by the row that opened it.
    connector = aiohttp.TCPConnector(limit=0, ssl=access.tls or True, force_close=True)
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "kubeconfig").write_text(yaml.safe_dump(content))
        async with aiohttp.ClientSession(
            connector=connector, headers=access.headers, trust_env=False, read_bufsize=8 << 20
        ) as session:
            side = Side(name, access, session, compact, home)
            await side.prepare()
            yield side


@contextlib.asynccontextmanager
async def embedded() -> AsyncIterator[Side]:
    """Start the embedded server and prepare it."""
    server = embedded_server.ApiServer(bookmark_seconds=60.0)
    await server.start()

    async def forget() -> None:
        server.compact()

    try:
        async with _opened("embedded", server.kubeconfig(), forget) as side:
            yield side
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def real(server: real_server.RealServer) -> AsyncIterator[Side]:
    """Prepare a running real server."""
    async with _opened("real", server.kubeconfig(), server.compact) as side:
        yield side
