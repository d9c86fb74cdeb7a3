"""Two servers for the tests of kube/.

`faulty` is a real socket that answers as it is told, byte by byte: for faults of the network.
`store` is an API in memory behind the client's methods, without sockets: for tests in virtual time.
"""

# ruff: noqa: ARG002, ARG004, ARG005 - stand-ins have the arguments of what they replace

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from test import polling

from topology_controller.kube import client, config, errors, resource, watch

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")


def widget(name: str, version: int | str, **fields: Any) -> dict[str, Any]:
    """Make a raw object of the kind that all these tests use."""
    metadata = {"name": name, "resourceVersion": str(version), "uid": f"uid-{name}"}
    return {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": metadata, **fields}


@dataclass
class Asked:
    """A request as the server saw it."""

    at: float
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    connection: int
    lines: list[tuple[str, str]]
    """The headers as they were sent, with those that come twice."""

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") == "true"


class Reply:
    """Writes to one connection, as badly as the test wants."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self._reader = reader

    async def peer_hangs_up(self) -> None:
        """Wait for the end of the connection. It is reset when the peer had not read all that was sent to it."""
        with contextlib.suppress(ConnectionError):
            while not self._reader.at_eof():
                await self._reader.read(1)

    async def whole(self, status: int, body: bytes | dict[str, Any], **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/json" if isinstance(body, dict) else "text/plain"
        lines = {"Content-Type": kind, "Content-Length": str(len(data))}
        lines.update({name.replace("_", "-"): value for name, value in headers.items()})
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        await self.bytes(head.encode() + b"\r\n" + data)

    async def begin(self) -> None:
        await self.bytes(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.bytes(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def event(self, kind: str, found: dict[str, Any]) -> None:
        await self.chunk(json.dumps({"type": kind, "object": found}).encode() + b"\n")

    async def end(self) -> None:
        await self.bytes(b"0\r\n\r\n")

    async def bytes(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def hang_up(self) -> None:
        self.writer.transport.abort()


class FaultyServer:
    """Answers every request with `behave(asked, reply)`, and remembers it."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self.behave: Callable[[Asked, Reply], Awaitable[None]] = self.nothing
        self.port = 0
        self.tls: ssl.SSLContext | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @staticmethod
    async def nothing(asked: Asked, reply: Reply) -> None:
        await reply.whole(404, b"nothing here")

    def answer(self, status: int, body: bytes | dict[str, Any], **headers: str) -> None:
        """Say the same to everybody."""

        async def behave(asked: Asked, reply: Reply) -> None:
            await reply.whole(status, body, **headers)

        self.behave = behave

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def secure(self, tls: ssl.SSLContext) -> None:
        """Serve with this from now on, at the same port."""
        await self.stop()
        self.tls = tls
        await self.start()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            # What was accepted at the last moment is served before it is ended: else nobody would close it.
            for _ in range(5):
                await asyncio.sleep(0)
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._server.wait_closed()
            self._server = None

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer, self.connections))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, mine: int) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while not writer.transport.is_closing():
                    asked = await self._read(reader, mine)
                    await self.behave(asked, Reply(reader, writer))
        finally:
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader, connection: int) -> Asked:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, target, _ = first.split(" ", 2)
        pairs = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
        headers = {name.title(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("Content-Length", "0")))
        url = urlsplit(target)
        asked = Asked(time.monotonic(), method, url.path, dict(parse_qsl(url.query)), headers, body, connection, pairs)
        self.asked.append(asked)
        return asked

    @property
    def lists(self) -> list[Asked]:
        """Without those of a single object, which are asked for the version of the store."""
        return [
            asked
            for asked in self.asked
            if asked.method == "GET" and not asked.is_watch and asked.query.get("limit") != "1"
        ]

    @property
    def watches(self) -> list[Asked]:
        return [one for one in self.asked if one.is_watch]


