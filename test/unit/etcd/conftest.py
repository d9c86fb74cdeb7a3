import pathlib
from collections.abc import AsyncIterator

import pytest

from topology_simulator.etcd import certificates

from . import gateways


@pytest.fixture(scope="session")
def authority() -> certificates.Authority:
    return certificates.Authority()


@pytest.fixture
def folder(tmp_path: pathlib.Path, authority: certificates.Authority) -> pathlib.Path:
    """A certificate folder that the members accept."""
    return certificates.write(tmp_path / "client", authority.certificate, authority.client())


@pytest.fixture
async def etcd(authority: certificates.Authority) -> AsyncIterator[gateways.Etcd]:
    """Three voters; 1 leads."""
    made = gateways.Etcd(authority)
    for number in (1, 2, 3):
        await made.add(number)
    yield made
    await made.close()
