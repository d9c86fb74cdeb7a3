"""Who wrote which field: `metadata.managedFields`, good enough to ask "who changed this last".

One entry for each (manager, operation, subresource, apiVersion), with the time of its last change and, in
`fieldsV1`, the paths that this manager was the last to change: one owner for a path, as it is on the real
server as long as no client applies. Lists are one path unless their schema says otherwise: items of a map-list are
named by their keys (`k:{"name":"x"}`), those of a set by themselves (`v:"x"`). A value that has owned parts and is
owned itself has a dot among them. Entries without a field left vanish.

The paths are kept as the nested form of fieldsV1 itself; changes copy along the path only, because older
versions of the object share the rest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_UNTRACKED = frozenset({
    "name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion", "managedFields",
    "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
})  # fmt: skip

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the field manager, the API version of the request, the subresource ("" for the object itself)."""

    manager: str
    api_version: str
    subresource: str = ""


SET: tuple[str, ...] = ()
"""What `list_keys` says of a list that is a set: its entries are named by themselves."""
WHOLE = "*"
"""Among the keys of a list: its entries are owned as a whole. Alone, of an object: so is this one."""


def _named(kind: str, value: Any) -> str:
    return f"{kind}:{json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"


def _children(value: Any, where: Path, keys: Mapping[Path, tuple[str, ...]]) -> dict[str, Any] | None:
    """Return the parts of a value that are tracked one by one, or None when it is tracked as a whole."""
    names = keys.get(where)
    if isinstance(value, dict):
        return None if names == (WHOLE,) else {f"f:{key}": part for key, part in value.items()}
    if names is None or not isinstance(value, list):
        return None
    if names == SET:
        return {_named("v", item): None for item in value}
    if not all(isinstance(item, dict) for item in value):
        return None
    known = [name for name in names if name != WHOLE]
    return {_named("k", {name: item.get(name) for name in known}): item for item in value}


def _below(where: Path, token: str, keys: Mapping[Path, tuple[str, ...]]) -> Path | None:
    """Return where a part stands; None: it has no parts of its own."""
    if token.startswith("f:"):
        return (*where, token[2:])
    return None if WHOLE in keys[where] else where


def _added(value: Any, where: Path | None, keys: Mapping[Path, tuple[str, ...]]) -> Iterator[Path]:
    """Yield the path of a value that is new, and those of its parts."""
    yield ()
    for token, part in ({} if where is None else _children(value, where, keys) or {}).items():
        for rest in _added(part, None if where is None else _below(where, token, keys), keys):
            yield (token, *rest)


def _compare(old: Any, new: Any, where: Path, keys: Mapping[Path, tuple[str, ...]]) -> Iterator[tuple[Path, bool]]:
    """Yield (path, gone) for what differs: a part that is gone as a whole, a part that is new with all its parts."""
    if patch.same(old, new):
        return
    before, after = _children(old, where, keys), _children(new, where, keys)
    if before is None or after is None:
        if before:
            yield from (((token,), True) for token in before)
        yield from ((path, False) for path in _added(new, where, keys))
        return
    for token in before.keys() - after.keys():
        yield (token,), True
    for token, part in after.items():
        below = _below(where, token, keys)
        inner: Iterable[tuple[Path, bool]]
        if token not in before:
            inner = ((path, False) for path in _added(part, below, keys))
        elif below is None:
            inner = () if patch.same(before[token], part) else (((), False),)
        else:
            inner = _compare(before[token], part, below, keys)
        for rest, gone in inner:
            yield (token, *rest), gone


def _tracked(obj: Mapping[str, Any]) -> dict[str, Any]:
    meta = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _UNTRACKED}
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"metadata": meta, **rest}


def _insert(tree: dict[str, Any] | None, path: Path) -> dict[str, Any]:
    """Return a tree that has a path too. What is owned and has owned parts says so with a dot."""
    if not path:
        return {".": {}, **tree} if tree else {}
    if tree is not None and not tree:
        tree = {".": {}}
    return {**(tree or {}), path[0]: _insert((tree or {}).get(path[0]), path[1:])}


def _drop(tree: dict[str, Any], path: Path, *, parts: bool) -> dict[str, Any]:
    """Return a tree without a path; with `parts`, without what is below it too. Empty nodes vanish."""
    if path[0] not in tree:
        return tree
    node = tree[path[0]]
    if len(path) > 1:
        below = _drop(node, path[1:], parts=parts) if node else node
        gone = bool(node) and not below
        below = {} if below == {".": {}} else below
    else:
        below = {} if parts else {name: part for name, part in node.items() if name != "."}
        gone = not below
    if gone:
        return {token: part for token, part in tree.items() if token != path[0]}
    return {**tree, path[0]: below}


def _has(tree: dict[str, Any], path: Path) -> bool:
    for token in path:
        if token not in tree:
            return False
        tree = tree[token]
    return not tree or "." in tree


def changed_paths(
    old: Mapping[str, Any] | None, new: Mapping[str, Any], keys: Mapping[Path, tuple[str, ...]]
) -> list[tuple[Path, bool]]:
    """Return (path, gone) for every tracked field that differs between two states of an object."""
    changes = _compare(_tracked(old or {}), _tracked(new), (), keys)
    return [(path, gone) for path, gone in changes if path]


def record(  # noqa: PLR0913  # two states, and who made the second from the first, when and how
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    writer: Writer,
    now: str,
    keys: Mapping[Path, tuple[str, ...]],
    *,
    created: bool = False,
) -> list[dict[str, Any]]:
    """Return the managedFields of `new`, which `writer` made from `old` (what is there before anybody created it).

    An object without any owner is not tracked: a client that cleared the list, or created an object with nothing in it,
    is the last who is known. That is how the real server does it until the first apply.
    """
    entries: list[dict[str, Any]] = list((old or {}).get("metadata", {}).get("managedFields") or [])
    cleared = new.get("metadata", {}).get("managedFields") == [{}]
    if old is not None and not created and (cleared or not entries):
        return []
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
            own["fieldsV1"] = _without(entry, [change for change in changes if change[1]])
            result.append(own)
        else:
            fields = _without(entry, changes)
            result.append(entry if fields is entry.get("fieldsV1") else {**entry, "fieldsV1": fields})
    if own not in result:
        result.append(own)
    for path, gone in changes:
        if not gone and not _has(own["fieldsV1"], path):
            own["fieldsV1"] = _insert(own["fieldsV1"] or None, path)
    return [entry for entry in result if entry["fieldsV1"]]


def _without(entry: Mapping[str, Any], changes: list[tuple[Path, bool]]) -> dict[str, Any]:
    fields: dict[str, Any] = entry.get("fieldsV1") or {}
    for path, gone in changes:
        fields = _drop(fields, path, parts=gone)
    return fields
