"""The kinds that every cluster has, as data, and what the server itself does to their objects: fill in, default, judge.

Objects are stored as they come; `writes` asks here for the few rules that clients rely on. Events are one store behind
two APIs, in the core form. Reviews are answered and never stored: everybody is allowed, because nothing here enforces
RBAC; a client that asks about its own rights is warned of that.
"""

import base64
from typing import Any

from . import field_errors, table
from .resources import Resource

EVENTS_GROUP = "events.k8s.io"
CRD_GROUP = "apiextensions.k8s.io"
_ALL_ALLOWED = ("the embedded API server allows everything: start it with APISERVER=real to have rights judged",)
INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS = {f"involvedObject.{name}": table.at("involvedObject", name) for name in _ABOUT} | {
    name: table.at(name) for name in ("reason", "type", "reportingComponent")
}
_POD_FIELDS = {"spec.nodeName": table.at("spec", "nodeName"), "status.phase": table.at("status", "phase")}


def _kind(group: str, plural: str, kind: str, *short_names: str, namespaced: bool = True, **more: Any) -> Resource:
    return Resource(group, "v1", plural, kind, namespaced, kind.lower(), short_names, **more)


def _review(group: str, plural: str, kind: str, **more: Any) -> Resource:
    return _kind(group, plural, kind, namespaced=False, verbs=("create",), **more)


def _rbac(plural: str, kind: str, *, namespaced: bool) -> Resource:
    shown = table.WITH_CREATION
    return _kind("rbac.authorization.k8s.io", plural, kind, namespaced=namespaced, columns=shown)


def _extension(group: str, plural: str, kind: str, *short_names: str, **more: Any) -> Resource:
    more |= {"namespaced": False, "categories": ("api-extensions",), "counts_generation": True}
    return _kind(group, plural, kind, *short_names, **more)


def _event(group: str, **more: Any) -> Resource:
    return _kind(group, "events", "Event", "ev", columns=table.EVENTS, **more)


_IN_ALL: dict[str, Any] = {"categories": ("all",)}
_STATUS: dict[str, Any] = {"has_status": True, "always": ("spec", "status")}
_RECONCILED: dict[str, Any] = {**_STATUS, "counts_generation": True}
CUSTOM_RESOURCE_DEFINITIONS = _extension(
    CRD_GROUP, "customresourcedefinitions", "CustomResourceDefinition", "crd", "crds",
    unconditional_update=False, columns=table.WITH_CREATION, **_STATUS,
)  # fmt: skip
NAMESPACES = _kind("", "namespaces", "Namespace", "ns", namespaced=False, columns=table.NAMESPACES, **_STATUS)


def kinds() -> list[Resource]:
    """Return every built-in kind. Admission policies are stored and never asked: nothing here judges by them."""
    policies = "admissionregistration.k8s.io"
    return [
        NAMESPACES,
        _kind(
            "", "nodes", "Node", "no",
            namespaced=False, status_on_create=True, status_metadata=True, columns=table.NODES, **_STATUS,
        ),
        _kind("", "configmaps", "ConfigMap", "cm", columns=table.CONFIGMAPS),
        _kind("", "secrets", "Secret", columns=table.SECRETS),
        _kind("", "serviceaccounts", "ServiceAccount", "sa"),
        _kind(
            "", "pods", "Pod", "po",
            status_metadata=True, columns=table.PODS, selectable=_POD_FIELDS, **_STATUS, **_IN_ALL,
        ),
        _kind("", "services", "Service", "svc", **_STATUS, **_IN_ALL),
        _event("", selectable=_EVENT_FIELDS),
        _event(
            EVENTS_GROUP,
            stored_as="v1", store_name="/events",
            read=lambda obj: {_RENAMED.get(key, key): value for key, value in obj.items()},
            write=lambda obj: {**_ALWAYS, **{_RESTORED.get(key, key): value for key, value in obj.items()}},
        ),
        _kind(
            "coordination.k8s.io", "leases", "Lease",
            columns=table.LEASES, always=("spec",), unconditional_update=False,
        ),
        _kind("apps", "deployments", "Deployment", "deploy", columns=table.DEPLOYMENTS, **_RECONCILED, **_IN_ALL),
        _kind("apps", "statefulsets", "StatefulSet", "sts", columns=table.STATEFUL_SETS, **_RECONCILED, **_IN_ALL),
        _kind(
            "policy", "poddisruptionbudgets", "PodDisruptionBudget", "pdb",
            columns=table.DISRUPTION_BUDGETS, **_RECONCILED,
        ),
        _kind("networking.k8s.io", "networkpolicies", "NetworkPolicy", "netpol", counts_generation=True),
        _rbac("roles", "Role", namespaced=True),
        _rbac("rolebindings", "RoleBinding", namespaced=True),
        _rbac("clusterroles", "ClusterRole", namespaced=False),
        _rbac("clusterrolebindings", "ClusterRoleBinding", namespaced=False),
        _extension(policies, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", has_status=True),
        _extension(policies, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
        _review("authentication.k8s.io", "tokenreviews", "TokenReview"),
        _review("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
        _review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", warnings=_ALL_ALLOWED),
        CUSTOM_RESOURCE_DEFINITIONS,
    ]  # fmt: skip


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
