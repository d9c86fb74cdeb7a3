"""Who we are, and how that stays true while we run: `config` makes it from a kubeconfig or a pod's service account.

A token file is read again every minute; a credential plugin runs again when what it printed expires; both after
`transport` called `rejected`. A plugin is a foreign program (kubectl's client.authentication.k8s.io). It may print
without end, wait for a login, or leave a child behind that holds its pipes. So both pipes are read at once, what is
kept of them is bounded, and a run that is given up leaves no process behind.

Certificates and keys inside a kubeconfig, or printed by a plugin, are files in memory while a TLS context is made.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import logging
import os
import pathlib
import signal
import ssl
import sys
import time
import urllib.parse
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .. import mounted, terminal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

    from kubernetes_asyncio.client.configuration import Configuration

_LOG = logging.getLogger(__name__)
# Seconds for a credential plugin, which may ask for a login; between two runs of one, at least.
PLUGIN_TIMEOUT, PLUGIN_PERIOD = 300.0, 10.0
_NOTHING = functools.partial(asyncio.sleep, 0)  # what the account of a pod reads again: it has files only
# Seconds between two reads of a token file: the kubelet leaves ten minutes between a new token and the old one's end.
_TOKEN_PERIOD = 60.0
DATA = {  # Certificates in a kubeconfig itself, by the field of a Configuration that names a file instead
    "ssl_ca_cert": "certificate-authority-data",
    "cert_file": "client-certificate-data",
    "key_file": "client-key-data",
}
# Bytes of a plugin's standard output (a token and two certificates are a few thousand), and of the end of its errors.
_MOST, _TAIL, _CHUNK = 1024 * 1024, 4096, 64 * 1024


class UnusableError(Exception):
    """What is wrong with a kubeconfig or with what a credential plugin did, in words."""


def _printables(values: Any, name: str) -> list[str]:
    """Return texts that a header may have. Raises UnusableError."""
    if not isinstance(values, list):
        raise UnusableError(f"{name} is not a list")
    if not all(isinstance(value, str) and value.isprintable() and value == value.strip() for value in values):
        raise UnusableError(f"{name} has what is no name")
    return values


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

    @classmethod
    def read(cls, user: Mapping[str, Any]) -> Acting | None:
        """Return in whose name a user of a kubeconfig acts, None for their own. Raises UnusableError."""
        if not user.get("as"):
            for alone in ("as-uid", "as-groups", "as-user-extra"):
                if user.get(alone):
                    raise UnusableError(f"{alone} is about the user that `as` names, and there is no `as`")
            return None
        extra = user.get("as-user-extra") or {}
        if not isinstance(extra, dict):
            raise UnusableError("as-user-extra is not a mapping")
        names = _printables([*extra], "as-user-extra")
        pairs = [(name, value) for name in names for value in _printables(extra[name], f"as-user-extra {name}")]
        (name,), (uid,) = _printables([user["as"]], "as"), _printables([user.get("as-uid") or ""], "as-uid")
        groups = _printables(user.get("as-groups") or [], "as-groups")
        return cls(name, tuple(groups), uid or None, tuple(pairs))

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


@dataclass(slots=True)
class Extras:
    """What a Configuration has no field for; `certificates` are PEM by the field that would name their file."""

    certificates: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    acting: Acting | None = None
    read_again: Callable[[], Awaitable[None]] = _NOTHING  # takes over a kubeconfig that has changed, or ConfigError


def extras(configuration: Configuration) -> Extras:
    """Return the extras of a Configuration; each has its own."""
    kept: Extras = vars(configuration).setdefault("topology_extras", Extras())
    return kept


def rejected(configuration: Configuration) -> None:
    """Have credentials that the server refused read again before the next request."""
    if isinstance(hook := configuration.refresh_api_key_hook, TokenFile | ExecPlugin):
        hook.rejected()


def expiry(configuration: Configuration) -> float | None:
    """Return the Unix time at which the bearer token (a JSON web token) of a kubeconfig ends; None: not known."""
    token = (configuration.api_key.get("BearerToken") or "").removeprefix("Bearer ").split(".")
    # A token file and a credential plugin replace it without us.
    if configuration.refresh_api_key_hook is not None or len(token) != 3:
        return None
    claims = None
    with contextlib.suppress(ValueError, RecursionError):
        claims = json.loads(base64.urlsafe_b64decode(token[1] + "=" * (-len(token[1]) % 4)))
    end = claims.get("exp") if isinstance(claims, dict) else None
    return float(end) if isinstance(end, int | float) and 0 < end < 2**40 else None


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
            _LOG.warning("%(what)s failed: %(error)s", {"what": self._what, "error": terminal.clean(str(error))})


class TokenFile:
    """A bearer token in a file that is replaced now and then; while it is empty or half-written, the last good one."""

    def __init__(self, path: pathlib.Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path, self._monotonic = path, monotonic
        self._read_again = float("-inf")
        self.last_good = ""

    def rejected(self) -> None:
        """Read the file before the next request."""
        self._read_again = float("-inf")

    def __call__(self, configuration: Configuration) -> None:
        """Put the newest good token into the configuration. Never raises."""
        now = self._monotonic()
        if now >= self._read_again:
            self._read_again = now + 1.0
            with contextlib.suppress(OSError, ValueError):
                token = self._path.read_text(encoding="ascii").strip()
                if token and token.isprintable() and " " not in token:
                    self.last_good, self._read_again = token, now + _TOKEN_PERIOD
        if self.last_good:
            configuration.api_key["BearerToken"] = f"Bearer {self.last_good}"


class ExecPlugin:
    """What a credential plugin printed. `run` runs it once; the library calls this object before each request."""

    def __init__(self, run: Callable[[], Awaitable[Any]], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._run, self._monotonic = run, monotonic
        self._refused = False
        self._expires: datetime | None = None
        self._ask_again = float("-inf")
        self.alone = Alone("the credential plugin")

    def rejected(self) -> None:
        """Run the program before the next request (at most every ten seconds)."""
        self._refused = True

    def __call__(self, configuration: Configuration) -> Awaitable[None] | None:
        """Refresh when it is time; the library awaits what is returned."""
        expired = self._expires is not None and self._expires - timedelta(minutes=5) <= datetime.now(UTC)
        if self._monotonic() < self._ask_again or not (self._refused or expired):
            return None
        # A login may take longer than the request that needs it.
        return self.alone.wait(self.alone.begin(lambda: self.refresh(configuration)))

    async def refresh(self, configuration: Configuration) -> None:
        """Run the program and use what it prints. Raises UnusableError; TimeoutError after 5 minutes."""
        self._ask_again = float("inf")  # meanwhile other requests go on with what there is
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT):
                status = await self._run()
        finally:
            self._ask_again = self._monotonic() + PLUGIN_PERIOD
        self._refused = False
        names = ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
        values = [status.get(name) if isinstance(status, dict) else None for name in names]
        if any(value is not None and not isinstance(value, str) for value in values):
            raise UnusableError("exec: the program printed something that is not a text")
        token, certificate, key, expires = values
        if not token and not (certificate and key):
            raise UnusableError("exec: the program printed neither a token nor a certificate with its key")
        try:
            moment = datetime.fromisoformat(expires) if expires else None
        except ValueError:
            raise UnusableError("exec: the program printed an expirationTimestamp that is no time") from None
        self._expires = moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
        if token:
            configuration.api_key["BearerToken"] = f"Bearer {token}"
        if certificate and key:
            pair = {"cert_file": certificate.encode(), "key_file": key.encode()}
            extras(configuration).certificates = {**extras(configuration).certificates, **pair}
            configuration.cert_file = configuration.key_file = None


@dataclass(frozen=True, slots=True)
class Program:
    """What a plugin is run by. `interactive`: whether it may ask on the terminal, where there is one."""

    command: tuple[str, ...]
    version: str
    environ: tuple[tuple[str, str], ...] = ()
    interactive: bool = True

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Program:
        """Read section `exec` of a user. Raises UnusableError."""
        for name in ("command", "apiVersion"):
            if not section.get(name) or not isinstance(section[name], str):
                raise UnusableError(f"exec: {name} is missing, or not a text")
        arguments, added = section.get("args") or [], section.get("env") or []
        if not isinstance(arguments, list):
            raise UnusableError("exec: args is not a list")
        entries = added if isinstance(added, list) else [added]
        pairs: tuple[tuple[Any, Any], ...]
        pairs = tuple((entry.get("name"), entry.get("value")) for entry in entries if isinstance(entry, dict))
        if len(pairs) < len(entries) or not all(isinstance(text, str) for pair in pairs for text in pair):
            raise UnusableError("exec: env is not a list of names and values")
        words = (section["command"], *map(str, arguments))
        return cls(words, section["apiVersion"], pairs, section.get("interactiveMode") != "Never")

    async def run(self) -> Any:
        """Run it once and return the status that it printed. Raises UnusableError; bound its time by a cancel scope."""
        interactive = self.interactive and sys.stdin is not None and sys.stdin.isatty()
        spawning = asyncio.create_task(self._spawn(interactive=interactive))
        try:
            process = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            # Cancelled within, asyncio kills the program alone, and waits for the pipes that its children hold.
            await asyncio.wait({spawning})
            if spawning.exception() is None:
                process = spawning.result()
                await _end(process, asyncio.create_task(process.wait()), with_children=not interactive)
            raise
        except (OSError, ValueError) as error:
            raise UnusableError(f"exec: {self.command[0]}: {getattr(error, 'strerror', None) or error}") from error
        complaining = asyncio.create_task(_last(process.stderr))
        closed = asyncio.create_task(process.wait())
        try:
            printed = await _all(process.stdout)
            while process.returncode is None:
                await asyncio.wait({closed}, timeout=0.05)
            # A child that it leaves behind may keep its standard error open without end.
            await asyncio.wait({closed, complaining}, timeout=1.0)
        finally:
            await _end(process, complaining, closed, with_children=not interactive)
        if process.returncode:
            reason = complaining.result().decode(errors="replace").strip() if not complaining.cancelled() else ""
            raise UnusableError(f"exec: process returned {process.returncode}" + (f". {reason}" if reason else ""))
        try:
            answer = json.loads(printed)
        except (ValueError, RecursionError) as error:
            raise UnusableError(f"exec: what the program printed is not JSON: {error}") from None
        for key in ("apiVersion", "kind", "status"):
            if not isinstance(answer, dict) or key not in answer:
                raise UnusableError(f"exec: what the program printed has no {key}")
        if answer["apiVersion"] != self.version:
            raise UnusableError(f"exec: the program speaks {answer['apiVersion']}, not {self.version}")
        return answer["status"]

    async def _spawn(self, *, interactive: bool) -> asyncio.subprocess.Process:
        about = {"apiVersion": self.version, "kind": "ExecCredential", "spec": {"interactive": interactive}}
        return await asyncio.create_subprocess_exec(
            *self.command,
            env={**os.environ, **dict(self.environ), "KUBERNETES_EXEC_INFO": json.dumps(about)},
            stdin=None if interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # A group of its own can be killed with all its children, and may not read from the terminal.
            process_group=None if interactive else 0,
        )


async def _all(stream: asyncio.StreamReader | None) -> bytes:
    held = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        held += chunk
        if len(held) > _MOST:
            raise UnusableError(f"exec: the program printed more than {_MOST} bytes")
    return bytes(held)


async def _last(stream: asyncio.StreamReader | None) -> bytes:
    held = b""
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        held = (held + chunk)[-_TAIL:]
    return held


async def _end(process: asyncio.subprocess.Process, *tasks: asyncio.Task[Any], with_children: bool) -> None:
    """Kill what still runs, and leave nothing that would speak when the loop has ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if with_children:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    # A child that has left the group may hold the pipes.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio has no public way
    for task in tasks:
        if not task.done() and process.returncode is not None:
            task.cancel()
    await asyncio.wait(tasks)


def tls(configuration: Configuration, *, anonymous: bool = False) -> ssl.SSLContext:
    """Return a TLS context of a Configuration, without its certificate if `anonymous`. Raises OSError, ValueError."""
    inline = extras(configuration).certificates
    with contextlib.ExitStack() as stack:
        authority = inline.get("ssl_ca_cert")
        file = configuration.ssl_ca_cert if authority is None else stack.enter_context(mounted.as_file(authority))
        context = ssl.create_default_context(cafile=file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.disable_strict_ssl_verification:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    certificate, key = (
        inline.get(name) or (pathlib.Path(file).read_bytes() if file else None)
        for name, file in (("cert_file", configuration.cert_file), ("key_file", configuration.key_file))
    )
    if certificate is not None and not anonymous:
        if key is not None and b"ENCRYPTED" in key:
            raise ValueError("the key of the client certificate has a passphrase, which is not supported")
        mounted.load_pair(context, certificate, key or certificate)
    return context
