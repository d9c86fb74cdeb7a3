"""Who wrote which field: `metadata.managedFields`, good enough to ask "who changed this last".

One entry for each (manager, operation, subresource, apiVersion), with the time of its last change and, in
`fieldsV1`, the paths that this manager was the last to change: one owner for a path, as it is on the real
server as long as no client applies. A list is one path, whatever its schema says: no reader asks who wrote an item.
An object that has owned fields and is owned itself has a dot among them. Entries without a field left vanish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_UNTRACKED = frozenset({
    "name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion", "managedFields",
    "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
})  # fmt: skip

_ATOMIC = frozenset({"f:involvedObject", "f:regarding", "f:related"})
"""Objects that have one owner: those of events."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the field manager, the API version of the request, the subresource ("" for the object itself)."""

    manager: str
    api_version: str
    subresource: str = ""


def _tracked(obj: Mapping[str, Any]) -> dict[str, Any]:
    meta = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _UNTRACKED}
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"metadata": meta, **rest}


def _fields(value: Any, path: Path) -> dict[Path, Any]:
    """Return the parts of a value that have owners of their own, by their paths."""
    if not isinstance(value, dict) or not _ATOMIC.isdisjoint(path):
        return {}
    return {(*path, f"f:{key}"): part for key, part in value.items()}


def _added(value: Any, path: Path) -> Iterator[Path]:
    """Yield the path of a value that is new, and those of its fields."""
    yield path
    for below, part in _fields(value, path).items():
        yield from _added(part, below)


def _changes(old: Any, new: Any, path: Path = ()) -> Iterator[tuple[Path, bool]]:
    """Yield (path, gone) for what differs: what is gone with all its fields, what is new or another value now."""
    if patch.same(old, new):
        return
    before, after = _fields(old, path), _fields(new, path)
    if not (isinstance(old, dict) and isinstance(new, dict)) or not _ATOMIC.isdisjoint(path):
        yield path, False
    for below in before.keys() - after.keys():
        yield below, True
    for below, part in after.items():
        if below in before:
            yield from _changes(before[below], part, below)
        else:
            yield from ((added, False) for added in _added(part, below))


def _owned(tree: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    """Yield the paths that a `fieldsV1` has."""
    if path and (not tree or "." in tree):
        yield path
    for name, part in tree.items():
        if name != ".":
            yield from _owned(part, (*path, name))


def _tree(paths: Iterable[Path]) -> dict[str, Any]:
    """Return the `fieldsV1` of paths."""
    root: dict[str, Any] = {}
    owned: list[dict[str, Any]] = []
    for path in paths:
        node = root
        for name in path:
            node = node.setdefault(name, {})
        owned.append(node)
    for node in owned:
        if node:
            node["."] = {}
    return root


def record(
    old: Mapping[str, Any], new: Mapping[str, Any], writer: Writer, now: str, *, created: bool
) -> list[dict[str, Any]]:
    """Return the managedFields of `new`, which `writer` made from `old` (what is there before anybody created it).

    An object without any owner is not tracked: a client that cleared the list, or created an object with nothing in it,
    is the last who is known. That is how the real server does it until the first apply.
    """
    entries: list[dict[str, Any]] = list(old.get("metadata", {}).get("managedFields") or [])
    cleared = new.get("metadata", {}).get("managedFields") == [{}]
    if not created and (cleared or not entries):
        return []
    changes = list(_changes(_tracked(old), _tracked(new)))
    if not changes:
        return entries
    gone = [path for path, is_gone in changes if is_gone]
    mine = {"manager": writer.manager, "operation": "Update", "apiVersion": writer.api_version}
    if writer.subresource:
        mine["subresource"] = writer.subresource
    own: dict[str, Any] = {**mine, "time": now, "fieldsType": "FieldsV1"}
    written = dict.fromkeys(path for path, is_gone in changes if not is_gone)
    result: list[dict[str, Any]] = []
    for entry in entries:
        kept = {path: None for path in _owned(entry["fieldsV1"]) if not any(path[: len(part)] == part for part in gone)}
        if all(entry.get(key) == mine.get(key) for key in (*mine, "subresource")):
            written = {**kept, **written}
            result.append(own)
        else:
            result.append({**entry, "fieldsV1": _tree(kept.keys() - written.keys())})
    if own not in result:
        result.append(own)
    own["fieldsV1"] = _tree(written)
    return [entry for entry in result if entry["fieldsV1"]]
