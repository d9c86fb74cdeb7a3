"""The kinds that every cluster has, as data, and what the server itself does to their objects: fill in, default, judge.

Objects are stored as they come; `writes` asks here for the few rules that clients rely on. Events are one store behind
two APIs, in the core form. Reviews are answered and never stored: everybody is allowed, because nothing here enforces
RBAC; a client that asks about its own rights is warned of that.
"""

import pathlib
from collections.abc import Iterable
from typing import Any

import yaml

from . import field_errors, table
from .resources import Resource

EVENTS_GROUP = "events.k8s.io"
INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


def _kind(*, columns: str = "DEFAULT", selectable: Iterable[str] = (), **fields: Any) -> Resource:
    """Return a kind of builtins.yaml; lists are tuples, columns those of `table`, fields to select by their paths."""
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    if fields["group"] == EVENTS_GROUP:
        given |= {
            "read": lambda obj: {_RENAMED.get(key, key): value for key, value in obj.items()},
            "write": lambda obj: {
                **_EVENTS["always"],
                **{_RESTORED.get(key, key): value for key, value in obj.items()},
            },
        }
    selected = {path: table.at(*path.split(".")) for path in selectable}
    shown = getattr(table, columns)
    return Resource(version="v1", singular=fields["kind"].lower(), columns=shown, selectable=selected, **given)


_EVENTS, _kinds = yaml.safe_load_all(pathlib.Path(__file__).with_name("builtins.yaml").read_text())
_RENAMED: dict[str, str] = _EVENTS["renamed"]
_RESTORED = {new: old for old, new in _RENAMED.items()}
KINDS = tuple(_kind(**fields) for fields in _kinds)
"""Admission policies are stored and never asked: nothing here judges by them."""
_BY_PLURAL = {kind.plural: kind for kind in KINDS}
NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS = _BY_PLURAL["namespaces"], _BY_PLURAL["customresourcedefinitions"]


def answer_review(resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
    """Return a review with its answer: every client is the administrator, and everything is allowed."""
    user = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
    is_token = resource.plural == "tokenreviews"
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": body.get("metadata") or {"creationTimestamp": None},
        "spec": body.get("spec") or {},
        "status": {"authenticated": True, "user": user} if is_token else {"allowed": True},
    }


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
"""The taint of a new node; a controller (here an actor) takes it away."""


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
    return obj


def check(resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    """Return the broken rules of a node, and of a new event in stored form; the rest is taken as it comes.

    An event is in the namespace of what it is about, in `default` when that is cluster-scoped; one of
    `events.k8s.io/v1` is complete.
    """
    if resource.store == "/nodes":
        return [
            field_errors.unsupported(f"metadata.taints[{index}].effect", taint["effect"], _EFFECTS)
            for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ())
            if taint["effect"] not in _EFFECTS
        ]
    if resource.store != "/events" or old is not None:
        return []
    about = (obj.get("involvedObject") or {}).get("namespace") or ""
    causes = []
    if obj["metadata"].get("namespace") not in (about, "default"):
        causes = [field_errors.invalid("involvedObject.namespace", about, "does not match event.namespace")]
    if resource.group:
        needed = ("eventTime", "reportingComponent", "reportingInstance", "action", "reason", "type")
        causes += [field_errors.required(_RENAMED.get(field, field)) for field in needed if not obj.get(field)]
    return causes
