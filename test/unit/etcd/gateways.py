"""An etcd made of fake gateways: real sockets, real mutual TLS, answers in the spelling of etcd 3.5 and 3.6.

`Etcd` keeps what all members agree on; each `Gateway` is one member, and can be made to differ, to fail, to stand
still. What is not etcd's (another path, another method, a body without `linearizable`) is refused.
"""

from __future__ import annotations

import asyncio
import dataclasses
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from topology_controller.observe import facts, members
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CLUSTER = 0xCDF818194E3A8C32
BUDGET = 20.0
"""Seconds in which also a busy machine answers: what must be cut off is so by `answers`."""


@dataclasses.dataclass
class Told:
    """A member as a list tells it."""

    id: int
    name: str
    urls: list[str]
    learner: bool = False

    def raw(self) -> dict[str, Any]:
        """In the gateway's spelling: numbers are strings, what is empty or false is absent."""
        made: dict[str, Any] = {"ID": str(self.id), "peerURLs": ["https://127.0.0.1:1"]}
        if self.name:
            made["name"] = self.name
        if self.urls:
            made["clientURLs"] = self.urls
        if self.learner:
            made["isLearner"] = True
        return made


class Gateway:
    """One member. `asked` has the path of every request, with its body."""

    def __init__(self, etcd: Etcd, told: Told) -> None:
        self.etcd = etcd
        self.told = told
        self.cluster = CLUSTER
        self.errors: list[str] = []
        self.health = {"health": "true", "reason": ""}
        self.members: list[Told] | None = None
        self.asked: list[tuple[str, Any]] = []
        self.before: Callable[[str, Any], Awaitable[web.Response | None]] | None = None
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        assert self._runner is not None
        return f"https://127.0.0.1:{self._runner.addresses[0][1]}"

    @property
    def id(self) -> str:
        """Its id as the operator spells it."""
        return f"{self.told.id:x}"

    async def open(self, context: ssl.SSLContext | None) -> None:
        """Listen on a free port."""
        app = web.Application(middlewares=[self._noted])
        app.router.add_post("/v3/cluster/member/list", self._list)
        app.router.add_post("/v3/maintenance/status", self._status)
        app.router.add_get("/health", self._health)
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, handler_cancellation=True, shutdown_timeout=0.05
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()

    async def close(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    def _header(self) -> dict[str, str]:
        return {"cluster_id": str(self.cluster), "member_id": str(self.told.id), "raft_term": "2"}

    @web.middleware
    async def _noted(self, request: web.Request, handler: Callable[..., Awaitable[Any]]) -> Any:
        body = await request.json() if request.method == "POST" else None
        self.asked.append((request.path, body))
        early = await self.before(request.path, body) if self.before else None
        return await handler(request) if early is None else early

    async def _list(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert set(body) == {"linearizable"}, "an absent linearizable is false: it has to be said"
        if body["linearizable"] and self.etcd.quorum_lost:
            await asyncio.sleep(7)
            return web.json_response({"code": 14, "message": "etcdserver: request timed out"}, status=503)
        told = self.etcd.told if self.members is None else self.members
        return web.json_response({"header": self._header(), "members": [one.raw() for one in told]})

    async def _status(self, _: web.Request) -> web.Response:
        made: dict[str, Any] = {"header": self._header(), "version": "3.6.8", "dbSize": "28672", "raftIndex": "8"}
        made["raftTerm"] = made["header"]["raft_term"]
        made |= {"errors": ["etcdserver: no leader"]} if self.etcd.quorum_lost else {"leader": "1"}
        if self.errors:
            made["errors"] = self.errors
        if self.told.learner:
            made["isLearner"] = True
        return web.json_response(made)

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response(self.health, status=200 if self.health["health"] == "true" else 503)


class Etcd:
    """Three healthy voters, of which 1 leads in term 2, until a test changes something."""

    def __init__(self, authority: certificates.Authority) -> None:
        self.authority = authority
        self.gateways: list[Gateway] = []
        self.quorum_lost = False

    @property
    def told(self) -> list[Told]:
        """Whom the members agree on."""
        return [gateway.told for gateway in self.gateways]

    @property
    def urls(self) -> list[str]:
        """Every endpoint."""
        return [gateway.url for gateway in self.gateways]

    async def survey(self, folder: Path, *endpoints: str, answers: int = 0) -> facts.EtcdMembers:
        """Ask these endpoints, or all members. After so many good `answers` the time is up, on no other clock."""
        loop = asyncio.get_running_loop()
        clock, left = loop.time, answers

        def heard(status: str) -> None:
            nonlocal left
            left -= status == "200"
            if left == 0:
                loop.time = lambda: clock() + 2 * BUDGET  # type: ignore[method-assign]

        observer = heard if answers else None
        asked = members.Members(folder, endpoints or tuple(self.urls), budget=BUDGET, observer=observer)
        try:
            found = await asked.read(facts.NOT_READ)
        finally:
            loop.time = clock  # type: ignore[method-assign]
        assert isinstance(found, facts.EtcdMembers), found
        return found

    def serving(self, pair: certificates.Pair | None = None) -> ssl.SSLContext:
        """A member's TLS: its own certificate, and only clients of the authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as name:
            place = certificates.write(Path(name), self.authority.certificate, pair or self.authority.member("member"))
            context.load_cert_chain(place / certificates.CERTIFICATE_FILE, place / certificates.KEY_FILE)
        context.load_verify_locations(cadata=self.authority.certificate.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    async def add(self, number: int, *, learner: bool = False) -> Gateway:
        """Start a member, which tells the others where it is."""
        made = Gateway(self, Told(number, f"etcd-{number}", [], learner))
        await made.open(self.serving())
        made.told.urls = [made.url]
        self.gateways.append(made)
        return made

    async def close(self) -> None:
        """Stop all of them."""
        await asyncio.gather(*(gateway.close() for gateway in self.gateways))
