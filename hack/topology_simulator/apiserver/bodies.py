"""What a body must be before it counts as an object: of the kind and version of its path, with fields that are known.

A built-in kind completes a body that says neither; a custom resource does not. `writes` asks here first.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from . import field_errors, statuses

if TYPE_CHECKING:
    from . import options, resources

_QUOTED = 30
"""How much of a body the real server's decoder quotes."""


def _shortened(text: str) -> str:
    """Return a body as the real server's decoder quotes it."""
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]} ..."


def check_type(
    resource: resources.Resource, body: dict[str, Any], intent: options.Intent, registry: resources.Registry
) -> None:
    """Raise StatusError unless a body is of the kind and version of its path."""
    kind, version = body.get("kind"), body.get("apiVersion")
    if not resource.custom:
        if kind in (None, "", resource.kind) and version in (None, "", resource.api_version):
            return
        other = dataclasses.replace(
            resource, kind=kind or resource.kind, version=(version or resource.api_version).rpartition("/")[2]
        )
        prefix = f'{other.kind} in version "{version or resource.api_version}" cannot be handled as a {resource.kind}: '
        known = any(candidate.kind == kind and candidate.api_version == version for candidate in registry.all())
        if known:
            problem = f"converting ({other.version}.{kind}) to (core.{resource.kind}): unknown conversion"
        else:
            scheme = 'in scheme "pkg/runtime/scheme.go:111"'
            shown = version or resource.api_version
            problem = f'no kind "{other.kind}" is registered for version "{shown}" {scheme}'
        raise statuses.bad_request(prefix + problem)
    if not kind:
        text = json.dumps(body)
        raise statuses.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"Object 'Kind' is missing in '{text}' ({_shortened(text)})"
        )
    name = (body.get("metadata") or {}).get("name", "")
    if kind != resource.kind:
        cause = field_errors.invalid("kind", kind, f"must be {resource.kind}")
        raise statuses.invalid(dataclasses.replace(resource, kind=kind), name, [cause])
    if version != resource.api_version:
        if intent.patch is not None:
            cause = field_errors.invalid("apiVersion", version, f"must be {resource.api_version}")
            raise statuses.invalid(resource, name, [cause])
        raise statuses.bad_request(
            f"the API version in the data ({version or ''}) does not match the expected API version "
            f"({resource.api_version})"
        )


def formed(
    resource: resources.Resource, body: dict[str, Any], intent: options.Intent
) -> tuple[dict[str, Any], list[str]]:
    """Return the body of a built-in kind in its form, and the paths of unknown fields. Raises StatusError."""
    if resource.form is None:
        return body, []
    try:
        return resource.form(resource, body)
    except statuses.StatusError as error:
        if intent.patch is None:
            raise
        problem = error.message.partition(f"cannot be handled as a {resource.kind}: ")[2]
        raise statuses.unpatchable(body, problem) from None


def report_unknown(
    resource: resources.Resource, body: dict[str, Any], unknown: list[str], intent: options.Intent
) -> None:
    """Tell unknown fields as the request wants it: in warnings, in a refusal (StatusError), or not at all."""
    if not unknown or intent.field_validation == "Ignore":
        return
    texts = [f'unknown field "{path}"' for path in unknown]
    if intent.field_validation == "Warn":
        intent.warnings += texts
        return
    problem = f"strict decoding error: {', '.join(texts)}"
    if intent.patch is not None:
        raise statuses.unpatchable(body, problem)
    raise statuses.undecodable(resource, problem)
