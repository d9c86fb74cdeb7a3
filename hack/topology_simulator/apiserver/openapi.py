"""The OpenAPI documents, as far as kubectl needs them: validation by the server, and `kubectl explain`.

kubectl sends objects with `fieldValidation=Strict` when a document says that the kind's PATCH knows that
parameter, and then validates nothing itself; that is the whole of what `create`, `apply` and `replace` want
here. `explain` reads the schemas: those of custom resources are published as they were defined, built-in
kinds as objects with anything in them.

Version 3 is served for each group version; version 2 as one document in JSON (a client that insists on
protobuf gets 406).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from . import requests, statuses, structural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import resources

_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_INFO = {"title": "Kubernetes", "version": "v1.33.0"}
_KIND_TEXT = "The kind of this object, in CamelCase."
_VERSION_TEXT = "The version of the schema that this object is written in."

_TEXT: dict[str, Any] = {"type": "string"}
_TIME: dict[str, Any] = {"type": "string", "format": "date-time"}
_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": _TEXT}
_OBJECTS: dict[str, Any] = {"type": "array", "items": {"type": "object"}}
_META_TEXT = "What every object has: its name, identity, labels and history."
_OBJECT_META: dict[str, Any] = {
    "description": _META_TEXT,
    "type": "object",
    "properties": {
        name: {**schema, "description": text}
        for name, schema, text in (
            ("name", _TEXT, "The name; unique in its namespace and kind."),
            ("generateName", _TEXT, "The beginning of a name that the server completes."),
            ("namespace", _TEXT, "The namespace, for kinds that live in one."),
            ("uid", _TEXT, "The identity; never used again after a delete."),
            ("resourceVersion", _TEXT, "The state of this object; for watches and for optimistic locking."),
            ("selfLink", _TEXT, "Not used any more."),
            ("generation", {"type": "integer"}, "Counts the changes of what is wanted."),
            ("creationTimestamp", _TIME, "When it was created."),
            ("deletionTimestamp", _TIME, "When its delete was asked for."),
            ("deletionGracePeriodSeconds", {"type": "integer"}, "How long a delete may take."),
            ("labels", _TEXTS, "Keys and values that selectors look at."),
            ("annotations", _TEXTS, "Keys and values that only tools look at."),
            ("finalizers", {"type": "array", "items": _TEXT}, "Who must agree before this object goes."),
            ("ownerReferences", _OBJECTS, "Whom it belongs to."),
            ("managedFields", _OBJECTS, "Who wrote which field."),
        )
    },
}


def _schema_name(kind: resources.Resource) -> str:
    group = kind.group or "core"
    reverse = ".".join(reversed(group.split("."))) if kind.custom else f"io.k8s.api.{group.split('.')[0]}"
    return f"{reverse}.{kind.version}.{kind.kind}"


def _schema(kind: resources.Resource, references: str) -> dict[str, Any]:
    schema = copy.deepcopy(dict(kind.json_schema or {"type": "object", structural.PRESERVE: True}))
    known = schema.get("properties") or {}
    schema["properties"] = {
        "apiVersion": {"type": "string", "description": _VERSION_TEXT},
        "kind": {"type": "string", "description": _KIND_TEXT},
        "metadata": {"allOf": [{"$ref": references + _META_NAME}], "description": _META_TEXT},
        **{name: part for name, part in known.items() if name not in ("apiVersion", "kind", "metadata")},
    }
    schema["x-kubernetes-group-version-kind"] = [_gvk(kind)]
    return schema


def _gvk(kind: resources.Resource) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _operation(kind: resources.Resource, action: str, parameters: tuple[str, ...], *, v3: bool) -> dict[str, Any]:
    typed: dict[str, Any] = {"schema": {"type": "string"}} if v3 else {"type": "string"}
    return {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(kind),
        "parameters": [{"name": name, "in": "query", **typed} for name in parameters],
        "responses": {"200": {"description": "OK"}},
    }


def _paths(kind: resources.Resource, *, v3: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    prefix = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    base = f"{prefix}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{prefix}/{kind.plural}"
    writing = ("dryRun", "fieldManager", "fieldValidation")
    if "list" not in kind.verbs:
        yield base, {"post": _operation(kind, "post", writing, v3=v3)}
        return
    listing = ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch")
    listed = _operation(kind, "list", listing, v3=v3)
    yield base, {"get": listed, "post": _operation(kind, "post", writing, v3=v3)}
    item = {
        "get": _operation(kind, "get", (), v3=v3),
        "put": _operation(kind, "put", writing, v3=v3),
        "patch": _operation(kind, "patch", writing, v3=v3),
        "delete": _operation(kind, "delete", ("dryRun",), v3=v3),
    }
    yield f"{base}/{{name}}", item
    for part in kind.subresources:
        yield f"{base}/{{name}}/{part}", {key: item[key] for key in ("get", "put", "patch")}


class OpenApi:
    """Answers the paths below /openapi; documents are made when asked for and kept until the kinds change."""

    def __init__(self, registry: resources.Registry) -> None:
        self._registry = registry
        self._made: dict[str, dict[str, Any]] = {}
        self._generation = -1

    def answer(self, request: requests.Request) -> tuple[str, Any] | None:
        """Return content type and document, or None for any other path. Raises StatusError 406."""
        path = request.path.strip("/")
        if path != "openapi/v2" and not path.startswith("openapi/v3"):
            return None
        if not requests.accepts(request.headers.get("Accept", ""), {}):
            raise statuses.not_acceptable(("application/json",))
        if self._generation != self._registry.generation:
            self._made.clear()
            self._generation = self._registry.generation
        if path not in self._made:
            document = self._make(path)
            if document is None:
                return None
            self._made[path] = document
        return "application/json", self._made[path]

    def _make(self, path: str) -> dict[str, Any] | None:
        if path == "openapi/v2":
            return self._version_two()
        if path == "openapi/v3":
            links = {key: f"/openapi/v3/{key}?hash={self._generation}" for key in self._group_versions()}
            return {"paths": {key: {"serverRelativeURL": link} for key, link in links.items()}}
        group_version = self._group_versions().get(path.removeprefix("openapi/v3/"))
        return None if group_version is None else self._version_three(*group_version)

    def _group_versions(self) -> dict[str, tuple[str, str]]:
        return {
            f"apis/{group}/{version}" if group else f"api/{version}": (group, version)
            for group, versions in self._registry.groups().items()
            for version in versions
        }

    def _version_three(self, group: str, version: str) -> dict[str, Any]:
        kinds = self._registry.of(group, version)
        references = "#/components/schemas/"
        schemas: dict[str, Any] = {_schema_name(kind): _schema(kind, references) for kind in kinds}
        schemas[_META_NAME] = _OBJECT_META
        paths = {path: value for kind in kinds for path, value in _paths(kind, v3=True)}
        return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": schemas}}

    def _version_two(self) -> dict[str, Any]:
        kinds = self._registry.all()
        definitions = {_schema_name(kind): _schema(kind, "#/definitions/") for kind in kinds}
        for definition in definitions.values():
            _simplify(definition)
        definitions[_META_NAME] = copy.deepcopy(_OBJECT_META)
        paths = {path: value for kind in kinds for path, value in _paths(kind, v3=False)}
        return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": definitions}


_NOT_IN_VERSION_TWO = ("anyOf", "oneOf", "not", "nullable", "default")


def _simplify(schema: dict[str, Any]) -> None:
    """Take out of a schema what version 2 does not know, in place."""
    for word in _NOT_IN_VERSION_TWO:
        if not isinstance(schema.get(word), dict) or word in ("default", "not"):
            schema.pop(word, None)
    below = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for part in below:
        if isinstance(part, dict):
            _simplify(part)
