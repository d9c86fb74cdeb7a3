"""One cluster with our policies for all tests of this folder."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from test.component.admission import policy_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from test.component import real


@pytest.fixture(scope="package")
def furnished(real_server: real.Session) -> Iterator[real.Session]:
    with asyncio.Runner() as runner:
        furnishing = policy_server.furnished(real_server)
        runner.run(furnishing.__aenter__())
        yield real_server
        runner.run(furnishing.__aexit__(None, None, None))


@pytest.fixture
async def ground(furnished: real.Session) -> AsyncIterator[policy_server.PolicyServer]:
    async with policy_server.opened(furnished) as made:
        yield made
