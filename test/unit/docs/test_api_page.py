"""The tables of docs/api.md are generated: they are current and have every word; one without a meaning is refused."""

from __future__ import annotations

import enum
import pathlib
import re
import time

import pytest

import api_page
import explained
from topology_api import crd, served, vocabulary
from topology_controller.definitions import registry

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRANSITIONS = ROOT / "bindata" / "transitions"
PAGE = (ROOT / "docs" / "api.md").read_text()
WORDS = set(re.findall(r"`([^`]+)`", PAGE))
ENUMS = [one for one in vars(vocabulary).values() if isinstance(one, type) and issubclass(one, enum.Enum)]
OURS = [one for one in ENUMS if one.__module__ == vocabulary.__name__]


def rows(heading: str, number: int = 0) -> dict[str, list[str]]:
    """Rows of a table below a heading, by the word in their first cell."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    tables = [part for part in re.split(r"\n\n+", section) if part.lstrip().startswith("|")]
    lines = tables[number].strip().splitlines()[2:]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    return {line[0].strip("`"): line[1:] for line in cells}


def test_it_is_current():
    began = time.process_time()
    assert api_page.page(TRANSITIONS, PAGE) == PAGE, "docs/api.md is not current: run make generate"
    assert time.process_time() - began < 5.0, "make lint waits for it"


@pytest.mark.parametrize("words", OURS, ids=lambda words: words.__name__)
def test_every_word_is_there_with_its_meaning(words):
    meanings = explained.meanings(vocabulary)
    for word in words:
        assert words is vocabulary.ConditionStatus or str(word.value) in WORDS, f"docs/api.md lacks {word.value}"
        assert meanings[f"{words.__name__}.{word.name}"].endswith("."), word


def test_a_table_that_was_edited_is_put_right_and_what_stands_around_it_stays():
    edited = PAGE.replace("| `Idle` |", "| `Lazy` |").replace("## Phases\n", "## Phases\n\nBy hand.\n")
    assert api_page.page(TRANSITIONS, edited) == PAGE.replace("## Phases\n", "## Phases\n\nBy hand.\n")


def test_every_field_that_the_operator_writes_is_there():
    listed = {name.replace("[]", "") for name in rows("The record")}
    assert listed == served.paths(crd.record_schema())
    assert list(rows("The request")) == ["spec.desiredTopology"]


def test_every_check_has_the_stages_and_parameters_that_it_may_have():
    for name, (stage, parameters, meaning) in rows("Checks", 2).items():
        check = vocabulary.CheckName(name)
        stages = registry.TRAITS[check].stages or {vocabulary.Stage.PREFLIGHT}
        assert stage == ("both" if len(stages) > 1 else next(iter(stages)))
        assert set(re.findall(r"`(\w+)`", parameters)) == registry.TRAITS[check].parameters
        assert set(re.findall(r"\*`(\w+)`\*", parameters)) == registry.TRAITS[check].required
        assert meaning
    assert set(rows("Checks", 2)) == set(vocabulary.CheckName)


def test_every_link_of_the_contents_leads_somewhere():
    anchors = re.findall(r"^\* \[([^]]+)\]\(#([^)]+)\)$", PAGE, re.MULTILINE)
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert [title for title, _ in anchors] == headings
    assert all(anchor == title.lower().replace(" ", "-") for title, anchor in anchors)
