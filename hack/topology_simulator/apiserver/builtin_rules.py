"""What the server itself does to objects of built-in kinds: fill in, default and judge.

Only as far as clients rely on it: an event about a cluster-scoped object belongs in namespace `default`, a namespace
becomes Active, a new node is tainted, a lease lasts longer than nothing. The types of these kinds are in `forms`;
`writes` asks here between decoding a body and storing it.
"""

from __future__ import annotations

import base64
import dataclasses
import re
from typing import TYPE_CHECKING, Any

from . import events, field_errors

if TYPE_CHECKING:
    from .resources import Resource

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_COUNTERS = {
    "apps/statefulsets": ("replicas", "availableReplicas"),
    "policy/poddisruptionbudgets": ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
}
_LARGEST_CONFIG_MAP = 1 << 20
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


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
            obj = {**obj, "type": obj.get("type") or "Opaque"}
            if texts := obj.get("stringData"):
                encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
                rest = {key: value for key, value in obj.items() if key != "stringData"}
                return {**rest, "data": {**(obj.get("data") or {}), **encoded}}
    return _counted(resource, obj)


def _counted(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the counters that its status always shows."""
    zeros = dict.fromkeys(_COUNTERS.get(resource.store, ()), 0)
    return {**obj, "status": {**zeros, **(obj.get("status") or {})}} if zeros else obj


def check(resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    """Return the broken rules of a built-in object (those few that are known here)."""
    match resource.store:
        case "/events":
            newer = resource.group != ""
            return events.check(obj, newer=newer) if old is None else events.check_update(obj, old, newer=newer)
        case "coordination.k8s.io/leases":
            return _check_lease(obj["spec"])
        case "/configmaps":
            return _check_config_map(obj, old)
        case "/nodes":
            return _check_node(obj["spec"], old)
    return []


def _check_lease(spec: dict[str, Any]) -> list[field_errors.Cause]:
    causes: list[field_errors.Cause] = []
    if "leaseDurationSeconds" in spec and spec["leaseDurationSeconds"] <= 0:
        value = spec["leaseDurationSeconds"]
        causes.append(field_errors.invalid("spec.leaseDurationSeconds", value, "must be greater than 0"))
    if spec.get("leaseTransitions", 0) < 0:
        value = spec["leaseTransitions"]
        causes.append(field_errors.invalid("spec.leaseTransitions", value, "must be greater than or equal to 0"))
    return causes


def _check_config_map(obj: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    causes = [
        field_errors.invalid(f"{field}[{key}]", key, _CONFIG_KEY_RULE)
        for field in ("data", "binaryData")
        for key in obj.get(field) or ()
        if not _CONFIG_KEY.fullmatch(key)
    ]
    size = sum(len(value.encode()) for value in (obj.get("data") or {}).values())
    if size > _LARGEST_CONFIG_MAP:
        text = f"Too long: may not be more than {_LARGEST_CONFIG_MAP} bytes"
        causes.append(field_errors.Cause("[]", "FieldValueTooLong", text))
    if old is not None and old.get("immutable"):
        text = "field is immutable when `immutable` is set"
        fields = [field for field in ("immutable", "data", "binaryData") if obj.get(field) != old.get(field)]
        causes += [field_errors.forbidden(field, text) for field in fields]
    return causes


def _check_node(spec: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    causes: list[field_errors.Cause] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.get("taints") or ()):
        field, mark = f"metadata.taints[{index}]", (taint["key"], taint["effect"])
        if taint["effect"] not in _EFFECTS:
            causes.append(field_errors.unsupported(f"{field}.effect", taint["effect"], _EFFECTS))
        if mark in seen:
            shown = {"Key": mark[0], "Value": taint.get("value", ""), "Effect": mark[1], "TimeAdded": None}
            cause = field_errors.duplicate(field, shown)
            causes.append(
                dataclasses.replace(cause, message=f"{cause.message}: taints must be unique by key and effect pair")
            )
        seen.add(mark)
    before = (old or {}).get("spec", {}).get("providerID")
    if before and before != spec.get("providerID"):
        text = 'node updates may not change providerID except from "" to valid'
        causes.append(field_errors.forbidden("spec.providerID", text))
    return causes
