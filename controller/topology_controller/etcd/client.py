"""One request to one endpoint over etcd's JSON gateway, with mutual TLS. None of the three leaves a trace in etcd.

The gateway writes protobuf as JSON: 64-bit numbers are strings, and whatever is zero, false or empty is left out. A
member may mean harm: no more is read of a connection than etcd ever sends, lists have a length, nothing is unpacked,
redirects are not followed. Every failure is returned as an `EtcdError`. `survey` has one budget of time for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import ipaddress
import logging
import pathlib
import re
import ssl
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import aiohttp
import aiohttp.client_proto
from pydantic import AfterValidator, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from .. import mounted

Observer = Callable[[str], None]  # called once for every request, with the HTTP status or "error" without a response

R = TypeVar("R", bound=BaseModel)
_LOG = logging.getLogger(__name__)
CA, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"
_LARGEST = 64 * 1024  # bytes of all responses on one connection, with their headers: many times those of any cluster
_MOST = 32  # members of a list, addresses of a member, errors of a status: etcd advises seven members
_LONGEST_MESSAGE = 200
PORT = 2379
_ALARM = re.compile(r"memberID:([0-9]{1,20}) alarm:([A-Z]+)\s*\Z")
_DOWN = {
    errno.ECONNREFUSED: "nothing listens there (connection refused)",
    errno.EHOSTUNREACH: "no route to the host",
    errno.ENETUNREACH: "the network cannot be reached",
    errno.EHOSTDOWN: "the host is down",
    errno.ETIMEDOUT: "no answer in time",
}
"""Failures that may mean that the member is down."""


@dataclass(frozen=True, slots=True)
class EtcdError:
    """No response from one endpoint: `why` is the same while the trouble is the same. `down`: the member may be."""

    endpoint: str
    why: str
    down: bool = False


def parse_endpoint(text: str) -> str:
    """Return an endpoint `https://host:port` in its one spelling; ValueError says what is wrong with it."""
    try:
        parts = urllib.parse.urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{text!r} is not a URL: {error}") from None
    if parts.scheme != "https" or not host:
        raise ValueError(f"{text!r} is not https://HOST:PORT")
    if parts.username is not None or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError(f"{text!r} has more than https://HOST:PORT")
    return endpoint_at(host, PORT if port is None else port)


def host_of(endpoint: str) -> str:
    """Return the host name or address of an endpoint as `parse_endpoint` spells it."""
    return urllib.parse.urlsplit(endpoint).hostname or ""


def endpoint_at(host: str, port: int = PORT) -> str:
    """Return the endpoint at a host name or an IP address without brackets."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"https://{host.lower()}:{port}"
    return f"https://[{address}]:{port}" if address.version == 6 else f"https://{address}:{port}"


