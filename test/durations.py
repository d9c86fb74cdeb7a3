"""How long each test takes: recorded, the long ones begun first, and a later run compared with it.

A run writes build/durations.json. `python -m test.durations record` keeps from it, in test/durations.json, the seconds
of each test of a second or more and the sum of each file; `compare` shows what has become slower since, as shares of
the whole, because machines differ. The hooks are called by `conftest`.
"""

from __future__ import annotations

import collections
import functools
import json
import pathlib
import sys
from typing import TYPE_CHECKING

from test import scheduling

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

RECORDED = pathlib.Path(__file__).parent / "durations.json"
MEASURED = pathlib.Path("build/durations.json")
_LONG = 1.0
_WORTH = 0.004
"""Share of the whole that a file must have gained before it is shown."""

_seconds: dict[str, float] = collections.defaultdict(float)


def note(report: pytest.TestReport) -> None:
    """Add one phase of a test."""
    _seconds[report.nodeid] += report.duration


def save(folder: pathlib.Path) -> None:
    """Write what was measured, beside what another session of the same run has."""
    if not _seconds:
        return
    file = folder / MEASURED
    file.parent.mkdir(exist_ok=True)
    before = _load(file)
    file.write_text(json.dumps({**before, **{name: round(one, 2) for name, one in sorted(_seconds.items())}}, indent=0))


def long_first(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; what runs in one group stays in its order."""
    tests = _recorded()["tests"]
    items.sort(key=lambda item: -tests.get(item.nodeid, 0.0) if scheduling.group(item.nodeid) == item.nodeid else 0.0)


@functools.cache
def _recorded() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {"files": {}, "tests": {}, **_load(RECORDED)}
    return found


def _load(file: pathlib.Path) -> dict[str, dict[str, float]]:
    try:
        found: dict[str, dict[str, float]] = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found


def _files(tests: Mapping[str, float]) -> dict[str, float]:
    sums: dict[str, float] = collections.defaultdict(float)
    for name, seconds in tests.items():
        sums[name.partition("::")[0]] += seconds
    return {name: round(one, 1) for name, one in sorted(sums.items()) if one >= _LONG}


def _record(measured: Mapping[str, float]) -> None:
    tests = {name: round(one, 1) for name, one in sorted(measured.items()) if one >= _LONG}
    RECORDED.write_text(json.dumps({"files": _files(measured), "tests": tests}, indent=1) + "\n")


def _compare(measured: Mapping[str, float]) -> list[str]:
    """Return a line for each file that takes a larger share than it did."""
    before, now = _recorded()["files"], _files(measured)
    both = before.keys() & now.keys()
    was, is_ = sum(before[one] for one in both) or 1.0, sum(now[one] for one in both) or 1.0
    grown = {
        name: (before[name] / was, now[name] / is_)
        for name in both
        if now[name] / is_ > 2 * before[name] / was and now[name] / is_ - before[name] / was > _WORTH
    }
    return [
        f"{name}: {old:.1%} of the time recorded, {new:.1%} now"
        for name, (old, new) in sorted(grown.items(), key=lambda one: -one[1][1])
    ]


def main(command: str) -> int:
    """Do `record`, `compare` or `top`; the exit code says only whether there was something to do it with."""
    measured = {name: float(one) for name, one in json.loads(MEASURED.read_text()).items()}
    if command == "record":
        _record(measured)
    elif command == "compare":
        print("\n".join(_compare(measured)) or "no file takes twice its recorded share of the time")  # noqa: T201
    else:
        for name, seconds in sorted(_files(measured).items(), key=lambda one: -one[1])[:40]:
            print(f"{seconds:8.1f} s  {name}")  # noqa: T201
        print(f"{sum(measured.values()):8.1f} s  all {len(measured)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
