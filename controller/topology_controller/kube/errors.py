"""Judges responses: an object that was asked for, or one of the errors here; nothing else believes a response.

Between us and the API server there may be a load balancer with a page of HTML, or a proxy that answers 200 to anything:
a response counts only when its status, its JSON and its kind are what was asked for. There is one class per way to
fail; its text has no credential. Two questions decide what a caller may do: `may_pass` (can waiting help?) and
`outcome_unknown` (may a write have happened although no answer came?).
"""

# ruff: noqa: N818 - the names say what happened; every caller sees the module's name before them

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from .. import terminal
from . import resource as resources

if TYPE_CHECKING:
    from collections.abc import Mapping

Raw = dict[str, Any]
READS = frozenset({"get", "list", "watch"})
PARTIAL = "PartialObjectMetadata"
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_EVENT_TYPES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
# Levels that are kept of an answer with more than Python's decoder takes (about 985). No field that is read is deeper.
_DEEPEST = 200
# A text, or a bracket outside of one. A text without an end reaches to the last byte, so each byte is read once.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)


@dataclass(eq=False)
class KubeError(Exception):
    """A request that did not end as asked: `status` is 0 without an answer, `reason` the API's own word or else ours.

    `retry_after` is in seconds, when the server said so. `sent` is False when the request provably never left.
    """

    verb: str
    resource: resources.Resource
    namespace: str | None
    name: str | None
    status: int
    reason: str
    message: str
    retry_after: float | None = None
    sent: bool = field(default=True, kw_only=True)

    may_pass: ClassVar[bool] = False
    _may_have_happened: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.reason, self.message = terminal.clean(self.reason, 80), terminal.clean(self.message)

    @property
    def outcome_unknown(self) -> bool:
        """Whether this was a write that may have happened: read before you write again."""
        return self._may_have_happened and self.sent and self.verb not in READS

    @property
    def same_as(self) -> tuple[object, ...]:
        """What makes two errors the same news."""
        return (type(self), self.verb, self.resource, self.namespace, self.name, self.status, self.reason)

    @property
    def fields(self) -> dict[str, object]:
        """What a line of the log says of it beside its text."""
        about: dict[str, object] = {"object": self.resource.describe(self.name, self.namespace), "verb": self.verb}
        return about | ({"code": self.status} if self.status else {}) | ({"reason": self.reason} if self.reason else {})

    def __str__(self) -> str:
        what = " ".join(part for part in (str(self.status or ""), self.reason) if part)
        text = f"cannot {self.verb} {self.resource.describe(self.name, self.namespace)}: {what}"
        return f"{text}: {self.message}" if self.message else text


class Unclear(KubeError):
    """No answer that can be used: waiting can help, and a write may have happened."""

    may_pass = True
    _may_have_happened = True


class Unreachable(Unclear):
    """No connection, or it was lost before the answer was complete."""


class TimedOut(Unclear):
    """No complete answer in time."""


class Unauthorized(KubeError):
    """401, or no credentials could be had. Fresh credentials were tried before this was raised."""


class Forbidden(KubeError):
    """403: a right is missing."""


class NotFound(KubeError):
    """404: no such object, or no such kind."""


class Conflict(KubeError):
    """409: the object has changed; read it again."""


class AlreadyExists(KubeError):
    """409 with reason AlreadyExists."""


class Gone(KubeError):
    """410: this version is no longer kept; list again."""


class Invalid(KubeError):
    """400, 413, 415, 422 and the like: the request itself is wrong."""


class Throttled(KubeError):
    """429: not executed; come back later."""

    may_pass = True


class ServerError(Unclear):
    """5xx."""


class Malformed(Unclear):
    """An answer that is not the API's: HTML, cut JSON, another kind, a redirect. Often a proxy's; then it passes."""


_BY_STATUS: dict[int, type[KubeError]] = {
    401: Unauthorized, 403: Forbidden, 404: NotFound, 408: TimedOut, 409: Conflict, 410: Gone, 429: Throttled
}  # fmt: skip


