"""A kubeconfig, read for the simulator's own client: server, trust, and who we are.

Understood is what the simulator writes: inline certificates and bearer tokens. Not shared with the operator's
own reader on purpose: what plays the rest of the cluster must not inherit the operator's mistakes.
"""

import base64
import pathlib
import ssl
from dataclasses import dataclass, field
from typing import Any

import yaml

NAME = "edge-1"
"""Of a cluster, and of its context: the name of one in docs/examples and on the pages."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API is, and what every request carries."""

    server: str
    tls: ssl.SSLContext | None = None
    headers: dict[str, str] = field(default_factory=dict)


def load(path: pathlib.Path) -> Access:
    """Read the current context of a kubeconfig file."""
    return access(yaml.safe_load(path.read_text()))


def access(content: dict[str, Any]) -> Access:
    """Turn a kubeconfig's content into `Access`."""
    context = _named(content, "context", content["current-context"])
    cluster, user = _named(content, "cluster", context["cluster"]), _named(content, "user", context["user"])
    headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
    tls = None
    if cluster["server"].startswith("https://"):
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        tls = ssl.create_default_context(cadata=authority)
    return Access(cluster["server"], tls, headers)


def _named(content: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    named: dict[str, Any]
    (named,) = [entry[key] for entry in content[f"{key}s"] if entry["name"] == name]
    return named


def content(server: str, *, authority: bytes = b"", token: str = "", name: str = NAME) -> dict[str, Any]:
    """Return a kubeconfig; `authority` is whom to trust in PEM, `token` the user's, whose name it is too."""
    who = token or "admin"
    cluster = {"server": server}
    if authority:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": who, "user": {"token": token} if token else {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": who}}],
        "current-context": name,
    }


def joined(current: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return both kubeconfigs in one, with the current context of the first; users are called as their contexts."""
    lists: dict[str, list[Any]] = {"clusters": [], "users": [], "contexts": []}
    for part in (current, other):
        (cluster,), (context,), (user,) = part["clusters"], part["contexts"], part["users"]
        name = context["name"]
        lists["clusters"].append(cluster)
        lists["users"].append({**user, "name": name})
        lists["contexts"].append({"name": name, "context": {**context["context"], "user": name}})
    return {**current, **lists}


def write(file: pathlib.Path, content: dict[str, Any]) -> pathlib.Path:
    """Put a kubeconfig into a file that its owner alone can read, and return that."""
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(content))
    return file
