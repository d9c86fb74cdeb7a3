"""How to reach the cluster: from a kubeconfig, or from the service account of a pod.

Both become one `credentials.Configuration`, as kubectl has it: an error is one line that names the file, keys never
become files, plugins run again, and a user may act in another one's name. What an `auth-provider` asks for is done by
kubernetes_asyncio, which is imported for nothing else: its models take a second and 30 MiB.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import yaml

from .. import terminal
from . import credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SERVICE_ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
_FILES = frozenset({*credentials.CERTIFICATES, "tokenFile"})
# What two parsers of addresses could read in two ways is none: a name, a password, a query, a backslash.
_ADDRESS = re.compile(
    r"(?a)(?P<scheme>https?)://(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|[\w.-]+)(?::(?P<port>[0-9]{1,5}))?(?:/[\w.~!$&'()*+,;=:@%/-]*)?",
)
# What is taken over from a kubeconfig that has changed. Who we act for, and how the server is reached, stays.
_RENEWED = ("authorization", "refresh", "files", "inline")
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


async def load(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    programs: bool = True,
    override: _Override | None = None,
) -> credentials.Configuration:
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


def in_cluster(
    *, environ: Mapping[str, str] = os.environ, folder: pathlib.Path = _SERVICE_ACCOUNT
) -> credentials.Configuration:
    """Load the service account of this pod; its token is read again while we run. Raises ConfigError."""
    source, token_file = f"service account in {folder}", credentials.TokenFile(folder / "token")
    host, port = (environ.get(f"KUBERNETES_SERVICE_{part}") for part in ("HOST", "PORT"))
    if not host or not port:
        raise ConfigError(source, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set")
    # The API of one's own cluster is never behind a proxy, whatever the environment of the pod says.
    configuration = credentials.Configuration(
        host=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        proxy="",
        refresh=token_file,
        files={credentials.AUTHORITY: str(folder / "ca.crt")},
    )
    token_file(configuration)
    if not configuration.authorization:
        raise ConfigError(source, "the token is missing or empty")
    return configuration


async def _from_kubeconfig(
    paths: str, context: str | None, override: _Override | None, *, programs: bool
) -> credentials.Configuration:
    configuration, context = await _read(paths, context, override, "" if programs else _ELSEWHERE)
    content = _contents(paths)

    async def read_again() -> None:
        """Take over what has changed, of the same context and server. No program is run: a request waits for it."""
        nonlocal content
        newest = _contents(paths)
        if newest == content:
            return
        content = newest
        fresh, _ = await _read(paths, context, override, _LATER if programs else _ELSEWHERE)
        if fresh.host != configuration.host:
            raise ConfigError(paths, f"its context leads to another server now: {fresh.host}")
        for name in _RENEWED:
            setattr(configuration, name, getattr(fresh, name))

    configuration.read_again = read_again
    return configuration


def _contents(paths: str) -> list[bytes]:
    """Return what is in those files that can be read."""
    read = []
    for path in paths.split(os.pathsep):
        with contextlib.suppress(OSError):
            read.append(pathlib.Path(path).expanduser().read_bytes())
    return read


async def _read(
    paths: str, context: str | None, override: _Override | None, no_program: str
) -> tuple[credentials.Configuration, str]:
    """Return what a kubeconfig says, and its context. `no_program`: why none is run, or "". Raises ConfigError."""
    try:
        content = _merged(paths)
        context, cluster, user = _chosen(content, context, override)
        return await _configured(content, cluster, user, paths, no_program), context
    except TimeoutError as error:
        raise ConfigError(paths, f"no credentials within {credentials.PLUGIN_TIMEOUT:.0f} s") from error
    except credentials.UnusableError as error:
        raise ConfigError(paths, str(error)) from error


def _merged(paths: str) -> dict[str, Any]:
    """Return the entries of a list of files, the first of each name. Not all have to exist. Raises ConfigError."""
    files = [pathlib.Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    existing = [file for file in files if file.exists()]
    if not existing:
        raise ConfigError(paths, "no such file")
    merged: dict[str, Any] = {part: [] for part in _PARTS}
    for file in existing:
        content = _content(file)
        merged["current-context"] = merged.get("current-context") or content.get("current-context")
        for part in _PARTS:
            known = [entry.get("name") for entry in merged[part]]
            fresh = [entry for entry in content.get(part) or [] if entry.get("name") not in known]
            merged[part] += [_located(entry, part.removesuffix("s"), file.parent.absolute()) for entry in fresh]
    return merged


class _Loader(yaml.SafeLoader):
    """Without aliases: one may stand for others, and what they stand for have no end."""

    def fetch_alias(self) -> NoReturn:
        raise yaml.scanner.ScannerError(None, None, "aliases of YAML are not supported", self.get_mark())


def _content(file: pathlib.Path) -> dict[str, Any]:
    """Return what is in a file. Raises ConfigError where that is no kubeconfig."""
    try:
        content = yaml.load(file.read_bytes(), _Loader)  # noqa: S506 - a safe one
    except OSError as error:
        problem = error.strerror or type(error).__name__
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f"{f'line {mark.line + 1}: ' if mark else ''}not YAML: {getattr(error, 'problem', None) or error}"
    except Exception as error:  # noqa: BLE001 - YAML's own types raise anything: a month 13, too many levels
        problem = f"not YAML that can be read ({type(error).__name__})"
    else:
        if isinstance(content, dict):
            for part in _PARTS:
                entries = content.get(part) or []
                if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                    raise ConfigError(str(file), f"not a kubeconfig: {part} is not a list of mappings")
            return content
        problem = "not a kubeconfig: it holds no mapping" if content else "it is empty"
    raise ConfigError(str(file), problem)


def _located(entry: dict[str, Any], part: str, folder: pathlib.Path) -> dict[str, Any]:
    """Return an entry with its files as kubectl finds them: beside the kubeconfig; a bare program is on PATH."""
    section = entry.get(part)
    if not isinstance(section, dict):
        return entry
    located = {
        name: str(folder / value) if name in _FILES and value and isinstance(value, str) else value
        for name, value in section.items()
    }
    run = section.get("exec")
    if isinstance(run, dict) and isinstance(command := run.get("command"), str) and os.sep in command:
        located["exec"] = {**run, "command": str(folder / command)}
    return {**entry, part: located}


def _section(content: dict[str, Any], part: str, name: object) -> dict[str, Any] | None:
    """Return a cluster, a context or a user, None where there is none of that name. Raises UnusableError."""
    for entry in content[f"{part}s"] if name else ():
        if entry.get("name") == name:
            section = entry.get(part) or {}
            if not isinstance(section, dict):
                raise credentials.UnusableError(f"{part}s[name={name}]: {part} is not a mapping")
            return section
    return None


def _text(section: Mapping[str, Any], name: str) -> str:
    """Return a text of a section, "" where it has none. Raises UnusableError."""
    value = section.get(name)
    if value is not None and not isinstance(value, str):
        raise credentials.UnusableError(f"{name} is not a text")
    return value or ""


def _chosen(content: dict[str, Any], context: str | None, override: _Override | None) -> tuple[str, str, str]:
    """Return the names of context, cluster and user. Raises UnusableError, in kubectl's words, without a cluster."""
    there = f"contexts there: {', '.join(str(entry.get('name')) for entry in content['contexts']) or 'none'}"
    name = context or content["current-context"]
    if not name:
        raise credentials.UnusableError(f"{{source}} has no current-context, and --context names none; {there}")
    if _section(content, "context", name) is None:
        raise credentials.UnusableError(f'context "{name}" does not exist in {{source}}; {there}')
    if override is not None:
        override(content, name)
    section = _section(content, "context", name) or {}
    cluster = _text(section, "cluster")
    if not cluster:
        raise credentials.UnusableError(f"contexts[name={name}]: names no cluster")
    if _section(content, "cluster", cluster) is None:
        why = f'names cluster "{cluster}", which does not exist there'
        raise credentials.UnusableError(f'context "{name}" in {{source}} {why}')
    return name, cluster, _text(section, "user")


