"""From a parsed request to an answer: who is responsible.

Synchronous on purpose: everything between reading a request's body and having its answer happens in one
step of the event loop, so a request sees one state and leaves one state. The server (`server`) does the
reading, the waiting, the faults and the sending.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import (
    builtins,
    discovery,
    go_types,
    metadata,
    openapi,
    options,
    patch,
    reads,
    requests,
    statuses,
    storage,
    strategic,
    writes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import resources

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer. `warnings` become Warning headers."""

    code: int
    body: bytes
    content_type: str = JSON
    warnings: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


def refusal(error: statuses.StatusError) -> Answer:
    """Return the answer that carries a refusal."""
    retry = (error.details or {}).get("retryAfterSeconds")
    headers = {"Retry-After": str(retry)} if retry else {}
    return Answer(error.code, storage.encode(error.body()), warnings=error.warnings, headers=headers)


def timed_out() -> Answer:
    """Return what the real server says of a request whose `timeout` has passed: a Status without its kind, as text.

    Source: apiserver pkg/server/filters/timeout.go (1.36).
    """
    text = "Timeout: request did not complete within the allotted timeout"
    body = {"metadata": {}, "status": "Failure", "message": text, "reason": "Timeout", "details": {}, "code": 504}
    return Answer(504, storage.encode(body) + b"\n", "text/plain; charset=utf-8")


def unknown_path() -> Answer:
    """Return what the real server says of a path that nothing serves: 404 in plain text."""
    return Answer(404, b"404 page not found\n", "text/plain; charset=utf-8")


