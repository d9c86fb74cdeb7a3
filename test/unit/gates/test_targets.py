"""What `make help` lists."""

from __future__ import annotations

import pathlib
import re
import subprocess

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
