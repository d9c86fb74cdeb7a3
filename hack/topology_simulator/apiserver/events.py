"""Events: one store behind two APIs, and the rules that an event must follow.

`events.k8s.io/v1` names several fields differently from `core/v1`; objects are stored in the core form and
translated. The rules are those of the real server: an event lives in the namespace of what it is about, and
in `default` when that is cluster-scoped; one of the newer API is complete, and sets no field of the older
one.
"""

from __future__ import annotations

import re
from typing import Any

from . import field_errors

_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_RESTORED = {new: old for old, new in _RENAMED.items()}
_QUALIFIED = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)
_NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def to_new(obj: dict[str, Any]) -> dict[str, Any]:
    """Return a stored event as `events.k8s.io/v1` names its fields."""
    shown = {_RENAMED.get(key, key): value for key, value in obj.items()}
    return {
        key: value for key, value in shown.items() if value or key not in ("reportingController", "reportingInstance")
    }


def to_core(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an event of `events.k8s.io/v1` as it is stored."""
    return {"reportingComponent": "", "reportingInstance": "", **{_RESTORED.get(k, k): v for k, v in obj.items()}}


def check(obj: dict[str, Any], *, newer: bool) -> list[field_errors.Cause]:
    """Return the broken rules of an event in stored form; `newer`: it was written by `events.k8s.io/v1`."""
    causes: list[field_errors.Cause] = []
    about = (obj.get("involvedObject") or {}).get("namespace") or ""
    namespace = obj["metadata"].get("namespace")
    if namespace not in (about, "default"):
        causes.append(field_errors.invalid("involvedObject.namespace", about, "does not match event.namespace"))
    if obj.get("eventTime"):
        causes += _check_complete(obj, "reportingController" if newer else "reportingComponent")
    if newer:
        causes += _check_newer(obj)
    return causes


def _check_complete(obj: dict[str, Any], controller: str) -> list[field_errors.Cause]:
    causes: list[field_errors.Cause] = []
    name = obj.get("reportingComponent") or ""
    if not name:
        causes.append(field_errors.required(controller))
        causes.append(field_errors.invalid(controller, name, "name part must be non-empty"))
    if not _QUALIFIED.fullmatch(name):
        causes.append(field_errors.invalid(controller, name, _NAME_RULE))
    for field in ("reportingInstance", "action", "reason"):
        value = obj.get(field) or ""
        if not value:
            causes.append(field_errors.required(field))
        elif len(value) > 128:
            causes.append(field_errors.invalid(field, "", "can have at most 128 characters"))
    if len(obj.get("message") or "") > 1024:
        causes.append(field_errors.invalid("message", "", "can have at most 1024 characters"))
    return causes


def _check_newer(obj: dict[str, Any]) -> list[field_errors.Cause]:
    causes: list[field_errors.Cause] = []
    if not obj.get("eventTime"):
        causes.append(field_errors.required("eventTime"))
    if obj.get("type") not in ("Normal", "Warning"):
        causes.append(field_errors.invalid("type", "", f"has invalid value: {obj.get('type') or ''}"))
    old = ("firstTimestamp", "lastTimestamp", "count", "source")
    causes += [field_errors.invalid(field, "", "needs to be unset") for field in old if obj.get(field)]
    return causes
