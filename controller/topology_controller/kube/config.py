"""How to reach the cluster, and who we are there.

A person has a kubeconfig (certificates, tokens, exec plugins); a pod has a service account. Both become one
kubernetes_asyncio Configuration, loaded by that library, so that what works with its users works here.

What the library leaves out is here: one line that names the file and what is wrong with it, and
credentials that change while we run. A kubelet replaces the token file of a pod every hour or so; a
reader may meet it empty or half-way, and then the last good token is still good for a while. After a 401
`transport` says `rejected`, and credentials are read again at once instead of at the next minute.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import time
from typing import TYPE_CHECKING, Any

import yaml

from . import errors, lazy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kubernetes_asyncio.client.configuration import Configuration

_SERVICE_ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
# How often a token file is read again: well within the ten minutes that the kubelet leaves between new
# and expired.
TOKEN_PERIOD = 60.0
# An exec plugin may ask a person to log in, so it has time; but not for ever.
_EXEC_TIMEOUT = 300.0
_EXEC_PERIOD = 10.0


class ConfigError(Exception):
    """What was found cannot be used to reach a cluster.

    `source` is the file, or where else it was read from.
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, problem)
        self.source = source
        self.problem = errors.clean(problem)

    def __str__(self) -> str:
        return f"{self.source}: {self.problem}"


async def load(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
) -> Configuration:
    """Load what says how to reach the cluster, from the first of these that there is.

    `kubeconfig` (a path); the paths in KUBECONFIG; ~/.kube/config; the service account of this pod.
    kubectl's order. `context` is a context of the kubeconfig, its current one by default. Raises
    ConfigError. May run an exec credential plugin, and then lasts as long as that (at most 5 minutes).
    """
    if kubeconfig is not None:
        return await _from_kubeconfig(os.fspath(kubeconfig), context)
    if environ.get("KUBECONFIG"):
        return await _from_kubeconfig(environ["KUBECONFIG"], context)
    default = pathlib.Path(environ.get("HOME") or "/").joinpath(".kube", "config")
    if default.is_file():
        return await _from_kubeconfig(str(default), context)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environ=environ)
    raise ConfigError(str(default), "no such file, KUBECONFIG is not set, and this is not a pod")


def in_cluster(*, environ: Mapping[str, str] = os.environ, folder: pathlib.Path = _SERVICE_ACCOUNT) -> Configuration:
    """Load the service account of this pod; its token is read again while we run. Raises ConfigError."""
    library = lazy.library()
    configuration = library.make_configuration()
    source = f"service account in {folder}"
    token_file = TokenFile(folder / "token")
    try:
        library.load_incluster_config(
            client_configuration=configuration,
            token_filename=str(folder / "token"),
            cert_filename=str(folder / "ca.crt"),
            environ=environ,
        )
    except (library.config_exception, OSError, ValueError) as error:
        raise ConfigError(source, str(error)) from error
    token_file(configuration)
    if not token_file.last_good:
        raise ConfigError(source, "the token is empty")
    configuration.refresh_api_key_hook = token_file
    # The API of one's own cluster is never behind a proxy, whatever the environment of the pod says.
    configuration.proxy = ""
    return configuration


def rejected(configuration: Configuration) -> None:
    """Say that the server refused our credentials: they are read again before the next request."""
    hook = configuration.refresh_api_key_hook
    if isinstance(hook, TokenFile | ExecPlugin):
        hook.rejected()


