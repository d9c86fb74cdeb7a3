"""How to reach the cluster: from a kubeconfig, or from the service account of a pod.

Both become one kubernetes_asyncio Configuration. What that library leaves out is here and in `credentials`: an error is
one line that names the file, keys never become files, plugins run again, and a user may act in another one's name.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import functools
import importlib
import importlib.util
import ipaddress
import os
import pathlib
import re
import ssl
import sys
import types
from typing import TYPE_CHECKING, Any, TypeAlias

import aiohttp
import yaml

from .. import terminal
from . import credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kubernetes_asyncio.client.configuration import Configuration

_ROOT = "kubernetes_asyncio"
_EMPTY = (_ROOT, f"{_ROOT}.client", f"{_ROOT}.client.api", f"{_ROOT}.client.models")
_SERVICE_ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
_FILES = frozenset({"client-certificate", "client-key", "tokenFile"})
# What two parsers of addresses could read in two ways is none: a name, a password, a query, a backslash.
_ADDRESS = re.compile(
    r"(?a)(?P<scheme>https?)://(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|[\w.-]+)(?::(?P<port>[0-9]{1,5}))?(?:/[\w.~!$&'()*+,;=:@%/-]*)?",
)
# What is taken over from a kubeconfig that has changed. Who we act for, and how the server is reached, stays.
_RENEWED = ("api_key", "refresh_api_key_hook", "ssl_ca_cert", "cert_file", "key_file")
_PARTS = ("clusters", "contexts", "users")
# Why no program is run for credentials.
_ELSEWHERE = "which is refused with --lease-kubeconfig: store a token (docs/elsewhere.md)"
_LATER = "which is done at the start only"
_Override: TypeAlias = "Callable[[dict[str, Any], str], None]"


class ConfigError(Exception):
    """No cluster is reached this way. The text begins with the `source`, unless `problem` has a place for it."""

    def __init__(self, source: str, problem: str) -> None:
        before, named, after = terminal.clean(problem).partition("{source}")
        super().__init__(f"{before}{source}{after}" if named else f"{source}: {before}")


@functools.cache
def library() -> Any:
    """Return kubernetes_asyncio without the 755 models that its `__init__` modules load, which are 30 MiB.

    Empty packages that know where their files are stand in their place.
    """
    if _ROOT not in sys.modules:
        for name in _EMPTY:
            # The parent is registered already, so this finds the child through the parent's path.
            spec = importlib.util.find_spec(name)
            if spec is None or spec.submodule_search_locations is None:
                raise ImportError(f"{name} is not a package")
            sys.modules[name] = package = types.ModuleType(name)
            package.__spec__, package.__path__ = spec, list(spec.submodule_search_locations)
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, package)
        # These two are what the rest of the package takes from `client` by name; the second one for annotations only.
        client: Any = sys.modules[f"{_ROOT}.client"]
        client.Configuration = importlib.import_module(f"{_ROOT}.client.configuration").Configuration
        client.ApiClient = object
    reader: Any = importlib.import_module(f"{_ROOT}.config.kube_config")
    # By itself it trusts any server with the secrets of a login where no authority is given, and none where one is.
    reader.OpenIDRequestor._get_connector = lambda login: aiohttp.TCPConnector(  # noqa: SLF001 - no other way
        ssl=ssl.create_default_context(cafile=login._ssl_ca_cert)  # noqa: SLF001 - as above
    )
    return sys.modules[_ROOT]


async def load(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    programs: bool = True,
    override: _Override | None = None,
) -> Configuration:
    """Load how to reach the cluster: `kubeconfig`, KUBECONFIG, ~/.kube/config, this pod's account, as kubectl does.

    Raises ConfigError. May run a credential plugin (5 minutes at most); without `programs` one is refused. `override`
    changes the entries of the merged kubeconfig that the named context leads to; it may raise ConfigError.
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
    configuration: Configuration = library().client.Configuration()
    token_file = credentials.TokenFile(folder / "token")
    source = f"service account in {folder}"
    try:
        files = {"token_filename": str(folder / "token"), "cert_filename": str(folder / "ca.crt")}
        library().config.load_incluster_config(configuration, environ=environ, **files)
    except (library().config.ConfigException, OSError, ValueError) as error:
        raise ConfigError(source, str(error)) from error
    token_file(configuration)
    if not token_file.last_good:
        raise ConfigError(source, "the token is empty")
    configuration.refresh_api_key_hook = token_file
    # The API of one's own cluster is never behind a proxy, whatever the environment of the pod says.
    configuration.proxy = ""
    return configuration


def contents(paths: Iterable[str]) -> list[bytes]:
    """Return what is in those files that can be read."""
    read = []
    for path in paths:
        with contextlib.suppress(OSError):
            read.append(pathlib.Path(path).expanduser().read_bytes())
    return read


