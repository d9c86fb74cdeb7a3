"""Further cases of what `make test` runs: the mark `nightly`, which only `make nightly` runs.

`nightly` is for a whole test whose subject another one has shortly. `nightly("a", "b")` are those cases of a test, and
`nightly(but=("a",))` all of its cases but that one. The name of a case is without the API server that it runs on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    import pytest

MARK = "nightly"
_SERVERS = ("embedded", "real")


def register(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", f"{MARK}(*cases, but=()): further cases: with --apiserver both or real only")


def case(test: str) -> str:
    """Return the name of a test's case, without the server that it runs on; `test` is its name or its id."""
    name = test.partition("[")[2].removesuffix("]")
    for server in _SERVERS:
        if name == server:
            return ""
        name = name.removeprefix(f"{server}-").removesuffix(f"-{server}")
    return name


def is_nightly(item: pytest.Item) -> bool:
    """Whether only `make nightly` runs this case."""
    return any(names(mark, case(item.name)) for mark in item.iter_markers(MARK))


def names(mark: pytest.Mark, name: str) -> bool:
    """Whether the mark is for the case of this name."""
    return name in mark.args if mark.args else name not in mark.kwargs.get("but", ())


def leave_out(config: pytest.Config, items: list[pytest.Item], extra: Collection[pytest.Item]) -> None:
    """Take these out of what is run."""
    if not extra:
        return
    without = set(extra)
    config.hook.pytest_deselected(items=[item for item in items if item in without])
    items[:] = [item for item in items if item not in without]