async def _configured(
    content: dict[str, Any], cluster_name: str, user_name: str, paths: str, no_program: str
) -> credentials.Configuration:
    """Return how to reach a cluster as a user. Raises UnusableError, and TimeoutError of a program."""
    cluster, user = _section(content, "cluster", cluster_name) or {}, _section(content, "user", user_name) or {}
    secure = _is_secure(cluster.get("server"), cluster_name)
    # Of the login providers gcp runs a program.
    if no_program and (program := next((name for name in ("exec", "auth-provider") if user.get(name)), "")):
        raise credentials.UnusableError(f"users[name={user_name}]: {program} runs a program, {no_program}")
    configuration = credentials.Configuration(
        host=cluster["server"].rstrip("/"),
        verify_ssl=cluster.get("insecure-skip-tls-verify") is not True,
        tls_server_name=_text(cluster, "tls-server-name"),
        proxy=_text(cluster, "proxy-url") or None,
        acting=credentials.Acting.read(user),
    )
    # A server without TLS could be anyone: as with kubectl it gets no credential, and no program is run for one.
    if secure:
        _add_certificates(configuration, cluster, user)
        async with asyncio.timeout(credentials.PLUGIN_TIMEOUT):
            await _add_credentials(configuration, user, user_name, paths)
    return configuration


