"""Two real kube-apiservers on three real members of etcd, and the proxy before them as their load balancer.

One for a module of tests, like the server of the test run (`real.Session`), from which it differs in what it is made
of. `Servers` is what a test does to them: which of the two answers what, restarts, a server that stands still, and
leaders of etcd that change.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Self
from urllib import parse

from test.component import backend, real
from topology_simulator import proxy
from topology_simulator.envtest import server
from topology_simulator.etcd import cluster as etcd_cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import TracebackType

    from topology_simulator.apiserver import requests

API, SECOND = server.API, server.SECOND
_UNNOTICED = 0.5
MEMBERS = ("etcd-0", "etcd-1", "etcd-2")


class _Relay:
    """Ways of one API server to the members of etcd. While they are held nothing comes from there; nothing is lost."""

    def __init__(self) -> None:
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._servers: list[asyncio.Server] = []

    async def lead_to(self, url: str) -> str:
        """Return a URL that leads to a member."""
        place = parse.urlsplit(url)

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, held: bool) -> None:
            with contextlib.suppress(OSError):
                while data := await reader.read(1 << 16):
                    if held:
                        await self._flowing.wait()
                    writer.write(data)
                    await writer.drain()
            writer.close()

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                theirs, ours = await asyncio.open_connection(place.hostname, place.port)
                await asyncio.gather(carry(reader, ours, held=False), carry(theirs, writer, held=True))

        made = await asyncio.start_server(relay, "127.0.0.1")
        self._servers.append(made)
        return place._replace(netloc=f"127.0.0.1:{made.sockets[0].getsockname()[1]}").geturl()

    async def hold(self) -> None:
        """Hold what comes from the members."""
        self._flowing.clear()

    async def let_go(self) -> None:
        """Let it through."""
        self._flowing.set()

    async def close(self) -> None:
        """Listen no more."""
        await self.let_go()
        for made in self._servers:
            made.close()


class Replicated(server.RealServer):
    """The servers; use it as an async context manager. The second one's ways to etcd lead through `relay`."""

    def __init__(self) -> None:
        self.etcd = etcd_cluster.Cluster(strict=False)
        self._ways = ""
        super().__init__(dict.fromkeys(real.TOKENS, real.OPERATOR), members=self.etcd)

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as opening:
            await opening.enter_async_context(self.etcd)
            await self.etcd.grow(*MEMBERS)
            self.relay = _Relay()
            self._ways = ",".join([await self.relay.lead_to(url) for url in self.etcd.urls])
            opening.push_async_callback(self.relay.close)
            await super().__aenter__()
            opening.pop_all()
        try:
            await self.start_api(SECOND)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        await self.relay.close()
        await self.etcd.__aexit__(kind, error, trace)

    def _api_command(self, name: str) -> list[str]:
        command = super()._api_command(name)
        flag = "--etcd-servers="
        return [f"{flag}{self._ways}" if name == SECOND and part.startswith(flag) else part for part in command]

    async def kill_leader(self) -> str:
        """SIGKILL the leader of etcd, and return its name."""
        leader = await self.etcd.leader()
        await leader.kill()
        return leader.name

    async def move_leader(self) -> None:
        """Let the leader of etcd hand over to another voter."""
        leader = await self.etcd.leader()
        others = [one for one in await self.etcd.listed() if one.name != leader.name and not one.learner]
        await self.etcd.client.call(leader.url, "maintenance/transfer-leadership", targetID=str(others[0].id))

    async def start_member(self, name: str) -> None:
        """Start a member of etcd that was killed, and wait until it is healthy."""
        member = self.etcd.members[name]
        await member.start_again()
        await member.ready(self.etcd.client)


class Session(real.Session):
    """The servers of one module of tests."""

    def __init__(self) -> None:
        super().__init__()
        self.server: Replicated = Replicated()


class Servers(backend.Real):
    """Both servers behind one address, in the hands of a test."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.session = session
        front = self._front
        assert isinstance(front, proxy.Proxy)
        self._proxy = front
        self._not_ready = ""

    def lead(self, choose: Callable[[requests.Request], str]) -> None:
        """Let a server be chosen by its name for each request from now on; open watches stay where they are."""

        def led(request: requests.Request) -> str:
            name = choose(request)
            if name == self._not_ready:
                name = SECOND if name == API else API
            return self.session.server.url_of(name)

        self._proxy.lead(led)

    async def restart_one(self, name: str) -> None:
        """Kill one server and start it again, while the other one goes on.

        As a load balancer does it: what is sent to it at first is lost, then it is left out until it is ready. One that
        has just begun to listen would say 403, because it has not read the rights yet.
        """
        server = self.session.server
        await self.session.run(server.stop_api(name))
        await asyncio.sleep(_UNNOTICED)
        self._not_ready = name
        await self.session.run(server.start_api(name))
        self._not_ready = ""

    @contextlib.contextmanager
    def standing_still(self, name: str) -> Iterator[None]:
        """One server neither answers nor tells its watchers anything inside this context."""
        pid = self.session.server.pids[name]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextlib.asynccontextmanager
    async def second_behind(self) -> AsyncIterator[None]:
        """The second server hears nothing of etcd inside this context: it answers with what it has cached."""
        relay = self.session.server.relay
        await self.session.run(relay.hold())
        try:
            yield
        finally:
            await self.session.run(relay.let_go())


class Place(backend.Place):
    """Where the worlds of such a module are opened, one after another."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._replicated = session

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Servers]:
        """Open both servers, without anything of the test before."""
        made = Servers(self._replicated)
        try:
            await made.start()
            yield made
        finally:
            await made.stop()