class Handlers:
    """Answers requests on one storage and one registry."""

    def __init__(self, store: storage.Storage, registry: resources.Registry, watch_limit: int) -> None:
        self._storage = store
        self._registry = registry
        self.reads = reads.Reads(store, watch_limit)
        self.writes = writes.Writes(store, registry)
        self._discovery = discovery.Discovery(registry)
        self._openapi = openapi.OpenApi(registry)

    def handle(self, request: requests.Request) -> Answer | reads.Opening:
        """Return the answer, or the watch that was opened. Raises StatusError."""
        if not request.target.is_resource:
            return self._other(request)
        target = request.target
        resource = self._registry.find(target.group, target.version, target.plural)
        if resource is None:
            if any(not kind.custom for kind in self._registry.of(target.group, target.version)):
                raise statuses.resource_unknown()
            return unknown_path()
        if self._misplaced(request, resource):
            if resource.custom:
                return unknown_path()
            raise statuses.resource_unknown()
        self._check_shape(request, resource)
        return self._execute(request, resource)

    def _execute(self, request: requests.Request, resource: resources.Resource) -> Answer | reads.Opening:
        match request.verb:
            case "watch":
                return self.reads.watch(request, resource)
            case "get" if request.target.subresource == "scale":
                return self._scale(request, resource)
            case "get":
                return Answer(200, self.reads.get(request, resource), warnings=list(resource.warnings))
            case "list":
                return Answer(200, self.reads.list_all(request, resource), warnings=list(resource.warnings))
            case "create":
                return self._create(request, resource)
            case "delete":
                return self._delete(request, resource)
            case "deletecollection":
                return self._delete_collection(request, resource)
        return self._update(request, resource)

    def _check_shape(self, request: requests.Request, resource: resources.Resource) -> None:
        """Raise StatusError unless path and method fit the kind; custom and built-in kinds say it differently."""
        target = request.target
        if target.subresource and target.subresource not in resource.subresources:
            raise statuses.not_found(resource, target.name) if resource.custom else statuses.resource_unknown()
        everywhere = resource.namespaced and not target.namespace
        if everywhere and not target.name and request.verb in ("create", "deletecollection") and not resource.custom:
            raise statuses.method_not_allowed()
        if "list" not in resource.verbs and target.name:
            raise statuses.resource_unknown()
        if not target.name and request.verb in ("update", "patch") and resource.custom:
            raise statuses.bad_request("name must be provided")
        verb_ok = request.verb in resource.verbs and not (
            (target.name and request.verb == "create" and (not resource.custom or target.subresource))
            or (not target.name and request.verb in ("update", "patch"))
            or (target.subresource and request.verb not in ("get", "update", "patch"))
        )
        if not verb_ok:
            if resource.custom:
                known = request.verb in (*resource.verbs, "create")
                raise statuses.verb_not_supported(resource, request.verb if known else "")
            raise statuses.method_not_allowed()

    def _misplaced(self, request: requests.Request, resource: resources.Resource) -> bool:
        """Return whether the path has a namespace too much, or one too little."""
        target = request.target
        if target.namespace and not resource.namespaced:
            return True
        everywhere = resource.namespaced and not target.namespace
        if not everywhere or (not target.name and request.verb in ("list", "watch")):
            return False
        return bool(target.name) or resource.custom

    def _other(self, request: requests.Request) -> Answer:
        if request.method not in ("GET", "HEAD"):
            if self._discovery.knows(request):
                raise statuses.method_not_allowed()
            return unknown_path()
        if request.path in ("/healthz", "/readyz", "/livez") or request.path.startswith(("/readyz/", "/livez/")):
            return Answer(200, b"ok", "text/plain; charset=utf-8")
        for documents in (self._discovery, self._openapi):
            document = documents.answer(request)
            if document is not None:
                content_type, value = document
                return Answer(200, storage.encode(value), content_type)
        if request.path.startswith("/api/"):
            raise statuses.resource_unknown()
        return unknown_path()

    def _shown(  # the parts of one answer
        self,
        request: requests.Request,
        resource: resources.Resource,
        code: int,
        obj: dict[str, Any],
        warnings: list[str] | None = None,
    ) -> Answer:
        form = requests.negotiate(request.headers.get("Accept", ""))
        meta = obj["metadata"]
        item = self._storage.get(resource.store, meta.get("namespace", ""), meta["name"])
        if item is None or item.obj is not obj:
            item = storage.Item(obj, self._storage.revision)
        all_warnings = [*resource.warnings, *(warnings or [])]
        return Answer(code, self.reads.show(request, resource, item, form), warnings=all_warnings)

    def _create(self, request: requests.Request, resource: resources.Resource) -> Answer:
        value = requests.decode(request.body, requests.media_type(request.headers), go_types.name_of(resource))
        if "list" not in resource.verbs:
            if not isinstance(value, dict):
                raise statuses.bad_request("the body of a review is an object")
            review = storage.encode(builtins.answer_review(resource, value))
            return Answer(201, review, warnings=list(resource.warnings))
        requests.negotiate(request.headers.get("Accept", ""))
        intent = options.intent_of(request, resource.api_version)
        with _warned(intent):
            obj = self.writes.create(resource, request.target.namespace, value, intent)
        return self._shown(request, resource, 201, obj, intent.warnings)

    def _update(self, request: requests.Request, resource: resources.Resource) -> Answer:
        target = request.target
        requests.negotiate(request.headers.get("Accept", ""))
        intent = options.intent_of(request, resource.api_version)
        media = requests.media_type(request.headers)
        key = (target.namespace, target.name)
        if request.verb == "patch":
            _check_patch_type(resource, media)
            value = requests.decode_patch(request.body)
            intent.patch = request.body.decode(errors="replace")
        else:
            value = requests.decode(request.body, media, go_types.name_of(resource))
        with _warned(intent):
            if target.subresource == "scale":
                self.writes.update(resource, key, lambda old: _scaled(old, value, media, resource, intent), intent)
                return self._scale(request, resource)
            if intent.patch is not None:
                obj = self.writes.update(resource, key, lambda old: _patched(old, value, media, resource), intent)
            elif self._puts_a_new_one(resource, target, value):
                value = {**value, "metadata": {**value["metadata"], "resourceVersion": ""}}
                obj = self.writes.create(resource, target.namespace, value, intent)
                return self._shown(request, resource, 201, obj, intent.warnings)
            else:
                obj = self.writes.update(resource, key, lambda _: value, intent)
        return self._shown(request, resource, 200, obj, intent.warnings)

    def _scale(self, request: requests.Request, resource: resources.Resource) -> Answer:
        item = self._storage.get(resource.store, request.target.namespace, request.target.name)
        if item is None:
            raise statuses.not_found(resource, request.target.name)
        scale = resource.scaled.read(resource.to_wire(item.obj))
        return Answer(200, storage.encode(scale), warnings=list(resource.warnings))

    def _puts_a_new_one(self, resource: resources.Resource, target: requests.Target, value: Any) -> bool:
        if not resource.create_on_update or target.subresource or not isinstance(value, dict):
            return False
        named = isinstance(value.get("metadata"), dict) and value["metadata"].get("name") == target.name
        return named and self._storage.get(resource.store, target.namespace, target.name) is None

    def _delete(self, request: requests.Request, resource: resources.Resource) -> Answer:
        how = options.of_delete(request)
        key = (request.target.namespace, request.target.name)
        obj, gone = self.writes.delete(resource, key, how)
        if not gone:
            return self._shown(request, resource, 200, obj)
        details = {**statuses.details(resource, key[1]), "uid": obj["metadata"]["uid"]}
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        return Answer(200, storage.encode({**head, "status": "Success", "details": details}))

    def _delete_collection(self, request: requests.Request, resource: resources.Resource) -> Answer:
        how = options.of_delete(request)
        listed = self.reads.list_all(request, resource)
        selection = reads.select(request, resource)
        for item in self._storage.items(resource.store, request.target.namespace):
            if selection.takes(item):
                self.writes.delete(resource, item.key, how)
        return Answer(200, listed)