@pytest.fixture
async def faulty() -> AsyncIterator[FaultyServer]:
    server = FaultyServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def connect(faulty: FaultyServer) -> AsyncIterator[Callable[..., Awaitable[client.Client]]]:
    """Open clients on the faulty server; they are closed with the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def opened(**options: Any) -> client.Client:
            configuration = options.pop("configuration", None) or config.library().client.Configuration()
            port = (options.pop("server", None) or faulty).port
            configuration.host = f"http://127.0.0.1:{port}"
            configuration.proxy = ""
            settings = {
                "user_agent": "tester/1",
                "field_manager": "tester",
                # A read that a busy machine answers late is sent again, and what a test counts would be one more.
                "request_timeout": 2.0 * polling.PATIENCE,
                **options,
            }
            return await stack.enter_async_context(client.Client(configuration, **settings))

        yield opened


@dataclass
class Store:
    """An API in memory, for one kind: what a client's methods would answer, and faults on demand.

    `refuse(verb)` is asked before each request and may return an error to raise. Time is the loop's.
    """

    kind: resource.Resource = WIDGETS
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 100
    log: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    compacted: int = 0
    requests: list[tuple[float, str]] = field(default_factory=list)
    watching: list[asyncio.Queue[Any]] = field(default_factory=list)
    refuse: Callable[[str], errors.KubeError | None] = lambda verb: None
    delay: float = 0.0
    discovery: bool | errors.KubeError = True
    """What discovery says of the kind."""
    discovered: int = 0
    request_timeout: float = 10.0

    def error(
        self, kind: type[errors.KubeError], status: int = 0, reason: str = "Test", **more: Any
    ) -> errors.KubeError:
        return kind("watch", self.kind, None, None, status, reason, "as the test wants", **more)

    def put(self, name: str, **fields: Any) -> dict[str, Any]:
        self.version += 1
        happened = "MODIFIED" if name in self.objects else "ADDED"
        made = widget(name, self.version, **fields)
        made["kind"], made["apiVersion"] = self.kind.kind, self.kind.api_version
        self.objects[name] = made
        self._tell(happened, made)
        return copy.deepcopy(made)

    def remove(self, name: str) -> None:
        self.version += 1
        gone = self.objects.pop(name)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._tell("DELETED", gone)

    def bookmark(self) -> None:
        raw = {"kind": self.kind.kind, "metadata": {"resourceVersion": str(self.version)}}
        for queue in self.watching:
            queue.put_nowait(("BOOKMARK", raw))

    def compact(self) -> None:
        self.compacted = self.version
        self.log.clear()

    def cut(self, error: errors.KubeError | None = None) -> None:
        """End all watches: in good order, or with an error."""
        for queue in self.watching:
            queue.put_nowait(error)

    def _tell(self, happened: str, raw: dict[str, Any]) -> None:
        self.log.append((self.version, happened, copy.deepcopy(raw)))
        for queue in self.watching:
            queue.put_nowait((happened, copy.deepcopy(raw)))

    async def _asked(self, verb: str) -> None:
        self.requests.append((asyncio.get_running_loop().time(), verb))
        # Virtual time stands still in a hot loop: without this such a test would hang and not fail.
        assert len(self.requests) < 20_000, f"a hot loop: {self.requests[-3:]}"
        if self.delay:
            await asyncio.sleep(self.delay)
        error = self.refuse(verb)
        if error is not None:
            raise error

    async def list(self, selection: resource.Selection, reduce: Any = lambda raw: raw, **_: Any) -> client.Listing[Any]:
        # A page of one is asked for the version of the store.
        await self._asked("newest" if selection.page == 1 else "list")
        return client.Listing(tuple(reduce(copy.deepcopy(raw)) for raw in self.objects.values()), str(self.version))

    @contextlib.asynccontextmanager
    async def open_watch(self, selection: Any, version: str, seconds: float, silence: float) -> AsyncIterator[Any]:
        await self._asked("watch")
        if int(version) < self.compacted:
            raise self.error(errors.Gone, 410, "Expired")
        queue: asyncio.Queue[Any] = asyncio.Queue()
        for at, happened, raw in self.log:
            if at > int(version):
                queue.put_nowait((happened, copy.deepcopy(raw)))
        self.watching.append(queue)
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds

        async def lines() -> AsyncIterator[tuple[str, dict[str, Any]]]:
            while True:
                left = ends - loop.time()
                try:
                    async with asyncio.timeout(min(left, silence)):
                        item = await queue.get()
                except TimeoutError:
                    if left <= silence:
                        return
                    raise self.error(errors.TimedOut, 0, "Silent") from None
                if item is None:
                    return
                if isinstance(item, errors.KubeError):
                    raise item
                yield item

        try:
            yield lines()
        finally:
            self.watching.remove(queue)

    async def serves(self, kind: resource.Resource) -> bool:
        self.discovered += 1
        if isinstance(self.discovery, errors.KubeError):
            raise self.discovery
        return self.discovery

    async def get(self, kind: resource.Resource, name: str, **_: Any) -> dict[str, Any]:
        await self._asked("get")
        if name not in self.objects:
            raise self.error(errors.NotFound, 404)
        return copy.deepcopy(self.objects[name])

    async def create(self, kind: resource.Resource, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        await self._asked("create")
        if body["metadata"]["name"] in self.objects:
            raise self.error(errors.AlreadyExists, 409)
        return self.put(body["metadata"]["name"], spec=copy.deepcopy(body["spec"]))

    async def replace(self, kind: resource.Resource, name: str, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        await self._asked("update")
        if name not in self.objects:
            raise self.error(errors.NotFound, 404)
        if self.objects[name]["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            raise self.error(errors.Conflict, 409)
        return self.put(name, spec=copy.deepcopy(body["spec"]))


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def make_widget() -> Callable[..., dict[str, Any]]:
    return widget


@pytest.fixture
def soon() -> Callable[..., Awaitable[Any]]:
    """Wait for something that real sockets bring about."""
    return functools.partial(polling.until, "it comes about")


@pytest.fixture
def quick() -> watch.Timing:
    """Figures small enough for real sockets: pauses of 0.1 to 0.4 s. A busy machine is silent for seconds."""
    return watch.Timing(
        shortest=30.0, longest=30.0, silence=30.0, first=0.1, cap=0.4, healthy=5.0, settle=0.05, grace=0.2, listing=20.0
    )
