"""How many connections there may be, how long they may be silent, and which one is closed at the limit.

aiohttp counts no connections, and keeps one that sends nothing for as long as one that is kept alive. So each of its
protocols is wrapped in a `Connection`, which `server` admits before the TLS handshake and whose state it sets.

At the limit `Connections.admit` closes the connection in the lowest state, and the oldest of these, but never one whose
request was authorized. A kubelet, which asks at once and leaves, is always served.
"""

from __future__ import annotations

import asyncio
import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Limits:
    """All bounds of serving; times in seconds, sizes in bytes.

    `first_request` (its whole head) begins after the `handshake`. `keep_alive` is more than Prometheus's half minute
    between two scrapes. `closing` is for what was not read or sent yet. After `stream` a browser has to ask for events,
    and be authorized, again. `line` is one line of a head; `received` is head and body of one request together.
    """

    connections: int = 64
    handshake: float = 5.0
    first_request: float = 5.0
    keep_alive: float = 45.0
    closing: float = 2.0
    request: float = 15.0
    stream: float = 900.0
    body_wait: float = 5.0
    line: int = 8 * 1024
    headers: int = 64
    body: int = 16 * 1024
    received: int = 32 * 1024


DEFAULT = Limits()


class State(enum.IntEnum):
    """What a connection is doing; the lower, the sooner it is closed."""

    NEW = 0
    IDLE = 1
    ASKING = 2
    AUTHORIZED = 3


class Connection(asyncio.Protocol):
    """One client, from before the handshake until the end; hands everything on to aiohttp's protocol."""

    def __init__(self, handler: asyncio.Protocol, limits: Limits, forget: Callable[[Connection], None]) -> None:
        loop = asyncio.get_running_loop()
        self.handler = handler
        self.handshake: asyncio.Task[None] | None = None
        """Set by `server`."""
        self.state = State.NEW
        self.since = loop.time()
        self._limits = limits
        self._forget = forget
        self._transport: asyncio.Transport | None = None
        self._received = 0
        self._silence = loop.call_later(limits.handshake, self.drop)

    def move(self, state: State) -> None:
        """Enter another state; a request that begins has a new allowance."""
        self.state, self.since = state, asyncio.get_running_loop().time()
        self._received = 0
        self._silence.cancel()

    def drop(self) -> None:
        """End it at once, in its handshake or later."""
        self._silence.cancel()
        self._forget(self)
        if self._transport is not None:
            self._transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve: the handshake is done."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("only streams are served")
        self._transport = transport
        self._silence.cancel()
        self._silence = asyncio.get_running_loop().call_later(self._limits.first_request, self.drop)
        self.handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Hand on what came in, up to the limit of one request."""
        if self._transport is None or self._transport.is_closing():
            return
        self._received += len(data)
        if self._received <= self._limits.received:
            self.handler.data_received(data)
        elif self.state < State.ASKING:
            self._transport.write(_TOO_LARGE)
            self._transport.close()
        else:
            self.drop()

    def eof_received(self) -> bool | None:
        """Hand on that the peer has ended its half."""
        return self.handler.eof_received()

    def pause_writing(self) -> None:
        """Hand on that the peer reads slowly."""
        self.handler.pause_writing()

    def resume_writing(self) -> None:
        """Hand on that the peer has caught up."""
        self.handler.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._silence.cancel()
        self._forget(self)
        self.handler.connection_lost(exc)


class Connections:
    """All connections of one server."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: dict[asyncio.BaseProtocol, Connection] = {}

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, handlers: Callable[[], asyncio.Protocol]) -> Connection | None:
        """Return a new connection with a protocol of aiohttp, None at the limit when all others are authorized."""
        if len(self._open) >= self._limits.connections:
            least = min(self._open.values(), key=lambda connection: (connection.state, connection.since))
            if least.state is State.AUTHORIZED:
                return None
            least.drop()
        connection = Connection(handlers(), self._limits, self.forget)
        self._open[connection.handler] = connection
        return connection

    def move(self, handler: asyncio.BaseProtocol, state: State) -> None:
        """Let the connection of aiohttp's protocol enter a state, unless it was closed."""
        if handler in self._open:
            self._open[handler].move(state)

    def forget(self, connection: Connection) -> None:
        """Count it no longer."""
        self._open.pop(connection.handler, None)
