"""One HTTP exchange: a request out, a judged answer or one of our errors back.

It never tries anything twice, except that a request which was refused for its credentials is sent again when
there are newer ones.

`client` decides what to ask, how long in all, and whether to ask again; this module owns what every
single request has in common: headers, credentials, the status check, the observer, and the translation of
whatever the transport raises, so that nobody above has heard of aiohttp.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import yarl

from . import answer, errors, logged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from . import transport

    # (verb, plural, HTTP status or "error", seconds until the headers came)
    Observer = Callable[[str, str, str, float], None]

_LOG = logging.getLogger(__name__)
Raw = dict[str, Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
_METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}
# etcd keeps no object above about 1.5 MB; this is far above any page or event, and bounds what garbage
# can take.
_LONGEST_BODY = 64 * 1024 * 1024
_CONNECT = 5.0


@dataclass(frozen=True, slots=True)
class Request:
    """What goes out. `path` is quoted already; `body` becomes JSON of the given content type."""

    call: answer.Call
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Raw | None = None
    content_type: str = JSON
    accept: str = JSON


class Exchange:
    """Exchanges over one transport.

    `observer` is called once for every request that is sent, or could not be. `extra` are headers that go with every
    request.
    """

    def __init__(
        self,
        over: transport.Transport,
        user_agent: str,
        observer: Observer | None = None,
        extra: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._transport = over
        self._user_agent = user_agent
        self._observer = observer
        self._extra = extra

    async def ask(self, request: Request, seconds: float) -> Raw:
        """Return the object that answers, within `seconds`; raises a KubeError."""
        connect = min(_CONNECT, seconds)
        limits = aiohttp.ClientTimeout(total=None, connect=connect, sock_connect=connect)
        async with _as_errors(request.call), asyncio.timeout(seconds), contextlib.AsyncExitStack() as stack:
            response = await self._start(stack, request, limits)
            body = await _read(request.call, response)
            return answer.parsed(request.call, response.status, response.headers, body)

    @contextlib.asynccontextmanager
    async def stream(
        self, request: Request, *, start: float, silence: float, longest: float
    ) -> AsyncIterator[AsyncIterator[tuple[str, Raw]]]:
        """Open a stream of events, within `start` seconds; see `Client.open_watch`.

        It fails after `silence` seconds without a byte, and after `longest` seconds in all.
        """
        limits = aiohttp.ClientTimeout(total=longest, sock_connect=_CONNECT, sock_read=silence)
        async with contextlib.AsyncExitStack() as stack:
            async with _as_errors(request.call), asyncio.timeout(start):
                response = await self._start(stack, request, limits)
            lines = _lines(request.call, response)
            # Leaving closes the connection if the stream has not ended: nothing can follow on it.
            stack.push_async_callback(lines.aclose)
            yield lines

    async def _start(
        self, stack: contextlib.AsyncExitStack, request: Request, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """Send, and return the response if its status is 2xx; it is released with `stack`."""
        used = await self._credentials(request.call)
        try:
            return await self._send(stack, request, limits, used)
        except (errors.Unauthorized, aiohttp.ClientSSLError):
            # Refused, so not executed: safe for writes too.
            if not await self._transport.renew(used):
                raise
        return await self._send(stack, request, limits, await self._credentials(request.call))

    async def _send(
        self,
        stack: contextlib.AsyncExitStack,
        request: Request,
        limits: aiohttp.ClientTimeout,
        credentials: dict[str, str],
    ) -> aiohttp.ClientResponse:
        call = request.call
        headers = {"User-Agent": self._user_agent, "Accept": request.accept, "Accept-Encoding": "identity"}
        headers.update(credentials)
        data = None
        if request.body is not None:
            headers["Content-Type"] = request.content_type
            data = json.dumps(request.body, separators=(",", ":")).encode()
        url = yarl.URL(self._transport.base + request.path, encoded=True)
        if request.query:
            url = url.with_query(request.query)
        code = "error"
        loop = asyncio.get_running_loop()
        begin = loop.time()
        try:
            response = await stack.enter_async_context(
                self._transport.session.request(
                    _METHODS[call.verb],
                    url,
                    data=data,
                    headers=[*headers.items(), *self._extra] if self._extra else headers,
                    timeout=limits,
                    allow_redirects=False,
                    **self._transport.options(),
                )
            )
            code = str(response.status)
        finally:
            took = loop.time() - begin
            if self._observer is not None:
                self._observer(call.verb, call.resource.plural, code, took)
            if _LOG.isEnabledFor(logged.REQUESTS):
                said = {"method": _METHODS[call.verb], "path": request.path, "code": _number(code), "ms": 1000 * took}
                _LOG.log(
                    logged.REQUESTS, "%(method)s %(path)s: %(code)s after %(ms).1f ms", {"verb": call.verb, **said}
                )
        if not 200 <= response.status < 300:
            raise answer.failure(call, response.status, response.headers, await _read(call, response))
        return response

    async def _credentials(self, call: answer.Call) -> dict[str, str]:
        try:
            return await self._transport.credentials()
        except Exception as error:  # a credential plugin is foreign code: it may raise anything
            raise call.error(errors.Unauthorized, 0, "NoCredentials", str(error), sent=False) from error


def _number(code: str) -> int | str:
    return int(code) if code.isdigit() else code


async def _lines(call: answer.Call, response: aiohttp.ClientResponse) -> AsyncGenerator[tuple[str, Raw], None]:
    """Cut a stream into events.

    A line may be longer than any buffer: aiohttp's own line reader refuses those.
    """
    # Not a list of pieces: a peer that sends them one byte at a time would make each of them an object.
    held = bytearray()
    async with _as_errors(call):
        async for chunk in response.content.iter_any():
            begin = 0
            while (end := chunk.find(b"\n", begin)) >= 0:
                held += chunk[begin:end]
                line = bytes(held)
                held.clear()
                begin = end + 1
                if line.strip():
                    yield answer.event(call, line)
            held += chunk[begin:]
            if len(held) > _LONGEST_BODY:
                raise call.error(errors.Malformed, 200, "TooLong", f"an event of more than {_LONGEST_BODY} bytes")
    rest = held.strip()
    if rest:
        raise call.error(
            errors.Unreachable, 0, "ConnectionLost", f"cut in the middle of an event, after {len(rest)} bytes"
        )


async def _read(call: answer.Call, response: aiohttp.ClientResponse) -> bytes:
    held = bytearray()
    async for chunk in response.content.iter_any():
        held += chunk
        if len(held) > _LONGEST_BODY:
            raise call.error(errors.Malformed, response.status, "TooLong", f"more than {_LONGEST_BODY} bytes")
    return bytes(held)


@contextlib.asynccontextmanager
async def _as_errors(call: answer.Call) -> AsyncIterator[None]:
    """Turn what the transport raises into our errors."""
    try:
        yield
    except errors.KubeError:
        raise
    except aiohttp.ConnectionTimeoutError as error:
        raise call.error(errors.TimedOut, 0, "NoConnection", str(error), sent=False) from error
    except aiohttp.SocketTimeoutError as error:
        raise call.error(errors.TimedOut, 0, "Silent", "the peer sent nothing for too long") from error
    except TimeoutError as error:
        raise call.error(errors.TimedOut, 0, "TimedOut", str(error) or "no answer in time") from error
    except aiohttp.ClientConnectorError as error:
        raise call.error(errors.Unreachable, 0, "NoConnection", str(error), sent=False) from error
    except aiohttp.ClientResponseError as error:
        raise call.error(errors.Malformed, 0, "NotHTTP", str(error.message)) from error
    except (aiohttp.ClientError, OSError) as error:
        raise call.error(errors.Unreachable, 0, "ConnectionLost", str(error) or type(error).__name__) from error
    except ValueError as error:
        # aiohttp refuses to send it, e.g. a header with a line break.
        raise call.error(errors.Malformed, 0, "NotSent", str(error), sent=False) from error
