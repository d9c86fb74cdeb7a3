"""Quantities (`4`, `500m`, `16Gi`) in the one form in which the real server writes them.

The suffix keeps its family (powers of 1024, or of 1000) and becomes the largest with which the number stays whole.
"""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_BINARY = {suffix: 1024**power for power, suffix in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}
_DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", 1)},
}
_RULE = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def canonical(text: str) -> str:
    """Return a quantity in its one form. Raises ValueError."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(_RULE)
    sign, digits, suffix = match[1], match[2], match[3] or ""
    number = Fraction(digits if not digits.startswith(".") else f"0{digits}")
    if suffix.endswith("i"):
        return _shown(sign, number * _BINARY[suffix], {name: Fraction(size) for name, size in _BINARY.items()})
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return _shown(sign, number * Fraction(10) ** int(suffix[1:]), _DECIMAL)
    return _shown(sign, number * _DECIMAL[suffix], _DECIMAL)


def _shown(sign: str, number: Fraction, sizes: dict[str, Fraction]) -> str:
    if number == 0:
        return "0"
    fitting = [name for name, size in sizes.items() if (number / size).denominator == 1]
    if not fitting:
        return _shown(sign, number, _DECIMAL) if sizes is not _DECIMAL else f"{sign}{float(number)}"
    best = max(fitting, key=lambda name: sizes[name])
    return f"{'-' if sign == '-' else ''}{number / sizes[best]}{best}"
