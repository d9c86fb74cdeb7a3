"""Tables as `kubectl get` prints them, from what the server itself says (columns, cells, ages)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import client, kinds


async def fetch(api: client.Client, kind: kinds.Kind, name: str = "") -> str:
    """Return the table of one object, or of all of a kind. Raises ClientError."""
    return layout(await api.table(kind, name))


def layout(table: dict[str, Any]) -> str:
    """Lay a meta.k8s.io/v1 Table out: columns that are always shown, three spaces between them."""
    shown = [number for number, one in enumerate(table["columnDefinitions"]) if not one.get("priority")]
    lines = [[str(table["columnDefinitions"][number]["name"]).upper() for number in shown]]
    lines += ([_cell(row["cells"][number]) for number in shown] for row in table.get("rows") or [])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("   ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
