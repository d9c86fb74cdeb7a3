"""Takes in connections, each with the TLS context that is the newest in that moment.

One listening socket for the whole life of the server, so a new certificate leaves no gap and nothing behind: whoever
was in the middle of a handshake finishes with the context it began with, and whoever is connected is not touched.
asyncio's own server is tied to one context, hence the accepting here; everything after it is asyncio's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from .address import Address
    from .connections import Connection, Connections, Limits

_LOG = logging.getLogger(__name__)
_BACKLOG = 128
_AT_ONCE = 16
_PAUSE = 1.0


async def bind(address: Address) -> list[socket.socket]:
    """Listen wherever the address leads: one socket, or one for each address that a name has.

    Without a host it is every address of both families. Raises OSError when that cannot be.
    """
    made: list[socket.socket] = []
    try:
        for family, place, both in await _places(address):
            made.append(socket.create_server(place, family=family, backlog=_BACKLOG, dualstack_ipv6=both))
            made[-1].setblocking(False)  # noqa: FBT003 - the name of a method of the standard library
    except OSError as error:
        for one in made:
            one.close()
        why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise OSError(error.errno, f"cannot listen on {address}: {str(why).lower()}") from error
    return made


async def _places(address: Address) -> list[tuple[int, tuple[str, int], bool]]:
    """Return family, host and port of each socket, and whether it is for both families."""
    if not address.host:
        both = socket.has_dualstack_ipv6()
        return [(socket.AF_INET6 if both else socket.AF_INET, ("", address.port), both)]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return [(family, (str(place[0]), int(place[1])), False) for family, _, _, _, place in dict.fromkeys(found)]


class Listener:
    """Accepts on `sockets` until cancelled. `context` is asked for each connection; None speaks plain HTTP."""

    def __init__(
        self,
        sockets: list[socket.socket],
        connections: Connections,
        context: Callable[[], ssl.SSLContext | None],
        limits: Limits,
    ) -> None:
        self._sockets = sockets
        self._connections = connections
        self._context = context
        self._limits = limits
        self._pauses: set[asyncio.TimerHandle] = set()
        self._exhausted = False

    async def run(self) -> None:
        """Accept until cancelled; handshakes that are not done by then are cut."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.TaskGroup() as group:
                for one in self._sockets:
                    loop.add_reader(one.fileno(), self._accept, one, group)
                await loop.create_future()
        finally:
            for pause in self._pauses:
                pause.cancel()
            for one in self._sockets:
                loop.remove_reader(one.fileno())

    def _accept(self, listening: socket.socket, group: asyncio.TaskGroup) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(listening, group, error)
                return
            self._exhausted = False
            accepted.setblocking(False)  # noqa: FBT003 - the name of a method of the standard library
            connection = self._connections.admit()
            if connection is None:
                accepted.close()
                continue
            connection.joining = group.create_task(self._join(connection, accepted), name="handshake")

    def _pause(self, listening: socket.socket, group: asyncio.TaskGroup, error: OSError) -> None:
        """Out of files or memory: the socket would stay readable, and the loop would do nothing else."""
        if not self._exhausted:
            self._exhausted = True
            _LOG.warning("cannot accept connections: %s", error.strerror or error)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())

        def resume() -> None:
            self._pauses.discard(pause)
            loop.add_reader(listening.fileno(), self._accept, listening, group)

        pause = loop.call_later(_PAUSE, resume)
        self._pauses.add(pause)

    async def _join(self, connection: Connection, accepted: socket.socket) -> None:
        context = self._context()
        timeouts = (self._limits.handshake, self._limits.farewell) if context is not None else (None, None)
        try:
            # A handshake that fails is the client's business: no certificate of ours, an old version, a stranger's CA.
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: connection,
                    accepted,
                    ssl=context,
                    ssl_handshake_timeout=timeouts[0],
                    ssl_shutdown_timeout=timeouts[1],
                )
        finally:
            connection.joining = None
            if not connection.joined:
                self._connections.forget(connection)
