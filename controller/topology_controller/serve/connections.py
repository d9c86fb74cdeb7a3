"""How many connections there are, how long, and which one is closed at the limit.

aiohttp counts no connections, and keeps one that sends nothing for as long as one that is kept alive. So:

* `Silent` holds sockets from which nothing has come yet. They cost no task, no protocol and no place: a flood of bare
  connects is closed for a few microseconds each, the oldest of the source that has the most.
* `Connections` has the places of those that have sent something, each a `Connection` around one of aiohttp's protocols,
  from before the TLS handshake on. `server` sets its state. A source has a share of the places, and the last ones are
  for sources that have next to none, as a kubelet has. At a limit the connection in the lowest state is closed, the
  oldest of these; never a young one, never one whose request was authorized.
"""

from __future__ import annotations

import asyncio
import collections
import enum
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import answers

if TYPE_CHECKING:
    from collections.abc import Callable

_TOO_LARGE = answers.last(431)
_FEW = 2
"""Connections of a source that asks now and then, as a kubelet for its two probes."""
_NO_LINGER = struct.pack("ii", 1, 0)
"""Closing a socket leaves nothing of it in the kernel."""


@dataclass(frozen=True, slots=True)
class Limits:
    """All bounds of serving; times in seconds, sizes in bytes.

    At most `connections`, `share` of one source, the last `reserved` for sources with next to none; none is closed for
    another before it is `young` no more. Besides, at most `silent` have sent nothing yet, each for as long as a
    `handshake` may take. `first_request` (its whole head) begins after that. `keep_alive` is more than Prometheus's
    half minute between two scrapes. `closing` is for what was not read or sent yet. After `stream` a browser has to ask
    for events again. `line` is one line of a head; `received` is head and body of one request together.
    """

    connections: int = 64
    share: int = 24
    reserved: int = 16
    young: float = 1.0
    silent: int = 256
    handshake: float = 5.0
    first_request: float = 5.0
    keep_alive: float = 45.0
    closing: float = 2.0
    request: float = 15.0
    stream: float = 900.0
    line: int = 8 * 1024
    headers: int = 64
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

    def __init__(
        self, handler: asyncio.Protocol, source: str, limits: Limits, forget: Callable[[Connection], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        self.handler = handler
        self.source = source
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

    def admit(self, handlers: Callable[[], asyncio.Protocol], source: str) -> Connection | None:
        """Return a new connection with a protocol of aiohttp, None where no other may be closed for it."""
        by_source = collections.Counter(connection.source for connection in self._open.values())
        theirs = by_source[source]
        general = self._limits.connections - (0 if theirs < _FEW else self._limits.reserved)
        has_share = theirs >= self._limits.share
        if has_share or len(self._open) >= general:
            # Never in the place of a source that has less: the last places would be taken one by one.
            rivals = {source, *(name for name, number in by_source.items() if not has_share and number > theirs)}
            if not self._make_room([open_ for open_ in self._open.values() if open_.source in rivals]):
                return None
        connection = Connection(handlers(), source, self._limits, self.forget)
        self._open[connection.handler] = connection
        return connection

    def _make_room(self, among: list[Connection]) -> bool:
        """Close one of these, if one may be closed."""
        grown = asyncio.get_running_loop().time() - self._limits.young
        closable = [
            connection
            for connection in among
            if connection.state is State.IDLE or (connection.state < State.AUTHORIZED and connection.since <= grown)
        ]
        if closable:
            min(closable, key=lambda connection: (connection.state, connection.since)).drop()
        return bool(closable)

    def move(self, handler: asyncio.BaseProtocol, state: State) -> None:
        """Let the connection of aiohttp's protocol enter a state, unless it was closed."""
        if handler in self._open:
            self._open[handler].move(state)

    def forget(self, connection: Connection) -> None:
        """Count it no longer."""
        self._open.pop(connection.handler, None)


class Silent:
    """Sockets from which nothing has come yet. `begin` is called with one that has sent something, and its source."""

    def __init__(self, limits: Limits, begin: Callable[[socket.socket, str], None]) -> None:
        self._limits = limits
        self._begin = begin
        self._waiting: dict[str, dict[socket.socket, float]] = {}
        """By source, the oldest first: since when."""
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return self._number

    def add(self, accepted: socket.socket, source: str) -> None:
        """Wait for the first byte."""
        loop = asyncio.get_running_loop()
        if self._number >= self._limits.silent:
            source_of_most = max(self._waiting, key=lambda name: len(self._waiting[name]))
            self._end(next(iter(self._waiting[source_of_most])), source_of_most)
        self._waiting.setdefault(source, {})[accepted] = loop.time()
        self._number += 1
        loop.add_reader(accepted, self._heard, accepted, source)
        if self._timer is None:
            self._timer = loop.call_later(self._limits.handshake, self._expire)

    def close(self) -> None:
        """End all."""
        self._expire(float("inf"))

    def _heard(self, accepted: socket.socket, source: str) -> None:
        try:
            ended = not accepted.recv(1, socket.MSG_PEEK)
        except OSError:
            ended = True
        if ended:
            self._end(accepted, source)
        else:
            self._forget(accepted, source)
            self._begin(accepted, source)

    def _expire(self, until: float | None = None) -> None:
        """End those that were accepted before, by default those whose time is over."""
        loop = asyncio.get_running_loop()
        until = loop.time() - self._limits.handshake if until is None else until
        waiting = [
            (since, accepted, source) for source, theirs in self._waiting.items() for accepted, since in theirs.items()
        ]
        for since, accepted, source in waiting:
            if since <= until:
                self._end(accepted, source)
        if self._timer is not None:
            self._timer.cancel()
        later = [since for since, *_ in waiting if since > until]
        self._timer = loop.call_at(min(later) + self._limits.handshake, self._expire) if later else None

    def _end(self, accepted: socket.socket, source: str) -> None:
        self._forget(accepted, source)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        accepted.close()

    def _forget(self, accepted: socket.socket, source: str) -> None:
        asyncio.get_running_loop().remove_reader(accepted)
        theirs = self._waiting[source]
        del theirs[accepted]
        self._number -= 1
        if not theirs:
            del self._waiting[source]
