"""The tables of docs/api.md are generated: they are current and have every word; one without a meaning is refused."""

from __future__ import annotations

import enum
import importlib.util
import pathlib
import re
import sys
import time
import types

import pytest

import api_page
import explained
from topology_api import crd, served, shape, vocabulary
from topology_controller import cli
from topology_controller.definitions import load, registry
from topology_controller.report import conditions

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


def test_every_shape_is_there():
    assert set(rows("Shapes")) == {one.value for one in shape.Shape}


def test_a_word_without_a_meaning_is_refused():
    with pytest.raises(explained.UndescribedError, match=r"Phase\.LIMBO has no docstring"):
        explained.meaning("Phase.LIMBO")


@pytest.mark.parametrize(
    "spoilt",
    [
        PAGE.replace("`make generate`: phases -->", "`make generate`: fazes -->"),
        PAGE.replace("<!-- made by `make generate`: phases -->", ""),
        PAGE + "\n<!-- made by `make generate`: phases -->\n<!-- until here -->\n",
    ],
)
def test_a_page_that_has_lost_a_mark_is_refused(spoilt):
    with pytest.raises(api_page.MarksError, match="phases"):
        api_page.page(TRANSITIONS, spoilt)


def test_a_table_that_was_edited_is_put_right_and_what_stands_around_it_stays():
    edited = PAGE.replace("| `Idle` |", "| `Lazy` |").replace("## Phases\n", "## Phases\n\nBy hand.\n")
    assert api_page.page(TRANSITIONS, edited) == PAGE.replace("## Phases\n", "## Phases\n\nBy hand.\n")


def test_meanings_are_the_strings_right_below(tmp_path):
    place = tmp_path / "words_for_a_test.py"
    place.write_text(
        'A = 1\n"""One."""\nB: int = 2\nclass C:\n    """Not D."""\n    D = 3\n    """Four\n    five."""\n'
    )
    spec = importlib.util.spec_from_file_location("words_for_a_test", place)
    assert spec is not None
    assert spec.loader is not None
    made = types.ModuleType("words_for_a_test")
    made.__spec__, made.__file__ = spec, str(place)
    sys.modules[made.__name__] = made
    try:
        assert explained.meanings(made) == {"A": "One.", "C.D": "Four five."}
    finally:
        del sys.modules[made.__name__]


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


def test_every_definition_is_there():
    found = load.load(TRANSITIONS)
    assert set(rows("Transitions")) == set(rows("Transitions", 1)) == {one.name for one in found.definitions}


def test_every_operand_of_the_matrix_is_there():
    section = PAGE.partition("\n## Operands\n")[2].partition("\n## ")[0]
    for group in load.load(TRANSITIONS).matrix.groups:
        lines = [line for line in section.splitlines() if line.startswith(f"| `{group.check}` |")]
        assert lines, group.check
        assert all(line.rstrip("| ").split("|")[-1].strip() for line in lines), f"{group.check} has no source"
        for operand in group.operands:
            shown = f"{operand.namespace}/{operand.name}" if operand.namespace else f"/{operand.name}"
            assert any(shown in line for line in lines), operand.key


def test_every_reason_has_its_conditions():
    assert set(vocabulary.REASON_CONDITIONS) == set(vocabulary.Reason)
    progressing = {reason for _, reason in conditions._PROGRESSING.values()}
    upgradeable = set(conditions._UPGRADEABLE.values())
    on = vocabulary.ConditionType
    for reason in vocabulary.Reason:
        stands = vocabulary.REASON_CONDITIONS[reason]
        assert (on.PROGRESSING in stands) is (reason in progressing), reason
        assert reason is vocabulary.Reason.AS_EXPECTED or (on.UPGRADEABLE in stands) is (reason in upgradeable), reason


def test_the_exit_codes_are_those_of_the_command_line():
    codes = vocabulary.ExitCode
    assert (cli.OK, cli.FAILED, cli.USAGE, cli.LOST_LEASE) == (codes.OK, codes.FAILED, codes.USAGE, codes.LOST_LEASE)


def test_every_link_of_the_contents_leads_somewhere():
    anchors = re.findall(r"^\* \[([^]]+)\]\(#([^)]+)\)$", PAGE, re.MULTILINE)
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert [title for title, _ in anchors] == headings
    assert all(anchor == title.lower().replace(" ", "-") for title, anchor in anchors)
