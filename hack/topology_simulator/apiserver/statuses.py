"""What the API server says when it refuses: `metav1.Status` bodies with the words that kubectl users know.

Every refusal of this package is a `StatusError`, made by one of the functions here: clients compare `reason` and
`code`, people search for the words. The causes of a 422 come from `field_errors`. A path that nothing serves is
answered in plain text (`handlers`), except below `/api/v1`: `resource_unknown`.
"""

import json
from collections.abc import Sequence
from typing import Any

from . import field_errors, resources

REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed",
    406: "NotAcceptable", 409: "Conflict", 410: "Expired", 413: "RequestEntityTooLarge", 415: "UnsupportedMediaType",
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 502: "InternalError", 503: "ServiceUnavailable",
    504: "Timeout",
}  # fmt: skip


class StatusError(Exception):
    """A refusal, as the client will read it. `details` is the `details` object of the Status, or None."""

    def __init__(
        self, code: int, message: str, *, reason: str | None = None, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason if reason is not None else REASONS.get(code, "")
        self.message = message
        self.details = details
        self.warnings: list[str] = []
        self.metadata: dict[str, Any] = {}

    def body(self) -> dict[str, Any]:
        """Return the `metav1.Status` object."""
        head = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        reason = {"reason": self.reason} if self.reason else {}
        details = {} if self.details is None else {"details": self.details}
        return {**head, "message": self.message, **reason, **details, "code": self.code}


def details(resource: resources.Resource, name: str, kind: str = "") -> dict[str, Any]:
    """Return the `details` of an answer about an object, or about its kind when `name` is empty."""
    parts = {"name": name, "group": resource.group, "kind": kind or resource.plural}
    return {key: value for key, value in parts.items() if value}


def options(kind: str, *causes: field_errors.Cause) -> StatusError:
    """Return 422 for parameters of a request: `CreateOptions`, `UpdateOptions`, `PatchOptions`, `DeleteOptions`."""
    return _invalid("meta.k8s.io", kind, "", causes)


def unpatchable(obj: dict[str, Any], problem: str) -> StatusError:
    """Return 422 for a patch that makes no object of the kind; it quotes what it would have made, and no kind."""
    text = json.dumps(obj, ensure_ascii=False, separators=(",", ":"))
    return _invalid("", "", "", [field_errors.invalid("patch", text, problem)])


def not_found(resource: resources.Resource, name: str) -> StatusError:
    """Return 404 for one object."""
    return StatusError(404, f'{resource.qualified} "{name}" not found', details=details(resource, name))


def resource_unknown() -> StatusError:
    """Return 404 for a resource that its group version does not have."""
    return StatusError(404, "the server could not find the requested resource", details={})


def already_exists(resource: resources.Resource, name: str, *, leaving: bool = False) -> StatusError:
    """Return 409 for a create of what is there, or is `leaving` but still held by a finalizer."""
    return StatusError(
        409,
        f'{"object is being deleted: " if leaving else ""}{resource.qualified} "{name}" already exists',
        reason="AlreadyExists",
        details=details(resource, name),
    )


def conflict(resource: resources.Resource, name: str, why: str | None = None) -> StatusError:
    """Return 409 for a write that was based on an older state, or whose precondition does not hold."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    return StatusError(
        409, f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}', details=details(resource, name)
    )


def invalid(resource: resources.Resource, name: str, causes: Sequence[field_errors.Cause]) -> StatusError:
    """Return 422 with every broken rule; more than one are joined in brackets, as the real server does."""
    return _invalid(resource.store.partition("/")[0], resource.kind, name, causes)


def version_missing(resource: resources.Resource, name: str) -> StatusError:
    """Return 422 for an update without its resourceVersion; this one names the resource, not the kind."""
    cause = field_errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
    return _invalid(resource.group, resource.plural, name, [cause])


def _invalid(group: str, kind: str, name: str, causes: Sequence[field_errors.Cause]) -> StatusError:
    parts: dict[str, Any] = {"name": name, "group": group, "kind": kind}
    about = {key: value for key, value in parts.items() if value}
    about["causes"] = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    texts = list(dict.fromkeys(cause.text for cause in causes))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    shown = f"{kind}.{group}" if group else kind
    return StatusError(422, f'{shown} "{name}" is invalid: {joined}', details=about)


def bad_request(message: str) -> StatusError:
    """Return 400."""
    return StatusError(400, message)


def method_not_allowed() -> StatusError:
    """Return 405."""
    return StatusError(405, "the server does not allow this method on the requested resource", details={})


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """Return 415 with what would be taken."""
    text = "the body of the request was in an unknown format - accepted media types include: "
    return StatusError(415, text + ", ".join(accepted))
