"""One cluster with our policies for all tests of this folder."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from test.component.admission import ground as grounds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from test.component import real


@pytest.fixture(scope="package")
def furnished(real_server: real.Session) -> Iterator[real.Session]:
    asyncio.run(grounds.furnish(real_server))
    yield real_server
    asyncio.run(grounds.clear(real_server))


@pytest.fixture
async def ground(furnished: real.Session) -> AsyncIterator[grounds.Ground]:
    async with grounds.opened(furnished) as made:
        yield made
