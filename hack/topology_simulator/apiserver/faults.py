"""A loopback port whose clients can be disturbed, and what can go wrong there on purpose.

`Front` is what the embedded server and the proxy before a real one share: listening and stopping, the faults, the
audit log, and the watches that are open. Hooks run before a matching request is executed, so that a test can do
something exactly between two requests.
"""

import abc
import asyncio
import contextlib
import dataclasses
import fnmatch
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from urllib.parse import unquote

import aiohttp
import pydantic
from aiohttp import web
from pydantic import alias_generators

from . import handlers, requests, statuses, streams

Action = Literal["status", "slow", "silent", "drop", "lost", "cut", "expire"]
_AT_ONCE: tuple[Action, ...] = ("cut", "expire")
_TEXTS = {401: b"Unauthorized\n", 502: b"502 Bad Gateway\n"}
_EXPIRED = "too old resource version: 1 (2)"


class Fault(pydantic.BaseModel):
    """Which requests are hit, and what happens to them. Raises ValidationError; JSON is in camelCase.

    Every pattern (of a shell) must match, an empty one does. At most `count` are hit, for `seconds`.

    * `status`: answered with `code` and not executed; 401 and 5xx in plain text, the others as a Status (429 with
      Retry-After), as real servers and proxies do. `slow`: executed after `delay` seconds
    * `silent`: taken and never answered; open watches stop sending, bookmarks included, and stay connected
    * `drop`: the connection ends before the request is executed; `lost`: after it (and `delay`), without an answer
    * `cut`: open watches end at once, without a proper end; with `mid_line`, in the middle of a line
    * `expire`: open watches get the ERROR event of a compacted log (410) and end
    """

    model_config = pydantic.ConfigDict(
        alias_generator=alias_generators.to_camel, populate_by_name=True, extra="forbid", frozen=True, strict=True
    )

    action: Action
    verb: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user_agent: str = ""
    token: str = ""
    """The bearer token of the client."""
    body: str = ""
    """Text that the request's body contains."""
    code: int = pydantic.Field(default=503, ge=400, le=599)
    delay: float = pydantic.Field(default=0.0, ge=0)
    mid_line: bool = False
    count: int | None = pydantic.Field(default=None, ge=1)
    seconds: float | None = pydantic.Field(default=None, ge=0)

    def hits(self, request: requests.Request) -> bool:
        """Return whether a request matches."""
        target = request.target
        pairs = (
            (self.verb, request.verb),
            (self.resource, target.plural),
            (self.namespace, target.namespace),
            (self.name, _name_of(request)),
            (self.subresource, target.subresource),
            (self.user_agent, request.user_agent),
            (self.token, request.headers.get("Authorization", "").removeprefix("Bearer ")),
        )
        if not all(not pattern or fnmatch.fnmatchcase(value, pattern) for pattern, value in pairs):
            return False
        return not self.body or self.body.encode() in request.body


def _name_of(request: requests.Request) -> str:
    """Return the name that a request is about, one pinned by a field selector included."""
    if request.target.name:
        return request.target.name
    for term in request.query.get("fieldSelector", "").split(","):
        key, _, value = term.partition("=")
        if key == "metadata.name":
            return value.removeprefix("=")
    return ""


