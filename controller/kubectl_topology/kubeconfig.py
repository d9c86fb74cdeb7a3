"""The flags about the connection, which every verb takes, and what they put in the place of what a context has.

kubectl hands a plugin its flags unread. The entries are replaced before the client reads them (`kube.config`): with
--token no credential plugin runs, with --certificate-authority the authority of the file does not count.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import re
from typing import TYPE_CHECKING, Any, Final

from topology_api import vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

REQUEST_TIMEOUT = 10.0
"""Seconds for one request, when --request-timeout is not given or 0."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h)")
_PLAIN = re.compile(r"[0-9]{1,9}\Z")
SURVEYS = "topology-fleet"
FLAGS: Final = (
    "server", "cluster", "user", "token", "certificate_authority", "tls_server_name", "client_certificate",
    "client_key",
)  # fmt: skip
"""Options that replace what a context has."""
_FILES: Final = frozenset({"certificate_authority", "client_certificate", "client_key"})
_OF_CLUSTER: Final = ("server", "certificate_authority", "tls_server_name")
_OF_USER: Final = ("token", "client_certificate", "client_key")


def duration(text: str) -> float:
    """Seconds of 90m, 1h30m, 45s, 250ms, or a plain number of seconds."""
    if _PLAIN.match(text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90m, 1h30m or 45s")
    return math.fsum(float(number) * _UNITS[unit] for number, unit in parts)


def _plain(text: str) -> str:
    """The name of a user or a group, as it may stand in a header."""
    if text and text.isprintable() and text == text.strip():
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is no name")


FURTHER: Final[dict[str, dict[str, Any]]] = {
    "--request-timeout D": {"type": duration, "default": REQUEST_TIMEOUT},
    "--as USER": {"dest": "as_user", "type": _plain},
    "--as-group GROUP": {"dest": "as_group", "type": _plain, "action": "append", "default": []},
    "--as-uid UID": {"type": _plain},
    "-n --namespace NS": {"default": SURVEYS},
    "--operator-namespace NS": {"default": vocabulary.DEFAULT_NAMESPACE},
    "--transitions-dir D": {"type": pathlib.Path},
}
"""What the words of a flag do not say themselves."""


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
