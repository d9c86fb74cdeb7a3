"""Everything that changes an object, in the order in which the real server does it.

create: shape → prune and default → metadata → validate → managed fields → store. update (a PUT or a patch):
current state → the new one → optimistic lock → what this subresource may touch → prune and default →
nothing changed? → validate → generation → managed fields → store, or remove when the last finalizer went.
All of it happens between two awaits, so that writes never interleave.

What differs between kinds is asked of their `Resource`; custom resource definitions, which change what is
served, are handed to `definitions` before (may it be stored?) and after (serve it).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import builtins, crds, managed_fields, metadata, statuses, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from . import requests, resources, storage

_NO_LIST_KEYS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("status", "conditions"): ("type",),
    ("status", "addresses"): ("type",),
}


@dataclass(slots=True)
class Intent:
    """How a write is to be done: by whom, on what, really or not, and how strict about unknown fields.

    `warnings` collects what the client is told besides the answer.
    """

    writer: managed_fields.Writer
    warnings: list[str]
    dry_run: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    patch: str | None = None
    """The body, when the write is a patch: its errors quote it."""


def intent_of(request: requests.Request, api_version: str) -> Intent:
    """Return how a request wants to write. Raises StatusError 400 for an unknown parameter value."""
    validation = request.query.get("fieldValidation") or "Warn"
    if validation not in ("Ignore", "Warn", "Strict"):
        raise statuses.bad_request(
            f'fieldValidation: Unsupported value: "{validation}": supported values: "", "Ignore", "Strict", "Warn"'
        )
    subresource = request.target.subresource
    writer = managed_fields.Writer(request.manager, api_version, subresource)
    return Intent(writer, [], request.dry_run, validation, subresource)


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must still be true of an object when it is deleted."""

    uid: str | None = None
    resource_version: str | None = None

    def check(self, resource: resources.Resource, meta: dict[str, Any]) -> None:
        """Raise StatusError 409 when the object is another one by now."""
        if self.uid is not None and self.uid != meta["uid"]:
            why = (
                f"the UID in the precondition ({self.uid}) does not match the UID in record ({meta['uid']}). "
                "The object might have been deleted and then recreated"
            )
            raise statuses.precondition_failed(resource, meta["name"], why)
        if self.resource_version is not None and self.resource_version != meta["resourceVersion"]:
            why = (
                f"the ResourceVersion in the precondition ({self.resource_version}) does not match the "
                f"ResourceVersion in record ({meta['resourceVersion']}). The object might have been modified"
            )
            raise statuses.precondition_failed(resource, meta["name"], why)


