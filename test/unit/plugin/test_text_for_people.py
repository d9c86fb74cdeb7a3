"""Text fits the terminal, says the important first, and obeys nobody: colour, width, pipes, odd characters."""

from __future__ import annotations

import io
import re

import pytest

from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import document

from ..core import worlds
from . import replies

BLOCKED = worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.CONVERGING, Phase.COMPLETED])
def test_lines_fit_but_for_commands_and_names_that_cannot_be_broken(width: int, phase: Phase) -> None:
    known = replies.in_phase(phase)
    found = [replies.planned(known), replies.overview(known), replies.told(known)]
    for text in (replies.printed(one, width) for one in found):
        too_long = [
            line
            for line in text.splitlines()
            if len(line) > width and "oc " not in line and max(map(len, line.split())) < width // 3
        ]
        assert not too_long, "\n".join(too_long)


def test_colour_only_repeats_what_a_word_says() -> None:
    found = replies.planned(BLOCKED)
    coloured = replies.printed(found, colour=True)
    assert "\x1b[31mUnmet\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9]*m", "", coloured) == replies.printed(found)


@pytest.mark.parametrize(
    ("stream", "environ", "width", "colour"),
    [
        pytest.param(io.StringIO(), {}, 0, False, id="pipe"),
        pytest.param(io.StringIO(), {"COLUMNS": "90"}, 90, False, id="pipe-with-columns"),
        pytest.param(Terminal(), {"COLUMNS": "90"}, 90, True, id="terminal"),
        pytest.param(Terminal(), {"COLUMNS": "90", "NO_COLOR": "1"}, 90, False, id="no-colour"),
        pytest.param(Terminal(), {"TERM": "dumb"}, 0, False, id="dumb"),
        pytest.param(Terminal(), {"COLUMNS": "7"}, 24, True, id="hardly-any-width"),
        pytest.param(Terminal(), {"COLUMNS": "many"}, 0, True, id="nonsense"),
    ],
)
def test_a_document_suits_its_stream(stream: io.StringIO, environ: dict[str, str], width: int, *, colour: bool) -> None:
    made = document.Document.of(stream, environ)
    assert (made.width, made.colour) == (width, colour)


def test_a_message_cannot_move_somebodys_cursor() -> None:
    evil = facts.Unobserved("x", "\x1b]0;owned\x07\x1b[2J\nMet  Everything")
    text = replies.printed(replies.planned(worlds.healthy(scheduler=evil)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert not re.search(r"^Met  Everything", text, re.MULTILINE)