async def _from_kubeconfig(
    paths: str, context: str | None, override: _Override | None, *, programs: bool
) -> Configuration:
    configuration, context = await _read(paths, context, override, "" if programs else _ELSEWHERE)
    content, kept = contents(paths.split(os.pathsep)), credentials.extras(configuration)

    async def read_again() -> None:
        """Take over what has changed, of the same context and server. No program is run: a request waits for it."""
        nonlocal content
        newest = contents(paths.split(os.pathsep))
        if newest == content:
            return
        content = newest
        fresh, _ = await _read(paths, context, override, _LATER if programs else _ELSEWHERE)
        if fresh.host != configuration.host:
            raise ConfigError(paths, f"its context leads to another server now: {fresh.host}")
        kept.certificates = credentials.extras(fresh).certificates
        for name in _RENEWED:
            setattr(configuration, name, getattr(fresh, name))

    kept.read_again = read_again
    return configuration


async def _read(
    paths: str, context: str | None, override: _Override | None, no_program: str
) -> tuple[Configuration, str]:
    """Return what a kubeconfig says, and its context. `no_program`: why none is run, or "". Raises ConfigError."""
    _check(paths)
    configuration: Configuration = library().client.Configuration()
    try:
        name = await _fill(configuration, paths, context, override, no_program)
    except TimeoutError as error:
        raise ConfigError(paths, f"no credentials within {credentials.PLUGIN_TIMEOUT:.0f} s") from error
    except (library().config.ConfigException, credentials.UnusableError) as error:
        raise ConfigError(paths, str(error).removeprefix("Invalid kube-config file. ")) from error
    except ConfigError:
        raise
    except Exception as error:  # the library does not check types: a wrong one can raise anything
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, AssertionError):
            why = "the context, or what it names, is empty or missing"
        raise ConfigError(paths, f"not a usable kubeconfig: {why}") from error
    if token := configuration.api_key.get("BearerToken"):
        configuration.api_key["BearerToken"] = token.strip()
    return configuration, name


