"""What the real server answered to every row, kept beside the rows: what the embedded one is held against.

`recorded.json` has the normalised answers by the names of the rows, one answer a line, and the version that gave them.
`python -m simulator_tests.parity` compares it with the real server; with `--record` it writes it.
"""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass, field
from typing import Any

_FILE = pathlib.Path(__file__).with_name("recorded.json")


@dataclass(slots=True)
class Record:
    """Normalised answers by the name of the row, and the version of Kubernetes that gave them."""

    version: str = ""
    answers: dict[str, list[Any]] = field(default_factory=dict)


def load() -> Record:
    """Return the record; an empty one where there is none."""
    if not _FILE.exists():
        return Record()
    read = json.loads(_FILE.read_text())
    return Record(read["version"], read["rows"])


def save(record: Record) -> None:
    """Write the record, in the order of its rows."""
    rows = ",\n".join(f"{_line(name)}: [\n{_lines(answers)}\n]" for name, answers in record.answers.items())
    _FILE.write_text(f'{{"version": {_line(record.version)}, "rows": {{\n{rows}\n}}}}\n')


def _lines(answers: list[Any]) -> str:
    return ",\n".join(f"  {_line(one)}" for one in answers)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
