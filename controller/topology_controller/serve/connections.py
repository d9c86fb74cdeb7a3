"""How many connections there may be, how long they may be silent, and which one ends when no place is left.

aiohttp parses and answers requests; it counts no connections, and keeps one that says nothing for as long as one that
is kept alive. So each of its protocols is wrapped in a `Connection`, which watches what comes in. `server` asks for a
place before the TLS handshake, and says when a request begins, is let in, and ends.

Who goes when all places are taken is decided in `Connections.admit`: first a connection that has not asked anything
yet, then one that is idle, then one that asks but was not let in; among equals the oldest, and never one that was let
in. A kubelet, which asks at once and leaves, always finds a place.
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

    `handshake` and `first_request` (its whole head) follow each other, and each is measured by itself. `keep_alive` is
    more than Prometheus's half minute between two scrapes, so that the connection is closed by neither in that moment.
    `stream` is how long an event stream lasts before the browser has to ask, and be let in, again. `line` is one line
    of a head; `received` is what one request may bring, head and body together.
    """

    connections: int = 64
    handshake: float = 5.0
    first_request: float = 5.0
    keep_alive: float = 45.0
    farewell: float = 2.0
    request: float = 15.0
    stream: float = 900.0
    body_wait: float = 5.0
    line: int = 8 * 1024
    headers: int = 64
    body: int = 16 * 1024
    received: int = 32 * 1024


DEFAULT = Limits()


class State(enum.IntEnum):
    """What a connection is doing; the lower, the sooner it has to go."""

    NEW = 0
    IDLE = 1
    ASKING = 2
    LET_IN = 3


class Connection(asyncio.Protocol):
    """One client, from before the handshake until the end; hands everything on to aiohttp's protocol."""

    def __init__(self, handler: asyncio.Protocol, limits: Limits, forget: Callable[[Connection], None]) -> None:
        loop = asyncio.get_running_loop()
        self.handler = handler
        self.handshake: asyncio.Task[None] | None = None
        """The task that shakes hands; `server` sets it."""
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
        """End it at once, in its handshake or later, and give its place free."""
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
        """Hand on what came in, but not more than one request may bring."""
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
        """Give a place to a newcomer, that of another one if need be; None when all of them were let in.

        `handlers` makes aiohttp's protocol for it.
        """
        if len(self._open) >= self._limits.connections:
            least = min(self._open.values(), key=lambda connection: (connection.state, connection.since))
            if least.state is State.LET_IN:
                return None
            least.drop()
        connection = Connection(handlers(), self._limits, self.forget)
        self._open[connection.handler] = connection
        return connection

    def move(self, handler: asyncio.BaseProtocol, state: State) -> None:
        """Let the connection of aiohttp's protocol enter a state; nothing happens when its place was given away."""
        connection = self._open.get(handler)
        if connection is not None:
            connection.move(state)

    def forget(self, connection: Connection) -> None:
        """Take its place away."""
        self._open.pop(connection.handler, None)
