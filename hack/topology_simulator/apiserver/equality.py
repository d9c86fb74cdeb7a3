"""Whether two JSON values are the same: true is not 1, and 1.0 is not 1, which Python alone would say.

Asked by `writes` (is this write a change?), `managed_fields` (which fields?), `validation` (what may stay as it was?)
and `patch` (does the `test` hold?). Versions of an object share most of their parts, so identity is looked at first.
"""

from __future__ import annotations

from typing import Any


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are the same."""
    return left is right or (bool(left == right) and not _mixed(left, right))


def _mixed(left: Any, right: Any) -> bool:
    """Return whether two values that Python takes for equal differ in JSON, or in the Go of the real server."""
    if left is right:
        return False
    if isinstance(left, dict):
        return any(_mixed(part, right[key]) for key, part in left.items())
    if isinstance(left, list):
        return any(_mixed(one, two) for one, two in zip(left, right, strict=True))
    return type(left) is not type(right)


def whole(value: Any) -> Any:
    """Return a JSON value with 2.0 written as 2, as the real server writes it."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        made = {key: whole(part) for key, part in value.items()}
        return made if any(made[key] is not part for key, part in value.items()) else value
    if isinstance(value, list):
        items = [whole(one) for one in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
