"""Who we are, and how that stays true while we run: `config` makes it from a kubeconfig or a pod's service account.

A token file is read again every minute; a credential plugin runs again when what it printed expires; both after
`transport` called `rejected`. A plugin is a foreign program (kubectl's client.authentication.k8s.io). It may print
without end, wait for a login, or leave a child behind. So it prints to files in memory, which no child of it can keep
us from reading, their size has a bound, and a run that is given up leaves no process behind.

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
import subprocess
import sys
import time
import urllib.parse
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .. import mounted, terminal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

_LOG = logging.getLogger(__name__)
# Seconds for a credential plugin, which may ask for a login; between two runs of one, at least.
PLUGIN_TIMEOUT, PLUGIN_PERIOD = 300.0, 10.0
_NOTHING = functools.partial(asyncio.sleep, 0)  # what the account of a pod reads again: it has files only
# Seconds between two reads of a token file: the kubelet leaves ten minutes between a new token and the old one's end.
_TOKEN_PERIOD = 60.0
CERTIFICATES = AUTHORITY, CERTIFICATE, KEY = "certificate-authority", "client-certificate", "client-key"
"""As a kubeconfig names their files."""
# Bytes that a plugin may print (a token and two certificates are a few thousand), and of the end of its errors; seconds
# between two looks whether it has ended.
_MOST, _TAIL, _LOOK = 1024 * 1024, 4096, 0.02


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
class Configuration:
    """How a server is reached, and who we are there; what is empty is not given.

    `files` and `inline` (PEM, in place of a file) are by `CERTIFICATES`. `proxy` None is that of the environment.
    """

    host: str
    verify_ssl: bool = True
    tls_server_name: str = ""
    proxy: str | None = None
    acting: Acting | None = None
    authorization: str = field(default="", repr=False)  # the header
    refresh: TokenFile | ExecPlugin | None = None  # brings newer credentials
    files: dict[str, str] = field(default_factory=dict)
    inline: dict[str, bytes] = field(default_factory=dict, repr=False)
    read_again: Callable[[], Awaitable[None]] = _NOTHING  # takes over a kubeconfig that has changed, or ConfigError


def expiry(configuration: Configuration) -> float | None:
    """Return the Unix time at which the bearer token (a JSON web token) of a kubeconfig ends; None: not known."""
    token = configuration.authorization.removeprefix("Bearer ").split(".")
    # A token file and a credential plugin replace it without us.
    if configuration.refresh is not None or len(token) != 3:
        return None
    claims = None
    with contextlib.suppress(ValueError, RecursionError):
        claims = json.loads(base64.urlsafe_b64decode(token[1] + "=" * (-len(token[1]) % 4)))
    end = claims.get("exp") if isinstance(claims, dict) else None
    return float(end) if isinstance(end, int | float) and 0 < end < 2**40 else None


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
            configuration.authorization = f"Bearer {self.last_good}"


class ExecPlugin:
    """A credential plugin, by section `exec` of a user, and what it printed. Raises UnusableError for another section.

    It may ask on the terminal, where there is one. The object is called before each request.
    """

    def __init__(self, section: Mapping[str, Any]) -> None:
        for name in ("command", "apiVersion"):
            if not section.get(name) or not isinstance(section[name], str):
                raise UnusableError(f"exec: {name} is missing, or not a text")
        arguments, added = section.get("args") or [], section.get("env") or []
        if not isinstance(arguments, list):
            raise UnusableError("exec: args is not a list")
        entries = added if isinstance(added, list) else [added]
        pairs: list[tuple[Any, Any]]
        pairs = [(entry.get("name"), entry.get("value")) for entry in entries if isinstance(entry, dict)]
        if len(pairs) < len(entries) or not all(isinstance(text, str) for pair in pairs for text in pair):
            raise UnusableError("exec: env is not a list of names and values")
        self._command, self._version = (section["command"], *map(str, arguments)), section["apiVersion"]
        self._interactive = section.get("interactiveMode") != "Never" and sys.stdin is not None and sys.stdin.isatty()
        about = {"apiVersion": self._version, "kind": "ExecCredential", "spec": {"interactive": self._interactive}}
        self._environ = {**os.environ, **dict(pairs), "KUBERNETES_EXEC_INFO": json.dumps(about)}
        self._monotonic = time.monotonic
        self._refused = False
        self._expires: datetime | None = None
        self._ask_again = float("-inf")
        self.running: asyncio.Task[None] | None = None

    def rejected(self) -> None:
        """Run the program before the next request (at most every ten seconds)."""
        self._refused = True

    async def __call__(self, configuration: Configuration) -> None:
        """Refresh when it is time."""
        expired = self._expires is not None and self._expires - timedelta(minutes=5) <= datetime.now(UTC)
        if self._monotonic() < self._ask_again or not (self._refused or expired):
            return
        self._ask_again = float("inf")  # meanwhile other requests go on with what there is
        self.running = asyncio.create_task(self.refresh(configuration))
        try:
            await asyncio.shield(self.running)
        except asyncio.CancelledError:
            # A login may take longer than the request that needs it, and then its error goes to no request.
            self.running.add_done_callback(_tell)
            raise

    async def refresh(self, configuration: Configuration) -> None:
        """Run the program and use what it prints. Raises UnusableError; TimeoutError after 5 minutes."""
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
            configuration.authorization = f"Bearer {token}"
        if certificate and key:
            configuration.inline |= {CERTIFICATE: certificate.encode(), KEY: key.encode()}
            configuration.files = {name: file for name, file in configuration.files.items() if name == AUTHORITY}

    async def _run(self) -> Any:
        """Run it once and return the status that it printed. Raises UnusableError; bound its time by a cancel scope."""
        with mounted.unnamed() as printed, mounted.unnamed() as complained:
            try:
                process = subprocess.Popen(  # noqa: ASYNC220, S603 - it begins at once; what the kubeconfig names
                    self._command,
                    env=self._environ,
                    stdin=None if self._interactive else subprocess.DEVNULL,
                    stdout=printed,
                    stderr=complained,
                    # A group of its own can be killed with all its children, and may not read from the terminal.
                    process_group=None if self._interactive else 0,
                )
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                raise UnusableError(f"exec: {self._command[0]}: {why}") from error
            try:
                ended = False
                while not ended:
                    await asyncio.sleep(_LOOK)
                    ended = process.poll() is not None
                    if os.fstat(printed).st_size > _MOST:
                        raise UnusableError(f"exec: the program printed more than {_MOST} bytes")
                    if os.fstat(complained).st_size > _MOST:
                        os.ftruncate(complained, 0)  # it goes on where it was, behind a hole
            finally:
                _end(process, with_children=not self._interactive)
            content = os.pread(printed, _MOST, 0)
            tail = os.pread(complained, _TAIL, max(0, os.fstat(complained).st_size - _TAIL))
            reason = tail.strip(b"\0").decode(errors="replace").strip()
        if process.returncode:
            raise UnusableError(f"exec: process returned {process.returncode}" + (f". {reason}" if reason else ""))
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise UnusableError(f"exec: what the program printed is not JSON: {error}") from None
        for key in ("apiVersion", "kind", "status"):
            if not isinstance(answer, dict) or key not in answer:
                raise UnusableError(f"exec: what the program printed has no {key}")
        if answer["apiVersion"] != self._version:
            raise UnusableError(f"exec: the program speaks {answer['apiVersion']}, not {self._version}")
        return answer["status"]


def _end(process: subprocess.Popen[bytes], *, with_children: bool) -> None:
    """Kill what still runs."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL) if with_children else process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that may not be killed
            process.wait(1.0)


def _tell(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        _LOG.warning("the credential plugin failed: %(error)s", {"error": terminal.clean(str(error))})


def certificates(configuration: Configuration) -> dict[str, bytes]:
    """Return authority, certificate and key of a Configuration as they are now. Raises OSError, ValueError."""
    return {name: pathlib.Path(file).read_bytes() for name, file in configuration.files.items()} | configuration.inline


def tls(configuration: Configuration, held: Mapping[str, bytes]) -> ssl.SSLContext:
    """Return a TLS context with these certificates. Raises OSError, ValueError."""
    with contextlib.ExitStack() as stack:
        authority, certificate, key = map(held.get, CERTIFICATES)
        file = None if authority is None else stack.enter_context(mounted.as_file(authority))
        # The system's authorities take a twentieth of a second to read: not for a server without TLS.
        used = file is not None or configuration.host.startswith("https:")
        context = ssl.create_default_context(cafile=file) if used else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        if key is not None and b"ENCRYPTED" in key:
            raise ValueError("the key of the client certificate has a passphrase, which is not supported")
        mounted.load_pair(context, certificate, key or certificate)
    return context
