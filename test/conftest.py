"""What every test needs: one loop that pytest-asyncio may return to."""

from __future__ import annotations

import asyncio
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