@dataclass(slots=True, eq=False)
class Active:
    """A fault in force: how often it has hit, how often and until when (monotonic seconds) it still may."""

    fault: Fault
    until: float | None
    left: int | None
    hits: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Whether it has done its part."""
        return self.left == 0 or (self.until is not None and time.monotonic() >= self.until)


@dataclass(slots=True, eq=False)
class Hook:
    """Something to run before matching requests; `remaining` counts down unless it is None."""

    predicate: Callable[[requests.Request], bool]
    callback: Callable[[requests.Request], Awaitable[None]]
    remaining: int | None


class Faults:
    """The faults of one server. `watches` tells which watches are open."""

    def __init__(self, watches: Callable[[], Iterable[streams.Stream]]) -> None:
        self._watches = watches
        self._active: list[Active] = []
        self._hooks: list[Hook] = []

    def add(self, fault: Fault) -> Active:
        """Put a fault in force. What it does to open watches it does now; `hits` of the result counts them too."""
        until = None if fault.seconds is None else time.monotonic() + fault.seconds
        active = Active(fault, until, fault.count)
        if fault.action in (*_AT_ONCE, "silent"):
            for stream in tuple(self._watches()):
                if fault.hits(stream.request):
                    active.hits += 1
                    _disturb(stream, fault)
        if fault.action not in _AT_ONCE:
            self._active.append(active)
        return active

    def remove(self, active: Active) -> None:
        """Take one fault away; what it held is let go (the connection ends). Harmless when it is gone already."""
        active.gone.set()
        if active in self._active:
            self._active.remove(active)

    def clear(self) -> None:
        """Take all faults and hooks away; muted watches end."""
        for active in tuple(self._active):
            self.remove(active)
        self._hooks.clear()
        for stream in tuple(self._watches()):
            if stream.muted:
                stream.cut()

    def active(self) -> list[Active]:
        """Return the faults that are still in force."""
        for active in [active for active in self._active if active.over and active.fault.action != "silent"]:
            self._active.remove(active)
        return [active for active in self._active if not active.over]

    def on_request(
        self,
        predicate: Callable[[requests.Request], bool],
        callback: Callable[[requests.Request], Awaitable[None]],
        *,
        count: int | None = None,
    ) -> Hook:
        """Run `callback` before every (or the next `count`) matching request executes; returns the hook."""
        hook = Hook(predicate, callback, count)
        self._hooks.append(hook)
        return hook

    async def before(self, request: requests.Request) -> Active | None:
        """Run the hooks and return the fault that the request is to meet; waits for as long as `slow` says."""
        for hook in [hook for hook in self._hooks if hook.predicate(request)]:
            if hook.remaining is not None:
                hook.remaining -= 1
                if hook.remaining <= 0 and hook in self._hooks:
                    self._hooks.remove(hook)
            await hook.callback(request)
        for active in [active for active in self.active() if active.fault.hits(request)]:
            active.hits += 1
            if active.left is not None:
                active.left -= 1
            if active.fault.action != "slow":
                return active
            await asyncio.sleep(active.fault.delay)
        return None


def _disturb(stream: streams.Stream, fault: Fault) -> None:
    if fault.action == "cut":
        stream.cut(mid_line=fault.mid_line)
    elif fault.action == "expire":
        stream.fail(statuses.StatusError(410, _EXPIRED).body())
    else:
        stream.mute()


def answer(fault: Fault) -> handlers.Answer:
    """Return what a `status` answers with."""
    if fault.code == 401 or fault.code >= 500:
        return handlers.Answer(fault.code, _TEXTS.get(fault.code, b""), "text/plain; charset=utf-8")
    message = _EXPIRED if fault.code == 410 else "refused by a fault of the simulator"
    details = {"retryAfterSeconds": 1} if fault.code == 429 else None
    return handlers.refusal(statuses.StatusError(fault.code, message, details=details))


_AUDIT_LIMIT = 50_000
_HOST = "127.0.0.1"


class DroppedError(Exception):
    """A connection is to end without an answer."""


class Front(abc.ABC):
    """A port of 127.0.0.1. Over plain HTTP, without `tls`, clients send no credentials.

    Faults, hooks and records outlast a `stop`.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._served_tls = tls
        self.requests = requests.Log(maxlen=_AUDIT_LIMIT)
        self.faults = Faults(lambda: self._streams)
        self._streams: dict[streams.Stream, None] = {}
        self._stopping = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._listening: socket.socket | None = None
        self._greetings: set[asyncio.Task[None]] = set()
        self.url = ""
        """Where it listens, or last did: `http://127.0.0.1:PORT`, or https."""

    @property
    def port(self) -> int:
        """The port of `url`."""
        return int(self.url.rpartition(":")[2])

    @property
    def open_watches(self) -> list[requests.Request]:
        """The requests of the watches that are open now, oldest first."""
        return [stream.request for stream in self._streams]

    async def start(self, port: int = 0) -> str:
        """Listen and return the URL. Raises OSError for a taken port."""
        if self._runner is not None:
            raise RuntimeError(f"{self.url} is served already")
        self._stopping = asyncio.Event()
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._serve)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
        # Loopback and nothing else: nothing here checks who is asking.
        listening = socket.create_server((_HOST, port), backlog=128)
        listening.settimeout(0.0)
        scheme = "http" if self._served_tls is None else "https"
        self.url = f"{scheme}://{_HOST}:{listening.getsockname()[1]}"
        await runner.setup()
        self._runner, self._listening = runner, listening
        served = cast("Callable[[], asyncio.BaseProtocol]", runner.server)
        asyncio.get_running_loop().add_reader(listening, self._accept, listening, served)
        return self.url

    async def stop(self) -> None:
        """Cut all watches and stop listening. Harmless when it does not run."""
        runner, self._runner = self._runner, None
        self._stopping.set()
        for stream in tuple(self._streams):
            stream.cut()
        if runner is None or self._listening is None:
            return
        asyncio.get_running_loop().remove_reader(self._listening)
        self._listening.close()
        # Each has begun then, so that its socket is closed when it is cancelled.
        await asyncio.sleep(0)
        for greeting in (greetings := tuple(self._greetings)):
            greeting.cancel()
        await asyncio.gather(*greetings, return_exceptions=True)
        await runner.cleanup()

    def _accept(self, listening: socket.socket, served: Callable[[], asyncio.BaseProtocol]) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listening.accept()
            greeting = asyncio.create_task(self._greet(connection, served))
            self._greetings.add(greeting)
            greeting.add_done_callback(self._greetings.discard)

    async def _greet(self, connection: socket.socket, served: Callable[[], asyncio.BaseProtocol]) -> None:
        """Shake hands. Until that is done no server knows of the connection, and none would end it."""
        connection.settimeout(0.0)
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(served, connection, ssl=self._served_tls)

    async def _serve(self, http: web.Request) -> web.StreamResponse:
        """Answer one request, and record it."""
        request = requests.parse(http.method, unquote(http.rel_url.raw_path), http.query, http.headers)
        arrived, code, outcome = time.time(), 0, None
        try:
            with contextlib.suppress(DroppedError):
                request = dataclasses.replace(request, body=await http.read())
                outcome = await self._outcome(http, request)
                code = 0 if outcome is None else outcome.status
        finally:
            self.requests.append(requests.record(request, http.path_qs, code, arrived))
        if outcome is None:
            return vanish(http)
        return outcome if isinstance(outcome, web.Response) else await self._watch(http, request, outcome)

    @abc.abstractmethod
    async def _outcome(self, http: web.Request, request: requests.Request) -> Any:
        """Return an answer, or a watch that was opened; None, or DroppedError: the connection is to end."""

    @abc.abstractmethod
    async def _watch(self, http: web.Request, request: requests.Request, opened: Any) -> web.StreamResponse:
        """Send what is watched."""

    async def _disturbed(self, request: requests.Request) -> tuple[handlers.Answer | None, Fault | None]:
        """Let a request meet hooks and faults; return what to answer in its place, and the fault that loses its answer.

        Raises DroppedError when the connection is to end.
        """
        active = await self.faults.before(request)
        if active is None:
            return None, None
        match active.fault.action:
            case "status":
                return answer(active.fault), None
            case "lost":
                return None, active.fault
            case "silent":
                await self._hold(active)
        raise DroppedError

    async def _hold(self, active: Active) -> None:
        """Wait until a silent fault is taken away or the port stops."""
        waits = {asyncio.ensure_future(event.wait()) for event in (active.gone, self._stopping)}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _send(self, http: web.Request, stream: streams.Stream) -> web.StreamResponse:
        stream.response.enable_chunked_encoding()
        self._streams[stream] = None
        try:
            await stream.response.prepare(http)
            await stream.run()
        except (ConnectionError, aiohttp.ClientError):
            vanish(http)
        finally:
            del self._streams[stream]
        with contextlib.suppress(ConnectionError):
            await stream.response.write_eof()
        return stream.response


def response(answer: handlers.Answer) -> web.Response:
    """Return an answer as it is sent."""
    response = web.Response(status=answer.code, body=answer.body, headers=answer.headers)
    response.headers["Content-Type"] = answer.content_type
    response.headers["Cache-Control"] = "no-cache, private"
    for text in answer.warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{quoted}"')
    return response


def vanish(http: web.Request) -> web.Response:
    """End the connection without an answer; the response is for aiohttp, no client sees it."""
    if http.transport is not None:
        http.transport.abort()
    return web.Response(status=500)
