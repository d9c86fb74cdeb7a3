"""How to reach the cluster: from a kubeconfig, or from the service account of a pod.

Both become one kubernetes_asyncio Configuration, loaded by that library, so that what works with its users works here.
What that leaves out is here and in `credentials`: an error is one line that names the file, keys never become files,
credential plugins run again, and a user may act in the name of another one.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import functools
import ipaddress
import os
import pathlib
import re
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from . import credentials, errors, exec_plugin, slim_import

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kubernetes_asyncio.client.configuration import Configuration

_SERVICE_ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
# Login providers that the library asks before it would ask a credential plugin.
_PROVIDERS = frozenset({"gcp", "oidc"})
# What may run a program: of the login providers gcp does.
_PROGRAMS = ("exec", "auth-provider")
# What a credential plugin is asked instead of.
_INSTEAD_OF_PLUGIN = frozenset({"exec", "token", "tokenFile", "username", "password"})
_FILES = frozenset({"client-certificate", "client-key", "tokenFile"})
# What two parsers of addresses could read in two ways is none: a name, a password, a query, a backslash.
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::(?P<port>[0-9]{1,5}))?(?:/[\w.~!$&'()*+,;=:@%/-]*)?",
    re.ASCII,
)
_LAST_PORT = 65535
# What is taken over from a kubeconfig that has changed. Who we act for, and how the server is reached, stays.
_RENEWED = ("api_key", "refresh_api_key_hook", "ssl_ca_cert", "cert_file", "key_file")
_PARTS = ("clusters", "contexts", "users")
_Override: TypeAlias = "Callable[[dict[str, Any], str], None]"
# Nodes of a YAML file with its aliases written out: thousands of clusters.
_MOST_NODES = 100_000


class ConfigError(Exception):
    """A kubeconfig or service account cannot be used to reach a cluster.

    `source` is the file. The text begins with it, unless `problem` has a place for it: `{source}`.
    """

    def __init__(self, source: str, problem: str) -> None:
        before, named, after = errors.clean(problem).partition("{source}")
        super().__init__(f"{before}{source}{after}" if named else f"{source}: {before}")


class _UnusableError(Exception):
    """What is wrong with a kubeconfig, in words."""


async def load(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    programs: bool = True,
    override: _Override | None = None,
) -> Configuration:
    """Load how to reach the cluster from the first of these that there is, which is kubectl's order.

    `kubeconfig` (a path); the paths in KUBECONFIG; ~/.kube/config; the service account of this pod. `context` is a
    context of the kubeconfig, its current one by default. Raises ConfigError. May run a credential plugin, and then
    takes as long as that (at most 5 minutes); without `programs` a kubeconfig that wants to run one is refused.
    `override` changes the entries of the merged kubeconfig that the named context leads to; it may raise ConfigError.
    """
    default = pathlib.Path(environ.get("HOME") or "/").joinpath(".kube", "config")
    paths = (environ.get("KUBECONFIG") or default) if kubeconfig is None else kubeconfig
    if paths is not default or default.is_file():
        return await _from_kubeconfig(os.fspath(paths), context, override, programs=programs)
    if override is not None:
        raise ConfigError(str(default), "no such file, and KUBECONFIG is not set: flags replace parts of a context")
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environ=environ)
    raise ConfigError(str(default), "no such file, KUBECONFIG is not set, and this is not a pod")


def in_cluster(*, environ: Mapping[str, str] = os.environ, folder: pathlib.Path = _SERVICE_ACCOUNT) -> Configuration:
    """Load the service account of this pod; its token is read again while we run. Raises ConfigError."""
    library = slim_import.library()
    configuration: Configuration = library.client.Configuration()
    source = f"service account in {folder}"
    token_file = credentials.TokenFile(folder / "token")
    try:
        library.config.load_incluster_config(
            client_configuration=configuration,
            token_filename=str(folder / "token"),
            cert_filename=str(folder / "ca.crt"),
            environ=environ,
        )
    except (library.config.ConfigException, OSError, ValueError) as error:
        raise ConfigError(source, str(error)) from error
    token_file(configuration)
    if not token_file.last_good:
        raise ConfigError(source, "the token is empty")
    configuration.refresh_api_key_hook = token_file
    # The API of one's own cluster is never behind a proxy, whatever the environment of the pod says.
    configuration.proxy = ""
    return configuration


class _Source:
    """Where a configuration was read from, and what stood there then. It stays with its context and its server."""

    def __init__(
        self,
        configuration: Configuration,
        paths: str,
        content: list[bytes],
        read: Callable[[], Awaitable[Configuration]],
    ) -> None:
        self._configuration, self._paths, self._content, self._read = configuration, paths, content, read
        self._not_before = float("-inf")

    async def read_again(self) -> None:
        """Take what has changed over into the configuration.

        Raises ConfigError. What could not be used is read again after ten seconds at the earliest, also when it has not
        changed since: a credential plugin may have failed.
        """
        content, now = _contents(self._paths), time.monotonic()
        if content == self._content or now < self._not_before:
            return
        try:
            fresh = await self._read()
        except ConfigError:
            self._not_before = time.monotonic() + credentials.PLUGIN_PERIOD
            raise
        self._content = content
        if fresh.host != self._configuration.host:
            raise ConfigError(self._paths, f"its context leads to another server now: {fresh.host}")
        kept = credentials.extras(self._configuration)
        kept.certificates = credentials.extras(fresh).certificates
        for name in _RENEWED:
            setattr(self._configuration, name, getattr(fresh, name))


def _contents(paths: str) -> list[bytes]:
    contents = []
    for path in paths.split(os.pathsep):
        with contextlib.suppress(OSError):
            contents.append(pathlib.Path(path).expanduser().read_bytes())
    return contents


async def _from_kubeconfig(
    paths: str, context: str | None, override: _Override | None, *, programs: bool
) -> Configuration:
    content = _contents(paths)
    _check(paths)
    library = slim_import.library()
    configuration: Configuration = library.client.Configuration()
    try:
        context = await _fill(configuration, paths, context, override, programs=programs)
    except TimeoutError as error:
        raise ConfigError(paths, f"no credentials within {credentials.PLUGIN_TIMEOUT:.0f} s") from error
    except (library.config.ConfigException, _UnusableError, exec_plugin.PluginError) as error:
        raise ConfigError(paths, str(error).removeprefix("Invalid kube-config file. ")) from error
    except ConfigError:
        raise
    except AssertionError as error:
        why = "not a usable kubeconfig: the context, or what it names, is empty or missing"
        raise ConfigError(paths, why) from error
    except Exception as error:  # the library does not check types: a wrong one can raise anything
        raise ConfigError(paths, f"not a usable kubeconfig: {type(error).__name__}: {error}") from error
    token = configuration.api_key.get("BearerToken")
    if token:
        configuration.api_key["BearerToken"] = token.strip()
    again = functools.partial(_from_kubeconfig, paths, context, override, programs=programs)
    source = _Source(configuration, paths, content, again)
    credentials.extras(configuration).read_again = source.read_again
    return configuration


class _Loader(yaml.SafeLoader):
    """Refuses aliases of aliases without end, as kubectl's reader of YAML does: the library writes them out."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        before, is_alias = self._nodes, self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        # The size of what is still being read, which an alias inside of it stands for, is not known: no end.
        self._nodes += self._sizes.get(id(node), _MOST_NODES) if is_alias else 1
        if self._nodes > _MOST_NODES:
            mark = None if node is None else node.start_mark
            raise yaml.MarkedYAMLError(problem="aliases of aliases without end", problem_mark=mark)
        self._sizes.setdefault(id(node), self._nodes - before)
        return node