def _check(paths: str) -> None:
    """Raise ConfigError for the first bad file of a list, as KUBECONFIG has it. Not all of them have to exist."""
    files = [pathlib.Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    problems = [(str(file), _problem(file)) for file in files if file.exists()]
    for source, problem in problems or [(paths, "no such file")]:
        if problem:
            raise ConfigError(source, problem)


def _problem(file: pathlib.Path) -> str:
    """Return why a file is no kubeconfig, "" when it may be one."""
    try:
        text = file.read_text(encoding="utf-8")
        # The library writes out what an alias stands for, aliases of aliases without end.
        if alias := next((token for token in yaml.scan(text) if isinstance(token, yaml.AliasToken)), None):
            return f"line {alias.start_mark.line + 1}: aliases of YAML are not supported"
        content = yaml.safe_load(text)
    except OSError as error:
        return error.strerror or type(error).__name__
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return f"{f'line {mark.line + 1}: ' if mark else ''}not YAML: {getattr(error, 'problem', None) or error}"
    except Exception as error:  # noqa: BLE001 - YAML's own types raise anything: a month 13, too many levels
        return f"not YAML that can be read ({type(error).__name__})"
    if not isinstance(content, dict):
        return "not a kubeconfig: it holds no mapping" if content else "it is empty"
    for part in _PARTS:
        entries = content.get(part) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return f"not a kubeconfig: {part} is not a list of mappings"
    return ""


async def _fill(
    configuration: Configuration, paths: str, context: str | None, override: _Override | None, no_program: str
) -> str:
    """Let the library load a context, without what it would do wrong; return its name."""
    reader = library().config.kube_config
    merger = reader.KubeConfigMerger(paths)
    for part in _PARTS:
        for entry in merger.config.value[part]:
            # By default an entry is named by all that is in it, in errors too, and that may be a password.
            entry.name = f"{part}[name={entry.safe_get('name')}]"
    _check_context(merger.config.value, context, override)
    # A login by OpenID Connect gets a new refresh token each time, and the one before is invalid then.
    loader = reader.KubeConfigLoader(
        merger.config, context, config_base_path=None, config_persister=lambda _: merger.save_changes()
    )
    cluster, user = loader._cluster, loader._user  # noqa: SLF001 - no other way keeps keys out of files
    if user is None:
        # No credentials: the library would stumble over that.
        user = type(cluster)("no user", {})
    if not isinstance(cluster.value, dict) or not isinstance(user.value, dict):
        raise TypeError("the cluster or the user is not a mapping")
    # Of the login providers gcp runs a program.
    if no_program and (program := next((name for name in ("exec", "auth-provider") if user.value.get(name)), "")):
        raise credentials.UnusableError(f"{user.name.partition('/')[0]}: {program} runs a program, {no_program}")
    secure = _is_secure(cluster, paths)
    kept = credentials.extras(configuration)
    kept.acting = credentials.Acting.read(user.value)
    # A server without TLS could be anyone: as with kubectl it gets no credential, and no program is run for one.
    theirs, pair = _split(_located(user.value, pathlib.Path(user.path or paths).parent.absolute()) if secure else {})
    if not secure:
        loader.provider = None
    # No program is run by the library: what a credential plugin is asked instead of is left out.
    by_plugin = "exec" in theirs
    instead = {"exec", "token", "tokenFile", "username", "password"} if by_plugin else set()
    left = {name: value for name, value in theirs.items() if name not in instead}
    shown, authority = _split(cluster.value)
    loader._cluster = type(cluster)(cluster.name, shown, cluster.path)  # noqa: SLF001 - as above
    loader._user = type(user)(user.name, left, user.path)  # noqa: SLF001 - as above
    async with asyncio.timeout(credentials.PLUGIN_TIMEOUT):
        await loader.load_and_set(configuration)
    if secure:
        kept.certificates = authority | pair
    if by_plugin:
        section = theirs["exec"]
        plugin = credentials.ExecPlugin(section if isinstance(section, dict) else {})
        await plugin.refresh(configuration)
        configuration.refresh_api_key_hook = plugin
    elif isinstance(theirs.get("tokenFile"), str):
        # Beside a token the file comes first, as with kubectl; the token is for as long as the file has none.
        configuration.refresh_api_key_hook = credentials.TokenFile(pathlib.Path(theirs["tokenFile"]))
    return str(loader.current_context["name"])


def _check_context(content: dict[str, Any], context: str | None, override: _Override | None) -> None:
    """Override what a context leads to. Raises UnusableError, in kubectl's words, where it leads to no cluster."""
    names = [entry.safe_get("name") for entry in content["contexts"]]
    there = f"contexts there: {', '.join(map(str, names)) or 'none'}"
    name = context or content.get("current-context")
    if not name:
        raise credentials.UnusableError(f"{{source}} has no current-context, and --context names none; {there}")
    if name not in names:
        raise credentials.UnusableError(f'context "{name}" does not exist in {{source}}; {there}')
    if override is not None:
        override(content, name)
    entry = content["contexts"][names.index(name)].safe_get("context")
    cluster = entry.get("cluster") if isinstance(entry, dict) else None
    if isinstance(cluster, str) and cluster not in [entry.safe_get("name") for entry in content["clusters"]]:
        why = f'context "{name}" in {{source}} names cluster "{cluster}", which does not exist there'
        raise credentials.UnusableError(why)


def _is_secure(cluster: Any, paths: str) -> bool:
    """Return whether the server of a cluster is asked by TLS. Raises ConfigError where it cannot be asked at all."""
    server, proxy = cluster.value.get("server"), cluster.value.get("proxy-url")
    problem = f"the server is {server!r}, not an http or https address such as https://HOST:PORT"
    address = _ADDRESS.fullmatch(server) if isinstance(server, str) else None
    with contextlib.suppress(ipaddress.AddressValueError):
        if address is not None and int(address["port"] or 0) <= 65535:
            if address["v6"] is not None:
                ipaddress.IPv6Address(address["v6"])
            if proxy is None or isinstance(proxy, str):
                return address["scheme"] == "https"
            problem = "proxy-url is not a text"
    problem = "names no server" if server is None else problem
    raise ConfigError(cluster.path or paths, f"{cluster.name.partition('/')[0]}: {problem}")


def _located(user: Mapping[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """Return a user with its files as kubectl finds them: beside the kubeconfig; a program without a folder on PATH."""
    located = {
        name: str(folder / value) if name in _FILES and value and isinstance(value, str) else value
        for name, value in user.items()
    }
    run = user.get("exec")
    if isinstance(run, dict) and isinstance(command := run.get("command"), str) and os.sep in command:
        located["exec"] = {**run, "command": str(folder / command)}
    return located


def _split(section: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return a section without the certificates in it and the files that these outweigh, and the certificates."""
    rest, certificates = dict(section), {}
    for field, name in credentials.DATA.items():
        if not (value := rest.pop(name, None)):
            continue
        if not isinstance(value, str | bytes):
            raise ValueError(f"{name} is not a text")  # noqa: TRY004 - a wrong value from outside
        rest.pop(name.removesuffix("-data"), None)
        text = value if isinstance(value, bytes) else value.encode()
        try:
            certificates[field] = base64.b64decode(b"".join(text.split()), validate=True)
        except binascii.Error:
            raise ValueError(f"{name} is not base64") from None
    return rest, certificates