def _add_certificates(configuration: credentials.Configuration, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    for name in credentials.CERTIFICATES:
        section = cluster if name == credentials.AUTHORITY else user
        if text := _text(section, f"{name}-data"):
            try:
                configuration.inline[name] = base64.b64decode("".join(text.split()), validate=True)
            except ValueError:
                raise credentials.UnusableError(f"{name}-data is not base64") from None
        elif text := _text(section, name):
            configuration.files[name] = text
    try:
        credentials.certificates(configuration)
    except (OSError, ValueError) as error:
        raise credentials.UnusableError(f"a certificate cannot be read: {error}") from error


async def _add_credentials(
    configuration: credentials.Configuration, user: dict[str, Any], user_name: str, paths: str
) -> None:
    token, login, file = (_text(user, name) for name in ("token", "username", "tokenFile"))
    if run := user.get("exec"):
        configuration.refresh = plugin = credentials.ExecPlugin(run if isinstance(run, dict) else {})
        await plugin.refresh(configuration)
        return
    if user.get("auth-provider"):
        configuration.authorization = await _logged_in(paths, user_name)
    elif token:
        configuration.authorization = f"Bearer {token.strip()}"
    elif login:
        pair = f"{login}:{_text(user, 'password')}"
        configuration.authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    if file:
        # Beside a token the file comes first, as with kubectl; the token is for as long as the file has none.
        configuration.refresh = token_file = credentials.TokenFile(pathlib.Path(file))
        token_file(configuration)
        if not configuration.authorization:
            raise credentials.UnusableError(f"{file}: no token can be read")


async def _logged_in(paths: str, user: str) -> str:
    """Return the header of a user with an `auth-provider`. A login's new refresh token is kept: it ends the old one."""
    from kubernetes_asyncio.config import kube_config  # noqa: PLC0415 - see above

    try:
        merger: Any = kube_config.KubeConfigMerger(paths)
        content = {
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": user}}],
            "clusters": [{"name": "c", "cluster": {}}],
            # Without the name that it gives an entry, which is all that is in it, a password too.
            "users": [entry.value for entry in merger.config.value["users"]],
        }
        loader = kube_config.KubeConfigLoader(content, "c", config_persister=merger.save_changes)
        await loader._load_authentication()  # noqa: SLF001 - the rest of it would make files of keys
    except Exception as error:  # the library does not check types: a wrong one can raise anything
        raise credentials.UnusableError(f"auth-provider: {type(error).__name__}: {error}") from error
    return str(getattr(loader, "token", ""))


def _is_secure(server: object, cluster: str) -> bool:
    """Return whether a server is asked by TLS. Raises UnusableError where it cannot be asked at all."""
    address = _ADDRESS.fullmatch(server) if isinstance(server, str) else None
    with contextlib.suppress(ipaddress.AddressValueError):
        if address is not None and int(address["port"] or 0) <= 65535:
            if address["v6"] is not None:
                ipaddress.IPv6Address(address["v6"])
            return address["scheme"] == "https"
    problem = f"the server is {server!r}, not an http or https address such as https://HOST:PORT"
    raise credentials.UnusableError(f"clusters[name={cluster}]: {problem if server is not None else 'names no server'}")
