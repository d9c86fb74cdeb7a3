"""Everything that changes an object, in the order in which the real server does it, between two awaits.

create: shape → prune and default → metadata → validate → managed fields → store. update (a PUT or a patch):
current state → the new one → optimistic lock → what this subresource may touch → prune and default →
nothing changed? → validate → generation → managed fields → store, or remove when the last finalizer went.
"""

from collections.abc import Callable
from typing import Any

from .. import conditions
from . import builtins, cel, crds, metadata, patch, requests, resources, statuses, storage, validation


class Writes:
    """The write side of the server, on one storage and one registry."""

    def __init__(self, store: storage.Storage, registry: resources.Registry) -> None:
        self._storage = store
        self._registry = registry

    def create(
        self, resource: resources.Resource, namespace: str, body: Any, intent: requests.Intent
    ) -> dict[str, Any]:
        """Store a new object; returns its stored form. Raises StatusError."""
        obj = self._admitted(resource, body, intent)
        meta = obj.get("metadata") or {}
        self._check_namespace(resource, namespace, meta)
        if meta.get("resourceVersion"):
            raise statuses.StatusError(500, "resourceVersion should not be set on objects to be created", reason="")
        obj["metadata"] = metadata.new(meta, namespace)
        name = obj["metadata"].get("name", "")
        if resource.has_status and not resource.status_on_create:
            obj.pop("status", None)
        if resource.counts_generation:
            obj["metadata"]["generation"] = 1
        sent = obj
        if not resource.custom:
            obj = builtins.fill(resource, obj)
        if resource is builtins.CUSTOM_RESOURCE_DEFINITIONS:
            obj = crds.admit(obj, None)
        self._validate(resource, obj, None)
        item = self._storage.get(resource.store, namespace, name)
        if item is not None:
            leaving = "deletionTimestamp" in item.obj["metadata"]
            raise statuses.already_exists(resource, name, leaving=leaving)
        if resource.has_status:
            sent = {key: part for key, part in sent.items() if key != "status"}
        self._own(resource, None, obj, sent, intent)
        obj = dict(patch.whole(obj))
        if intent.dry_run:
            return obj
        stored = self._storage.put(resource.store, obj).obj
        self._serve(resource, stored, None)
        return stored

    def update(
        self,
        resource: resources.Resource,
        key: tuple[str, str],
        change: Callable[[dict[str, Any]], Any],
        intent: requests.Intent,
    ) -> dict[str, Any]:
        """Replace an object by what `change` makes of its wire form; returns the stored form. Raises StatusError."""
        old = self._stored(resource, key)
        new = self._admitted(resource, change(resource.to_wire(old)), intent)
        self._check_identity(resource, old, new, intent)
        new = self._confined(resource, old, new, intent)
        if resource is builtins.CUSTOM_RESOURCE_DEFINITIONS:
            new = crds.admit(new, old)
        unversioned = [{**obj, "metadata": obj["metadata"] | {"resourceVersion": None}} for obj in (old, new)]
        if patch.same(*unversioned):
            return old
        self._validate(resource, new, old)
        apart = {"metadata": None, "apiVersion": None, **({"status": None} if resource.has_status else {})}
        if resource.counts_generation and not patch.same({**old, **apart}, {**new, **apart}):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        self._own(resource, old, new, new, intent)
        new = dict(patch.whole(new))
        leaves = new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers")
        if intent.dry_run or leaves:
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            if not intent.dry_run:
                self._remove(resource, old)
            return new
        stored = self._storage.put(resource.store, new).obj
        self._serve(resource, stored, old)
        return stored

    def _stored(self, resource: resources.Resource, key: tuple[str, str]) -> dict[str, Any]:
        item = self._storage.get(resource.store, *key)
        if item is None:
            raise statuses.not_found(resource, key[1])
        return item.obj

    def _own(
        self,
        resource: resources.Resource,
        old: dict[str, Any] | None,
        obj: dict[str, Any],
        sent: dict[str, Any],
        intent: requests.Intent,
    ) -> None:
        """Write down in `obj` who owns what was `sent`; what the server itself fills in has no owner."""
        nothing = resource.read(resource.write({part: {} for part in resource.always}))
        before = nothing if old is None else resource.to_wire(old)
        after = {**nothing, **resource.to_wire(sent)}
        owners = metadata.record(before, after, intent.writer, conditions.now(), created=old is None)
        obj["metadata"].pop("managedFields", None)
        if owners:
            obj["metadata"]["managedFields"] = owners

    def delete(
        self, resource: resources.Resource, key: tuple[str, str], *, dry_run: bool
    ) -> tuple[dict[str, Any], bool]:
        """Delete an object, or mark it when finalizers hold it. Returns its last state and whether it is gone."""
        obj = self._stored(resource, key)
        if obj["metadata"].get("finalizers"):
            if obj["metadata"].get("deletionTimestamp"):
                return obj, False
            meta = {**obj["metadata"], "deletionTimestamp": conditions.now(), "deletionGracePeriodSeconds": 0}
            if resource.counts_generation:
                meta["generation"] = meta.get("generation", 0) + 1
            marked = {**obj, "metadata": meta}
            return (marked if dry_run else self._storage.put(resource.store, marked).obj), False
        if dry_run:
            return obj, True
        if resource.store == "/namespaces":
            for store in {kind.store for kind in self._registry.all() if kind.namespaced}:
                for each in self._storage.items(store, key[1]):
                    self._storage.remove(store, each.obj)
        return self._remove(resource, obj), True

    def _remove(self, resource: resources.Resource, obj: dict[str, Any]) -> dict[str, Any]:
        if resource is builtins.CUSTOM_RESOURCE_DEFINITIONS:
            for kind in crds.resources_of(obj)[:1]:
                for item in self._storage.items(kind.store):
                    self._storage.remove(kind.store, item.obj)
                self._storage.dismiss(kind.store)
            self._registry.remove(obj["spec"]["group"], obj["spec"]["names"]["plural"])
        return self._storage.remove(resource.store, obj).obj

    def _serve(self, resource: resources.Resource, stored: dict[str, Any], old: dict[str, Any] | None) -> None:
        """Put a definition to use. Where it says something new, watches by the old one end, as on the real server."""
        if resource is not builtins.CUSTOM_RESOURCE_DEFINITIONS:
            return
        if old is not None and patch.same(old["spec"], stored["spec"]):
            return
        crds.serve(self._registry, stored)
        for kind in crds.resources_of(stored)[:1]:
            self._storage.dismiss(kind.store)
            for item in self._storage.items(kind.store):
                item.encoded.clear()  # what is shown depends on the schema

    def _admitted(self, resource: resources.Resource, body: Any, intent: requests.Intent) -> dict[str, Any]:
        """Return a body as an object of its kind. One of a built-in kind may leave kind and version out."""
        if not isinstance(body, dict) or not isinstance(body.get("metadata") or {}, dict):
            raise statuses.bad_request("couldn't get version/kind; json parse error: the body is not an object")
        kind, version = body.get("kind"), body.get("apiVersion")
        if not resource.custom:
            kind, version = kind or resource.kind, version or resource.api_version
        if (kind, version) != (resource.kind, resource.api_version):
            wanted = f"{resource.kind} of {resource.api_version}"
            raise statuses.bad_request(f"the body is {kind} of {version}, the path is for {wanted}")
        if resource.schema is not None:
            body, unknown = validation.prune_object(resource.schema, body)
            self._report_unknown(resource, body, unknown, intent)
            body = validation.default(resource.schema, body)
        if not resource.custom:
            body = builtins.settle(resource, body)
        return resource.to_stored(body)

    def _report_unknown(
        self, resource: resources.Resource, body: dict[str, Any], unknown: list[str], intent: requests.Intent
    ) -> None:
        """Report unknown fields as the request wants it: in warnings, in a refusal (StatusError), or not at all."""
        texts = [f'unknown field "{path}"' for path in unknown]
        if intent.field_validation == "Warn":
            intent.warnings += texts
        elif texts and intent.field_validation == "Strict":
            problem = f"strict decoding error: {', '.join(texts)}"
            if intent.patch is not None:
                raise statuses.unpatchable(body, problem)
            kind = resource.kind
            raise statuses.bad_request(
                f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {problem}'
            )

    def _check_namespace(self, resource: resources.Resource, namespace: str, meta: dict[str, Any]) -> None:
        if not resource.namespaced:
            return
        if meta.get("namespace", namespace) not in (namespace, None, ""):
            raise statuses.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        if self._storage.get(builtins.NAMESPACES.store, "", namespace) is None:
            raise statuses.not_found(builtins.NAMESPACES, namespace)

    def _check_identity(
        self, resource: resources.Resource, old: dict[str, Any], new: dict[str, Any], intent: requests.Intent
    ) -> None:
        meta, stored = new.get("metadata") or {}, old["metadata"]
        name = stored["name"]
        if not meta.get("name"):
            raise statuses.bad_request(
                f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )
        if meta["name"] != name:
            raise statuses.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
            )
        if meta.get("namespace") not in (None, "", stored.get("namespace", "")):
            raise statuses.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        if meta.get("uid") not in (None, "", stored["uid"]):
            raise statuses.conflict(resource, name, f"its UID is {stored['uid']}, not {meta['uid']}")
        version = meta.get("resourceVersion")
        if not version:
            if intent.patch is None and not resource.unconditional_update:
                raise statuses.version_missing(resource, name)
        elif version != stored["resourceVersion"]:
            raise statuses.conflict(resource, name)

    def _confined(
        self, resource: resources.Resource, old: dict[str, Any], new: dict[str, Any], intent: requests.Intent
    ) -> dict[str, Any]:
        """Return the new state with everything that this subresource may not touch taken from the old one."""
        wanted = new.get("metadata") or {}
        of_status = intent.subresource == "status"
        meta = metadata.updated(wanted, old["metadata"])
        if of_status:
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

    def _validate(self, resource: resources.Resource, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        causes = metadata.check(resource, obj["metadata"])
        if resource.schema is not None:
            causes = cel.judge(resource.schema, resource.rules, obj, old, causes)
        else:
            causes += builtins.check(resource, obj, old)
        if causes:
            raise statuses.invalid(resource, obj["metadata"].get("name", ""), causes)
