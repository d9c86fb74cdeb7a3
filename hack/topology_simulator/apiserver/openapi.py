"""The OpenAPI documents, as far as kubectl needs them: validation by the server, and `kubectl explain`.

kubectl sends objects with `fieldValidation=Strict` when a document says that the kind's PATCH knows that
parameter, and then validates nothing itself; that is the whole of what `create`, `apply` and `replace` want
here. `explain` reads the schemas: those of custom resources are published as they were defined, built-in
kinds as objects with anything in them.

Only version 3 is served, for each group version: of version 2 clients insist on protobuf.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import requests, resources, statuses, structural

_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_META_TEXT = "What every object has: its name, identity, labels and history."
_OBJECT_META: dict[str, Any] = {
    "description": _META_TEXT,
    "type": "object",
    "properties": {name: {"type": "object"} for name in sorted(structural.OBJECT_META)},
}


def _schema_name(kind: resources.Resource) -> str:
    group = kind.group or "core"
    reverse = ".".join(reversed(group.split("."))) if kind.custom else f"io.k8s.api.{group.split('.')[0]}"
    return f"{reverse}.{kind.version}.{kind.kind}"


def _schema(kind: resources.Resource) -> dict[str, Any]:
    schema = kind.json_schema or {"type": "object", structural.PRESERVE: True}
    properties = {
        "apiVersion": {"type": "string", "description": "The version of the schema that this object is written in."},
        "kind": {"type": "string", "description": "The kind of this object, in CamelCase."},
        **(schema.get("properties") or {}),
        "metadata": {"allOf": [{"$ref": f"#/components/schemas/{_META_NAME}"}], "description": _META_TEXT},
    }
    return {**schema, "properties": properties, "x-kubernetes-group-version-kind": [_gvk(kind)]}


def _gvk(kind: resources.Resource) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _paths(kind: resources.Resource) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where objects are listed, by which `explain` finds a kind, and the patch of one with its parameter."""
    prefix = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    base = f"{prefix}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{prefix}/{kind.plural}"
    gvk = {"x-kubernetes-group-version-kind": _gvk(kind)}
    yield base, {"get": {"x-kubernetes-action": "list", **gvk}}
    validation = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
    yield f"{base}/{{name}}", {"patch": {"x-kubernetes-action": "patch", **gvk, "parameters": [validation]}}


def answer(registry: resources.Registry, request: requests.Request) -> Any:
    """Return the document below /openapi, or None for any other path. Raises StatusError 406."""
    path = request.path.strip("/")
    if not path.startswith("openapi/v3"):
        return None
    if not requests.accepts_json(request.headers.get("Accept", "")):
        raise statuses.not_acceptable(("application/json",))
    served = {
        f"apis/{group}/{version}" if group else f"api/{version}": (group, version)
        for group, versions in registry.groups().items()
        for version in versions
    }
    if path == "openapi/v3":
        links = {key: f"/openapi/v3/{key}?hash={registry.generation}" for key in served}
        return {"paths": {key: {"serverRelativeURL": link} for key, link in links.items()}}
    group_version = served.get(path.removeprefix("openapi/v3/"))
    if group_version is None:
        return None
    kinds = registry.kinds_of(*group_version)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.33.0"},
        "paths": {path: value for kind in kinds for path, value in _paths(kind)},
        "components": {"schemas": {_META_NAME: _OBJECT_META, **{_schema_name(kind): _schema(kind) for kind in kinds}}},
    }
