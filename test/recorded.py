"""What others see of the product, recorded: it changes only where somebody means it.

`make record` records again, with RECORD=1 and the same tests; then read the difference, and name it in the log.
"""

from __future__ import annotations

import difflib
import os
import pathlib
from typing import Any

import yaml

FOLDER = pathlib.Path(__file__).parent / "recorded_files"
INFRASTRUCTURES = "infrastructures.yaml"
VARIABLE = "RECORD"


def compare(name: str, text: str) -> None:
    """Fail with the difference, or write the file where it is wanted."""
    path = FOLDER / name
    if os.environ.get(VARIABLE):
        path.write_text(text)
        return
    before = path.read_text() if path.exists() else ""
    if before == text:
        return
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "recorded", "now", lineterm="", n=2)
    raise AssertionError(
        "\n".join(
            [f"others see a change: {path.name}. Where that is meant, `make record` and name it in log.md", *lines]
        )
    )


def infrastructures() -> dict[str, dict[str, Any]]:
    """The recorded objects that engines of a fleet and of GitOps judge, by name."""
    found: dict[str, dict[str, Any]] = yaml.load(
        (FOLDER / INFRASTRUCTURES).read_text(encoding="utf-8"), yaml.CSafeLoader
    )
    return found
