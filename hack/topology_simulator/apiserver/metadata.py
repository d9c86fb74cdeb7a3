"""The rules of `metadata`: names, identity, and what a client may not change.

Creation gives an object its uid and time, an update keeps them whatever the body says; names and labels
must have the form that the real server asks for, in its words. `writes` calls these in the order in which
the real server does.
"""

from __future__ import annotations

import json
import random
import re
import uuid
from typing import TYPE_CHECKING, Any

from . import field_errors, statuses, times

if TYPE_CHECKING:
    from . import resources

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_PATH_SEGMENT_GROUPS = ("rbac.authorization.k8s.io",)
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
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
    fresh["creationTimestamp"] = times.now()
    return _without_empty(_without_nulls(fresh))


def _without_nulls(meta: dict[str, Any]) -> dict[str, Any]:
    """Return metadata whose labels and annotations are all texts: a null is an empty one."""
    for field in ("labels", "annotations"):
        if any(value is None for value in (meta.get(field) or {}).values()):
            meta = {**meta, field: {key: value or "" for key, value in meta[field].items()}}
    return meta


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


def _check_name(resource: resources.Resource, name: str) -> list[field_errors.Cause]:
    if resource.group in _PATH_SEGMENT_GROUPS:
        bad = name in (".", "..") or "/" in name or "%" in name
        rule = "may not contain '/' or '%', and may not be '.' or '..'"
        return [field_errors.invalid("metadata.name", name, rule)] if bad else []
    if resource.store in ("/namespaces", "/services"):
        pattern, rule, limit = _LABEL, _LABEL_RULE, 63
    else:
        pattern, rule, limit = _SUBDOMAIN, _SUBDOMAIN_RULE, 253
    if len(name) > limit:
        rule = f"must be no more than {limit} characters"
    elif pattern is _LABEL and "." in name:
        rule = "must not contain dots"
    elif pattern.fullmatch(name):
        return []
    return [field_errors.invalid("metadata.name", name, rule)]


def _check_key(field: str, key: str) -> list[field_errors.Cause]:
    """Return what is wrong with the key of a label or annotation, or with the name of a finalizer."""
    prefix, slash, name = key.rpartition("/")
    if not _QUALIFIED.fullmatch(name) or len(name) > 63:
        return [field_errors.invalid(field, key, _KEY_RULE)]
    if slash and not _SUBDOMAIN.fullmatch(prefix):
        return [field_errors.invalid(field, key, f"prefix part {_SUBDOMAIN_RULE}")]
    return []


def _check_labels(field: str, labels: Any, *, values: bool) -> list[field_errors.Cause]:
    causes: list[field_errors.Cause] = []
    for key, value in (labels or {}).items():
        causes += _check_key(field, key)
        if values and (len(value) > 63 or (value and not _QUALIFIED.fullmatch(value))):
            rule = "must be no more than 63 bytes" if len(value) > 63 else _VALUE_RULE
            causes.append(field_errors.invalid(field, value, rule))
    return causes


def _check_owners(owners: Any) -> list[field_errors.Cause]:
    """Return what is missing in references to owners."""
    causes: list[field_errors.Cause] = []
    for owner in owners or ():
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                shown = "version" if field == "apiVersion" else field
                causes.append(field_errors.invalid(f"metadata.ownerReferences.{shown}", "", "must not be empty"))
    return causes


def check_finalizers(resource: resources.Resource, meta: dict[str, Any], old: dict[str, Any]) -> None:
    """Raise StatusError 422 when an update adds a finalizer to an object that is being deleted."""
    if not old.get("deletionTimestamp"):
        return
    added = [name for name in meta.get("finalizers") or () if name not in (old.get("finalizers") or ())]
    if added:
        shown = ", ".join(json.dumps(name) for name in sorted(added))
        text = (
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
        )
        raise statuses.invalid(resource, old["name"], [field_errors.forbidden("metadata.finalizers", text)])


def warnings(meta: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    """Return what the server advises against, about what is new."""
    before = (old or {}).get("finalizers") or ()
    return [
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name to avoid accidental '
        "conflicts with other finalizer writers"
        for name in meta.get("finalizers") or ()
        if "/" not in name and name not in before and name not in _STANDARD_FINALIZERS
    ]


def check(resource: resources.Resource, meta: dict[str, Any]) -> list[field_errors.Cause]:
    """Return every broken rule of an object's metadata."""
    name = meta.get("name")
    if not name:
        return [field_errors.required("metadata.name", "name or generateName is required")]
    return [
        *_check_name(resource, name),
        *_check_labels("metadata.labels", meta.get("labels"), values=True),
        *_check_labels("metadata.annotations", meta.get("annotations"), values=False),
        *_check_owners(meta.get("ownerReferences")),
        *(cause for name in meta.get("finalizers") or () for cause in _check_key("metadata.finalizers", name)),
    ]


def check_shape(resource: resources.Resource, obj: Any) -> None:
    """Raise StatusError 400 unless this is an object whose metadata has the types that all rely on."""
    if not isinstance(obj, dict):
        raise statuses.bad_request("couldn't get version/kind; json parse error: the body is not an object")
    meta = obj.get("metadata")
    if meta is None:
        return
    if not isinstance(meta, dict):
        place = "value" if resource.custom else f"struct field {resource.kind}.metadata"
        raise statuses.undecodable(
            resource, f"json: cannot unmarshal {json_type(meta)} into Go {place} of type v1.ObjectMeta"
        )
    for key in ("name", "generateName", "namespace", "resourceVersion", "uid"):
        _check_field(resource, key, meta.get(key), str)
    for key in ("labels", "annotations"):
        _check_field(resource, key, meta.get(key), dict)
        for value in (meta.get(key) or {}).values():
            _check_field(resource, key, value, str)
    for key in ("finalizers", "ownerReferences", "managedFields"):
        _check_field(resource, key, meta.get(key), list)
    for item in meta.get("finalizers") or ():
        _check_field(resource, "finalizers", item, str)
    for item in meta.get("ownerReferences") or ():
        _check_field(resource, "ownerReferences", item, dict)


_GO_TYPES: dict[type, str] = {str: "string", dict: "map[string]string", list: "[]string"}


def json_type(value: Any) -> str:
    """Return the type of a JSON value in the words of the real server's decoder."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _check_field(resource: resources.Resource, key: str, value: Any, wanted: type) -> None:
    if value is None or isinstance(value, wanted):
        return
    path = f"ObjectMeta.{key}" if resource.custom else f"ObjectMeta.metadata.{key}"
    raise statuses.undecodable(
        resource, f"json: cannot unmarshal {json_type(value)} into Go struct field {path} of type {_GO_TYPES[wanted]}"
    )
