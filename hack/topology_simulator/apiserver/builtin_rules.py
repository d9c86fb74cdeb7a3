"""What the server itself does to objects of built-in kinds: fill in, default and judge.

Only as far as clients rely on it: an event about a cluster-scoped object belongs in namespace `default`, a namespace
becomes Active, a new node is tainted, a lease lasts longer than nothing. `writes` asks here before storing a body.
Events are one store behind two APIs, which name several fields differently; they are stored in the core form.
"""

from __future__ import annotations

import base64
from typing import Any

from . import field_errors
from .resources import Resource

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
"""The taint of a new node; a controller (here an actor) takes it away."""
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


def fill(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Return a new built-in object with what the server itself adds on create."""
    spec = obj.get("spec") or {}
    match resource.store:
        case "/namespaces":
            return {**obj, "spec": {**spec, "finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        case "/nodes":
            others = [taint for taint in spec.get("taints") or [] if taint.get("key") != _NOT_READY["key"]]
            return {**obj, "spec": {**spec, "taints": [*others, _NOT_READY]}}
        case "/pods":
            return {**obj, "status": {"phase": "Pending"}}
        case "apps/deployments":
            return {**obj, "status": {}}
    return obj


def settle(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Return a built-in object with the defaults that every write of it gets, without what is empty."""
    kept = ("metadata", *resource.always)
    obj = {key: part for key, part in obj.items() if part not in ({}, [], None) or key in kept}
    match resource.store:
        case "/namespaces":
            meta = obj.get("metadata") or {}
            labels = {"kubernetes.io/metadata.name": meta.get("name", ""), **(meta.get("labels") or {})}
            return {**obj, "metadata": {**meta, "labels": labels}}
        case "apps/deployments" | "apps/statefulsets":
            spec = obj.get("spec")
            if isinstance(spec, dict) and spec.get("replicas") is None:
                return {**obj, "spec": {**spec, "replicas": 1}}
        case "/secrets":
            texts = obj.get("stringData") or {}
            encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            rest = {key: value for key, value in obj.items() if key != "stringData"}
            data = {"data": {**(obj.get("data") or {}), **encoded}} if encoded else {}
            return {**rest, "type": obj.get("type") or "Opaque", **data}
    return obj


def check(resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    """Return the broken rules of a built-in object (those few that are known here)."""
    spec = obj.get("spec") or {}
    match resource.store:
        case "/events":
            return _check_event(obj, newer=resource.group != "") if old is None else []
        case "coordination.k8s.io/leases":
            seconds = spec.get("leaseDurationSeconds", 1)
            wrong = field_errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
            return [] if seconds > 0 else [wrong]
        case "/nodes":
            return [
                field_errors.unsupported(f"metadata.taints[{index}].effect", taint["effect"], _EFFECTS)
                for index, taint in enumerate(spec.get("taints") or ())
                if taint["effect"] not in _EFFECTS
            ]
    return []


def to_new(obj: dict[str, Any]) -> dict[str, Any]:
    """Return a stored event as `events.k8s.io/v1` names its fields."""
    return {_RENAMED.get(key, key): value for key, value in obj.items()}


def to_core(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an event of `events.k8s.io/v1` as it is stored."""
    return {**_ALWAYS, **{_RESTORED.get(key, key): value for key, value in obj.items()}}


def _check_event(obj: dict[str, Any], *, newer: bool) -> list[field_errors.Cause]:
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
