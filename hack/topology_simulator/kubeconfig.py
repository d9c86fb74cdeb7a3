"""A kubeconfig, read for the simulator's own client: server, trust, and who we are.

Inline data and files (relative to the kubeconfig) are both understood, and bearer tokens with their files. What
needs another program to run (exec and auth-provider users) is refused by name. Not shared with the operator's
own reader on purpose: what plays the rest of the cluster must not inherit the operator's mistakes.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import pathlib
import ssl
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator


class KubeconfigError(Exception):
    """A kubeconfig that cannot be used; the message names the file and what is wrong."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API is, and what every request carries."""

    server: str
    tls: ssl.SSLContext | None = None
    headers: dict[str, str] = field(default_factory=dict)


def load(path: pathlib.Path) -> Access:
    """Read the current context of a kubeconfig file. Raises KubeconfigError."""
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise KubeconfigError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise KubeconfigError(f"{path}: not YAML: {error}") from error
    if not isinstance(content, dict):
        raise KubeconfigError(f"{path}: not a kubeconfig")
    try:
        return access(content, path.parent)
    except KubeconfigError as error:
        raise KubeconfigError(f"{path}: {error}") from error
    except (OSError, ssl.SSLError, binascii.Error, UnicodeDecodeError) as error:
        raise KubeconfigError(f"{path}: credentials cannot be read: {error}") from error


def access(content: dict[str, Any], folder: pathlib.Path) -> Access:
    """Turn a kubeconfig's content into `Access`; `folder` is where relative file names start."""
    context = _named(content, "contexts", content.get("current-context"), "context")
    cluster = _named(content, "clusters", context.get("cluster"), "cluster")
    user = _named(content, "users", context.get("user"), "user") if context.get("user") else {}
    for method in ("exec", "auth-provider"):
        if method in user:
            raise KubeconfigError(f"user {context['user']!r} needs {method}, which is not supported here")
    server = str(cluster.get("server") or "")
    if not server.startswith(("http://", "https://")):
        raise KubeconfigError(f"server {server!r} is not a URL")
    headers = {}
    if token := _token(user, folder):
        headers["Authorization"] = f"Bearer {token}"
    tls = _tls(cluster, user, folder) if server.startswith("https://") else None
    return Access(server.rstrip("/"), tls, headers)


def _named(content: dict[str, Any], section: str, name: Any, key: str) -> dict[str, Any]:
    for entry in content.get(section) or []:
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry.get(key) or {}
    raise KubeconfigError(f"no {name!r} in {section}")


def _token(user: dict[str, Any], folder: pathlib.Path) -> str:
    if name := user.get("tokenFile"):
        return (folder / str(name)).read_text().strip()
    return str(user.get("token") or "")


def _tls(cluster: dict[str, Any], user: dict[str, Any], folder: pathlib.Path) -> ssl.SSLContext:
    insecure = bool(cluster.get("insecure-skip-tls-verify"))
    authority = b"" if insecure else _bytes(cluster, "certificate-authority", folder)
    # With an authority nothing else is trusted, and the system's are not read, which takes a tenth of a second.
    context = ssl.create_default_context(cadata=authority.decode()) if authority else ssl.create_default_context()
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = (_bytes(user, field, folder) for field in ("client-certificate", "client-key"))
    if certificate and key:
        with _as_files(certificate, key) as (certificate_file, key_file):
            context.load_cert_chain(certificate_file, key_file)
    return context


def _bytes(section: dict[str, Any], name: str, folder: pathlib.Path) -> bytes:
    if inline := section.get(f"{name}-data"):
        return base64.b64decode("".join(str(inline).split()), validate=True)
    return (folder / section[name]).read_bytes() if section.get(name) else b""


@contextlib.contextmanager
def _as_files(*contents: bytes) -> Iterator[list[str]]:
    """Lend contents as private files: the ssl module takes a client certificate in no other form."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, content in enumerate(contents):
            path = pathlib.Path(folder) / str(number)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(content)
            names.append(str(path))
        yield names
