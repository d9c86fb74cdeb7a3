"""What others see of the product, recorded: it changes only where somebody means it.

RECORD=1 with the same tests records again; then read the difference, and name it in CHANGELOG.
"""

from __future__ import annotations

import difflib
import os
import pathlib

FOLDER = pathlib.Path(__file__).parent / "recorded_files"
VARIABLE = "RECORD"


def compare(name: str, text: str, tests: str) -> None:
    """Fail with the difference, or write the file where it is wanted. `tests` are those that do."""
    path = FOLDER / name
    if os.environ.get(VARIABLE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return
    before = path.read_text() if path.exists() else ""
    if before == text:
        return
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "recorded", "now", lineterm="", n=2)
    raise AssertionError(
        "\n".join(
            [
                f"what others see has changed: {path.name}. Where that is meant, record it and name it in CHANGELOG:",
                f"{VARIABLE}=1 .venv/bin/python -m pytest {tests}",
                *lines,
            ]
        )
    )
