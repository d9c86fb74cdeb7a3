"""docs/kubectl-topology.md shows commands that the program understands, every verb, every flag and every exit code."""

from __future__ import annotations

import argparse
import pathlib
import re
import shlex

import pytest

from topology_controller.plugin import arguments

PAGE = (pathlib.Path(__file__).parents[3] / "docs" / "kubectl-topology.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^(?:\$ oc topology|    kubectl-topology) ([^|>\n]*)", PAGE, re.MULTILINE)


def _verbs() -> dict[str, argparse.ArgumentParser]:
    for action in arguments.parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("no verbs")


@pytest.mark.parametrize("words", SHOWN)
def test_every_command_that_is_shown_is_understood(words: str) -> None:
    assert arguments.parse(shlex.split(words)).verb in _verbs()


@pytest.mark.parametrize("verb", sorted(_verbs()))
def test_every_verb_and_flag_is_documented(verb: str) -> None:
    assert f"## {verb}\n" in PAGE
    flags = {
        flag
        for action in _verbs()[verb]._actions
        for flag in action.option_strings
        if flag.startswith("--") and flag not in {"--help", "--output"}
    }
    missing = [flag for flag in flags if flag not in PAGE]
    assert not missing
