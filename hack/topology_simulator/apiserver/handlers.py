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
    openapi,
    options,
    patch,
    reads,
    requests,
    scales,
    statuses,
    storage,
    strategic,
    writes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import resources


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer. `warnings` become Warning headers."""

    code: int
    body: bytes
    content_type: str = requests.JSON
    warnings: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


def refusal(error: statuses.StatusError) -> Answer:
    """Return the answer that carries a refusal."""
    retry = (error.details or {}).get("retryAfterSeconds")
    headers = {"Retry-After": str(retry)} if retry else {}
    return Answer(error.code, storage.encode(error.body()), warnings=error.warnings, headers=headers)


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
            if any(not kind.custom for kind in self._registry.kinds_of(target.group, target.version)):
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
        return self._update(request, resource)

    def _check_shape(self, request: requests.Request, resource: resources.Resource) -> None:
        """Raise StatusError unless path and method fit the kind."""
        target = request.target
        if target.subresource and target.subresource not in resource.subresources:
            raise statuses.not_found(resource, target.name) if resource.custom else statuses.resource_unknown()
        named = request.verb in ("get", "update", "patch", "delete")
        if (
            request.verb not in resource.verbs
            or named is not bool(target.name)
            or (target.subresource and request.verb == "delete")
        ):
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
        value = requests.decode(request.body, requests.media_type(request.headers))
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
            value = requests.decode(request.body, media)
        with _warned(intent):
            if target.subresource == "scale":
                self.writes.update(resource, key, lambda old: _scaled(old, value, media, resource, intent), intent)
                return self._scale(request, resource)
            if intent.patch is not None:
                obj = self.writes.update(resource, key, lambda old: _patched(old, value, media, resource), intent)
            else:
                obj = self.writes.update(resource, key, lambda _: value, intent)
        return self._shown(request, resource, 200, obj, intent.warnings)

    def _scale(self, request: requests.Request, resource: resources.Resource) -> Answer:
        item = self._storage.get(resource.store, request.target.namespace, request.target.name)
        if item is None:
            raise statuses.not_found(resource, request.target.name)
        try:
            scale = resource.scaled.read(resource.to_wire(item.obj))
        except scales.ScaleError as error:
            raise statuses.plain(str(error)) from None
        return Answer(200, storage.encode(scale), warnings=list(resource.warnings))

    def _delete(self, request: requests.Request, resource: resources.Resource) -> Answer:
        how = options.delete_of(request)
        key = (request.target.namespace, request.target.name)
        obj, gone = self.writes.delete(resource, key, how)
        if not gone:
            return self._shown(request, resource, 200, obj)
        details = {**statuses.details(resource, key[1]), "uid": obj["metadata"]["uid"]}
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        return Answer(200, storage.encode({**head, "status": "Success", "details": details}))


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
    if not strategic.type_name(resource):
        raise statuses.no_strategic_merge(resource)


def _scaled(
    old: dict[str, Any], value: Any, media: str, resource: resources.Resource, intent: options.Intent
) -> dict[str, Any]:
    """Return an object as a Scale wants it, or a patch of one."""
    scaling = resource.scaled
    if intent.patch is not None:
        value = _patched(scaling.patchable(old), value, media, resource)
    try:
        return scaling.write(old, value)
    except scales.ScaleError as error:
        raise statuses.bad_request(str(error)) from None


def _patched(old: dict[str, Any], operations: Any, media: str, resource: resources.Resource) -> Any:
    try:
        if media == requests.JSON_PATCH:
            return patch.apply_json_patch(old, operations)
        if not isinstance(operations, dict):
            raise statuses.bad_request("error decoding patch: it is not an object")
        if media == requests.MERGE_PATCH:
            return patch.merge(old, operations)
        return strategic.merge(old, operations, strategic.type_name(resource))
    except patch.PatchError:
        raise statuses.patch_rejected() from None
    except strategic.StrategicError as error:
        raise statuses.bad_request(str(error)) from None
