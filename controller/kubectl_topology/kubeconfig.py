"""What kubectl's flags about the connection put in the place of what a context of a kubeconfig has.

kubectl hands a plugin its flags unread. The entries are replaced before the client reads them (`kube.config`): with
--token no credential plugin runs, with --certificate-authority the authority of the file does not count.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

FLAGS: Final = {
    "server": "address of the API server",
    "cluster": "cluster of the kubeconfig",
    "user": "user of the kubeconfig",
    "token": "bearer token of the user",
    "certificate_authority": "file with the authority of the server's certificate",
    "tls_server_name": "name that the server's certificate has to be for",
    "client_certificate": "file with the user's certificate; with --client-key",
    "client_key": "file with the key of the user's certificate",
}
"""By the name of the option: what the help says of it."""
_FILES: Final = frozenset({"certificate_authority", "client_certificate", "client_key"})
_OF_CLUSTER: Final = ("server", "certificate_authority", "tls_server_name")
_OF_USER: Final = ("token", "client_certificate", "client_key")


def overriding(options: argparse.Namespace) -> Callable[[dict[str, Any], str], None] | None:
    """What replaces parts of a context by what the flags say; None without flags.

    The content has lists of entries (name and value), as `kubernetes_asyncio` merges the files. The replacement raises
    ConfigError for an entry that does not exist.
    """
    given = {name: value for name in FLAGS if (value := getattr(options, name)) is not None}
    for name in _FILES & given.keys():
        # An entry's relative file is looked for beside the kubeconfig, that of a flag in the working directory.
        given[name] = str(pathlib.Path(given[name]).expanduser().absolute())
    if not given:
        return None

    def override(content: dict[str, Any], context: str) -> None:
        parts = _entry(content, "context", context).setdefault("context", {})
        for part, names in (("cluster", _OF_CLUSTER), ("user", _OF_USER)):
            if part in given:
                parts[part] = given[part]
            changes = {name.replace("_", "-"): given[name] for name in names if name in given}
            if part in given or changes:
                entry = _entry(content, part, parts.get(part))
                entry[part] = _replaced(entry.get(part) or {}, changes)

    return override


def _entry(content: dict[str, Any], part: str, name: Any) -> dict[str, Any]:
    entries: list[dict[str, Any]] = [entry.value for entry in content[f"{part}s"]]
    for entry in entries:
        if entry.get("name") == name:
            return entry
    from topology_controller.kube import config  # noqa: PLC0415 - `arguments` needs no more than the names of the flags

    there = ", ".join(str(entry.get("name")) for entry in entries) or "none"
    raise config.ConfigError("the kubeconfig", f"{part} {name!r} does not exist; {part}s there: {there}")


def _replaced(section: dict[str, Any], changes: dict[str, str]) -> dict[str, Any]:
    """A cluster or user with other values: of a user who has another credential nothing else is one."""
    if not changes.keys().isdisjoint({"token", "client-certificate"}):
        return changes
    return {name: value for name, value in section.items() if name.removesuffix("-data") not in changes} | changes
