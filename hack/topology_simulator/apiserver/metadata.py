"""The rules of `metadata`: names, identity, what a client may not change, and who wrote which field.

`managedFields` are good enough to ask "who changed this last": one entry for each (manager, operation, subresource,
apiVersion), with the time of its last change and the paths that this manager was the last to change. A path has one
owner, as on the real server as long as no client applies; a list is one path, and objects above leaves have no dot.
"""

import random
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import conditions
from . import field_errors, patch, resources

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_FREE_NAMES = "rbac.authorization.k8s.io"
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")


def new(meta: dict[str, Any], namespace: str) -> dict[str, Any]:
    """Return the metadata of an object that is being created: generated name, uid, time; the server's own go."""
    fresh = {
        key: value
        for key, value in meta.items()
        if key not in (*_KEPT, "resourceVersion", "managedFields") and value is not None
    }
    if not fresh.get("name") and fresh.get("generateName"):
        fresh["name"] = str(fresh["generateName"])[:58] + "".join(random.choices(_SUFFIX, k=5))
    if namespace:
        fresh["namespace"] = namespace
    else:
        fresh.pop("namespace", None)
    fresh["uid"] = str(uuid.uuid4())
    fresh["creationTimestamp"] = conditions.now()
    return _without_empty(fresh)


def _without_empty(meta: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is empty: maps and lists of metadata are never stored so."""
    empty = ("finalizers", "ownerReferences", "labels", "annotations", "managedFields")
    return {key: value for key, value in meta.items() if value or key not in empty}


def updated(meta: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of an update: what only the server sets is taken from the stored state."""
    fresh = {key: value for key, value in meta.items() if key not in _KEPT and value is not None}
    fresh |= {key: old[key] for key in (*_KEPT, "name", "namespace") if key in old}
    if fresh.get("managedFields") != [{}]:
        fresh["managedFields"] = old.get("managedFields", [])
    return _without_empty(fresh)


def check(resource: resources.Resource, meta: dict[str, Any]) -> list[field_errors.Cause]:
    """Return what is wrong with an object's name; labels are the client's affair."""
    name = meta.get("name")
    if not name:
        return [field_errors.required("metadata.name", "name or generateName is required")]
    if resource.group == _FREE_NAMES or _SUBDOMAIN.fullmatch(name):
        return []
    return [field_errors.invalid("metadata.name", name, _SUBDOMAIN_RULE)]


_UNTRACKED = frozenset({
    "name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion", "managedFields",
    "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
})  # fmt: skip
_IDENTITY = ("manager", "operation", "apiVersion", "subresource")
_ATOMIC = frozenset({"f:involvedObject", "f:regarding", "f:related"})
"""Objects that have one owner: those of events."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the field manager, the API version of the request, the subresource ("" for the object itself)."""

    manager: str
    api_version: str
    subresource: str = ""


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the paths that have owners, and what is there."""
    if not isinstance(value, dict) or (path and not value) or not _ATOMIC.isdisjoint(path):
        yield path, value
        return
    for key, part in value.items():
        yield from _leaves(part, (*path, f"f:{key}"))


def _tracked(obj: Mapping[str, Any]) -> dict[Path, Any]:
    meta = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _UNTRACKED}
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return dict(_leaves({"metadata": meta, **rest} if meta else rest))


def _owned(tree: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    if not tree:
        yield path
    for name, part in tree.items():
        yield from _owned(part, (*path, name))


def _tree(paths: Iterable[Path]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path in sorted(paths):
        node = root
        for name in path:
            node = node.setdefault(name, {})
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
    before, after = _tracked(old), _tracked(new)
    written = {path for path, value in after.items() if path not in before or not patch.same(before[path], value)}
    if not written and before.keys() == after.keys():
        return entries
    mine: dict[str, Any] = {"manager": writer.manager, "operation": "Update", "apiVersion": writer.api_version}
    if writer.subresource:
        mine["subresource"] = writer.subresource
    mine |= {"time": now, "fieldsType": "FieldsV1"}
    result: list[dict[str, Any]] = []
    for entry in entries:
        kept = {path for path in _owned(entry["fieldsV1"]) if path in after} - written
        if all(entry.get(key) == mine.get(key) for key in _IDENTITY):
            written |= kept
        else:
            result.append({**entry, "fieldsV1": _tree(kept)})
    return [entry for entry in (*result, {**mine, "fieldsV1": _tree(written)}) if entry["fieldsV1"]]
