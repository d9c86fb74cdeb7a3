"""The manifests on the real API server for all tests of this folder, and a stage with a cluster for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component.rights import restricted_world

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Iterator

    from test.component import real


@pytest.fixture(scope="package")
def ground(real_server: real.Session) -> Iterator[restricted_world.SharedCluster]:
    made = restricted_world.SharedCluster(real_server)
    yield made
    made.leave()


@pytest.fixture
async def staged(
    ground: restricted_world.SharedCluster, tmp_path: pathlib.Path
) -> AsyncIterator[restricted_world.RestrictedWorld]:
    async with restricted_world.opened(ground, tmp_path) as made:
        yield made
