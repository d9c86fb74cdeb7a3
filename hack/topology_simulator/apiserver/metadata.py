"""The rules of `metadata`: names, identity, and what a client may not change.

Creation gives an object its uid and time, an update keeps them whatever the body says. `writes` calls these in the
order in which the real server does.
"""

from __future__ import annotations

import json
import random
import re
import uuid
from typing import Any

from . import field_errors, resources, statuses, times

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
    fresh["creationTimestamp"] = times.now()
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


def check(resource: resources.Resource, meta: dict[str, Any]) -> list[field_errors.Cause]:
    """Return what is wrong with an object's name; labels are the client's affair."""
    name = meta.get("name")
    if not name:
        return [field_errors.required("metadata.name", "name or generateName is required")]
    if resource.group == _FREE_NAMES or _SUBDOMAIN.fullmatch(name):
        return []
    return [field_errors.invalid("metadata.name", name, _SUBDOMAIN_RULE)]


def check_shape(obj: Any) -> None:
    """Raise StatusError 400 unless this is an object with metadata that is one."""
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata") or {}, dict):
        raise statuses.bad_request("couldn't get version/kind; json parse error: the body is not an object")
