"""Who wrote which field: `metadata.managedFields`, good enough to ask "who changed this last".

One entry for each (manager, operation, subresource, apiVersion), with the time of its last change and, in
`fieldsV1`, the paths that this manager was the last to change. Unlike the real server's server-side apply
bookkeeping there is one owner for a path, an update that repeats a value does not take it over, and lists
are one path unless their schema makes them a map-list (then items are named by their keys, as
`k:{"name":"x"}`). Entries without a field left vanish.

The paths are kept as the nested form of fieldsV1 itself; changes copy along the path only, because older
versions of the object share the rest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_UNTRACKED = frozenset(
    ("name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion", "managedFields")
) | {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}

Path = tuple[str, ...]
ListKeys = "Mapping[tuple[str, ...], tuple[str, ...]]"


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the field manager.

    The API version of the request and the subresource ("" for the object itself).
    """

    manager: str
    api_version: str
    subresource: str = ""


def _children(value: Any, where: Path, keys: Mapping[Path, tuple[str, ...]]) -> dict[str, Any] | None:
    """Return the parts of a value that are tracked one by one, or None when it is tracked as a whole."""
    if isinstance(value, dict):
        return {f"f:{key}": part for key, part in value.items()}
    names = keys.get(where)
    if names is None or not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return None
    return {"k:" + json.dumps({name: one.get(name) for name in names}, separators=(",", ":")): one for one in value}


def _leaves(value: Any, where: Path, keys: Mapping[Path, tuple[str, ...]]) -> Iterator[Path]:
    parts = _children(value, where, keys)
    if not parts:
        yield ()
        return
    for token, part in parts.items():
        below = (*where, token[2:]) if token.startswith("f:") else where
        for rest in _leaves(part, below, keys):
            yield (token, *rest)


def _compare(old: Any, new: Any, where: Path, keys: Mapping[Path, tuple[str, ...]]) -> Iterator[tuple[Path, bool]]:
    """Yield (path, gone) for what differs.

    Paths are leaves of the new value, or of the old one where it is gone.
    """
    if old is new or old == new:
        return
    before, after = _children(old, where, keys), _children(new, where, keys)
    if before is None or after is None or not after:
        if before:
            yield from ((path, True) for path in _leaves(old, where, keys))
        yield from ((path, False) for path in _leaves(new, where, keys))
        return
    for token in before.keys() - after.keys():
        yield (token,), True
    if not before:
        yield (), True
    for token, part in after.items():
        below = (*where, token[2:]) if token.startswith("f:") else where
        if token in before:
            inner: Iterator[tuple[Path, bool]] = _compare(before[token], part, below, keys)
        else:
            inner = ((path, False) for path in _leaves(part, below, keys))
        for rest, gone in inner:
            yield (token, *rest), gone


def _tracked(obj: Mapping[str, Any]) -> dict[str, Any]:
    meta = {key: value for key, value in obj.get("metadata", {}).items() if key not in _UNTRACKED}
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"metadata": meta, **rest} if meta else rest


def _insert(tree: dict[str, Any], path: Path) -> dict[str, Any]:
    if not path:
        return tree
    return {**tree, path[0]: _insert(tree.get(path[0], {}), path[1:])}


def _drop(tree: dict[str, Any], path: Path) -> dict[str, Any]:
    if not path:
        return {}
    if path[0] not in tree:
        return tree
    below = _drop(tree[path[0]], path[1:]) if len(path) > 1 else {}
    if below:
        return {**tree, path[0]: below}
    return {key: value for key, value in tree.items() if key != path[0]}


def _has(tree: dict[str, Any], path: Path) -> bool:
    for token in path:
        if token not in tree:
            return False
        tree = tree[token]
    return not tree


def changed_paths(
    old: Mapping[str, Any] | None, new: Mapping[str, Any], keys: Mapping[Path, tuple[str, ...]]
) -> list[tuple[Path, bool]]:
    """Return (path, gone) for every tracked field that differs between two states of an object."""
    found = _compare(_tracked(old) if old else {}, _tracked(new), (), keys)
    return [(path, gone) for path, gone in found if path]


def record(
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    writer: Writer,
    now: str,
    keys: Mapping[Path, tuple[str, ...]],
) -> list[dict[str, Any]]:
    """Return the managedFields of `new`, which `writer` made from `old` (None: it created the object)."""
    entries: list[dict[str, Any]] = list((old or {}).get("metadata", {}).get("managedFields") or [])
    changes = changed_paths(old, new, keys)
    if not changes:
        return entries
    mine = {"manager": writer.manager, "operation": "Update", "apiVersion": writer.api_version}
    if writer.subresource:
        mine["subresource"] = writer.subresource
    own: dict[str, Any] = {**mine, "time": now, "fieldsType": "FieldsV1", "fieldsV1": {}}
    result: list[dict[str, Any]] = []
    for entry in entries:
        if own not in result and all(entry.get(key) == mine.get(key) for key in (*mine, "subresource")):
            own["fieldsV1"] = _without(entry, [path for path, gone in changes if gone])
            result.append(own)
        else:
            fields = _without(entry, [path for path, _ in changes])
            result.append(entry if fields is entry.get("fieldsV1") else {**entry, "fieldsV1": fields})
    if own not in result:
        result.append(own)
    for path, gone in changes:
        if not gone and not _has(own["fieldsV1"], path):
            own["fieldsV1"] = _insert(own["fieldsV1"], path)
    return [entry for entry in result if entry["fieldsV1"]]


def _without(entry: Mapping[str, Any], paths: list[Path]) -> dict[str, Any]:
    fields: dict[str, Any] = entry.get("fieldsV1") or {}
    for path in paths:
        fields = _drop(fields, path)
    return fields
