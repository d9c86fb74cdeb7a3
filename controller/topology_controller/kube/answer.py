"""Judges what came back: nothing else in this package believes a response.

Between us and the API server there may be a load balancer with a page of HTML, a proxy that answers 200
to anything, a connection that was cut. So an answer counts only when its status, its JSON and its kind
are what was asked for; everything else becomes one of the classes in `errors`. All of it is pure: bytes
in, an object or an error out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import errors
from . import resource as resources

if TYPE_CHECKING:
    from collections.abc import Mapping

Raw = dict[str, Any]
PARTIAL = "PartialObjectMetadata"
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_EVENT_TYPES = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked: enough to name it in an error, and to judge the answer.

    `kinds` are the kinds that answer it.
    """

    verb: str
    resource: resources.Resource
    namespace: str | None
    name: str | None
    kinds: tuple[str, ...]

    def error(  # noqa: PLR0913 - the fields of the error that the call does not know
        self,
        kind: type[errors.KubeError],
        status: int,
        reason: str,
        message: str,
        retry_after: float | None = None,
        *,
        sent: bool = True,
    ) -> errors.KubeError:
        """Make an error about this call."""
        return kind(
            self.verb,
            self.resource,
            self.namespace,
            self.name,
            status,
            reason,
            message,
            retry_after,
            sent=sent,
        )


def kinds_of(resource: resources.Resource, *, metadata_only: bool, plural: bool = False) -> tuple[str, ...]:
    """Return the kinds that may answer.

    The whole object is welcome too where only its metadata was asked for.
    """
    ending = "List" if plural else ""
    whole = resource.kind + ending
    return (PARTIAL + ending, whole) if metadata_only else (whole,)


def failure(call: Call, status: int, headers: Mapping[str, str], body: bytes) -> errors.KubeError:
    """Make the error that a status other than 2xx stands for."""
    retry_after = _seconds(headers.get("Retry-After"))
    found = _status_object(body)
    if found is not None:
        return _from_status(call, found, status, retry_after)
    if 300 <= status < 400:
        return call.error(
            errors.Malformed, status, "Redirect", "the server points elsewhere; redirects are not followed"
        )
    what = _describe(headers.get("Content-Type", ""), body)
    return call.error(errors.class_for(status, ""), status, "", what, retry_after)


def parsed(call: Call, status: int, headers: Mapping[str, str], body: bytes) -> Raw:
    """Return the object of a 2xx answer.

    Raises Malformed when it is not one of the kinds that were asked for.
    """
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        what = _describe(headers.get("Content-Type", ""), body)
        raise call.error(errors.Malformed, status, "NotJSON", what) from None
    if not isinstance(raw, dict):
        raise call.error(errors.Malformed, status, "NotAnObject", f"JSON, but a {type(raw).__name__}")
    kind = raw.get("kind")
    if kind not in call.kinds:
        raise call.error(errors.Malformed, status, "WrongKind", f"wanted {call.kinds[0]}, found {str(kind)[:60]!r}")
    return raw


def page(call: Call, status: int, raw: Raw) -> tuple[list[Raw], str, str]:
    """Return (items, resourceVersion, continue) of a list; raises Malformed."""
    # A Go server writes null for a list that was never filled.
    items = raw.get("items")
    items = [] if items is None else items
    if not isinstance(items, list):
        raise call.error(errors.Malformed, status, "WrongList", "items is not a list")
    try:
        version = resources.version_of(raw)
        for item in items:
            resources.key_of(item)
    except ValueError as error:
        raise call.error(errors.Malformed, status, "WrongList", str(error)) from error
    token = raw["metadata"].get("continue")
    return items, version, token if isinstance(token, str) else ""


def event(call: Call, line: bytes) -> tuple[str, Raw]:
    """Return (type, object) of one line of a watch.

    Raises the error that an ERROR event stands for, and Malformed for everything that is not an event
    about one of the kinds that were asked for.
    """
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        raise call.error(errors.Malformed, 200, "NotJSON", _describe("", line)) from None
    happened, found = (raw.get("type"), raw.get("object")) if isinstance(raw, dict) else (None, None)
    if happened not in _EVENT_TYPES or not isinstance(found, dict):
        raise call.error(errors.Malformed, 200, "NotAnEvent", _describe("", line))
    if happened == "ERROR":
        if found.get("kind") != "Status":
            raise call.error(errors.Malformed, 200, "NotAnEvent", "an ERROR event without a Status")
        raise _from_status(call, found, 0, None)
    if found.get("kind") not in call.kinds:
        wrong = f"wanted {call.kinds[0]}, found {str(found.get('kind'))[:60]!r}"
        raise call.error(errors.Malformed, 200, "WrongKind", wrong)
    try:
        resources.version_of(found)
        if happened != "BOOKMARK":
            resources.key_of(found)
    except ValueError as error:
        raise call.error(errors.Malformed, 200, "NotAnEvent", str(error)) from error
    return happened, found


def _from_status(call: Call, found: Raw, status: int, retry_after: float | None) -> errors.KubeError:
    code = found.get("code")
    status = status or (code if isinstance(code, int) and not isinstance(code, bool) else 500)
    reason, message, details = found.get("reason"), found.get("message"), found.get("details")
    reason = reason if isinstance(reason, str) else ""
    message = message if isinstance(message, str) else ""
    if retry_after is None and isinstance(details, dict):
        retry_after = _seconds(details.get("retryAfterSeconds"))
    return call.error(errors.class_for(status, reason), status, reason, message, retry_after)


def _status_object(body: bytes) -> Raw | None:
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return raw if isinstance(raw, dict) and raw.get("kind") == "Status" else None


def _seconds(value: object) -> float | None:
    """Read a Retry-After. A date in it is by the server's clock, which we do not trust: ignored."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return float(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 and int(text) > 0 else None


def _describe(content_type: str, body: bytes) -> str:
    """Say what was found instead, without repeating what may be private."""
    if not body:
        return "an empty answer"
    start = body[:4096]
    if b"<html" in start.lower() or "html" in content_type.lower():
        title = _TITLE.search(start)
        named = f": {errors.clean(title.group(1).decode(errors='replace'), 80)}" if title else ""
        return f"a page of HTML{named}"
    return f"{len(body)} bytes beginning with {errors.clean(start[:200].decode(errors='replace'), 60)!r}"
