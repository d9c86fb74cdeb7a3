"""What the server itself does to objects of built-in kinds: fill in, default and judge.

Only as far as clients rely on it: an event about a cluster-scoped object belongs in namespace `default`, a namespace
becomes Active, a new node is tainted, a lease lasts longer than nothing. The types of these kinds are in `forms`;
`writes` asks here between decoding a body and storing it.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from . import events, field_errors

if TYPE_CHECKING:
    from .resources import Resource

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_COUNTERS = {
    "apps/statefulsets": ("replicas", "availableReplicas"),
    "policy/poddisruptionbudgets": ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
}


def _tainted(obj: dict[str, Any]) -> dict[str, Any]:
    """Return a new node tainted as not ready; a controller (here an actor) takes the taint away."""
    spec = obj.get("spec") or {}
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    taints = spec.get("taints") or []
    if any((item.get("key"), item.get("effect")) == tuple(taint.values()) for item in taints):
        return obj
    return {**obj, "spec": {**spec, "taints": [*taints, taint]}}


def fill(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Return a new built-in object with what the server itself adds on create."""
    match resource.store:
        case "/namespaces":
            spec = {**(obj.get("spec") or {}), "finalizers": ["kubernetes"]}
            return {**obj, "spec": spec, "status": {"phase": "Active"}}
        case "/nodes":
            return _tainted(obj)
        case "/pods":
            return {**obj, "status": {"phase": "Pending"}}
        case "apps/deployments":
            return {**obj, "status": {}}
    return _counted(resource, obj)


def settle(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Return a built-in object with the defaults that every write of it gets."""
    match resource.store:
        case "/namespaces":
            meta = obj.get("metadata") or {}
            labels = {"kubernetes.io/metadata.name": meta.get("name", ""), **(meta.get("labels") or {})}
            return {**obj, "metadata": {**meta, "labels": labels}}
        case "/nodes":
            status = obj.get("status") or {}
            if status.get("capacity"):
                status = {**status, "allocatable": {**status["capacity"], **(status.get("allocatable") or {})}}
                return {**obj, "status": status}
        case "apps/deployments" | "apps/statefulsets":
            spec = obj.get("spec")
            if isinstance(spec, dict) and spec.get("replicas") is None:
                obj = {**obj, "spec": {**spec, "replicas": 1}}
        case "/secrets":
            texts = obj.get("stringData") or {}
            encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            obj = {key: value for key, value in obj.items() if key != "stringData"}
            data = {"data": {**(obj.get("data") or {}), **encoded}} if encoded else {}
            return {**obj, "type": obj.get("type") or "Opaque", **data}
    return _counted(resource, obj)


def _counted(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the counters that its status always shows."""
    zeros = dict.fromkeys(_COUNTERS.get(resource.store, ()), 0)
    return {**obj, "status": {**zeros, **(obj.get("status") or {})}} if zeros else obj


def check(resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    """Return the broken rules of a built-in object (those few that are known here)."""
    match resource.store:
        case "/events":
            return events.check(obj, newer=resource.group != "") if old is None else []
        case "coordination.k8s.io/leases":
            return _check_lease(obj["spec"])
        case "/nodes":
            return _check_node(obj["spec"])
    return []


def _check_lease(spec: dict[str, Any]) -> list[field_errors.Cause]:
    seconds = spec.get("leaseDurationSeconds", 1)
    return [] if seconds > 0 else [field_errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")]


def _check_node(spec: dict[str, Any]) -> list[field_errors.Cause]:
    return [
        field_errors.unsupported(f"metadata.taints[{index}].effect", taint["effect"], _EFFECTS)
        for index, taint in enumerate(spec.get("taints") or ())
        if taint["effect"] not in _EFFECTS
    ]