def _uint64(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise ValueError("it is no number of 64 bits")
    return value


def _complaints(errors: tuple[str, ...]) -> tuple[str, ...]:
    """Sort errors of a status, each once; alarms come as "memberID:<decimal> alarm:NOSPACE "."""
    alarms = ((text, _ALARM.match(text)) for text in errors)
    words = {f"alarm {alarm[2]} of member {int(alarm[1]):x}" if alarm else text.strip() for text, alarm in alarms}
    return tuple(sorted(words))


_Number = Annotated[int, BeforeValidator(_uint64)]
_Id = Annotated[str, BeforeValidator(lambda value: f"{_uint64(value):x}".lstrip("0"))]
"""Unpadded lower-case hexadecimal, as the etcd operator and etcdctl write ids; empty when it is zero or absent."""


class _Response(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _MemberResponse(_Response):
    """What a member sends names its cluster and itself."""

    cluster: Annotated[_Id, Field(min_length=1)] = Field(validation_alias=AliasPath("header", "cluster_id"))
    member: Annotated[_Id, Field(min_length=1)] = Field(validation_alias=AliasPath("header", "member_id"))


class Member(_Response):
    """A member as a member list has it."""

    id: _Id = Field("", alias="ID")
    name: str = ""  # empty until it has started
    learner: bool = Field(default=False, alias="isLearner")
    client_urls: Annotated[tuple[str, ...], AfterValidator(lambda urls: tuple(sorted(urls)))] = Field(
        (), alias="clientURLs", max_length=_MOST
    )


def _distinct(members: tuple[Member, ...]) -> tuple[Member, ...]:
    ids = {member.id for member in members}
    if not members:
        raise ValueError("the member list is empty")
    if "" in ids:
        raise ValueError("a member has no ID")
    if len(ids) != len(members):
        raise ValueError("the member list has a member twice")
    return tuple(sorted(members, key=lambda member: member.id))


class MemberList(_MemberResponse):
    """Response of /v3/cluster/member/list: at least one member, sorted by id."""

    members: Annotated[tuple[Member, ...], AfterValidator(_distinct)] = Field(
        (), validate_default=True, max_length=_MOST
    )


class Status(_MemberResponse):
    """Response of /v3/maintenance/status: what a member reports of itself."""

    leader: _Id = ""  # empty when it knows of none
    term: _Number = Field(0, alias="raftTerm")
    learner: bool = Field(default=False, alias="isLearner")
    errors: Annotated[tuple[str, ...], AfterValidator(_complaints)] = Field((), max_length=_MOST)
    """Trouble, sorted: in etcd's own words ("etcdserver: no leader"), and every alarm of the whole cluster."""


class Health(_Response):
    """Response of /health: a boolean as text. A boolean as such is taken too."""

    health: Annotated[bool, BeforeValidator(lambda value: value == "true" if value in ("true", "false") else value)]


class _Refusal(_Response):
    message: str


class _TooLongError(aiohttp.ClientError):
    pass


class _BoundedHandler(aiohttp.client_proto.ResponseHandler):
    """One connection, of which no more than `_LARGEST` bytes are read, whatever is made of them."""

    _received = 0

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._received <= _LARGEST:
            super().data_received(data)
            return
        self.set_exception(_TooLongError())
        if self._payload is not None:
            self._payload.set_exception(_TooLongError())
        if self.transport is not None:
            self.transport.abort()


class Client:
    """Connections for one survey, with the certificates of that moment. Made in a running loop; `aclose` drops them."""

    def __init__(self, context: ssl.SSLContext, observer: Observer | None = None) -> None:
        self._observer = observer
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        # There is no public way to read less of a connection; a test fails when this name is gone.
        handler: type[aiohttp.client_proto.ResponseHandler] = _BoundedHandler
        connector._factory = functools.partial(handler, asyncio.get_running_loop())  # noqa: SLF001 - see above
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            # Neither a proxy of the environment nor the passwords of ~/.netrc are for etcd.
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self.aclose = self._session.close

    async def members(self, endpoint: str, *, confirmed: bool) -> MemberList | EtcdError:
        """Who is a member, confirmed by the quorum, with which this member is even then, or in its own opinion."""
        return await self._ask(endpoint, "/v3/cluster/member/list", MemberList, {"linearizable": confirmed})

    async def status(self, endpoint: str) -> Status | EtcdError:
        """What the member reports of itself, with the alarms of all: asking for them is a write to etcd's log."""
        return await self._ask(endpoint, "/v3/maintenance/status", Status, {})

    async def healthy(self, endpoint: str) -> bool | EtcdError:
        """Whether the member calls itself healthy."""
        response = await self._ask(endpoint, "/health", Health)
        return response if isinstance(response, EtcdError) else response.health

    async def _ask(self, endpoint: str, path: str, model: type[R], body: dict[str, Any] | None = None) -> R | EtcdError:
        """Send a body, or get what is there; a member that is not healthy says so with 503."""
        method, good = ("GET", {200, 503}) if body is None else ("POST", {200})
        code = "error"
        try:
            async with self._session.request(method, f"{endpoint}{path}", json=body, allow_redirects=False) as response:
                content = await response.read()
                code = str(response.status)
        except _TooLongError:
            return EtcdError(endpoint, f"an answer of more than {_LARGEST} bytes")
        except (aiohttp.ClientError, OSError) as error:
            return _no_response(endpoint, error)
        finally:
            if self._observer is not None:
                self._observer(code)
        if response.status not in good:
            why = response.reason
            with contextlib.suppress(ValidationError):
                # The gateway's own message, shortened, since it may be anything.
                message = _Refusal.model_validate_json(content).message[:_LONGEST_MESSAGE]
                why = "".join(letter for letter in message if letter.isprintable()) or why
            return EtcdError(endpoint, f"{code} {why or ''}".strip())
        try:
            return model.model_validate_json(content)
        except ValidationError as error:
            # What is wrong with it, without anything of what it holds.
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            wrong = ": ".join((*map(str, first["loc"]), first["msg"].removeprefix("Value error, ")))
            return EtcdError(endpoint, f"{path} answered what etcd does not: {wrong}")


def _no_response(endpoint: str, error: aiohttp.ClientError | OSError) -> EtcdError:
    """Turn what aiohttp raised into an error of ours."""
    if tls := _tls_error(error):
        reason = mounted.tls_reason(tls)
        # An alert is what the other side sends before it hangs up; everything else is our own verdict.
        return EtcdError(endpoint, f"TLS: it refused us: {reason}" if " alert " in reason else f"TLS: {reason}")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return EtcdError(endpoint, "its name cannot be resolved")
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.InvalidURL):
        return EtcdError(endpoint, "the answer is not HTTP")
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    if number in _DOWN:
        return EtcdError(endpoint, _DOWN[number], down=True)
    # A server that does not accept our certificate may drop the connection before its reason has reached us.
    return EtcdError(endpoint, "the connection was cut before an answer came (does it accept our certificate?)")


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """Return what TLS raised, wherever aiohttp has put it: it may be a cause, a context or a field."""
    while error is not None:
        # aiohttp's own error may call itself a TLS error too, and knows less than what it wraps.
        inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None)
        for candidate in (inner, error):
            if isinstance(candidate, ssl.SSLError) and not isinstance(candidate, aiohttp.ClientError):
                return candidate
        error = error.__cause__ or error.__context__
    return None


