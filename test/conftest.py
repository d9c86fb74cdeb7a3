"""What every test needs: one loop that pytest-asyncio may return to."""

from __future__ import annotations

import asyncio
import pathlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def loop_to_return_to() -> Iterator[None]:
    """Own the loop that pytest-asyncio would otherwise make to return to, and leave for the garbage collector."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()


_SCAFFOLDED = tuple(pathlib.Path(__file__).parent / name for name in ("component", "etcd", "unit/simulator"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a socket of the scaffolding be collected late where the operator is a process of its own.

    A test that ends in the middle of a connect of the cluster's actors leaves its socket to the garbage collector, some
    tests later. What the operator itself leaves open is watched in the unit tests of `kube`.
    """
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in _SCAFFOLDED):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