class TokenFile:
    """A bearer token in a file that somebody replaces. Called by the library before each request."""

    def __init__(self, path: pathlib.Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._monotonic = monotonic
        self._read_again = float("-inf")
        self.last_good = ""

    def rejected(self) -> None:
        """Read the file before the next request."""
        self._read_again = float("-inf")

    def __call__(self, configuration: Configuration) -> None:
        """Put the newest good token into the configuration.

        Never raises: a bad file leaves the last good one.
        """
        now = self._monotonic()
        if now >= self._read_again:
            self._read_again = now + TOKEN_PERIOD
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
    """A program that prints credentials. Run again when what it printed expires, or was refused."""

    def __init__(self, loader: Any, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._loader = loader
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._refused = False
        self._ask_again = monotonic() + _EXEC_PERIOD

    def rejected(self) -> None:
        """Run the program before the next request (at most every ten seconds)."""
        self._refused = True

    def __call__(self, configuration: Configuration) -> Awaitable[None] | None:
        """Refresh, when it is time; the library awaits what is returned."""
        if self._monotonic() < self._ask_again:
            return None
        if not self._refused and not hasattr(self._loader, "exec_plugin_expiry"):
            return None
        return self._refresh(configuration)

    async def _refresh(self, configuration: Configuration) -> None:
        async with self._lock:
            if self._monotonic() < self._ask_again:
                return
            self._ask_again = self._monotonic() + _EXEC_PERIOD
            if self._refused and hasattr(self._loader, "exec_plugin_expiry"):
                del self._loader.exec_plugin_expiry
            self._refused = False
            async with asyncio.timeout(_EXEC_TIMEOUT):
                await self._loader.load_from_exec_plugin()
            if hasattr(self._loader, "token"):
                configuration.api_key["BearerToken"] = self._loader.token
            for part in ("cert_file", "key_file"):
                if getattr(self._loader, part, None):
                    setattr(configuration, part, getattr(self._loader, part))


async def _from_kubeconfig(paths: str, context: str | None) -> Configuration:
    _check_files(paths)
    library = lazy.library()
    configuration = library.make_configuration()
    try:
        async with asyncio.timeout(_EXEC_TIMEOUT):
            loader = await library.load_kube_config(
                config_file=paths, context=context, client_configuration=configuration
            )
    except TimeoutError as error:
        raise ConfigError(paths, f"no credentials within {_EXEC_TIMEOUT:.0f} s") from error
    except library.config_exception as error:
        raise ConfigError(paths, str(error).removeprefix("Invalid kube-config file. ")) from error
    except AssertionError as error:
        raise ConfigError(
            paths, "not a usable kubeconfig: the context, or what it names, is empty or missing"
        ) from error
    except Exception as error:  # the library does not check types: a wrong one can raise anything
        raise ConfigError(paths, f"not a usable kubeconfig: {type(error).__name__}: {error}") from error
    host = getattr(loader, "host", None)
    if not isinstance(host, str) or not host.startswith(("http://", "https://")):
        raise ConfigError(paths, f"the server of the cluster is {host!r}, not an http or https address")
    token = configuration.api_key.get("BearerToken")
    if token:
        configuration.api_key["BearerToken"] = token.strip()
    user = getattr(loader, "_user", None)
    if user is not None and "exec" in user:
        configuration.refresh_api_key_hook = ExecPlugin(loader)
    elif user is not None and isinstance(user.safe_get("tokenFile"), str):
        # Beside a token the file comes first, as with kubectl; the token is for as long as the file has none.
        base = pathlib.Path(user.path or paths).parent
        configuration.refresh_api_key_hook = TokenFile(base / user.safe_get("tokenFile"))
    return configuration


def _check_files(paths: str) -> None:
    """Find what is wrong with the files themselves, in words: the library says too little."""
    names = [pathlib.Path(part).expanduser() for part in paths.split(os.pathsep) if part]
    found = [name for name in names if name.exists()]
    if not found:
        raise ConfigError(paths, "no such file")
    for name in found:
        try:
            content = yaml.safe_load(name.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(str(name), error.strerror or type(error).__name__) from error
        except UnicodeDecodeError as error:
            raise ConfigError(str(name), "not a text file") from error
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f"line {mark.line + 1}: " if mark is not None else ""
            raise ConfigError(str(name), f"{where}not YAML: {getattr(error, 'problem', None) or error}") from error
        if not isinstance(content, dict):
            raise ConfigError(str(name), "not a kubeconfig: it holds no mapping" if content else "it is empty")
        for part in ("clusters", "contexts", "users"):
            entries = content.get(part)
            if entries is not None and not (
                isinstance(entries, list) and all(isinstance(one, dict) for one in entries)
            ):
                raise ConfigError(str(name), f"not a kubeconfig: {part} is not a list of mappings")
