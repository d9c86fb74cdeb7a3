"""The second member of the etcd behind a real API server: with it there are two voters, of which none may be lost.

Its process is kept apart from the server's, so that a test kills it and starts it again while the server runs on.
"""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Any, Self

import aiohttp

from .. import binaries, ports
from ..etcd import keeping
from . import server

_ANSWER_SECONDS = 2.0
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.1
_NAME = "second"


class Second:
    """A member that joins when the block begins and has left when it ends. Raises RealServerError, KeepingError."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._processes = keeping.Keeping()
        self._id = ""
        self._command: list[str] = []

    async def __aenter__(self) -> Self:
        await self._processes.__aenter__()
        client, peer = (f"http://127.0.0.1:{port}" for port in ports.free(2))
        added = await self._asked("/v3/cluster/member/add", peerURLs=[peer])
        self._id = added["member"]["ID"]
        (first,) = (member for member in added["members"] if member["ID"] != self._id)
        self._command = [
            str(binaries.etcd()), f"--name={_NAME}", f"--data-dir={self._processes.folder / _NAME}",
            "--unsafe-no-fsync", "--log-level=warn", "--initial-cluster-state=existing",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster={first['name']}={first['peerURLs'][0]},{_NAME}={peer}",
        ]  # fmt: skip
        # Until it runs there is no quorum, as with any second voter.
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if _NAME not in self._processes.pids:
                await self.start()
            await self._asked("/v3/cluster/member/remove", ID=self._id)
        finally:
            await self._processes.__aexit__(kind, error, trace)

    async def start(self) -> None:
        """Start it, also again, and wait for a quorum."""
        await self._processes.start(_NAME, self._command)
        await self._asked("/v3/kv/range", key="AA==")

    async def kill(self) -> None:
        """SIGKILL: the first member is left without a quorum."""
        await self._processes.end(_NAME)

    async def _asked(self, path: str, **body: Any) -> dict[str, Any]:
        limit = aiohttp.ClientTimeout(total=_ANSWER_SECONDS)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), aiohttp.ClientSession(self._url, timeout=limit) as session:
                while True:
                    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                        async with session.post(path, json=body) as response:
                            if response.status == 200:
                                answer: dict[str, Any] = await response.json()
                                return answer
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise server.RealServerError(f"etcd at {self._url} did not answer {path}") from None
