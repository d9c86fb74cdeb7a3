"""Answers as a `meta.k8s.io/v1` Table, which is what `kubectl get` prints, and as PartialObjectMetadata.

The columns come from the kind; here they are only laid out. `includeObject` decides what each row carries
besides its cells: the metadata (default), the whole object, or nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from . import resources

META = "meta.k8s.io/v1"


def metadata_only(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object reduced to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": obj["metadata"]}


def headers(resource: resources.Resource) -> list[dict[str, Any]]:
    """Return the columnDefinitions of a kind."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in resource.columns or columns.DEFAULT
    ]


def row(resource: resources.Resource, obj: dict[str, Any], include: str) -> dict[str, Any]:
    """Return one stored object as a row."""
    cells = [column.cell(obj) for column in resource.columns or columns.DEFAULT]
    shown: dict[str, Any] = {"cells": cells, "object": None}
    if include == "Metadata":
        shown["object"] = metadata_only(obj)
    elif include == "Object":
        shown["object"] = resource.to_wire(obj)
    return shown


def render(
    resource: resources.Resource,
    objects: Iterable[dict[str, Any]],
    list_metadata: dict[str, Any],
    include: str,
    *,
    with_headers: bool = True,
) -> dict[str, Any]:
    """Return a Table of stored objects. In a watch only the first Table has headers."""
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": list_metadata,
        "columnDefinitions": headers(resource) if with_headers else None,
        "rows": [row(resource, obj, include) for obj in objects],
    }
