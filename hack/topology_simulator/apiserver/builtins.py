"""The kinds that every cluster has, as data, and what is special about one of them as a small function.

Left out on purpose: whatever neither kubectl nor this project needs, and the types of these kinds: objects are stored
as they come, but for `builtin_rules`. Reviews (`TokenReview`, `SubjectAccessReview`) are answered and never stored:
everybody is allowed, because nothing here enforces RBAC; a client that asks about its own rights is warned of that.
"""

from __future__ import annotations

from typing import Any

from . import builtin_rules, columns
from .resources import Resource

EVENTS_GROUP = "events.k8s.io"
CRD_GROUP = "apiextensions.k8s.io"
PROTECTED_NAMESPACES = ("default", "kube-public", "kube-system")
_ALL_ALLOWED = ("the embedded API server allows everything: start it with APISERVER=real to have rights judged",)
INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS = {f"involvedObject.{name}": columns.at("involvedObject", name) for name in _ABOUT} | {
    name: columns.at(name) for name in ("reason", "type", "reportingComponent")
}
_POD_FIELDS = {"spec.nodeName": columns.at("spec", "nodeName"), "status.phase": columns.at("status", "phase")}


def _kind(group: str, plural: str, kind: str, *short_names: str, namespaced: bool = True, **more: Any) -> Resource:
    return Resource(group, "v1", plural, kind, namespaced, kind.lower(), short_names, **more)


def _review(group: str, plural: str, kind: str, **more: Any) -> Resource:
    return _kind(group, plural, kind, namespaced=False, verbs=("create",), **more)


def _rbac(plural: str, kind: str, *, namespaced: bool) -> Resource:
    shown = columns.WITH_CREATION
    return _kind("rbac.authorization.k8s.io", plural, kind, namespaced=namespaced, columns=shown)


def _extension(group: str, plural: str, kind: str, *short_names: str, **more: Any) -> Resource:
    more |= {"namespaced": False, "categories": ("api-extensions",), "counts_generation": True}
    return _kind(group, plural, kind, *short_names, **more)


def _event(group: str, **more: Any) -> Resource:
    return _kind(group, "events", "Event", "ev", columns=columns.EVENTS, **more)


_IN_ALL: dict[str, Any] = {"categories": ("all",)}
_STATUS: dict[str, Any] = {"has_status": True, "always": ("spec", "status")}
_RECONCILED: dict[str, Any] = {**_STATUS, "counts_generation": True}
CUSTOM_RESOURCE_DEFINITIONS = _extension(
    CRD_GROUP, "customresourcedefinitions", "CustomResourceDefinition", "crd", "crds",
    unconditional_update=False, columns=columns.WITH_CREATION, **_STATUS,
)  # fmt: skip
NAMESPACES = _kind("", "namespaces", "Namespace", "ns", namespaced=False, columns=columns.NAMESPACES, **_STATUS)


def kinds() -> list[Resource]:
    """Return every built-in kind. Admission policies are stored and never asked: nothing here judges by them."""
    policies = "admissionregistration.k8s.io"
    return [
        NAMESPACES,
        _kind(
            "", "nodes", "Node", "no",
            namespaced=False, status_on_create=True, status_metadata=True, columns=columns.NODES, **_STATUS,
        ),
        _kind("", "configmaps", "ConfigMap", "cm", columns=columns.CONFIGMAPS),
        _kind("", "secrets", "Secret", columns=columns.SECRETS),
        _kind("", "serviceaccounts", "ServiceAccount", "sa"),
        _kind(
            "", "pods", "Pod", "po",
            status_metadata=True, columns=columns.PODS, selectable=_POD_FIELDS, **_STATUS, **_IN_ALL,
        ),
        _kind("", "services", "Service", "svc", **_STATUS, **_IN_ALL),
        _event("", selectable=_EVENT_FIELDS),
        _event(
            EVENTS_GROUP,
            stored_as="v1", store_name="/events", read=builtin_rules.to_new, write=builtin_rules.to_core,
        ),
        _kind(
            "coordination.k8s.io", "leases", "Lease",
            columns=columns.LEASES, always=("spec",), unconditional_update=False,
        ),
        _kind("apps", "deployments", "Deployment", "deploy", columns=columns.DEPLOYMENTS, **_RECONCILED, **_IN_ALL),
        _kind("apps", "statefulsets", "StatefulSet", "sts", columns=columns.STATEFUL_SETS, **_RECONCILED, **_IN_ALL),
        _kind(
            "policy", "poddisruptionbudgets", "PodDisruptionBudget", "pdb",
            columns=columns.DISRUPTION_BUDGETS, **_RECONCILED,
        ),
        _kind("networking.k8s.io", "networkpolicies", "NetworkPolicy", "netpol", counts_generation=True),
        _rbac("roles", "Role", namespaced=True),
        _rbac("rolebindings", "RoleBinding", namespaced=True),
        _rbac("clusterroles", "ClusterRole", namespaced=False),
        _rbac("clusterrolebindings", "ClusterRoleBinding", namespaced=False),
        _extension(policies, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", has_status=True),
        _extension(policies, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
        _kind(
            "certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest", "csr",
            namespaced=False, parts_of_status=("approval",), columns=columns.SIGNING_REQUESTS, **_STATUS,
        ),
        _review("authentication.k8s.io", "tokenreviews", "TokenReview"),
        _review("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
        _review("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
        _review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", warnings=_ALL_ALLOWED),
        _review("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", warnings=_ALL_ALLOWED),
        CUSTOM_RESOURCE_DEFINITIONS,
    ]  # fmt: skip


def answer_review(resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
    """Return a review with its answer: every client is the administrator, and everything is allowed."""
    user = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
    statuses: dict[str, dict[str, Any]] = {
        "tokenreviews": {"authenticated": True, "user": user},
        "selfsubjectreviews": {"userInfo": user},
        "selfsubjectrulesreviews": {
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": False,
        },
    }
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": body.get("metadata") or {"creationTimestamp": None},
        "spec": body.get("spec") or {},
        "status": statuses.get(resource.plural, {"allowed": True}),
    }
