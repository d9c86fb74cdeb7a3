"""The kinds that every cluster has, as data, and what is special about one of them as a small function.

Left out on purpose: whatever neither kubectl nor this project needs. Those kinds that the project writes have
their types in `forms` and their rules in `builtin_rules`, the others are stored as they come. Reviews
(`TokenReview`, `SubjectAccessReview`) are answered and never stored: everybody is allowed, because nothing
here enforces RBAC; a client that asks about its own rights is warned of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import columns, events, forms
from .resources import Resource

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS_GROUP = "events.k8s.io"
CRD_GROUP = "apiextensions.k8s.io"
PROTECTED_NAMESPACES = ("default", "kube-public", "kube-system")
_ALL_ALLOWED = ("the embedded API server allows everything: start it with APISERVER=real to have rights judged",)
INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


def _read(*path: str) -> Callable[[dict[str, Any]], str]:
    def value(obj: dict[str, Any]) -> str:
        part: Any = obj
        for name in path:
            part = part.get(name) if isinstance(part, dict) else None
        if isinstance(part, bool):
            return "true" if part else "false"
        return "" if part is None else str(part)

    return value


_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_CORE_EVENT_FIELDS = {f"involvedObject.{name}": _read("involvedObject", name) for name in _ABOUT} | {
    "reason": _read("reason"),
    "type": _read("type"),
    "reportingComponent": _read("reportingComponent"),
    "source": _read("source", "component"),
}
_POD_FIELDS = {"spec.nodeName": _read("spec", "nodeName"), "status.phase": _read("status", "phase")}


def _kind(group: str, plural: str, kind: str, *short_names: str, namespaced: bool = True, **more: Any) -> Resource:
    return Resource(group, "v1", plural, kind, namespaced, kind.lower(), short_names, **more)


def _review(group: str, plural: str, kind: str, **more: Any) -> Resource:
    return _kind(group, plural, kind, namespaced=False, verbs=("create",), **more)


def _rbac(plural: str, kind: str, *, namespaced: bool, shown: Any) -> Resource:
    return _kind("rbac.authorization.k8s.io", plural, kind, namespaced=namespaced, columns=shown)


def _extension(group: str, plural: str, kind: str, *short_names: str, **more: Any) -> Resource:
    return _kind(
        group, plural, kind, *short_names,
        namespaced=False, categories=("api-extensions",), counts_generation=True, **more,
    )  # fmt: skip


def _event(group: str, **more: Any) -> Resource:
    return _kind(group, "events", "Event", "ev", columns=columns.EVENTS, **more)


def _unschedulable(obj: dict[str, Any]) -> str:
    return "true" if (obj.get("spec") or {}).get("unschedulable") else "false"


_IN_ALL: dict[str, Any] = {"categories": ("all",)}
_STATUS: dict[str, Any] = {"has_status": True, "always": ("spec", "status")}
_RECONCILED: dict[str, Any] = {**_STATUS, "counts_generation": True}
CUSTOM_RESOURCE_DEFINITIONS = _extension(
    CRD_GROUP, "customresourcedefinitions", "CustomResourceDefinition", "crd", "crds",
    unconditional_update=False, columns=columns.WITH_CREATION, **_STATUS,
)  # fmt: skip
NAMESPACES = _kind(
    "", "namespaces", "Namespace", "ns",
    namespaced=False, has_status=True, form=forms.form(forms.NAMESPACE), columns=columns.NAMESPACES,
    selectable={"status.phase": _read("status", "phase"), "name": _read("metadata", "name")},
)  # fmt: skip
_NODES = _kind(
    "", "nodes", "Node", "no",
    namespaced=False, has_status=True, status_on_create=True, status_metadata=True, form=forms.form(forms.NODE),
    columns=columns.NODES, selectable={"spec.unschedulable": _unschedulable},
)  # fmt: skip
_PODS = _kind(
    "", "pods", "Pod", "po", status_metadata=True, columns=columns.PODS, selectable=_POD_FIELDS, **_STATUS, **_IN_ALL
)
_SERVICES = _kind(
    "", "services", "Service", "svc",
    selectable={"spec.type": _read("spec", "type"), "spec.clusterIP": _read("spec", "clusterIP")},
    **_STATUS, **_IN_ALL,
)  # fmt: skip
_NEW_EVENTS = _event(
    EVENTS_GROUP, form=forms.form(forms.NEW_EVENT),
    stored_as="v1", store_name="/events", read=events.to_new, write=events.to_core,
)  # fmt: skip
_LEASES = _kind(
    "coordination.k8s.io", "leases", "Lease",
    columns=columns.LEASES, form=forms.form(forms.LEASE), unconditional_update=False,
)  # fmt: skip
_BUDGETS = _kind(
    "policy", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", columns=columns.DISRUPTION_BUDGETS, **_RECONCILED
)
_NETWORK_POLICIES = _kind(
    "networking.k8s.io", "networkpolicies", "NetworkPolicy", "netpol",
    counts_generation=True,
)  # fmt: skip


def kinds() -> list[Resource]:
    """Return every built-in kind. Admission policies are stored and never asked: nothing here judges by them."""
    policies = "admissionregistration.k8s.io"
    return [
        NAMESPACES,
        _NODES,
        _kind("", "configmaps", "ConfigMap", "cm", form=forms.form(forms.CONFIG_MAP), columns=columns.CONFIGMAPS),
        _kind(
            "", "secrets", "Secret",
            form=forms.form(forms.SECRET), columns=columns.SECRETS, selectable={"type": _read("type")},
        ),
        _kind("", "serviceaccounts", "ServiceAccount", "sa"),
        _PODS,
        _SERVICES,
        _event("", selectable=_CORE_EVENT_FIELDS, form=forms.form(forms.EVENT)),
        _NEW_EVENTS,
        _LEASES,
        _kind("apps", "deployments", "Deployment", "deploy", columns=columns.DEPLOYMENTS, **_RECONCILED, **_IN_ALL),
        _kind("apps", "statefulsets", "StatefulSet", "sts", columns=columns.STATEFUL_SETS, **_RECONCILED, **_IN_ALL),
        _BUDGETS,
        _NETWORK_POLICIES,
        _rbac("roles", "Role", namespaced=True, shown=columns.WITH_CREATION),
        _rbac("rolebindings", "RoleBinding", namespaced=True, shown=columns.WITH_CREATION),
        _rbac("clusterroles", "ClusterRole", namespaced=False, shown=columns.WITH_CREATION),
        _rbac("clusterrolebindings", "ClusterRoleBinding", namespaced=False, shown=columns.WITH_CREATION),
        _extension(
            policies, "validatingadmissionpolicies", "ValidatingAdmissionPolicy",
            has_status=True, columns=columns.DEFAULT,
        ),
        _extension(
            policies, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", columns=columns.DEFAULT
        ),
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
