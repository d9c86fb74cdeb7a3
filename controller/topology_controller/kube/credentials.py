"""Who we are, and how that stays true while we run.

A token file is read again every minute; a credential plugin runs again when what it printed expires; both after
`transport` called `rejected`. `config` makes them from a kubeconfig, or from the service account of a pod.

Certificates and keys inside a kubeconfig, or printed by a plugin, never become files on disk, which a killed process
would leave behind: `transport` has them as files in memory while it makes its TLS context, which takes nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import pathlib
import ssl
import time
import urllib.parse
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .. import mounted
from . import errors, exec_plugin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping

    from kubernetes_asyncio.client.configuration import Configuration

_LOG = logging.getLogger(__name__)
PLUGIN_TIMEOUT = 300.0
"""Seconds for a credential plugin: it may ask for a login."""
PLUGIN_PERIOD = 10.0
"""Seconds between two runs of a credential plugin, at least."""
# Seconds between two reads of a token file: the kubelet leaves ten minutes between a new token and the old one's end.
_TOKEN_PERIOD = 60.0
DATA = {
    "ssl_ca_cert": "certificate-authority-data",
    "cert_file": "client-certificate-data",
    "key_file": "client-key-data",
}
"""Certificates in a kubeconfig itself, by the field of a Configuration that names a file instead."""
_LAST_TIME = 2**40
# A word in the first lines of a key with a passphrase.
_PASSPHRASE = b"ENCRYPTED"


@dataclass(frozen=True, slots=True)
class Acting:
    """The user in whose name everything is asked, as `kubectl --as` has it. A name may be in `extra` more than once."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str | None = None
    extra: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, user: str | None, groups: Iterable[str] = (), uid: str | None = None) -> Acting | None:
        """Return None when no user is named: the rest means nothing alone."""
        return None if user is None else cls(user, tuple(groups), uid)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers of each request."""
        groups = (("Impersonate-Group", group) for group in self.groups)
        uid = (("Impersonate-Uid", self.uid),) if self.uid is not None else ()
        # A name may have letters that no header has: client-go escapes them so.
        extra = ((f"Impersonate-Extra-{urllib.parse.quote(name, safe='')}", value) for name, value in self.extra)
        return (("Impersonate-User", self.user), *groups, *uid, *extra)

    def __str__(self) -> str:
        return f"{self.user} in {', '.join(self.groups)}" if self.groups else self.user


async def _nothing_to_read() -> None:
    """The service account of a pod has files only, which are read where they are used."""


@dataclass(slots=True)
class Extras:
    """What a Configuration has no field for; `certificates` are PEM by the field that would name their file.

    `read_again` looks whether the kubeconfig has changed, and reads it again. Raises ConfigError.
    """

    certificates: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    acting: Acting | None = None
    read_again: Callable[[], Awaitable[None]] = _nothing_to_read

    def names(self) -> list[str]:
        """Return what the certificates are called in a kubeconfig."""
        return [DATA[name] for name in self.certificates]


def extras(configuration: Configuration) -> Extras:
    """Return the extras of a Configuration; each has its own."""
    kept: Extras = vars(configuration).setdefault("topology_extras", Extras())
    return kept


def rejected(configuration: Configuration) -> None:
    """Note that the server refused our credentials: they are read again before the next request."""
    hook = configuration.refresh_api_key_hook
    if isinstance(hook, TokenFile | ExecPlugin):
        hook.rejected()


def expiry(configuration: Configuration) -> float | None:
    """Return the Unix time at which the bearer token of a kubeconfig ends; None where that is not known.

    Not known: no token, not a JSON web token, or one that is replaced without us (a token file, a credential plugin).
    """
    token = (configuration.api_key.get("BearerToken") or "").removeprefix("Bearer ").split(".")
    if configuration.refresh_api_key_hook is not None or len(token) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(token[1] + "=" * (-len(token[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    end = claims.get("exp") if isinstance(claims, dict) else None
    return float(end) if isinstance(end, int | float) and 0 < end < _LAST_TIME else None


async def close(configuration: Configuration) -> None:
    """End a credential plugin that is still running."""
    hook = configuration.refresh_api_key_hook
    if isinstance(hook, ExecPlugin):
        await hook.alone.close()


class Alone:
    """Work that is done in a task of its own, once at a time: a request that waits for it may end before it does."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._task: asyncio.Task[None] | None = None

    def begin(self, work: Callable[[], Coroutine[None, None, None]]) -> asyncio.Task[None]:
        """Begin it, or return the task that has begun."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(work())
        return self._task

    async def wait(self, task: asyncio.Task[None]) -> None:
        """Wait for its end and raise what it raises. Where the wait is cancelled that is logged."""
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(self._report)
            raise

    async def close(self) -> None:
        """Cancel it, and wait until it has cleaned up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _report(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.warning("%(what)s failed: %(error)s", {"what": self._what, "error": errors.clean(str(error))})


class TokenFile:
    """A bearer token in a file that is replaced now and then; while it is empty or half-written, the last good one.

    The library calls it before each request.
    """

    def __init__(self, path: pathlib.Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._monotonic = monotonic
        self._read_again = float("-inf")
        self.last_good = ""

    def rejected(self) -> None:
        """Read the file before the next request."""
        self._read_again = float("-inf")

    def __call__(self, configuration: Configuration) -> None:
        """Put the newest good token into the configuration. Never raises."""
        now = self._monotonic()
        if now >= self._read_again:
            self._read_again = now + _TOKEN_PERIOD
            try:
                token = self._path.read_text(encoding="ascii").strip()
            except (OSError, ValueError):
                token = ""
            if token and token.isprintable() and " " not in token:
                self.last_good = token
            else:
                self._read_again = now + 1.0
        if self.last_good:
            configuration.api_key["BearerToken"] = f"Bearer {self.last_good}"


class ExecPlugin:
    """A credential plugin of a kubeconfig: a program that prints a token, or a certificate with its key.

    `run` runs it once and returns the status that it printed. The library calls this object before each request.
    """

    def __init__(self, run: Callable[[], Awaitable[Any]], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._monotonic = monotonic
        self._refused = False
        self._expires: datetime | None = None
        self._ask_again = float("-inf")
        self.alone = Alone("the credential plugin")

    def rejected(self) -> None:
        """Run the program before the next request (at most every ten seconds)."""
        self._refused = True

    def __call__(self, configuration: Configuration) -> Awaitable[None] | None:
        """Refresh when it is time; the library awaits what is returned."""
        # As in the library: what is about to expire counts as expired.
        expired = self._expires is not None and self._expires - timedelta(minutes=5) <= datetime.now(UTC)
        if self._monotonic() < self._ask_again or not (self._refused or expired):
            return None
        # A login may take longer than the request that needs it.
        return self.alone.wait(self.alone.begin(lambda: self.refresh(configuration)))

    async def refresh(self, configuration: Configuration) -> None:
        """Run the program and use what it prints. Raises PluginError; TimeoutError after 5 minutes."""
        # Meanwhile other requests go on with what there is.
        self._ask_again = float("inf")
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT):
                status = await self._run()
        finally:
            self._ask_again = self._monotonic() + PLUGIN_PERIOD
        self._refused = False
        self._take(status, configuration)

    def _take(self, status: Any, configuration: Configuration) -> None:
        names = ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
        token, certificate, key, expires = (status.get(name) if isinstance(status, dict) else None for name in names)
        if any(value is not None and not isinstance(value, str) for value in (token, certificate, key, expires)):
            raise exec_plugin.PluginError("exec: the program printed something that is not a text")
        if not token and not (certificate and key):
            raise exec_plugin.PluginError("exec: the program printed neither a token nor a certificate with its key")
        try:
            moment = datetime.fromisoformat(expires) if expires else None
        except ValueError:
            raise exec_plugin.PluginError("exec: the program printed an expirationTimestamp that is no time") from None
        self._expires = moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
        if token:
            configuration.api_key["BearerToken"] = f"Bearer {token}"
        if certificate and key:
            pair = {"cert_file": certificate.encode(), "key_file": key.encode()}
            extras(configuration).certificates = {**extras(configuration).certificates, **pair}
            configuration.cert_file = configuration.key_file = None


@contextlib.contextmanager
def certificates_as_files(configuration: Configuration) -> Iterator[None]:
    """Let a Configuration name files for all certificates, also for those in memory, until this is left.

    Raises ValueError for a key with a passphrase, which OpenSSL would ask for on the terminal, and OSError.
    """
    with contextlib.ExitStack() as stack:
        for name, content in extras(configuration).certificates.items():
            stack.callback(setattr, configuration, name, getattr(configuration, name))
            setattr(configuration, name, stack.enter_context(mounted.as_file(content)))
        if configuration.key_file:
            with pathlib.Path(configuration.key_file).open("rb") as key:
                if _PASSPHRASE in key.read(1024 * 1024):
                    raise ValueError("the key of the client certificate has a passphrase, which is not supported")
        yield


def anonymous_tls(configuration: Configuration) -> ssl.SSLContext:
    """Return a TLS context that trusts what a Configuration trusts, and has no certificate of ours to show.

    Raises OSError and ValueError for authorities that cannot be used.
    """
    inline = extras(configuration).certificates.get("ssl_ca_cert")
    context = ssl.create_default_context(
        cafile=None if inline else configuration.ssl_ca_cert, cadata=inline.decode("ascii") if inline else None
    )
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.disable_strict_ssl_verification:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
