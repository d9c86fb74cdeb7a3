"""The API server of a test, embedded or real, with what a test does to it: one interface for both.

`Embedded` runs our own server in the test's loop. `Real` is a proxy in the test's loop before the real server of the
test run (`real`), so that the same faults, hooks and records are there, and every request still goes to a
kube-apiserver and its etcd. A test asks `World.server` and need not know which one it has; the few things that only
one of them can do are told apart by `is_real`.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from test.component import process, real
from topology_simulator import box, install, proxy
from topology_simulator.apiserver import faults, server, statuses
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Awaitable, Callable

    from topology_simulator import client as clients
    from topology_simulator import cluster as simulated
    from topology_simulator.apiserver.requests import Record, Request

_WRITES = frozenset({"create", "update", "patch", "delete"})
_BOOKMARK_SECONDS = 1.0
_INSTALLED: dict[simulated.Shape, server.Snapshot] = {}
"""What each shape of cluster looks like just after it was installed. It is several hundred requests each time."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write that an operator has sent (executed or not), other than of leases and events."""

    who: str
    verb: str
    resource: str
    subresource: str
    body: dict[str, Any]

    @property
    def record(self) -> dict[str, Any]:
        """What it says in status.topologyTransition."""
        found: dict[str, Any] = (self.body.get("status") or {}).get("topologyTransition") or {}
        return found

    @property
    def is_change(self) -> bool:
        """Whether it moves the topology."""
        return "controlPlaneTopology" in (self.body.get("status") or {})

    def __str__(self) -> str:
        what = "change" if self.is_change else self.record.get("phase", "")
        return f"{self.verb} {self.resource}/{self.subresource} {what}".strip()


def who(request: Request) -> str:
    """Return the token of whoever asks: the operator's name."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def by_operator(request: Request) -> bool:
    """Whether an operator asks."""
    return request.user_agent.startswith("cluster-topology-operator/")


def is_change(request: Request) -> bool:
    """Whether this is the one write that matters."""
    return (
        request.verb == "patch"
        and request.target.plural == "infrastructures"
        and b'"controlPlaneTopology"' in request.body
        and by_operator(request)
    )


def is_live_read(request: Request) -> bool:
    """Whether this is the last read before a change: Infrastructure by name, with GET."""
    return request.verb == "get" and request.target.plural == "infrastructures" and by_operator(request)


def is_write(request: Request) -> bool:
    """Whether an operator writes something that people see: neither lease nor event."""
    return request.verb in _WRITES and by_operator(request) and request.target.plural not in {"leases", "events"}


def refuse(code: int, message: str) -> statuses.StatusError:
    """What a hook raises so that the request is not executed."""
    return statuses.StatusError(code, message)


class Server(abc.ABC):
    """An API server in the hands of a test. Close it with `stop`."""

    is_real = False

    def __init__(self, front: faults.Front) -> None:
        self._front = front
        self.writes: list[Write] = []
        front.faults.on_request(is_write, self._note)

    def refusals(self) -> list[str]:
        """Return what operators asked for without having the right to, since the start."""
        return []

    @abc.abstractmethod
    def kubeconfig(self) -> dict[str, Any]:
        """Return the administrator's kubeconfig; with another token it is an operator's."""

    async def furnish(self, api: clients.Client, shape: simulated.Shape) -> None:
        """Install a cluster."""
        await install.install(api, shape)

    # -- coming and going

    async def start(self) -> None:
        """Listen."""
        await self._front.start()

    async def stop(self) -> None:
        """Lift all faults, cut everything and stop."""
        self._front.faults.clear()
        await self._front.stop()

    @contextlib.asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        """Nobody listens on the port inside this context; the state stays."""
        port = self._front.port
        await self._front.stop()
        yield
        await self._front.start(port=port)

    @abc.abstractmethod
    async def restart(self, down: float = 0.3) -> None:
        """End the server, go away for at least `down` seconds, and come back on the same port with the same state."""

    @abc.abstractmethod
    async def forget_history(self) -> None:
        """Compact the log and cut all watches: whoever goes on from a version that it has is answered with 410."""

    @abc.abstractmethod
    async def snapshot(self) -> Any:
        """Return a backup of everything, for `put_back`."""

    @abc.abstractmethod
    async def put_back(
        self, saved: Any, *, bump: int = 0, down: float = 0.3, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Restore a backup, and return when the server answers again, after at least `down` seconds.

        With `bump` versions go on so much higher, and all before that are forgotten; without it those that came after
        the backup are given out a second time. `meanwhile` is called while nothing listens.
        """

    # -- faults and hooks

    def fault(self, action: faults.Action, **fields: Any) -> faults.Active:
        """Put a fault in force, by default for operators only (see `topology_simulator.apiserver.faults`)."""
        return self._front.faults.add(faults.Fault(action=action, **{"user_agent": process.USER_AGENT, **fields}))

    def lift(self, active: faults.Active) -> None:
        """Take a fault away."""
        self._front.faults.remove(active)

    def before(
        self,
        matches: Callable[[Request], bool],
        callback: Callable[[Request], Awaitable[None]],
        *,
        count: int | None = 1,
    ) -> faults.Hook:
        """Run something before the next `count` matching requests are executed; None: before each."""
        return self._front.faults.on_request(matches, callback, count=count)

    # -- what was asked

    def asked(self, since: int = 0) -> list[Record]:
        """What operators have asked since `mark`, oldest first."""
        return [one for one in list(self._front.requests)[since:] if one.user_agent.startswith("cluster-topology-op")]

    def changes(self, agent: str, since: int = 0) -> int:
        """Return how often a neighbour has written since `mark`."""
        asked = list(self._front.requests)[since:]
        return sum(one.user_agent.startswith(agent) and one.verb in _WRITES and one.code < 300 for one in asked)

    def mark(self) -> int:
        """Return where the audit log ends now."""
        return len(self._front.requests)

    def watches(self) -> list[Request]:
        """Return the watches of operators that are open now."""
        return [one for one in self._front.open_watches if by_operator(one)]

    @property
    def topology_changes(self) -> list[Write]:
        """Every change that was sent, executed or not."""
        return [one for one in self.writes if one.is_change]

    async def _note(self, request: Request) -> None:
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            body = {}
        target = request.target
        self.writes.append(Write(who(request), request.verb, target.plural, target.subresource, body))