def _check(paths: str) -> None:
    """Raise ConfigError for the first bad file of a list, as KUBECONFIG has it. Not all of them have to exist."""
    files = [pathlib.Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    files = [file for file in files if file.exists()]
    if not files:
        raise ConfigError(paths, "no such file")
    for file in files:
        if problem := _problem(file):
            raise ConfigError(str(file), problem)


def _problem(file: pathlib.Path) -> str:
    """Return why a file is no kubeconfig, "" when it may be one."""
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    except OSError as error:
        return error.strerror or type(error).__name__
    except UnicodeDecodeError:
        return "not a text file"
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return f"{f'line {mark.line + 1}: ' if mark else ''}not YAML: {getattr(error, 'problem', None) or error}"
    except RecursionError:
        return "not a kubeconfig: nested too deeply"
    except Exception as error:  # noqa: BLE001 - YAML's own types raise anything: a month 13, a truth value that is none
        return f"not YAML: a value is not what its tag says ({type(error).__name__})"
    if not isinstance(content, dict):
        return "not a kubeconfig: it holds no mapping" if content else "it is empty"
    for part in _PARTS:
        entries = [] if content.get(part) is None else content[part]
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return f"not a kubeconfig: {part} is not a list of mappings"
    return ""


async def _fill(
    configuration: Configuration, paths: str, context: str | None, override: _Override | None, *, programs: bool
) -> str:
    """Let the library load a context, without what it would do wrong; return its name."""
    library = slim_import.library().config
    merger = library.kube_config.KubeConfigMerger(paths)
    for part in _PARTS:
        for entry in merger.config.value[part]:
            # By default an entry is named by all that is in it, in errors too, and that may be a password.
            entry.name = f"{part}[name={entry.safe_get('name')}]"
    _check_context(merger.config.value, context, override)
    loader = library.kube_config.KubeConfigLoader(
        config_dict=merger.config,
        active_context=context,
        config_base_path=None,
        # A login by OpenID Connect gets a new refresh token each time, and the one before is invalid then.
        config_persister=merger.save_changes,
    )
    cluster, user = loader._cluster, loader._user  # noqa: SLF001 - no other way keeps keys out of files
    if user is None:
        # No credentials: the library would stumble over that.
        user = type(cluster)("no user", {})
    if not isinstance(cluster.value, dict) or not isinstance(user.value, dict):
        raise TypeError("the cluster or the user is not a mapping")
    if not programs:
        _refuse_programs(user)
    secure = _is_secure(cluster, paths)
    kept = credentials.extras(configuration)
    kept.acting = _acting(user.value)
    # A server without TLS could be anyone: as with kubectl it gets no credential, and no program is run for one.
    theirs = _located(user.value, pathlib.Path(user.path or paths).parent.absolute()) if secure else {}
    if not secure:
        loader.provider = None
    by_plugin = "exec" in theirs and loader.provider not in _PROVIDERS
    # No program is run by the library.
    without = _INSTEAD_OF_PLUGIN if by_plugin else {"exec"}
    left = {name: value for name, value in _without_data(theirs).items() if name not in without}
    loader._cluster = type(cluster)(cluster.name, _without_data(cluster.value), cluster.path)  # noqa: SLF001 - as above
    loader._user = type(user)(user.name, left, user.path)  # noqa: SLF001 - as above
    async with asyncio.timeout(credentials.PLUGIN_TIMEOUT):
        await loader.load_and_set(configuration)
    if secure:
        kept.certificates = _inline(cluster.value, "ssl_ca_cert") | _inline(theirs, "cert_file", "key_file")
    if by_plugin:
        section = theirs["exec"]
        plugin = credentials.ExecPlugin(exec_plugin.Program.of(section if isinstance(section, dict) else {}).run)
        await plugin.refresh(configuration)
        configuration.refresh_api_key_hook = plugin
    elif isinstance(theirs.get("tokenFile"), str):
        # Beside a token the file comes first, as with kubectl; the token is for as long as the file has none.
        configuration.refresh_api_key_hook = credentials.TokenFile(pathlib.Path(theirs["tokenFile"]))
    return str(loader.current_context["name"])


def _refuse_programs(user: Any) -> None:
    """Raise _UnusableError for a user whose credentials are what a program prints."""
    for name in _PROGRAMS:
        if user.value.get(name):
            raise _UnusableError(
                f"{user.name.partition('/')[0]}: {name} runs a program, which is refused with --lease-kubeconfig: "
                "store a token (docs/elsewhere.md)"
            )


def _check_context(content: dict[str, Any], context: str | None, override: _Override | None) -> None:
    """Override what a context leads to.

    Raise _UnusableError, in kubectl's words, where there is no such context, or not the cluster that it names. What is
    odd in another way is left to the library.
    """
    names = [entry.safe_get("name") for entry in content["contexts"]]
    there = f"contexts there: {', '.join(map(str, names)) or 'none'}"
    name = context or content.get("current-context")
    if not name:
        raise _UnusableError(f"{{source}} has no current-context, and --context names none; {there}")
    if name not in names:
        raise _UnusableError(f'context "{name}" does not exist in {{source}}; {there}')
    if override is not None:
        override(content, name)
    entry = content["contexts"][names.index(name)].safe_get("context")
    cluster = entry.get("cluster") if isinstance(entry, dict) else None
    if isinstance(cluster, str) and cluster not in [entry.safe_get("name") for entry in content["clusters"]]:
        raise _UnusableError(f'context "{name}" in {{source}} names cluster "{cluster}", which does not exist there')


def _is_secure(cluster: Any, paths: str) -> bool:
    """Return whether the server of a cluster is asked by TLS. Raises ConfigError where it cannot be asked at all."""
    server, proxy = cluster.value.get("server"), cluster.value.get("proxy-url")
    name = cluster.name.partition("/")[0]
    address = _ADDRESS.fullmatch(server) if isinstance(server, str) else None
    problem = ""
    if server is None:
        problem = "names no server"
    elif address is None or not _is_host(address["host"]) or int(address["port"] or 0) > _LAST_PORT:
        problem = f"the server is {server!r}, not an http or https address such as https://HOST:PORT"
    elif proxy is not None and not isinstance(proxy, str):
        problem = "proxy-url is not a text"
    if address is None or problem:
        raise ConfigError(cluster.path or paths, f"{name}: {problem}")
    return address["scheme"] == "https"


def _is_host(text: str) -> bool:
    if not text.startswith("["):
        return True
    try:
        return bool(ipaddress.IPv6Address(text[1:-1]))
    except ValueError:
        return False


def _located(user: Mapping[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """Return a user of a kubeconfig with the files that it names as kubectl finds them, from the folder of that file.

    A program that is named without a folder is looked for on the PATH.
    """
    located = {
        name: str(folder / value) if name in _FILES and value and isinstance(value, str) else value
        for name, value in user.items()
    }
    run = user.get("exec")
    if isinstance(run, dict) and isinstance(command := run.get("command"), str) and os.sep in command:
        located["exec"] = {**run, "command": str(folder / command)}
    return located


def _without_data(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section of a kubeconfig without the certificates in it, and without the files that these outweigh."""
    outweighed = {name.removesuffix("-data") for name in credentials.DATA.values() if section.get(name)}
    return {name: value for name, value in section.items() if name not in {*credentials.DATA.values(), *outweighed}}


def _inline(section: Mapping[str, Any], *fields: str) -> dict[str, bytes]:
    """Return the certificates in a section of a kubeconfig. Raises ValueError for what is not base64."""
    certificates = {}
    for field in fields:
        name = credentials.DATA[field]
        value = section.get(name)
        if value and not isinstance(value, str | bytes):
            raise ValueError(f"{name} is not a text")
        if value:
            text = value if isinstance(value, bytes) else value.encode()
            try:
                certificates[field] = base64.b64decode(b"".join(text.split()), validate=True)
            except binascii.Error:
                raise ValueError(f"{name} is not base64") from None
    return certificates


def _acting(user: Mapping[str, Any]) -> credentials.Acting | None:
    """Return in whose name a user of a kubeconfig acts, None for their own. Raises _UnusableError."""
    name = _printable(user.get("as") or "", "as")
    if not name:
        for alone in ("as-uid", "as-groups", "as-user-extra"):
            if user.get(alone):
                raise _UnusableError(f"{alone} is about the user that `as` names, and there is no `as`")
        return None
    uid = _printable(user.get("as-uid") or "", "as-uid")
    groups = _printables(user.get("as-groups") or [], "as-groups")
    extra = user.get("as-user-extra") or {}
    if not isinstance(extra, dict):
        raise _UnusableError("as-user-extra is not a mapping")
    texts = {_printable(key, "as-user-extra"): _printables(extra[key], f"as-user-extra {key}") for key in extra}
    pairs = tuple((key, value) for key, values in texts.items() for value in values)
    return credentials.Acting(name, tuple(groups), uid or None, pairs)


def _printables(values: Any, name: str) -> list[str]:
    if not isinstance(values, list):
        raise _UnusableError(f"{name} is not a list")
    return [_printable(value, name) for value in values]


def _printable(value: Any, name: str) -> str:
    """Return a text that a header may have."""
    if not isinstance(value, str) or not value.isprintable() or value != value.strip():
        raise _UnusableError(f"{name} has what is no name")
    return value
