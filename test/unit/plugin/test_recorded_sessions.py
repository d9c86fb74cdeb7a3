"""docs/sessions/ has every verb on every scenario, typed as the program understands it and as it was recorded."""

from __future__ import annotations

import html
import importlib.util
import pathlib
import re
import sys
from typing import Any

import pytest

from topology_controller.plugin import arguments

ROOT = pathlib.Path(__file__).resolve().parents[3]
VERBS = {"plan", "set", "cancel", "status", "wait", "accept", "graph", "audit"}
_COMMAND = re.compile(r"(?ms)^<pre>\n\$ oc topology ([^\n]+)\n(.*?)^\$ echo \$\?\n(\d+)\n</pre>$")


def _recorder() -> Any:
    spec = importlib.util.spec_from_file_location("record_sessions", ROOT / "hack" / "record_sessions.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("record_sessions", made)
    spec.loader.exec_module(made)
    return made


RECORDER = _recorder()


@pytest.mark.parametrize("name", RECORDER.SESSIONS)
def test_every_verb_is_shown_and_understood(name: str) -> None:
    text = RECORDER.page(name).read_text(encoding="utf-8")
    understood = [arguments.parse(words) for words in RECORDER.commands(text)]
    assert {one.verb for one in understood} == VERBS
    asked = {(one.target is not None, getattr(one, "confirm", None)) for one in understood if hasattr(one, "target")}
    assert asked == {(False, None), (True, None), (True, False), (True, True)}


@pytest.mark.parametrize("name", RECORDER.SESSIONS)
def test_a_page_is_what_is_recorded_and_nothing_of_the_machine(name: str) -> None:
    text = RECORDER.page(name).read_text(encoding="utf-8")
    typed = [html.unescape(one) for one, _, _ in _COMMAND.findall(text)]
    assert typed == [part.text for part in RECORDER.SESSIONS[name] if isinstance(part, RECORDER.Typed)]
    for words, said, code in _COMMAND.findall(text):
        assert said.strip(), words
        assert int(code) in range(6), words
    seen: set[str] = set()
    assert all(RECORDER.once(said, seen) == said for _, said, _ in _COMMAND.findall(text)), "it stands above already"
    assert not re.search(r"127\.0\.0\.1|localhost|Traceback|/tmp/|\d{4}-\d\d-\d\dT", text)
