import pathlib
import ssl
from collections.abc import AsyncIterator

import pytest

from . import ground, pages


@pytest.fixture
def cluster() -> ground.Cluster:
    """It knows Alice, who may see the metrics, and Bob, who may see something else."""
    made = ground.Cluster(client_ca=ground.CLIENTS.certificate.decode())
    made.know("alices", "alice", "/metrics")
    made.know("bobs", "bob", "/state")
    return made


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A serving certificate."""
    return ground.serving_pair(tmp_path / "serving")


@pytest.fixture
def tls(tmp_path: pathlib.Path) -> ssl.SSLContext:
    """Somebody who trusts the server, and has no certificate."""
    return ground.client_tls(tmp_path)


@pytest.fixture
async def house() -> AsyncIterator[pages.House]:
    """The status page."""
    async with pages.opened() as made:
        yield made
