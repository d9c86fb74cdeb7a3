"""docs/api.md has every word, and every field of /state; that its made tables are current is for `make lint`."""

from __future__ import annotations

import enum
import pathlib
import re
import typing

import pytest

import explained
from topology_api import vocabulary
from topology_controller.report import state

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "api.md").read_text()
WORDS = set(re.findall(r"`([^`]+)`", PAGE))
ENUMS = [one for one in vars(vocabulary).values() if isinstance(one, type) and issubclass(one, enum.Enum)]
OURS = [one for one in ENUMS if one.__module__ == vocabulary.__name__]


def rows(heading: str) -> dict[str, list[str]]:
    """Rows of a table below a heading, by the word in their first cell."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    tables = [part for part in re.split(r"\n\n+", section) if part.lstrip().startswith("|")]
    lines = tables[0].strip().splitlines()[2:]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    return {line[0].strip("`"): line[1:] for line in cells}


@pytest.mark.parametrize("words", OURS, ids=lambda words: words.__name__)
def test_every_word_is_there_with_its_meaning(words):
    meanings = explained.meanings(vocabulary)
    for word in words:
        assert words is vocabulary.ConditionStatus or str(word.value) in WORDS, f"docs/api.md lacks {word.value}"
        assert meanings[f"{words.__name__}.{word.name}"].endswith("."), word


def inner_of(hint: object) -> type | None:
    """The dictionary that a field holds, in a list or alone."""
    if typing.is_typeddict(hint):
        items = typing.get_type_hints(hint).get("items")
        return inner_of(items) if items is not None else typing.cast("type", hint)
    return next((found for one in typing.get_args(hint) if (found := inner_of(one)) is not None), None)


def test_every_field_of_state_has_a_row_and_what_is_inside_is_named():
    # What `stage`, `checks` and `progress` hold is told in one row.
    cells = {name: row[0] for words, row in rows("State").items() for name in words.replace("`", "").split(", ")}
    assert set(cells) == {"time", *typing.get_type_hints(state.State)}
    missing = {
        f"{name}.{field}"
        for name, hint in typing.get_type_hints(state.State).items()
        if (inner := inner_of(hint)) is not None
        for field in typing.get_type_hints(inner)
        if f"`{field}`" not in cells[name]
    }
    assert not missing
