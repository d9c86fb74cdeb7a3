"""Events: one store behind two APIs, which name several fields differently; objects are stored in the core form."""

from __future__ import annotations

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
_ALWAYS: dict[str, Any] = {"involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None}
"""What every event has, if empty."""


def to_new(obj: dict[str, Any]) -> dict[str, Any]:
    """Return a stored event as `events.k8s.io/v1` names its fields."""
    return {_RENAMED.get(key, key): value for key, value in obj.items()}


def to_core(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an event of `events.k8s.io/v1` as it is stored."""
    return {**_ALWAYS, **{_RESTORED.get(key, key): value for key, value in obj.items()}}


def check(obj: dict[str, Any], *, newer: bool) -> list[field_errors.Cause]:
    """Return the broken rules of an event in stored form; `newer`: it was written by `events.k8s.io/v1`.

    It is in the namespace of what it is about, in `default` when that is cluster-scoped; a newer one is complete.
    """
    about = (obj.get("involvedObject") or {}).get("namespace") or ""
    causes = []
    if obj["metadata"].get("namespace") not in (about, "default"):
        causes = [field_errors.invalid("involvedObject.namespace", about, "does not match event.namespace")]
    if newer:
        needed = ("eventTime", "reportingComponent", "reportingInstance", "action", "reason", "type")
        causes += [field_errors.required(_RENAMED.get(field, field)) for field in needed if not obj.get(field)]
    return causes
