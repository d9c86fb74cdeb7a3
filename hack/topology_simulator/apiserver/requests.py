"""What a request asks for: path and query as verb, kind and object, the form of answer, and how it wants to write.

`parse` knows the shape of API paths and nothing of which kinds exist. Request bodies are JSON; the rest is 415. What a
write may want besides its body is judged like any other object. `record` is what the audit log has of a request.
"""

import collections
import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import field_errors, metadata, statuses

JSON = "application/json"
_JSONS = (JSON, "application/*", "*/*")
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
PATCH_TYPES = (JSON_PATCH, MERGE_PATCH)
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ANSWER_TYPES = ("application/json", "application/yaml", PROTOBUF)
"""What a 406 names: the list of the real server, though only the first is available here."""
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_METHODS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get", "HEAD": "get"}


class Form(enum.Enum):
    """The shape of an answer."""

    OBJECT = "object"
    TABLE = "table"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class Target:
    """What a path below /api or /apis names."""

    group: str = ""
    version: str = ""
    namespace: str = ""
    plural: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, read: what the fault rules, the audit log and the handlers look at."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    target: Target
    verb: str
    user_agent: str
    body: bytes = b""

    @property
    def watch(self) -> bool:
        """Whether this opens a watch."""
        return self.verb == "watch"

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be kept."""
        return self.query.get("dryRun", "") == "All"

    def flag(self, name: str) -> bool:
        """Return a boolean parameter."""
        return self.query.get(name, "") in _TRUE

    def number(self, name: str) -> int | None:
        """Return a whole number from the query, or None; raises StatusError 400."""
        text = self.query.get(name, "")
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            raise statuses.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    def revision(self, *, prefix: str = "", code: int = 500) -> int | None:
        """Return the asked-for resourceVersion, or None.

        Raises StatusError for one that is no number; a list says so with another prefix and code than the rest.
        """
        text = self.query.get("resourceVersion", "")
        if not text:
            return None
        if not text.isdecimal():
            wrong = f"{prefix}resourceVersion: Invalid value: {field_errors.value_text(text)}: "
            wrong += f'strconv.ParseUint: parsing "{text}": invalid syntax'
            # The real server takes it for its own mistake, which has no reason.
            raise statuses.StatusError(code, wrong, reason="" if code == 500 else None)
        return int(text)


def _target(parts: list[str]) -> Target:
    group = ""
    if parts[0] == "apis":
        if len(parts) < 3:
            return Target(group=parts[1] if len(parts) > 1 else "")
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        version, rest = (parts[1] if len(parts) > 1 else ""), parts[2:]
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "", "")[:3]
    return Target(group, version, namespace, plural, name, "/".join((subresource, *rest[3:])))


def parse(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Request:
    """Return what a request asks for. `path` is decoded; a path outside /api and /apis has an empty target."""
    parts = [part for part in path.split("/") if part]
    target = _target(parts) if parts and parts[0] in ("api", "apis") else Target()
    verb = _METHODS.get(method, method.lower())
    if target.plural:
        if verb == "get" and not target.name:
            verb = "watch" if query.get("watch", "") in _TRUE else "list"
        elif verb == "delete" and not target.name:
            verb = "deletecollection"
    return Request(method, path, query, headers, target, verb, headers.get("User-Agent", ""))


def negotiate(header: str) -> Form:
    """Return the form of the answer for an Accept header, in its order. Raises StatusError 406 when none fits."""
    for clause in (header or "*/*").split(","):
        media, *raw = (part.strip() for part in clause.split(";"))
        if media.lower() not in _JSONS:
            continue
        parameters = {key: value for key, _, value in (part.partition("=") for part in raw)}
        wanted = parameters.get("as")
        if wanted is None:
            return Form.OBJECT
        if (parameters.get("g"), parameters.get("v")) != ("meta.k8s.io", "v1"):
            continue
        if wanted == "Table":
            return Form.TABLE
        if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            return Form.METADATA
    raise statuses.StatusError(406, f"only the following media types are accepted: {', '.join(ANSWER_TYPES)}")


def media_type(headers: Mapping[str, str]) -> str:
    """Return the content type without parameters."""
    return headers.get("Content-Type", "").split(";", 1)[0].strip().lower()


def decode(data: bytes, media: str) -> Any:
    """Return the value of a JSON body. Raises StatusError 400 or 415."""
    if media in ("", "application/json", "application/octet-stream"):
        try:
            return json.loads(data)
        except ValueError as error:
            text = f"couldn't get version/kind; json parse error: {str(error)[:200]}"
            raise statuses.bad_request(text) from None
    if media == PROTOBUF:
        raise statuses.StatusError(
            415,
            "the embedded API server reads no protobuf: send a manifest (create -f), or start it with APISERVER=real",
        )
    raise statuses.unsupported_media_type(ANSWER_TYPES)


def decode_patch(data: bytes) -> Any:
    """Return the value of a patch body. Raises StatusError 400."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise statuses.bad_request(f"error decoding patch: {str(error)[:200]}") from None


@dataclass(frozen=True, slots=True)
class Record:
    """One request. `time` is its arrival in UNIX seconds; `path` includes the query."""

    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str
    user_agent: str
    code: int
    time: float
    watch: bool
    group: str
    path: str


def record(request: Request, path: str, code: int, time: float) -> Record:
    """Return the record of a request."""
    target = request.target
    what = (target.plural, target.namespace, target.name, target.subresource)
    return Record(request.verb, *what, request.user_agent, code, time, request.watch, target.group, path)


Log = collections.deque[Record]
"""The latest records, oldest first."""


@dataclass(slots=True)
class Intent:
    """How a write is to be done: by whom, on what, really or not, and how strict about unknown fields.

    `warnings` collects what the client is shown besides the answer; `patch` is the body of one: its errors quote it.
    """

    writer: metadata.Writer
    warnings: list[str]
    dry_run: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    patch: str | None = None


def intent_of(request: Request, api_version: str) -> Intent:
    """Return how a request wants to write. Raises StatusError 422 for an unknown parameter value."""
    validation = request.query.get("fieldValidation") or "Warn"
    causes = _dry_run(request)
    if validation not in ("Ignore", "Warn", "Strict"):
        causes.append(field_errors.unsupported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    if causes:
        raise statuses.options(f"{request.verb.title()}Options", *causes)
    subresource = request.target.subresource
    # By default the first part of the user agent.
    manager = request.query.get("fieldManager") or request.user_agent.split("/", 1)[0] or "unknown"
    writer = metadata.Writer(manager, api_version, subresource)
    return Intent(writer, [], request.dry_run, validation, subresource)


def _dry_run(request: Request) -> list[field_errors.Cause]:
    value = request.query.get("dryRun", "")
    return [] if value in ("", "All") else [field_errors.unsupported("dryRun", [value], ("All",))]


def delete_of(request: Request) -> bool:
    """Return whether a delete is a dry run, from its body and its query. Raises StatusError 400, 415 or 422."""
    body = decode(request.body, media_type(request.headers)) if request.body.strip() else {}
    if not isinstance(body, dict) or body.get("preconditions"):
        raise statuses.bad_request("the body of a delete is a DeleteOptions object, and without preconditions here")
    if causes := _dry_run(request):
        raise statuses.options("DeleteOptions", *causes)
    return request.dry_run or body.get("dryRun") == ["All"]
