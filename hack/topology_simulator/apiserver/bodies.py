"""What a body must be before it counts as an object: of the kind and version of its path, with fields that are known.

A built-in kind completes a body that says neither; a custom resource does not. `writes` asks here first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import statuses

if TYPE_CHECKING:
    from . import options, resources


def check_type(resource: resources.Resource, body: dict[str, Any]) -> None:
    """Raise StatusError unless a body is of the kind and version of its path."""
    wanted = (resource.kind, resource.api_version)
    kind, version = body.get("kind"), body.get("apiVersion")
    if not resource.custom:
        kind, version = kind or resource.kind, version or resource.api_version
    if (kind, version) != wanted:
        raise statuses.bad_request(f"the body is {kind} of {version}, the path is for {wanted[0]} of {wanted[1]}")


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
    raise statuses.undecodable(resource, problem) if intent.patch is None else statuses.unpatchable(body, problem)
