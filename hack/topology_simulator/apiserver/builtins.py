"""The kinds that every cluster has, as data, and what is special about one of them as a small function.

Left out on purpose: whatever neither kubectl nor this project needs. Those kinds that the project writes have
their types in `forms` and their rules in `builtin_rules`, the others are stored as they come. Reviews
(`TokenReview`, `SubjectAccessReview`) are answered and never stored: everybody is allowed, because nothing
here enforces RBAC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import columns, events, forms
from .resources import ALL_VERBS, Resource

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS_GROUP = "events.k8s.io"
CRD_GROUP = "apiextensions.k8s.io"
PROTECTED_NAMESPACES = ("default", "kube-public", "kube-system")
INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


def _read(*path: str) -> Callable[[dict[str, Any]], str]:
    def value(obj: dict[str, Any]) -> str:
        found: Any = obj
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, bool):
            return "true" if found else "false"
        return "" if found is None else str(found)

    return value


_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_CORE_EVENT_FIELDS = {f"involvedObject.{name}": _read("involvedObject", name) for name in _ABOUT} | {
    "reason": _read("reason"),
    "type": _read("type"),
    "reportingComponent": _read("reportingComponent"),
    "source": _read("source", "component"),
}
_NEW_EVENT_FIELDS = {f"regarding.{name}": _read("involvedObject", name) for name in _ABOUT} | {
    "reason": _read("reason"),
    "type": _read("type"),
    "reportingController": _read("reportingComponent"),
}

_POD_FIELDS = {
    "spec.nodeName": _read("spec", "nodeName"),
    "spec.restartPolicy": _read("spec", "restartPolicy"),
    "spec.schedulerName": _read("spec", "schedulerName"),
    "spec.serviceAccountName": _read("spec", "serviceAccountName"),
    "status.phase": _read("status", "phase"),
    "status.podIP": _read("status", "podIP"),
    "status.nominatedNodeName": _read("status", "nominatedNodeName"),
}


def _core(plural: str, kind: str, *, namespaced: bool = True, **more: Any) -> Resource:
    return Resource("", "v1", plural, kind, namespaced, kind.lower(), **more)


def _review(group: str, plural: str, kind: str) -> Resource:
    return Resource(group, "v1", plural, kind, namespaced=False, singular=kind.lower(), verbs=("create",))


def _rbac(plural: str, kind: str, *, namespaced: bool, shown: Any) -> Resource:
    return Resource("rbac.authorization.k8s.io", "v1", plural, kind, namespaced, kind.lower(), columns=shown)


def _admission(plural: str, kind: str, *, has_status: bool = False) -> Resource:
    """Stored and never asked: nothing here judges a request by a policy."""
    return Resource(
        "admissionregistration.k8s.io",
        "v1",
        plural,
        kind,
        namespaced=False,
        singular=kind.lower(),
        categories=("api-extensions",),
        has_status=has_status,
        counts_generation=True,
        columns=columns.DEFAULT,
    )


def _unschedulable(obj: dict[str, Any]) -> str:
    return "true" if (obj.get("spec") or {}).get("unschedulable") else "false"


CUSTOM_RESOURCE_DEFINITIONS = Resource(
    CRD_GROUP,
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    singular="customresourcedefinition",
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    has_status=True,
    counts_generation=True,
    unconditional_update=False,
    always=("spec", "status"),
    columns=columns.WITH_CREATION,
)
NAMESPACES = _core(
    "namespaces",
    "Namespace",
    namespaced=False,
    short_names=("ns",),
    has_status=True,
    verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    form=forms.of(forms.NAMESPACE),
    columns=columns.NAMESPACES,
    selectable={"status.phase": _read("status", "phase"), "name": _read("metadata", "name")},
)


def kinds() -> list[Resource]:
    """Return every built-in kind."""
    return [
        NAMESPACES,
        _core(
            "nodes",
            "Node",
            namespaced=False,
            short_names=("no",),
            has_status=True,
            status_on_create=True,
            status_metadata=True,
            form=forms.of(forms.NODE),
            columns=columns.NODES,
            selectable={"spec.unschedulable": _unschedulable},
        ),
        _core(
            "configmaps",
            "ConfigMap",
            short_names=("cm",),
            form=forms.of(forms.CONFIG_MAP),
            columns=columns.CONFIGMAPS,
        ),
        _core(
            "secrets",
            "Secret",
            form=forms.of(forms.SECRET),
            columns=columns.SECRETS,
            selectable={"type": _read("type")},
        ),
        _core("serviceaccounts", "ServiceAccount", short_names=("sa",), columns=columns.SERVICE_ACCOUNTS),
        _core(
            "pods",
            "Pod",
            short_names=("po",),
            categories=("all",),
            has_status=True,
            status_metadata=True,
            always=("spec", "status"),
            columns=columns.PODS,
            selectable=_POD_FIELDS,
        ),
        _core(
            "services",
            "Service",
            short_names=("svc",),
            categories=("all",),
            has_status=True,
            always=("spec", "status"),
            columns=columns.SERVICES,
            selectable={"spec.type": _read("spec", "type"), "spec.clusterIP": _read("spec", "clusterIP")},
        ),
        _core(
            "events",
            "Event",
            short_names=("ev",),
            columns=columns.EVENTS,
            selectable=_CORE_EVENT_FIELDS,
            form=forms.of(forms.EVENT),
            create_on_update=True,
        ),
        Resource(
            EVENTS_GROUP,
            "v1",
            "events",
            "Event",
            namespaced=True,
            singular="event",
            short_names=("ev",),
            columns=columns.EVENTS,
            selectable=_NEW_EVENT_FIELDS,
            form=forms.of(forms.NEW_EVENT),
            create_on_update=True,
            stored_as="v1",
            store_name="/events",
            read=events.to_new,
            write=events.to_core,
        ),
        Resource(
            "coordination.k8s.io",
            "v1",
            "leases",
            "Lease",
            namespaced=True,
            singular="lease",
            columns=columns.LEASES,
            form=forms.of(forms.LEASE),
            unconditional_update=False,
            create_on_update=True,
        ),
        Resource(
            "apps",
            "v1",
            "deployments",
            "Deployment",
            namespaced=True,
            singular="deployment",
            short_names=("deploy",),
            categories=("all",),
            has_status=True,
            counts_generation=True,
            always=("spec", "status"),
            columns=columns.DEPLOYMENTS,
        ),
        Resource(
            "apps",
            "v1",
            "statefulsets",
            "StatefulSet",
            namespaced=True,
            singular="statefulset",
            short_names=("sts",),
            categories=("all",),
            has_status=True,
            counts_generation=True,
            always=("spec", "status"),
            columns=columns.STATEFUL_SETS,
        ),
        Resource(
            "policy",
            "v1",
            "poddisruptionbudgets",
            "PodDisruptionBudget",
            namespaced=True,
            singular="poddisruptionbudget",
            short_names=("pdb",),
            has_status=True,
            counts_generation=True,
            always=("spec", "status"),
            columns=columns.DISRUPTION_BUDGETS,
        ),
        Resource(
            "networking.k8s.io",
            "v1",
            "networkpolicies",
            "NetworkPolicy",
            namespaced=True,
            singular="networkpolicy",
            short_names=("netpol",),
            counts_generation=True,
            columns=columns.NETWORK_POLICIES,
        ),
        _rbac("roles", "Role", namespaced=True, shown=columns.WITH_CREATION),
        _rbac("rolebindings", "RoleBinding", namespaced=True, shown=columns.BINDINGS),
        _rbac("clusterroles", "ClusterRole", namespaced=False, shown=columns.WITH_CREATION),
        _rbac("clusterrolebindings", "ClusterRoleBinding", namespaced=False, shown=columns.BINDINGS),
        _admission("validatingadmissionpolicies", "ValidatingAdmissionPolicy", has_status=True),
        _admission("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
        _review("authentication.k8s.io", "tokenreviews", "TokenReview"),
        _review("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
        _review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        CUSTOM_RESOURCE_DEFINITIONS,
    ]


def answer_review(resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
    """Return a review with its answer: every token belongs to the administrator.

    Everything is allowed.
    """
    if resource.plural == "tokenreviews":
        user = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
        status: dict[str, Any] = {"authenticated": True, "user": user}
    else:
        status = {"allowed": True}
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": body.get("metadata") or {"creationTimestamp": None},
        "spec": body.get("spec") or {},
        "status": status,
    }
