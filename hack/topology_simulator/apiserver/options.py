"""What a write may want besides its body: dry run, strictness, field manager, preconditions of a delete.

The real server reads these parameters as objects (`CreateOptions`, `DeleteOptions` and the like) and judges them like
any other object; so do the functions here. `writes` is handed the result, never the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import field_errors, managed_fields, requests, resources, statuses


@dataclass(slots=True)
class Intent:
    """How a write is to be done: by whom, on what, really or not, and how strict about unknown fields.

    `warnings` collects what the client is shown besides the answer; `patch` is the body of one: its errors quote it.
    """

    writer: managed_fields.Writer
    warnings: list[str]
    dry_run: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    patch: str | None = None


def intent_of(request: requests.Request, api_version: str) -> Intent:
    """Return how a request wants to write. Raises StatusError 422 for an unknown parameter value."""
    validation = request.query.get("fieldValidation") or "Warn"
    causes = _dry_run(request)
    if validation not in ("Ignore", "Warn", "Strict"):
        causes.append(field_errors.unsupported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    if causes:
        raise statuses.options(f"{request.verb.title()}Options", *causes)
    subresource = request.target.subresource
    writer = managed_fields.Writer(request.manager, api_version, subresource)
    return Intent(writer, [], request.dry_run, validation, subresource)


def _dry_run(request: requests.Request) -> list[field_errors.Cause]:
    value = request.query.get("dryRun", "")
    return [] if value in ("", "All") else [field_errors.unsupported("dryRun", [value], ("All",))]


@dataclass(frozen=True, slots=True)
class Delete:
    """How an object is to be deleted, and what must still be true of it."""

    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False

    def check(self, resource: resources.Resource, meta: dict[str, Any]) -> None:
        """Raise StatusError 409 when the object is another one by now."""
        for name, wanted, actual, why in (
            ("UID", self.uid, meta["uid"], "deleted and then recreated"),
            ("ResourceVersion", self.resource_version, meta["resourceVersion"], "modified"),
        ):
            if wanted is not None and wanted != actual:
                text = f"the {name} in the precondition ({wanted}) does not match the {name} in record ({actual})"
                raise statuses.precondition_failed(resource, meta["name"], f"{text}. The object might have been {why}")


def delete_of(request: requests.Request) -> Delete:
    """Return how a request wants to delete, from its body and its query. Raises StatusError 400, 415 or 422."""
    body: Any = {}
    if request.body.strip():
        body = requests.decode(request.body, requests.media_type(request.headers))
    if not isinstance(body, dict):
        raise statuses.bad_request("the body of a delete is a DeleteOptions object")
    if causes := _dry_run(request):
        raise statuses.options("DeleteOptions", *causes)
    conditions = body.get("preconditions") or {}
    dry_run = request.dry_run or body.get("dryRun") == ["All"]
    return Delete(conditions.get("uid"), conditions.get("resourceVersion"), dry_run)