def class_for(status: int, reason: str) -> type[KubeError]:
    """Return the error that an HTTP status (with the API's reason, or "") stands for."""
    if status == 409 and reason == "AlreadyExists":
        return AlreadyExists
    # The API says "Expired" for a version that is too old, and older servers only say it in the reason.
    if reason == "Expired":
        return Gone
    return _BY_STATUS.get(status) or {4: Invalid, 5: ServerError}.get(status // 100, Malformed)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, and what errors name. `kinds` may answer it; `path` is quoted; `body` becomes JSON."""

    verb: str
    resource: resources.Resource
    namespace: str | None
    name: str | None
    kinds: tuple[str, ...]
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Raw | None = None

    def error(self, kind: type[KubeError], status: int, reason: str, message: str, *, sent: bool = True) -> KubeError:
        """Make an error about this request."""
        return kind(self.verb, self.resource, self.namespace, self.name, status, reason, message, sent=sent)


def failure(request: Request, status: int, headers: Mapping[str, str], body: bytes) -> KubeError:
    """Make the error that a status other than 2xx stands for."""
    raw = None
    with contextlib.suppress(ValueError, RecursionError):
        raw = json.loads(body)
    if isinstance(raw, dict) and raw.get("kind") == "Status":
        error = _from_status(request, raw, status)
    elif 300 <= status < 400:
        return request.error(Malformed, status, "Redirect", "the server points elsewhere; redirects are not followed")
    else:
        error = request.error(class_for(status, ""), status, "", _describe(headers.get("Content-Type", ""), body))
    error.retry_after = _seconds(headers.get("Retry-After")) or error.retry_after
    return error


def parsed(request: Request, status: int, headers: Mapping[str, str], body: bytes) -> Raw:
    """Return the object of a 2xx response; raises Malformed when it is not of a kind that was asked for."""
    raw = _decoded(request, status, body, headers.get("Content-Type", ""))
    if not isinstance(raw, dict):
        raise request.error(Malformed, status, "NotAnObject", f"JSON, but a {type(raw).__name__}")
    _check_kind(request, status, raw)
    return raw


def page(request: Request, status: int, raw: Raw) -> tuple[list[Raw], str, str]:
    """Return (items, resourceVersion, continue) of a list; raises Malformed."""
    # A Go server writes null for a list that was never filled.
    items = [] if raw.get("items") is None else raw["items"]
    if not isinstance(items, list):
        raise request.error(Malformed, status, "WrongList", "items is not a list")
    try:
        version = resources.version_of(raw)
        for item in items:
            resources.key_of(item)
    except ValueError as error:
        raise request.error(Malformed, status, "WrongList", str(error)) from error
    token = raw["metadata"].get("continue")
    return items, version, token if isinstance(token, str) else ""


def event(request: Request, line: bytes) -> tuple[str, Raw]:
    """Return (type, object) of one line of a watch. Raises Malformed, and the error that an ERROR event stands for."""
    raw = _decoded(request, 200, line)
    kind, subject = (raw.get("type"), raw.get("object")) if isinstance(raw, dict) else (None, None)
    if kind not in _EVENT_TYPES or not isinstance(subject, dict):
        raise request.error(Malformed, 200, "NotAnEvent", _describe("", line))
    if kind == "ERROR":
        if subject.get("kind") != "Status":
            raise request.error(Malformed, 200, "NotAnEvent", "an ERROR event without a Status")
        raise _from_status(request, subject, 0)
    _check_kind(request, 200, subject)
    return kind, subject


def _check_kind(request: Request, status: int, raw: Raw) -> None:
    if raw.get("kind") not in request.kinds:
        what = f"wanted {request.kinds[0]}, found {str(raw.get('kind'))[:60]!r}"
        raise request.error(Malformed, status, "WrongKind", what)


def _decoded(request: Request, status: int, body: bytes, content_type: str = "") -> Any:
    """Decode JSON. Where it is nested deeper than can be decoded, as kube-apiserver lets it be, the depths are null."""
    try:
        try:
            return json.loads(body)
        except RecursionError:
            return json.loads(_cut(body))
    except (ValueError, RecursionError):
        raise request.error(Malformed, status, "NotJSON", _describe(content_type, body)) from None


def _cut(body: bytes) -> bytes:
    """Replace what is nested deeper than `_DEEPEST` by null."""
    kept: list[bytes] = []
    depth = begin = 0
    for token in _TOKEN.finditer(body):
        if (sign := token[0]) in {b"{", b"["}:
            depth += 1
            if depth == _DEEPEST + 1:
                kept.append(body[begin : token.start()])
        elif sign in {b"}", b"]"}:
            depth -= 1
            if depth == _DEEPEST:
                kept.append(b"null")
                begin = token.end()
    return b"".join((*kept, body[begin:]))


def _from_status(request: Request, raw: Raw, status: int) -> KubeError:
    code, reason, message, details = (raw.get(name) for name in ("code", "reason", "message", "details"))
    status = status or (code if isinstance(code, int) and not isinstance(code, bool) else 500)
    reason = reason if isinstance(reason, str) else ""
    message = message if isinstance(message, str) else ""
    error = request.error(class_for(status, reason), status, reason, message)
    error.retry_after = _seconds(details.get("retryAfterSeconds")) if isinstance(details, dict) else None
    return error


def _seconds(value: object) -> float | None:
    """Read a Retry-After. A date in it is by the server's clock, which we do not trust: ignored."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return float(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 and int(text) > 0 else None


def _describe(content_type: str, body: bytes) -> str:
    """Describe what came instead: little of it, as it may be private."""
    if not body:
        return "an empty answer"
    start = body[:4096]
    if b"<html" in start.lower() or "html" in content_type.lower():
        title = _TITLE.search(start)
        return "a page of HTML" + (f": {terminal.clean(title.group(1).decode(errors='replace'), 80)}" if title else "")
    return f"{len(body)} bytes beginning with {terminal.clean(start[:200].decode(errors='replace'), 60)!r}"
