"""What `make help` lists, and the budgets of `make lint`: what is over, and a folder that is not there any more."""

from __future__ import annotations

import pathlib
import re
import subprocess

import budgets

ROOT = pathlib.Path(__file__).parents[3]
GROUPS = ["To try it", "To work on it", "To judge it", "To build and release"]


def test_help_lists_every_target_once_in_a_group():
    # It may run below another make, which would have this one say where it is.
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603 - the make of this machine
    lines = done.stdout.splitlines()
    assert [line for line in lines if line and not line.startswith("  ")] == GROUPS
    phony = re.search(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text())
    assert phony
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(listed) == sorted(phony[1].split())
    assert listed[0] == "demo", "the first of README's two commands comes first"


def test_what_is_over_its_budget_and_a_folder_that_was_moved_are_named():
    (line,) = budgets.over({"gates": {"of": ["test/unit/gates"], "suffix": [".py"], "lines": 10, "files": 1000}})
    assert line.startswith("gates: ")
    assert line.endswith(" lines, 10 are allowed by hack/budgets.toml")
    (line,) = budgets.over({"moved": {"of": ["test/nowhere"], "lines": 10}})
    assert line == "moved: there is nothing in test/nowhere, which hack/budgets.toml names"
