"""Quantities as the Kubernetes API writes them (apimachinery pkg/api/resource/quantity.go): "32Gi", "7500m", 8.

Read from the capacity of nodes, and from the configuration, which knows nothing of what is observed.
"""

from __future__ import annotations

import math
import re

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e([+-]?[0-9]+)|([KMGTPE]i|[numkMGTPE])?)\Z", re.IGNORECASE)
_SUFFIX = {
    "": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip


def parse(value: object) -> float | None:
    """A Kubernetes quantity as a number, None when it is none: "32Gi", "7500m", 8."""
    try:
        if isinstance(value, str):
            match = _QUANTITY.match(value)
            if match is None or (match[3] or "") not in _SUFFIX:
                return None
            number = float(f"{match[1]}e{match[2] or 0}") * _SUFFIX[match[3] or ""]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
        else:
            return None
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
