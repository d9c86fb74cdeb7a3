"""Who is connected: how many there may be, how long each may take, and who has to go when there is no room.

aiohttp parses and answers requests; it counts no connections, and lets one that says nothing stay for as long as one
that is kept alive. So each of its protocols is wrapped in a `Connection`, which watches what comes in. When all places
are taken the newcomer gets the place of whoever is least worth it: first those that have not asked anything yet, then
those that are idle, then those that ask but have not been let in; never one that was let in. A kubelet, which asks
at once and goes, always finds room.

`listener` asks for a place before the TLS handshake; `answers` says when a request begins, was let in, and ends.
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

    `handshake` and `first_request` follow each other, and each is measured by itself. `keep_alive` is more than
    Prometheus's half minute between two scrapes, so that the connection is closed by neither in that moment. `received`
    is what one request may bring, head and body together; `line` one line of the head. `stream` is how long an event
    stream lasts before the browser has to ask, and be let in, again.
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

    def __init__(self, connections: Connections, handler: asyncio.Protocol, limits: Limits) -> None:
        self.state = State.NEW
        self.since = asyncio.get_running_loop().time()
        self.handler = handler
        self.joining: asyncio.Task[None] | None = None
        """The task that shakes hands; `listener` sets it."""
        self._connections = connections
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.TimerHandle | None = None
        self._received = 0
        self._dropped = False

    def move(self, state: State) -> None:
        """Begin to do something else; a request that begins has a new allowance."""
        self.state, self.since = state, asyncio.get_running_loop().time()
        self._received = 0
        self._stop_waiting()

    def drop(self) -> None:
        """Cut it at once, wherever it is."""
        self._dropped = True
        if self._transport is not None:
            self._transport.abort()
        elif self.joining is not None:
            self.joining.cancel()

    @property
    def joined(self) -> bool:
        """Has the handshake ended well?"""
        return self._transport is not None

    # -- what the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is done."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("only streams are served")
        self._transport = transport
        if self._dropped:
            transport.abort()
        else:
            self._waiting = asyncio.get_running_loop().call_later(self._limits.first_request, self.drop)
        self.handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Something came in: not more than one request may bring."""
        self._received += len(data)
        if self._dropped:
            return
        if self._received > self._limits.received:
            if self._transport is not None and self.state < State.ASKING:
                self._transport.write(_TOO_LARGE)
                self._transport.close()
                self._dropped = True
            else:
                self.drop()
            return
        self.handler.data_received(data)

    def eof_received(self) -> bool | None:
        """The peer has said all it had to say."""
        return self.handler.eof_received()

    def pause_writing(self) -> None:
        """The peer reads slowly."""
        self.handler.pause_writing()

    def resume_writing(self) -> None:
        """The peer has caught up."""
        self.handler.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop_waiting()
        self._connections.forget(self)
        self.handler.connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Connections:
    """All connections of one server. `handlers` makes aiohttp's protocol for a new one."""

    def __init__(self, handlers: Callable[[], asyncio.Protocol], limits: Limits) -> None:
        self._handlers = handlers
        self._limits = limits
        self._open: dict[asyncio.BaseProtocol, Connection] = {}

    def __len__(self) -> int:
        return len(self._open)

    def admit(self) -> Connection | None:
        """Give a place to a newcomer, somebody else's if need be; None when everybody is worth more."""
        if len(self._open) >= self._limits.connections:
            least = min(self._open.values(), key=lambda one: (one.state, one.since))
            if least.state is State.LET_IN:
                return None
            self.forget(least)
            least.drop()
        made = Connection(self, self._handlers(), self._limits)
        self._open[made.handler] = made
        return made

    def of(self, handler: asyncio.BaseProtocol) -> Connection | None:
        """Find the connection of aiohttp's protocol; None when its place was given away."""
        return self._open.get(handler)

    def forget(self, connection: Connection) -> None:
        """Take its place away."""
        self._open.pop(connection.handler, None)