@contextlib.contextmanager
def _warned(intent: options.Intent) -> Iterator[None]:
    """Let a refusal carry the warnings that were collected before it."""
    try:
        yield
    except statuses.StatusError as error:
        error.warnings = intent.warnings
        raise


def _check_patch_type(resource: resources.Resource, media: str) -> None:
    """Raise StatusError 415 for a type of patch that a kind does not take."""
    if media in requests.PATCH_TYPES:
        return
    if media == requests.APPLY_PATCH:
        raise statuses.no_apply()
    if resource.custom:
        raise statuses.unsupported_media_type((*requests.PATCH_TYPES, requests.APPLY_PATCH))
    if media != requests.STRATEGIC_PATCH:
        raise statuses.StatusError(415, "415: Unsupported Media Type", details={})
    if not go_types.name_of(resource):
        raise statuses.no_strategic_merge(resource)


def _scaled(
    old: dict[str, Any], value: Any, media: str, resource: resources.Resource, intent: options.Intent
) -> dict[str, Any]:
    """Return an object as a Scale wants it, or a patch of one."""
    scaling = resource.scaled
    if intent.patch is not None:
        value = _patched(scaling.patchable(old), value, media, resource)
    return scaling.write(old, value)


def _patched(old: dict[str, Any], operations: Any, media: str, resource: resources.Resource) -> Any:
    if media in (requests.MERGE_PATCH, requests.STRATEGIC_PATCH):
        if operations is None:
            raise statuses.bad_request("Invalid JSON Patch")
        if not isinstance(operations, dict):
            json_type = metadata.json_type(operations)
            problem = f"json: cannot unmarshal {json_type} into Go value of type map[string]interface {{}}"
            raise statuses.bad_request(
                problem if media == requests.STRATEGIC_PATCH else f"error decoding patch: {problem}"
            )
        if media == requests.MERGE_PATCH:
            return patch.merge(old, operations)
        try:
            return strategic.merge(old, operations, go_types.name_of(resource))
        except strategic.StrategicError as error:
            raise statuses.bad_request(str(error)) if error.malformed else statuses.plain(str(error)) from None
    try:
        return patch.apply_json_patch(old, operations)
    except patch.MalformedPatchError as error:
        raise statuses.bad_request(f"error decoding patch: {error}") from None
    except patch.PatchError:
        raise statuses.patch_rejected() from None