class Writes:
    """The write side of the server, on one storage and one registry."""

    def __init__(self, store: storage.Storage, registry: resources.Registry) -> None:
        self._storage = store
        self._registry = registry

    def create(self, resource: resources.Resource, namespace: str, body: Any, intent: Intent) -> dict[str, Any]:
        """Store a new object; returns its stored form. Raises StatusError."""
        obj = self._admitted(resource, body, intent)
        meta = obj.get("metadata") or {}
        self._check_namespace(resource, namespace, meta)
        obj["metadata"] = metadata.new(meta, namespace)
        name = obj["metadata"].get("name", "")
        if resource.has_status and not resource.status_on_create:
            obj.pop("status", None)
        if resource.counts_generation:
            obj["metadata"]["generation"] = 1
        if not resource.custom:
            obj = builtins.fill(resource, obj)
        if resource is builtins.CUSTOM_RESOURCE_DEFINITIONS:
            obj = crds.admit(obj, None)
        self._validate(resource, obj, None)
        if self._storage.get(resource.store, namespace, name) is not None:
            raise statuses.already_exists(resource, name)
        keys = self._list_keys(resource)
        obj["metadata"]["managedFields"] = managed_fields.record(None, obj, intent.writer, times.now(), keys)
        if intent.dry_run:
            return obj
        stored = self._storage.put(resource.store, obj).obj
        self._serve(resource, stored)
        return stored

    def update(
        self,
        resource: resources.Resource,
        key: tuple[str, str],
        change: Callable[[dict[str, Any]], Any],
        intent: Intent,
    ) -> dict[str, Any]:
        """Replace an object by what `change` makes of its wire form; returns the stored form.

        Raises StatusError.
        """
        found = self._storage.get(resource.store, *key)
        if found is None:
            raise statuses.not_found(resource, key[1])
        old = found.obj
        new = self._admitted(resource, change(resource.to_wire(old)), intent)
        self._check_identity(resource, old, new, intent)
        new = self._confined(resource, old, new, intent)
        if resource is builtins.CUSTOM_RESOURCE_DEFINITIONS:
            new = crds.admit(new, old)
        if self._unchanged(old, new):
            return old
        self._validate(resource, new, old)
        if self._counts(resource, old, new):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        keys = self._list_keys(resource)
        new["metadata"]["managedFields"] = managed_fields.record(old, new, intent.writer, times.now(), keys)
        if intent.dry_run:
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            return new
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            return self._remove(resource, new)
        stored = self._storage.put(resource.store, new).obj
        self._serve(resource, stored)
        return stored

    def delete(
        self, resource: resources.Resource, key: tuple[str, str], conditions: Preconditions, *, dry_run: bool
    ) -> tuple[dict[str, Any], bool]:
        """Delete an object, or mark it when finalizers hold it.

        Returns its last state and whether it is gone.
        """
        found = self._storage.get(resource.store, *key)
        if found is None:
            raise statuses.not_found(resource, key[1])
        obj = found.obj
        conditions.check(resource, obj["metadata"])
        if resource.store == "/namespaces" and key[1] in builtins.PROTECTED_NAMESPACES:
            raise statuses.forbidden(resource, key[1], "this namespace may not be deleted")
        if obj["metadata"].get("finalizers"):
            if obj["metadata"].get("deletionTimestamp") or dry_run:
                return obj, False
            meta = {**obj["metadata"], "deletionTimestamp": times.now(), "deletionGracePeriodSeconds": 0}
            if resource.counts_generation:
                meta["generation"] = meta.get("generation", 0) + 1
            return self._storage.put(resource.store, {**obj, "metadata": meta}).obj, False
        if dry_run:
            return obj, True
        if resource.store == "/namespaces":
            self._empty_namespace(key[1])
        return self._remove(resource, obj), True

    def _remove(self, resource: resources.Resource, obj: dict[str, Any]) -> dict[str, Any]:
        if resource is builtins.CUSTOM_RESOURCE_DEFINITIONS:
            for kind in crds.resources_of(obj)[:1]:
                for item in self._storage.items(kind.store):
                    self._storage.remove(kind.store, item.obj)
            self._registry.remove(obj["spec"]["group"], obj["spec"]["names"]["plural"])
        return self._storage.remove(resource.store, obj).obj

    def _empty_namespace(self, namespace: str) -> None:
        for store in {kind.store for kind in self._registry.all() if kind.namespaced}:
            for item in self._storage.items(store, namespace):
                self._storage.remove(store, item.obj)

    def _serve(self, resource: resources.Resource, stored: dict[str, Any]) -> None:
        if resource is builtins.CUSTOM_RESOURCE_DEFINITIONS:
            crds.serve(self._registry, stored)
            for kind in crds.resources_of(stored)[:1]:
                for item in self._storage.items(kind.store):
                    item.encoded.clear()  # new defaults show on read

    def _admitted(self, resource: resources.Resource, body: Any, intent: Intent) -> dict[str, Any]:
        metadata.check_shape(body)
        if resource.custom and not body.get("kind"):
            text = json.dumps(body)
            raise statuses.bad_request(
                f"the object provided is unrecognized (must be of type {resource.kind}): "
                f"Object 'Kind' is missing in '{text}' ({text})"
            )
        if body.get("kind", resource.kind) != resource.kind:
            if resource.custom:
                cause = statuses.invalid_value("kind", body["kind"], f"must be {resource.kind}")
                name = (body.get("metadata") or {}).get("name", "")
                raise statuses.invalid(resource, name, [cause])
            raise statuses.bad_request(
                f"the object provided is unrecognized (must be of type {resource.kind}): "
                f"couldn't get version/kind; the body is a {body['kind']}"
            )
        if body.get("apiVersion", resource.api_version) != resource.api_version:
            raise statuses.bad_request(
                f"the API version in the data ({body['apiVersion']}) does not match the expected API version "
                f"({resource.api_version})"
            )
        if resource.schema is not None:
            body, unknown = resource.schema.prune(body)
            self._report_unknown(resource, body, unknown, intent)
            body = resource.schema.default(body)
        return resource.to_stored(body)

    def _report_unknown(
        self, resource: resources.Resource, body: dict[str, Any], unknown: list[str], intent: Intent
    ) -> None:
        if not unknown or intent.field_validation == "Ignore":
            return
        texts = [f'unknown field "{path}"' for path in unknown]
        if intent.field_validation == "Warn":
            intent.warnings += texts
            return
        problem = f"strict decoding error: {', '.join(texts)}"
        if intent.patch is not None:
            name = (body.get("metadata") or {}).get("name", "")
            raise statuses.invalid(resource, name, [statuses.invalid_value("patch", intent.patch, problem)])
        raise statuses.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {problem}'
        )

    def _check_namespace(self, resource: resources.Resource, namespace: str, meta: dict[str, Any]) -> None:
        if not resource.namespaced:
            return
        if meta.get("namespace", namespace) not in (namespace, None, ""):
            raise statuses.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        home = self._storage.get(builtins.NAMESPACES.store, "", namespace)
        if home is None:
            raise statuses.not_found(builtins.NAMESPACES, namespace)
        if home.obj["metadata"].get("deletionTimestamp"):
            raise statuses.forbidden(
                resource,
                meta.get("name", ""),
                f"unable to create new content in namespace {namespace} because it is being terminated",
            )

    def _check_identity(
        self, resource: resources.Resource, old: dict[str, Any], new: dict[str, Any], intent: Intent
    ) -> None:
        meta, stored = new.get("metadata") or {}, old["metadata"]
        name = stored["name"]
        if meta.get("name", name) != name:
            raise statuses.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
            )
        if meta.get("namespace") not in (None, "", stored.get("namespace", "")):
            raise statuses.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        if meta.get("uid") not in (None, "", stored["uid"]):
            if intent.patch is not None:
                cause = statuses.invalid_value("metadata.uid", meta["uid"], "field is immutable")
                raise statuses.invalid(resource, name, [cause])
            both = f"UID in precondition: {meta['uid']}, UID in object meta: {stored['uid']}"
            raise statuses.conflict(resource, name, f"Precondition failed: {both}")
        version = meta.get("resourceVersion")
        if not version:
            if intent.patch is None and not resource.unconditional_update:
                raise statuses.version_missing(resource, name)
        elif not version.isdecimal():
            cause = statuses.invalid_value(
                "metadata.resourceVersion",
                version,
                f'strconv.ParseUint: parsing "{version}": invalid syntax',
            )
            raise statuses.invalid(resource, name, [cause])
        elif version != stored["resourceVersion"]:
            raise statuses.conflict(resource, name)

    def _confined(
        self, resource: resources.Resource, old: dict[str, Any], new: dict[str, Any], intent: Intent
    ) -> dict[str, Any]:
        """Return the new state with everything that this subresource may not touch taken from the old one."""
        meta = metadata.updated(new.get("metadata") or {}, old["metadata"])
        if intent.subresource == "status":
            kept = meta if resource.status_metadata else dict(old["metadata"])
            rest = {key: value for key, value in old.items() if key != "status"}
            status = {"status": new["status"]} if "status" in new else {}
            return {**rest, **status, "metadata": kept}
        new = {**new, "metadata": meta}
        if resource.has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        return new

    def _unchanged(self, old: dict[str, Any], new: dict[str, Any]) -> bool:
        same_meta = {**new["metadata"], "resourceVersion": None} == {
            **old["metadata"],
            "resourceVersion": None,
        }
        return same_meta and {**new, "metadata": None} == {**old, "metadata": None}

    def _counts(self, resource: resources.Resource, old: dict[str, Any], new: dict[str, Any]) -> bool:
        if not resource.counts_generation:
            return False
        apart = {"metadata": None, "apiVersion": None, **({"status": None} if resource.has_status else {})}
        return {**old, **apart} != {**new, **apart}

    def _validate(self, resource: resources.Resource, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        causes = metadata.check(resource, obj["metadata"])
        if resource.schema is not None:
            causes = resource.schema.validate(obj, old, causes)
        elif old is None:
            causes += builtins.check(resource, obj)
        if causes:
            raise statuses.invalid(resource, obj["metadata"].get("name", ""), causes)

    def _list_keys(self, resource: resources.Resource) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        return _NO_LIST_KEYS if resource.schema is None else resource.schema.list_keys()
