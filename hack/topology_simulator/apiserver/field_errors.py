"""What is wrong with one field, as the causes of a 422 have it (Go: package `field`).

`statuses` puts causes into an answer.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cause:
    """One broken rule of a 422: its field, its reason (`FieldValueInvalid`, ...) and the sentence after the path."""

    field: str
    reason: str
    message: str

    @property
    def text(self) -> str:
        """The cause as it stands in the message of the Status."""
        return f"{self.field}: {self.message}"


def value_text(value: Any) -> str:
    """Return a value as field errors print it: JSON, with strings quoted."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def invalid(field: str, value: Any, message: str) -> Cause:
    """Return the cause of a value that breaks a rule."""
    return Cause(field, "FieldValueInvalid", f"Invalid value: {value_text(value)}: {message}")


def required(field: str, message: str = "") -> Cause:
    """Return the cause of a value that is missing."""
    return Cause(field, "FieldValueRequired", f"Required value: {message}" if message else "Required value")


def forbidden(field: str, message: str) -> Cause:
    """Return the cause of a value that must not be there."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {message}")


def duplicate(field: str, value: Any) -> Cause:
    """Return the cause of a list entry that is there already."""
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {value_text(value)}")


def unsupported(field: str, value: Any, allowed: Sequence[Any]) -> Cause:
    """Return the cause of a value that is not one of an enumeration."""
    supported = ", ".join(value_text(choice) for choice in allowed)
    return Cause(
        field, "FieldValueNotSupported", f"Unsupported value: {value_text(value)}: supported values: {supported}"
    )
