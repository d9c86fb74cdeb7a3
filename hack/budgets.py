"""Prints how much there is beside what budgets.toml allows; exit code 1, and a line for each that is over."""

import pathlib
import subprocess
import sys
import tomllib
from typing import Any

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_FILE = pathlib.Path(__file__).with_suffix(".toml")


def _files(budget: dict[str, Any]) -> list[pathlib.Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *budget["of"]]
    names = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True).stdout.split("\0")  # noqa: S603 - our own words
    suffixes = tuple(budget.get("suffix", ("",)))
    return [_ROOT / name for name in names if name.endswith(suffixes) and (_ROOT / name).is_file()]


def judged(budgets: dict[str, dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return a line for each budget, and one for each that is not kept."""
    there, lines = [], []
    for name, budget in budgets.items():
        files = _files(budget)
        if not files:
            # A folder that has another name now is within any budget.
            lines.append(
                f"{name}: there is nothing in {', '.join(budget['of'])}, which {_FILE.relative_to(_ROOT)} names"
            )
        counts = {"files": len(files), "lines": sum(file.read_bytes().count(b"\n") for file in files)}
        columns = (f"{counts[unit]:>8} of {budget[unit]} {unit}" for unit in counts if unit in budget)
        there.append(f"{name:<24}{''.join(columns)}")
        for unit, count in counts.items():
            if unit in budget and count > budget[unit]:
                lines.append(f"{name}: {count} {unit}, {budget[unit]} are allowed by {_FILE.relative_to(_ROOT)}")
    return there, lines


def main() -> int:
    """Print the table, and what is over; return the exit code."""
    there, over = judged(tomllib.loads(_FILE.read_text(encoding="utf-8")))
    print("\n".join(there))  # noqa: T201 - a command of the repository
    for line in over:
        print(line, file=sys.stderr)  # noqa: T201 - as above
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
