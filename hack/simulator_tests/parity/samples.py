"""The definitions and objects that rows work with, made for one purpose: to have every feature of a schema once."""

from __future__ import annotations

from typing import Any

GROUP = "parity.example.com"
API = f"{GROUP}/v1"
BASE = f"/apis/{API}"
WIDGETS = f"{BASE}/namespaces/{{row}}/widgets"
GADGETS = f"{BASE}/gadgets"
RULES = f"{BASE}/namespaces/{{row}}/rules"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
CONFIG_MAPS = "/api/v1/namespaces/{row}/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{row}/leases"
EVENTS = "/apis/events.k8s.io/v1/namespaces/{row}/events"
DEFAULT_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def definition(
    plural: str,
    kind: str,
    schema: dict[str, Any],
    *,
    scope: str = "Namespaced",
    status: bool = True,
    columns: list[dict[str, Any]] | None = None,
    group: str = GROUP,
    **names: Any,
) -> dict[str, Any]:
    """Return a CustomResourceDefinition with one version, v1."""
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if status:
        version["subresources"] = {"status": {}}
    if columns:
        version["additionalPrinterColumns"] = columns
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, **names},
            "versions": [version],
        },
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


STRING = {"type": "string"}
INTEGER = {"type": "integer"}

_CONDITIONS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": STRING, "status": STRING, "message": STRING},
    },
}

WIDGET_SPEC = _object(
    size={"type": "integer", "minimum": 0, "maximum": 10, "default": 1},
    mode={"type": "string", "enum": ["slow", "fast"]},
    ratio={"type": "number"},
    on={"type": "boolean"},
    note={"type": "string", "nullable": True},
    word={"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
    moment={"type": "string", "format": "date-time"},
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    tags={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    parts={"type": "array", "maxItems": 3, "items": _object(name=STRING, count={"type": "integer", "default": 7})},
    labels={"type": "object", "additionalProperties": STRING},
    port={"x-kubernetes-int-or-string": True},
    deep={"type": "object", "default": {}, "properties": {"level": {"type": "integer", "default": 3}}},
    pair={"type": "object", "required": ["left"], "properties": {"left": STRING, "right": STRING}},
)

WIDGET = definition(
    "widgets",
    "Widget",
    _object(
        spec=WIDGET_SPEC,
        status=_object(
            size=INTEGER,
            phase=STRING,
            controlPlaneTopology=STRING,
            topologyTransition=_object(phase=STRING, attempt=STRING),
            conditions=_CONDITIONS,
        ),
    ),
    columns=[
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio"},
        {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Moment", "type": "date", "jsonPath": ".spec.moment", "description": "A moment."},
        {"name": "Tags", "type": "string", "jsonPath": ".spec.tags", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ],
    shortNames=["wd"],
    categories=["all"],
)

GADGET = definition(
    "gadgets",
    "Gadget",
    _object(spec=_object(size=INTEGER), status=_object(size=INTEGER)),
    scope="Cluster",
    status=False,
)

_SHORT = {"type": "string", "maxLength": 50}
RULE = definition(
    "rules",
    "Rule",
    {
        **_object(
            spec=_object(
                size=INTEGER,
                least=INTEGER,
                name=_SHORT,
                request=_SHORT,
                locked=_SHORT,
                broken=_object(a=INTEGER, b=INTEGER),
            ),
            status=_object(phase=_SHORT, topology=_SHORT),
        ),
        "required": ["spec"],
        "x-kubernetes-validations": [
            {
                "rule": "!has(self.spec.size) || !has(self.spec.least) || self.spec.size >= self.spec.least",
                "messageExpression": "'size is below ' + (self.spec.least == 2 ? 'two' : 'its bound')",
                "message": "size is too small",
                "fieldPath": ".spec.size",
                "reason": "FieldValueInvalid",
            },
            {
                "rule": "!has(self.spec.request) || self.spec.request in ['one', 'two']",
                "message": "ask for one or two",
                "fieldPath": ".spec.request",
            },
            {"rule": "!has(self.spec.broken) || self.spec.broken.a > 0", "message": "a is positive"},
            {
                "rule": "!has(self.spec.name) || !has(oldSelf.spec.name) || self.spec.name == oldSelf.spec.name",
                "message": "name never changes",
            },
            {
                "rule": "!has(self.spec.locked) || self.spec.locked != 'closed' || !oldSelf.hasValue()"
                " || (has(oldSelf.value().spec.locked) && oldSelf.value().spec.locked == 'closed')",
                "optionalOldSelf": True,
                "message": "cannot be closed later",
                "fieldPath": ".spec.locked",
                "reason": "FieldValueForbidden",
            },
            {
                "rule": "!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase != 'Moving'"
                " || self.spec == oldSelf.spec",
                "message": "nothing changes while it moves",
                "fieldPath": ".spec",
                "reason": "FieldValueForbidden",
            },
            {
                "rule": "!has(self.spec.request) || (oldSelf.hasValue() && has(oldSelf.value().spec.request)"
                " && oldSelf.value().spec.request == self.spec.request)"
                " || !has(self.status) || !has(self.status.topology) || self.status.topology != self.spec.request",
                "optionalOldSelf": True,
                "message": "that is what there is already",
                "fieldPath": ".spec.request",
            },
            {"rule": "self.metadata.name.size() < 40", "message": "the name is too long"},
        ],
    },
)

DEFINED = (WIDGET, GADGET, RULE)


def widget(name: str = "one", labels: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a widget."""
    meta: dict[str, Any] = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": API, "kind": "Widget", "metadata": meta, "spec": spec}


def gadget(name: str = "{row}", **spec: Any) -> dict[str, Any]:
    """Return a gadget: cluster-scoped, without a status sub-resource."""
    return {"apiVersion": API, "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


def rule(name: str = "one", **spec: Any) -> dict[str, Any]:
    """Return a rule: the kind with CEL."""
    return {"apiVersion": API, "kind": "Rule", "metadata": {"name": name}, "spec": spec}


def versioned(obj: dict[str, Any], version: str, **more: Any) -> dict[str, Any]:
    """Return an object with a resourceVersion, and more top-level fields."""
    return {**obj, **more, "metadata": {**obj["metadata"], "resourceVersion": version}}


def meta(obj: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an object with more metadata."""
    return {**obj, "metadata": {**obj["metadata"], **more}}


def node(name: str = "{row}", **labels: str) -> dict[str, Any]:
    """Return a node."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def of_node(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a row compares of a node: the real server fills in much else."""
    meta, status = body["metadata"], body["status"]
    shown = {"labels": meta.get("labels"), "annotations": meta.get("annotations"), "spec": body["spec"]}
    conditions = [[condition["type"], condition["status"]] for condition in status.get("conditions", [])]
    return {**shown, "capacity": status.get("capacity"), "conditions": conditions}


def config_map(name: str = "one", **data: str) -> dict[str, Any]:
    """Return a config map."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def lease(name: str = "one", **spec: Any) -> dict[str, Any]:
    """Return a lease."""
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}


def namespace(name: str) -> dict[str, Any]:
    """Return a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def event(name: str = "{row}", **more: Any) -> dict[str, Any]:
    """Return a complete event of events.k8s.io/v1 about a cluster-scoped object."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2006-01-02T03:04:05.678901Z",
        "reportingController": "example.com/parity",
        "reportingInstance": "parity-1",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
        "note": "a note",
        "regarding": {"apiVersion": API, "kind": "Gadget", "name": "{row}"},
        **more,
    }
