"""One question to one endpoint over etcd's JSON gateway, with mutual TLS.

Three questions are enough, and none of them leaves a trace in etcd:

* `members`: who is a member. `confirmed=True` asks through the quorum: the answer comes only when a majority is there
  and this member has caught up with it. etcd takes an absent `linearizable` for false, so it is always said.
* `status`: what the member says of itself and of its leader. It carries the alarms of the whole cluster. (Asking
  for the alarms themselves is a write to etcd's log, even when nothing is changed by it.)
* `healthy`: /health, by which a member judges itself.

Answers are limited in size, never followed elsewhere, and every error is one of `errors`. There is no timeout here:
`survey` has the one budget for everything, and calls this room's `Client` for each survey anew, so that every survey
makes new connections, with the certificates of that moment.
"""

from __future__ import annotations

import contextlib
import errno
import json
import ssl
from typing import TYPE_CHECKING, Any, Self, TypeVar

import aiohttp

from . import answers, errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Observer = Callable[[str], None]

T = TypeVar("T")
_LARGEST = 1024 * 1024
_SAID = 200
_DOWN = {
    errno.ECONNREFUSED: "nobody listens there (connection refused)",
    errno.EHOSTUNREACH: "no route to the host",
    errno.ENETUNREACH: "the network cannot be reached",
    errno.EHOSTDOWN: "the host is down",
    errno.ETIMEDOUT: "no answer in time",
}
"""What speaks of a member that may be down."""


class Client:
    """Connections for one survey. Use with `async with`; leaving drops them at once.

    `observer` is called once for every request, with the HTTP status or "error" when no answer came.
    """

    def __init__(self, context: ssl.SSLContext, observer: Observer | None = None) -> None:
        self._context = context
        self._observer = observer
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(ssl=self._context, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None),
            # Neither a proxy of the environment nor the passwords of ~/.netrc are for etcd.
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def members(self, endpoint: str, *, confirmed: bool) -> answers.MemberList:
        """Who is a member, confirmed by the quorum or in this member's own opinion. Raises EtcdError."""
        return await self._ask(
            endpoint, "/v3/cluster/member/list", answers.member_list, body={"linearizable": confirmed}
        )

    async def status(self, endpoint: str) -> answers.Status:
        """What the member says of itself. Raises EtcdError."""
        return await self._ask(endpoint, "/v3/maintenance/status", answers.status, body={})

    async def healthy(self, endpoint: str) -> bool:
        """Whether the member calls itself healthy. Raises EtcdError."""
        return await self._ask(endpoint, "/health", answers.health, good=frozenset({200, 503}))

    async def _ask(
        self,
        endpoint: str,
        path: str,
        read: Callable[[Any], T],
        *,
        body: dict[str, Any] | None = None,
        good: frozenset[int] = frozenset({200}),
    ) -> T:
        if self._session is None:
            raise RuntimeError("the client is not open: use it with `async with`")
        method = "GET" if body is None else "POST"
        code = "error"
        try:
            with _as_errors(endpoint):
                url = f"{endpoint}{path}"
                async with self._session.request(method, url, json=body, allow_redirects=False) as response:
                    status = response.status
                    content = await _content(response)
                    code = str(status)
        finally:
            if self._observer is not None:
                self._observer(code)
        try:
            found = json.loads(content)
        except ValueError:
            found = None
        if status not in good:
            raise errors.Refused(endpoint, status, _said(found) or response.reason or "")
        try:
            return read(found)
        except ValueError as error:
            raise errors.Garbled(endpoint, f"{path} answered what etcd does not: {error}") from error


async def _content(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > _LARGEST:
            raise errors.Garbled(str(response.url.origin()), f"an answer of more than {_LARGEST} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _said(found: Any) -> str:
    """The message in an error of the gateway, if there is one; shortened, since it may be anything."""
    message = found.get("message") if isinstance(found, dict) else None
    return "".join(letter for letter in message[:_SAID] if letter.isprintable()) if isinstance(message, str) else ""


@contextlib.contextmanager
def _as_errors(endpoint: str) -> Iterator[None]:
    """Turn what the transport raises into our errors."""
    try:
        yield
    except (aiohttp.ClientError, OSError) as error:
        raise _translated(endpoint, error) from error


def _translated(endpoint: str, error: aiohttp.ClientError | OSError) -> errors.EtcdError:
    if tls := _tls(error):
        said = errors.tls_reason(tls)
        # An alert is what the other side says before it hangs up; everything else is our own verdict.
        return errors.Untrusted(endpoint, f"TLS: it refused us: {said}" if " alert " in said else f"TLS: {said}")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return errors.Garbled(endpoint, "its name cannot be resolved")
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.InvalidURL):
        return errors.Garbled(endpoint, "the answer is not HTTP")
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    if number in _DOWN:
        return errors.Silent(endpoint, _DOWN[number])
    # A server that does not accept our certificate may drop the connection before its reason has reached us.
    return errors.Garbled(endpoint, "the connection was cut before an answer came (does it accept our certificate?)")


def _tls(error: BaseException | None) -> ssl.SSLError | None:
    """What TLS raised, wherever the transport has put it: it may be a cause, a context or a field."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        # The transport's own error may call itself a TLS error too, and knows less than what it wraps.
        inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None)
        for one in (inner, error):
            if isinstance(one, ssl.SSLError) and not isinstance(one, aiohttp.ClientError):
                return one
        error = error.__cause__ or error.__context__
    return None
