"""docs/api.md names every field of /state, and no other."""

from __future__ import annotations

import pathlib
import re
import typing

from topology_controller.report import state

_PAGE = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text()


def _table() -> dict[str, str]:
    section = _PAGE.partition("\n## State\n")[2].partition("\n## ")[0]
    found: dict[str, str] = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            found |= dict.fromkeys(re.findall(r"`([^`]+)`", cells[0]), cells[1])
    return found


def _inner(hint: object) -> type | None:
    """The dictionary that a field holds, in a list or alone."""
    if typing.is_typeddict(hint):
        items = typing.get_type_hints(hint).get("items")
        return _inner(items) if items is not None else typing.cast("type", hint)
    return next((found for one in typing.get_args(hint) if (found := _inner(one)) is not None), None)


def test_every_field_has_a_row():
    assert set(_table()) == {"time", *typing.get_type_hints(state.State)}


def test_every_field_inside_is_named():
    # What `stage`, `checks` and `progress` hold is told in one row.
    rows = _table()
    missing = {
        f"{name}.{field}"
        for name, hint in typing.get_type_hints(state.State).items()
        if (inner := _inner(hint)) is not None
        for field in typing.get_type_hints(inner)
        if f"`{field}`" not in rows[name]
    }
    assert not missing
