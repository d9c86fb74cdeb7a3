"""What a client asks first: the version, the groups, the kinds of each group version, and their OpenAPI documents.

Served is the form that every client understands (`/api`, `/apis`, `/apis/GROUP/VERSION`, OpenAPI 3). kubectl sends
objects with `fieldValidation=Strict` when a document says that the kind's PATCH knows that parameter; `explain` reads
the schemas: custom resources as they were defined, built-in kinds as objects with anything in them.
"""

import pathlib
from collections.abc import Iterator
from typing import Any

import yaml

from . import requests, resources, validation

VERSION: dict[str, str] = yaml.safe_load(pathlib.Path(__file__).with_name("version.yaml").read_text())
_VERSIONS = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
_STATUS_VERBS = ["get", "patch", "update"]


def _group_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def answer(registry: resources.Registry, request: requests.Request) -> Any:
    """Return the value for a path of discovery, whatever the method, or None for any other path. Raises StatusError."""
    parts = [part for part in request.path.split("/") if part]
    if parts and parts[0] in ("api", "apis"):
        requests.negotiate(request.headers.get("Accept", ""))
    if parts == ["version"]:
        return VERSION
    if not parts:
        return {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/openapi/v3", "/version"]}
    if parts == ["api"]:
        return _VERSIONS
    if parts == ["apis"]:
        groups = [_group(group, versions) for group, versions in registry.groups().items() if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if parts[0] == "api" and len(parts) == 2:
        return _resource_list(registry, "", parts[1])
    if parts[0] == "apis" and len(parts) == 2:
        versions = registry.groups().get(parts[1])
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1], versions)} if versions else None
    if parts[0] == "apis" and len(parts) == 3:
        return _resource_list(registry, parts[1], parts[2])
    return _openapi(registry, request)


def _group(group: str, versions: list[str]) -> dict[str, Any]:
    entries = [{"groupVersion": _group_version(group, version), "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _resource_list(registry: resources.Registry, group: str, version: str) -> dict[str, Any] | None:
    kinds = registry.kinds_of(group, version)
    if not kinds:
        return None
    entries: list[dict[str, Any]] = []
    for kind in kinds:
        where = {"namespaced": kind.namespaced, "kind": kind.kind}
        names = {"name": kind.plural, "singularName": kind.singular}
        lists = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
        further = {key: given for key, given in lists.items() if given}
        entries.append({**names, **where, "verbs": list(kind.verbs), **further})
        if kind.has_status:
            names = {"name": f"{kind.plural}/status", "singularName": ""}
            entries.append({**names, **where, "verbs": _STATUS_VERBS})
    head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}
    return {**head, "groupVersion": _group_version(group, version), "resources": entries}


_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_META_TEXT = "What every object has: its name, identity, labels and history."
_OBJECT_META: dict[str, Any] = {
    "description": _META_TEXT,
    "type": "object",
    "properties": {name: {"type": "object"} for name in sorted(validation.OBJECT_META)},
}


def _schema(kind: resources.Resource) -> dict[str, Any]:
    schema = kind.schema or {"type": "object", validation.PRESERVE: True}
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
    parameter = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
    yield f"{base}/{{name}}", {"patch": {"x-kubernetes-action": "patch", **gvk, "parameters": [parameter]}}


def _openapi(registry: resources.Registry, request: requests.Request) -> Any:
    """Return the document below /openapi, or None for any other path. Raises StatusError 406."""
    path = request.path.strip("/")
    if not path.startswith("openapi/v3"):
        return None
    requests.negotiate(request.headers.get("Accept", ""))
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
    schemas = {}
    for kind in kinds:
        group = kind.group or "core"
        prefix = ".".join(reversed(group.split("."))) if kind.custom else f"io.k8s.api.{group.split('.')[0]}"
        schemas[f"{prefix}.{kind.version}.{kind.kind}"] = _schema(kind)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.33.0"},
        "paths": {path: value for kind in kinds for path, value in _paths(kind)},
        "components": {"schemas": {_META_NAME: _OBJECT_META, **schemas}},
    }