class Embedded(Server):
    """Our own server, new and empty."""

    def __init__(self) -> None:
        self._server = server.ApiServer(bookmark_seconds=_BOOKMARK_SECONDS, tls=certificates.served())
        super().__init__(self._server)

    def kubeconfig(self) -> dict[str, Any]:
        """Return the administrator's kubeconfig."""
        return self._server.kubeconfig()

    async def furnish(self, api: clients.Client, shape: simulated.Shape) -> None:
        """Install a cluster; the second of the same shape in this process goes on from the first."""
        if (saved := _INSTALLED.get(shape)) is not None:
            self._server.restore(saved)
            return
        await super().furnish(api, shape)
        _INSTALLED[shape] = self._server.snapshot()

    async def restart(self, down: float = 0.3) -> None:
        """Stop listening and start again, without a memory of what watches have seen: a real one begins so, too."""
        async with self.away():
            self._server.compact()
            await asyncio.sleep(down)

    async def forget_history(self) -> None:
        """Compact, and cut."""
        self._server.compact()
        self._front.faults.add(faults.Fault(action="cut", verb="watch"))

    async def snapshot(self) -> server.Snapshot:
        """Return its objects and where its revisions are."""
        return self._server.snapshot()

    async def put_back(
        self, saved: Any, *, bump: int = 0, down: float = 0.3, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Stop listening, and begin again with what it was."""
        async with self.away():
            self._server.put_back(saved, bump=bump)
            meanwhile()
            await asyncio.sleep(down)


class Real(Server):
    """A proxy before the real server of the test run."""

    is_real = True

    def __init__(self, session: real.Session) -> None:
        self._session = session
        self._audit = session.server.audit()
        super().__init__(proxy.Proxy(session.server.url, session.server.tls(), session.server.serving()))

    def refusals(self) -> list[str]:
        """Return what the audit log says of it: operators here have the rights of the manifests and no others."""
        return [
            f"{one.verb} {one.uri}"
            for one in self._audit.read()
            if one.user == real.OPERATOR.name and not one.allowed and one.code == 403
        ]

    def kubeconfig(self) -> dict[str, Any]:
        """Return the administrator's kubeconfig, which leads through the proxy."""
        return self._session.server.kubeconfig(server=self._front.url)

    async def furnish(self, _api: clients.Client, shape: simulated.Shape) -> None:
        """Leave nothing of the test before; definitions, and what it did not write to, are there."""
        await self._session.furnish(shape)

    async def restart(self, down: float = 0.3) -> None:
        """Kill kube-apiserver and start it again; etcd goes on."""
        async with self.away():
            await self._session.run(self._session.server.restart_api(down))
        # Operators are let in before: they must bear what it says until then.
        await self._session.served()

    async def forget_history(self) -> None:
        """Compact etcd, and restart kube-apiserver: its watch cache would go on serving what it remembers."""
        async with self.away():
            await self._session.run(self._compact())
        await self._session.served()

    async def snapshot(self) -> pathlib.Path:
        """Save etcd's state as `etcdctl snapshot save` does."""
        return await self._session.run(self._session.server.snapshot())

    async def put_back(
        self, saved: Any, *, bump: int = 0, down: float = 0.3, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Kill kube-apiserver and etcd, restore the snapshot as `etcdutl snapshot restore` does, and start both."""
        async with self.away():
            meanwhile()
            await self._session.put_back(saved, bump=bump, down=down)
        await self._session.served()

    async def _compact(self) -> None:
        await self._session.server.stop_api()
        await self._session.server.compact()
        await self._session.server.start_api()


class _Store:
    """The etcd of the real server, for a story that restores it."""

    def __init__(self, session: real.Session) -> None:
        self._session = session

    async def snapshot(self) -> pathlib.Path:
        return await self._session.run(self._session.server.snapshot())

    async def put_back(self, saved: pathlib.Path, /, *, bump: int, down: float) -> None:
        await self._session.put_back(saved, bump=bump, down=down)
        await self._session.served()


class Place:
    """Where the worlds of one test are opened: the choice of `--apiserver`, and the real server if it is that."""

    def __init__(self, session: real.Session | None = None) -> None:
        self._session = session
        # There is one real server: its worlds come one after another.
        self._vacant = asyncio.Semaphore(1)

    @property
    def is_real(self) -> bool:
        """Whether it is the real one."""
        return self._session is not None

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncIterator[box.Served | None]:
        """Lend the real server, empty and without a proxy, to a box; None where a box brings its own."""
        if self._session is None:
            yield None
            return
        async with self._vacant:
            await self._session.furnish(None)
            server = self._session.server
            yield box.Served(
                administrator=server.kubeconfig(), operator=server.kubeconfig("operator-a"), store=_Store(self._session)
            )

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Server]:
        """Open an empty server; a real one when the one before is closed."""
        async with self._vacant if self._session is not None else contextlib.nullcontext():
            made: Server = Embedded() if self._session is None else Real(self._session)
            try:
                await made.start()
                yield made
            finally:
                await made.stop()
