"""From a parsed request to an answer: who is responsible.

Synchronous on purpose: a request sees one state and leaves one state. `server` reads, waits and sends.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import builtins, discovery, patch, reads, requests, resources, statuses, storage, streams, table, writes


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

    def __init__(self, store: storage.Storage, registry: resources.Registry) -> None:
        self._storage = store
        self._registry = registry
        self.reads = reads.Reads(store)
        self.writes = writes.Writes(store, registry)

    def handle(self, request: requests.Request) -> Answer | streams.Watcher:
        """Return the answer, or the watch that was opened. Raises StatusError."""
        if not request.target.plural:
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
        self._check_method(request, resource)
        return self._execute(request, resource)

    def _execute(self, request: requests.Request, resource: resources.Resource) -> Answer | streams.Watcher:
        match request.verb:
            case "watch":
                return self.reads.watch(request, resource)
            case "get":
                return Answer(200, self.reads.get(request, resource))
            case "list":
                return Answer(200, self.reads.list_all(request, resource))
            case "create":
                return self._create(request, resource)
            case "delete":
                return self._delete(request, resource)
        return self._update(request, resource)

    def _check_method(self, request: requests.Request, resource: resources.Resource) -> None:
        target = request.target
        if target.subresource and not (target.subresource == "status" and resource.has_status):
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
            if discovery.answer(self._registry, request) is not None:
                raise statuses.method_not_allowed()
            return unknown_path()
        if request.path in ("/healthz", "/readyz", "/livez") or request.path.startswith(("/readyz/", "/livez/")):
            return Answer(200, b"ok", "text/plain; charset=utf-8")
        document = discovery.answer(self._registry, request)
        if document is not None:
            return Answer(200, storage.encode(document))
        if request.path.startswith("/api/"):
            raise statuses.resource_unknown()
        return unknown_path()

    def _shown(self, request: requests.Request, resource: resources.Resource, code: int, obj: dict[str, Any]) -> Answer:
        form = requests.negotiate(request.headers.get("Accept", ""))
        meta = obj["metadata"]
        item = self._storage.get(resource.store, meta.get("namespace", ""), meta["name"])
        if item is None or item.obj is not obj:
            item = storage.Item(obj, self._storage.revision)
        return Answer(code, table.shown(resource, item, form))

    def _create(self, request: requests.Request, resource: resources.Resource) -> Answer:
        value = requests.decode(request.body, requests.media_type(request.headers))
        if "list" not in resource.verbs:
            if not isinstance(value, dict):
                raise statuses.bad_request("the body of a review is an object")
            review = storage.encode(builtins.answer_review(resource, value))
            return Answer(201, review, warnings=list(resource.warnings))
        requests.negotiate(request.headers.get("Accept", ""))
        intent = requests.intent_of(request, resource.api_version)
        with _warned(intent):
            obj = self.writes.create(resource, request.target.namespace, value, intent)
        return dataclasses.replace(self._shown(request, resource, 201, obj), warnings=intent.warnings)

    def _update(self, request: requests.Request, resource: resources.Resource) -> Answer:
        target = request.target
        requests.negotiate(request.headers.get("Accept", ""))
        intent = requests.intent_of(request, resource.api_version)
        media = requests.media_type(request.headers)
        key = (target.namespace, target.name)
        if request.verb == "patch":
            _check_patch_type(resource, media)
            value = requests.decode_patch(request.body)
            intent.patch = request.body.decode(errors="replace")
        else:
            value = requests.decode(request.body, media)
        with _warned(intent):
            obj = self.writes.update(
                resource, key, lambda old: value if intent.patch is None else _patched(old, value, media), intent
            )
        return dataclasses.replace(self._shown(request, resource, 200, obj), warnings=intent.warnings)

    def _delete(self, request: requests.Request, resource: resources.Resource) -> Answer:
        key = (request.target.namespace, request.target.name)
        obj, gone = self.writes.delete(resource, key, dry_run=requests.delete_of(request))
        if not gone:
            return self._shown(request, resource, 200, obj)
        details = {**statuses.details(resource, key[1]), "uid": obj["metadata"]["uid"]}
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        return Answer(200, storage.encode({**head, "status": "Success", "details": details}))


@contextlib.contextmanager
def _warned(intent: requests.Intent) -> Iterator[None]:
    """Let a refusal carry the warnings that were collected before it."""
    try:
        yield
    except statuses.StatusError as error:
        error.warnings = intent.warnings
        raise


def _check_patch_type(resource: resources.Resource, media: str) -> None:
    if media in requests.PATCH_TYPES:
        return
    if media == requests.APPLY_PATCH:
        instead = "leave out --server-side, or start it with APISERVER=real"
        raise statuses.StatusError(415, f"the embedded API server has no server-side apply: {instead}")
    if resource.custom:
        raise statuses.unsupported_media_type((*requests.PATCH_TYPES, requests.APPLY_PATCH))
    if media != requests.STRATEGIC_PATCH:
        raise statuses.StatusError(415, "415: Unsupported Media Type", details={})


def _patched(old: dict[str, Any], operations: Any, media: str) -> Any:
    try:
        if media == requests.JSON_PATCH:
            return patch.apply_json_patch(old, operations)
        if not isinstance(operations, dict):
            raise statuses.bad_request("error decoding patch: it is not an object")
        if media == requests.MERGE_PATCH:
            return patch.merge(old, operations)
        return patch.strategic_merge(old, operations)
    except patch.PatchError:
        message = "the server rejected our request due to an error in our request"
        raise statuses.StatusError(422, message, details={}) from None
