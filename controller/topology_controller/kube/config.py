"""How to reach the cluster, and who we are there.

A person has a kubeconfig (certificates, tokens, exec plugins); a pod has a service account. Both become one
kubernetes_asyncio Configuration, loaded by that library, so that what works with its users works here.

What the library leaves out is here and next door: one line that names the file and what is wrong with it
(`kubeconfig_file`), keys that never become files (`inline`), credential plugins (`exec_plugin`), and
credentials that change while we run. A kubelet replaces the token file of a pod every hour or so; a
reader may meet it empty or half-way, and then the last good token is still good for a while. After a 401
`transport` says `rejected`, and credentials are read again at once instead of at the next minute.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import time
from typing import TYPE_CHECKING

from . import errors, exec_plugin, impersonation, inline, kubeconfig_file, lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubernetes_asyncio.client.configuration import Configuration

_SERVICE_ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
# How often a token file is read again: well within the ten minutes that the kubelet leaves between new
# and expired.
TOKEN_PERIOD = 60.0
# Login providers that the library asks before it would ask a credential plugin.
_PROVIDERS = frozenset({"gcp", "oidc"})
# What a credential plugin is asked instead of.
_INSTEAD_OF_PLUGIN = frozenset({"exec", "token", "tokenFile", "username", "password"})


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
    if isinstance(hook, TokenFile | exec_plugin.ExecPlugin):
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


class _AddressError(Exception):
    """The address of the server is none."""


async def _from_kubeconfig(paths: str, context: str | None) -> Configuration:
    try:
        kubeconfig_file.check(paths)
    except kubeconfig_file.FaultyFileError as error:
        raise ConfigError(error.name, error.problem) from error
    library = lazy.library()
    configuration = library.make_configuration()
    try:
        await _loaded(library, paths, context, configuration)
    except TimeoutError as error:
        raise ConfigError(paths, f"no credentials within {exec_plugin.TIMEOUT:.0f} s") from error
    except library.config_exception as error:
        raise ConfigError(paths, str(error).removeprefix("Invalid kube-config file. ")) from error
    except (_AddressError, impersonation.ImpersonationError) as error:
        raise ConfigError(paths, str(error)) from error
    except AssertionError as error:
        raise ConfigError(
            paths, "not a usable kubeconfig: the context, or what it names, is empty or missing"
        ) from error
    except Exception as error:  # the library does not check types: a wrong one can raise anything
        raise ConfigError(paths, f"not a usable kubeconfig: {type(error).__name__}: {error}") from error
    token = configuration.api_key.get("BearerToken")
    if token:
        configuration.api_key["BearerToken"] = token.strip()
    return configuration


async def _loaded(library: lazy.Library, paths: str, context: str | None, configuration: Configuration) -> None:
    merger = library.make_kubeconfig_merger(paths)
    for part in kubeconfig_file.PARTS:
        for entry in merger.config.value[part]:
            # By default an entry is named by all that is in it, in errors too, and that may be a password.
            entry.name = f"{part}[name={entry.safe_get('name')}]"
    loader = library.make_kubeconfig_loader(
        config_dict=merger.config,
        active_context=context,
        config_base_path=None,
        # A login by OpenID Connect gets a new refresh token each time, and the one before is no good then.
        config_persister=merger.save_changes,
    )
    cluster, user = loader._cluster, loader._user  # noqa: SLF001 - see `inline`: no other way keeps keys out of files
    if user is None:
        # Nobody in particular: the library would stumble over that.
        user = type(cluster)("no user", {})
    if not isinstance(cluster.value, dict) or not isinstance(user.value, dict):
        raise TypeError("the cluster or the user is not a mapping")
    impersonation.hold(configuration, impersonation.of(user.value))
    by_plugin = "exec" in user and loader.provider not in _PROVIDERS
    left = inline.without(user.value)
    if by_plugin:
        left = {name: value for name, value in left.items() if name not in _INSTEAD_OF_PLUGIN}
    loader._cluster = type(cluster)(cluster.name, inline.without(cluster.value), cluster.path)  # noqa: SLF001 - as above
    loader._user = type(user)(user.name, left, user.path)  # noqa: SLF001 - as above
    async with asyncio.timeout(exec_plugin.TIMEOUT):
        await loader.load_and_set(configuration)
    host = getattr(loader, "host", None)
    if not isinstance(host, str) or not host.startswith(("http://", "https://")):
        raise _AddressError(f"the server of the cluster is {host!r}, not an http or https address")
    if host.startswith("https://"):
        inline.hold(configuration, inline.taken(cluster.value, user.value))
    if by_plugin:
        plugin = exec_plugin.ExecPlugin(library.make_exec_provider(user["exec"]).run)
        await plugin.first(configuration)
        configuration.refresh_api_key_hook = plugin
    elif isinstance(user.safe_get("tokenFile"), str):
        # Beside a token the file comes first, as with kubectl; the token is for as long as the file has none.
        base = pathlib.Path(user.path or paths).parent
        configuration.refresh_api_key_hook = TokenFile(base / user.safe_get("tokenFile"))
