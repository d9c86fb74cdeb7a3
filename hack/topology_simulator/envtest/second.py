"""The second member of the etcd behind a real API server: with it there are two voters, of which none may be lost.

Its process is kept apart from the server's, so that a test kills it and starts it again while the server runs on.
"""

import asyncio
import contextlib
from typing import Any

from .. import binaries, opened
from ..etcd import gateway, keeping
from . import server

_ANSWER_SECONDS = 2.0
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.1
_NAME = "second"


class Second(opened.Opened):
    """A member that joins when the block begins and has left when it ends. Raises RealServerError, KeepingError."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._processes = keeping.Keeping()
        self._id = ""
        self._command: list[str] = []

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        await parts.enter_async_context(self._processes)
        client, peer = (f"http://127.0.0.1:{port}" for port in keeping.free_ports(2))
        added = await self._asked("cluster/member/add", peerURLs=[peer])
        self._id = added["member"]["ID"]
        (first,) = (member for member in added["members"] if member["ID"] != self._id)
        self._command = [
            str(binaries.program("etcd")), f"--name={_NAME}", f"--data-dir={self._processes.folder / _NAME}",
            "--unsafe-no-fsync", "--log-level=warn", "--initial-cluster-state=existing",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster={first['name']}={first['peerURLs'][0]},{_NAME}={peer}",
        ]  # fmt: skip
        # Until it runs there is no quorum, as with any second voter.
        await self.start()
        parts.push_async_callback(self._leave)

    async def _leave(self) -> None:
        if _NAME not in self._processes.pids:
            await self.start()
        await self._asked("cluster/member/remove", ID=self._id)

    async def start(self) -> None:
        """Start it, also again, and wait for a quorum."""
        await self._processes.start(_NAME, self._command)
        await self._asked("kv/range", key="AA==")

    async def kill(self) -> None:
        """SIGKILL: the first member is left without a quorum."""
        await self._processes.end(_NAME)

    async def _asked(self, what: str, **body: Any) -> dict[str, Any]:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), gateway.Gateway(None, _ANSWER_SECONDS) as etcd:
                while True:
                    with contextlib.suppress(gateway.GatewayError):
                        return await etcd.call(self._url, what, **body)
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise server.RealServerError(f"etcd at {self._url} did not answer {what}") from None
