"""Answers in the form that a client wants: an object, its metadata, or the Table that `kubectl get` prints.

The columns are those of the built-in kinds that a simulated cluster has, without what only `-o wide` adds; those of
custom resources come from their definitions (`crds`).
"""

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any

from . import requests, resources, storage
from .resources import Column

META = "meta.k8s.io/v1"


def metadata_only(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object reduced to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": obj["metadata"]}


def shown(resource: resources.Resource, item: storage.Item, form: requests.Form, *, with_headers: bool = True) -> bytes:
    """Return one object in a form, encoded; plain JSON at most once."""
    if form is requests.Form.OBJECT:
        return item.wire(resource.api_version, resource.to_wire)
    if form is requests.Form.METADATA:
        return storage.encode(metadata_only(item.obj))
    list_meta = {"resourceVersion": item.obj["metadata"]["resourceVersion"]}
    return storage.encode(render(resource, (item.obj,), list_meta, with_headers=with_headers))


def render(
    resource: resources.Resource,
    objects: Iterable[dict[str, Any]],
    list_metadata: dict[str, Any],
    *,
    with_headers: bool = True,
) -> dict[str, Any]:
    """Return a Table of stored objects. In a watch only the first Table has headers."""
    shown_columns = resource.columns or DEFAULT
    names = ("name", "type", "format", "description", "priority")
    headers = [{name: getattr(column, name) for name in names} for column in shown_columns]
    rows = [
        {"cells": [column.cell(obj) for column in shown_columns], "object": resource.to_wire(obj)} for obj in objects
    ]
    head = {"kind": "Table", "apiVersion": META, "metadata": list_metadata}
    return {**head, "columnDefinitions": headers if with_headers else None, "rows": rows}


_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = (
    (2 * _MINUTE, "s", 1, "", 1), (10 * _MINUTE, "m", _MINUTE, "s", 1), (3 * _HOUR, "m", _MINUTE, "", 1),
    (8 * _HOUR, "h", _HOUR, "m", _MINUTE), (2 * _DAY, "h", _HOUR, "", 1), (8 * _DAY, "d", _DAY, "h", _HOUR),
    (730 * _DAY, "d", _DAY, "", 1), (2920 * _DAY, "y", 365 * _DAY, "d", _DAY),
)  # fmt: skip
"""Below so many seconds: the unit and its size, and the smaller unit beside it with its size."""


def age(text: str | None) -> str:
    """Return how long ago a timestamp was, as `kubectl get` prints it; `<unknown>` when there is none."""
    if not text:
        return "<unknown>"
    try:
        seconds = max(0, int((dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(text)).total_seconds()))
    except (ValueError, TypeError):
        return "<invalid>"
    for limit, unit, size, below, part in _UNITS:
        if seconds < limit:
            rest = seconds % size // part if below else 0
            return f"{seconds // size}{unit}" + (f"{rest}{below}" if rest else "")
    return f"{seconds // (365 * _DAY)}y"


def at(*path: str, default: Any = "") -> Callable[[dict[str, Any]], Any]:
    """Return what reads the value at a path of an object; `default` where it is missing or empty."""

    def read(obj: dict[str, Any]) -> Any:
        value: Any = obj
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return default if value is None or value == "" else value

    return read


def _text(name: str, cell: Callable[[dict[str, Any]], Any]) -> Column:
    return Column(name, "string", cell)


def _age(obj: dict[str, Any]) -> str:
    return age(obj["metadata"].get("creationTimestamp"))


NAME = Column("Name", "string", at("metadata", "name"), "Name must be unique within a namespace.", 0, "name")
AGE = _text("Age", _age)
DEFAULT = (NAME, AGE)
CUSTOM = (NAME, Column("Age", "date", _age))
WITH_CREATION = (NAME, Column("Created At", "date", at("metadata", "creationTimestamp")))


def _node_status(obj: dict[str, Any]) -> str:
    ready = [item["status"] for item in at("status", "conditions", default=[])(obj) if item["type"] == "Ready"]
    word = "Unknown" if not ready else "Ready" if ready[0] == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if at("spec", "unschedulable")(obj) else word


def _node_roles(obj: dict[str, Any]) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = at("metadata", "labels", default={})(obj)
    return ",".join(sorted(label.removeprefix(prefix) for label in labels if label.startswith(prefix))) or "<none>"


NODES = (
    NAME, _text("Status", _node_status), _text("Roles", _node_roles), AGE,
    _text("Version", at("status", "nodeInfo", "kubeletVersion")),
)  # fmt: skip
NAMESPACES = (NAME, _text("Status", at("status", "phase")), AGE)
_DATA = _text("Data", lambda obj: len(obj.get("data") or {}) + len(obj.get("binaryData") or {}))
CONFIGMAPS = (NAME, _DATA, AGE)
SECRETS = (NAME, _text("Type", at("type", default="Opaque")), _DATA, AGE)
LEASES = (NAME, _text("Holder", at("spec", "holderIdentity")), AGE)


_SERIES = at("series", "lastObservedTime")
_KIND, _NAME = at("involvedObject", "kind"), at("involvedObject", "name")
EVENTS = (
    _text("Last Seen", lambda obj: age(_SERIES(obj) or obj.get("lastTimestamp") or obj.get("eventTime"))),
    _text("Type", at("type")), _text("Reason", at("reason")),
    _text("Object", lambda obj: f"{str(_KIND(obj)).lower()}/{_NAME(obj)}"), _text("Message", at("message")),
)  # fmt: skip


_CONTAINERS, _SPECIFIED = at("status", "containerStatuses", default=[]), at("spec", "containers", default=[])
_IS_LEAVING = at("metadata", "deletionTimestamp")
PODS = (
    NAME,
    _text("Ready", lambda obj: f"{sum(bool(each.get('ready')) for each in _CONTAINERS(obj))}/{len(_SPECIFIED(obj))}"),
    _text("Status", lambda obj: "Terminating" if _IS_LEAVING(obj) else at("status", "phase")(obj)),
    _text("Restarts", lambda obj: str(sum(each.get("restartCount", 0) for each in _CONTAINERS(obj)))), AGE,
)  # fmt: skip
_REPLICAS = _text(
    "Ready", lambda obj: f"{at('status', 'readyReplicas', default=0)(obj)}/{at('spec', 'replicas', default=1)(obj)}"
)
DEPLOYMENTS = (
    NAME, _REPLICAS, _text("Up-to-date", at("status", "updatedReplicas", default=0)),
    _text("Available", at("status", "availableReplicas", default=0)), AGE,
)  # fmt: skip
STATEFUL_SETS = (NAME, _REPLICAS, AGE)
DISRUPTION_BUDGETS = (
    NAME,
    _text("Min Available", at("spec", "minAvailable", default="N/A")),
    _text("Max Unavailable", at("spec", "maxUnavailable", default="N/A")),
    Column("Allowed Disruptions", "integer", at("status", "disruptionsAllowed", default=0)),
    AGE,
)
