"""Answers in the form that a client wants: an object, its metadata, or the Table that `kubectl get` prints.

The columns come from the kind; here they are only laid out. Each row carries the whole object beside its cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import columns, requests, resources, storage

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
    shown_columns = resource.columns or columns.DEFAULT
    names = ("name", "type", "format", "description", "priority")
    headers = [{name: getattr(column, name) for name in names} for column in shown_columns]
    rows = [
        {"cells": [column.cell(obj) for column in shown_columns], "object": resource.to_wire(obj)} for obj in objects
    ]
    head = {"kind": "Table", "apiVersion": META, "metadata": list_metadata}
    return {**head, "columnDefinitions": headers if with_headers else None, "rows": rows}
