"""Which licences the image carries: read from the installed packages, compared with those that are allowed.

The expression is what a package declares by itself (PEP 639), else its licence field where that is a known name, else
its classifiers. A package that says nothing understandable, or a licence that is not allowed, is a fault: an
image is handed on, and so are the duties that come with what is in it. The table of
docs/development/image.md follows from the locked file; a test compares them.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import license_expression  # type: ignore[import-untyped] # it has no types

from . import locks

ALLOWED: Mapping[str, str] = {
    "Apache-2.0": "keep licence and notices",
    "MIT": "keep licence and copyright",
    "BSD-2-Clause": "keep licence and copyright",
    "BSD-3-Clause": "keep licence and copyright, do not use names for promotion",
    "ISC": "keep licence and copyright",
    "PSF-2.0": "keep licence and copyright, say what was changed",
    "Python-2.0": "keep licence and copyright, say what was changed",
    "MPL-2.0": "its files stay under it, and their source is offered; we change none",
}
"""What may be in the image, and what it asks of a distributor of the image. In each case: docs/development/image.md."""

_NAMES = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD License": None,
    "Dual License": None,
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
}


class UnknownLicenceError(Exception):
    """A package does not say under which licence it is, in a way that can be read; the message has what it says."""


@dataclass(frozen=True, slots=True)
class Licensed:
    """A package and its SPDX expression."""

    name: str
    version: str
    expression: str


@functools.cache
def _licensing() -> Any:
    return license_expression.get_spdx_licensing()


def licence(name: str) -> Licensed:
    """Return the licence of a package that is installed here. Raises UnknownLicenceError."""
    distribution = metadata.distribution(name)
    about = distribution.metadata
    stated = [*(about[field] for field in ("License-Expression", "License") if field in about)]
    stated += [text for text in about.get_all("Classifier") or [] if text.startswith("License ::")]
    for text in stated:
        expression = expressed(text or "")
        if expression is not None:
            return Licensed(about["Name"], distribution.version, expression)
    raise UnknownLicenceError(
        f"{about['Name']} {distribution.version} says of its licence: {[text for text in stated if text]}"
    )


def expressed(text: str) -> str | None:
    """Return the SPDX expression that a text means, None when it means none for sure."""
    text = _NAMES.get(text, text) or ""
    if not text or _licensing().validate(text).errors:
        return None
    return str(_licensing().parse(text))


def faults(expression: str) -> list[str]:
    """Return the licences of an expression that are not allowed; one of several that are offered is enough."""
    return _refused(_licensing().parse(expression))


def _refused(part: Any) -> list[str]:
    if isinstance(part, _licensing().OR):
        ways = [_refused(way) for way in part.args]
        return [] if [] in ways else [name for way in ways for name in way]
    if isinstance(part, _licensing().AND):
        return [name for each in part.args for name in _refused(each)]
    return [] if str(part) in ALLOWED else [str(part)]


def table(locked: Iterable[locks.Locked]) -> str:
    """Return the table of docs/development/image.md. Raises UnknownLicenceError."""
    rows = [licence(lock.name) for lock in locked]
    lines = ["| package | version | licence |", "|---|---|---|"]
    lines += [
        f"| {row.name} | {row.version} | {row.expression} |" for row in sorted(rows, key=lambda row: row.name.lower())
    ]
    return "\n".join(lines) + "\n"
