"""What a write may ask for besides its body: dry run, strictness, field manager, how a delete treats dependents.

The real server reads these parameters as objects (`CreateOptions`, `UpdateOptions`, `PatchOptions`,
`DeleteOptions`) and judges them like any other object; so do the functions here. `writes` is handed the
result, never the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import field_errors, managed_fields, requests, statuses

if TYPE_CHECKING:
    from . import resources

_LONGEST_MANAGER = 128
_POLICIES = ("Foreground", "Background", "Orphan")
_KINDS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


@dataclass(slots=True)
class Intent:
    """How a write is to be done: by whom, on what, really or not, and how strict about unknown fields.

    `warnings` collects what the client is shown besides the answer.
    """

    writer: managed_fields.Writer
    warnings: list[str]
    dry_run: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    patch: str | None = None
    """The body, when the write is a patch: its errors quote it."""


def intent_of(request: requests.Request, api_version: str) -> Intent:
    """Return how a request wants to write. Raises StatusError 422 for an unknown parameter value."""
    check_write(request)
    validation = request.query.get("fieldValidation") or "Warn"
    subresource = request.target.subresource
    writer = managed_fields.Writer(request.manager, api_version, subresource)
    return Intent(writer, [], request.dry_run, validation, subresource)


def check_write(request: requests.Request) -> None:
    """Raise StatusError 422 for a parameter of a create, update or patch that means nothing."""
    causes: list[field_errors.Cause] = []
    manager = request.query.get("fieldManager", "")
    if len(manager) > _LONGEST_MANAGER:
        text = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        causes.append(field_errors.Cause("fieldManager", "FieldValueTooLong", text))
    for position, sign in enumerate(manager):
        if not sign.isprintable():
            text = f"invalid character U+{ord(sign):04X} (at position {position})"
            causes.append(field_errors.invalid("fieldManager", manager, text))
    causes += _dry_run(request)
    validation = request.query.get("fieldValidation", "")
    if validation not in ("", "Ignore", "Warn", "Strict"):
        causes.append(field_errors.unsupported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    if causes:
        raise statuses.options(_KINDS[request.verb], *causes)


def _dry_run(request: requests.Request) -> list[field_errors.Cause]:
    value = request.query.get("dryRun", "")
    return [] if value in ("", "All") else [field_errors.unsupported("dryRun", [value], ("All",))]


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


@dataclass(frozen=True, slots=True)
class Delete:
    """How an object is to be deleted. `finalizer` is the one that the wanted treatment of dependents adds."""

    preconditions: Preconditions = Preconditions()
    dry_run: bool = False
    finalizer: str = ""


def of_delete(request: requests.Request) -> Delete:
    """Return how a request wants to delete, from its body and its query. Raises StatusError 400, 415 or 422."""
    body: Any = {}
    if request.body.strip():
        body = requests.decode(request.body, requests.media_type(request.headers), "meta.DeleteOptions")
    if not isinstance(body, dict):
        raise statuses.bad_request("the body of a delete is a DeleteOptions object")
    if body.get("kind", "DeleteOptions") != "DeleteOptions":
        text = f'no kind "{body["kind"]}" is registered for version "{body.get("apiVersion", "")}"'
        raise statuses.bad_request(f'{text} in scheme "pkg/runtime/scheme.go:111"')
    policy = body.get("propagationPolicy") or request.query.get("propagationPolicy")
    orphans = body.get("orphanDependents")
    causes = _dry_run(request)
    if policy and orphans is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(field_errors.invalid("propagationPolicy", policy, text))
    if policy and policy not in _POLICIES:
        causes.append(field_errors.unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if causes:
        raise statuses.options("DeleteOptions", *causes)
    conditions = body.get("preconditions") or {}
    finalizer = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(policy or "", ORPHAN if orphans else "")
    return Delete(
        Preconditions(conditions.get("uid"), conditions.get("resourceVersion")),
        request.dry_run or body.get("dryRun") == ["All"],
        finalizer,
    )