class Folder:
    """The administrator's `ca.crt`, `tls.crt` and `tls.key`, as a Secret volume has them; they change while we run."""

    # Other writers than kubelet replace file by file: a set is used only if OpenSSL accepts key and certificate
    # together, and until then the last good set stays in use, and the log reports that once.

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._files: tuple[bytes, ...] = ()
        self._context: ssl.SSLContext | None = None
        self._complaint = ""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context to use now. Raises MountedFileError when there never was a good set."""
        try:
            files = mounted.read(self._path, CA, CERTIFICATE, KEY)
            context = self._make(files) if self._context is None or files != self._files else self._context
        except mounted.MountedFileError as error:
            if self._context is None:
                raise
            if str(error) != self._complaint:
                self._complaint = str(error)
                fields = {"file": error.path, "reason": error.reason}
                _LOG.warning("%(file)s: it %(reason)s; going on with the certificates that were read before", fields)
            return self._context
        if self._complaint:
            self._complaint = ""
            _LOG.info("the certificates in %(folder)s can be used again", {"folder": self._path})
        elif self._context not in {None, context}:
            _LOG.info("the certificates in %(folder)s were replaced", {"folder": self._path})
        self._files, self._context = files, context
        return context

    def _make(self, files: tuple[bytes, ...]) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # Our own certificate is loaded as an authority of a context that is not used: a key that does not fit it and
        # a broken certificate are otherwise one error.
        scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for name, content, used in zip((CA, CERTIFICATE), files[:2], (context, scratch), strict=True):
            try:
                used.load_verify_locations(cadata=content.decode("ascii", "backslashreplace"))
            except (OSError, ValueError):  # ssl.SSLError is an OSError
                raise mounted.MountedFileError(self._path / name, "holds no certificate, or a broken one") from None
        try:
            mounted.load_pair(context, *files[1:])
        except (OSError, ValueError) as error:
            why = f"is no unencrypted key that goes with {CERTIFICATE}: {mounted.tls_reason(error)}"
            raise mounted.MountedFileError(self._path / KEY, why) from error
        return context
