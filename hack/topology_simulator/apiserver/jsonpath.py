r"""The simple JSON paths of printer columns, as `.status.conditions[?(@.type=="Available")].status`.

Known are names (`\.` is a dot in one), and a field compared with a text, as the definitions of the simulated kinds have
them. Anything else (indices, wildcards, quoted names) is refused when a definition is created.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_STEP = re.compile(r"""\.((?:\\.|[^.\[\]\\*])+)|\[\?\(@\.([^.\[\]\\*=!]+)=="([^"]*)"\)\]""")


class PathError(ValueError):
    """A path that is not understood here."""


def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """Return the function from a JSON value to all values at the path. Raises PathError."""
    steps: list[tuple[str | None, str | None, str | None]] = []
    position = 0
    while not steps or position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            raise PathError(f"unrecognized JSON path at {text[position:]!r}")
        steps.append((step[1] and step[1].replace("\\.", "."), step[2], step[3]))
        position = step.end()

    def find(value: Any) -> list[Any]:
        values = [value]
        for name, key, wanted in steps:
            if name is None:
                items = [item for value in values if isinstance(value, list) for item in value]
                values = [item for item in items if isinstance(item, dict) and item.get(key) == wanted]
            else:
                values = [value[name] for value in values if isinstance(value, dict) and name in value]
        return values

    return find
