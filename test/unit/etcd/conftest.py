from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from topology_controller.observe import facts, members

from . import certificates, gateways

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator


@pytest.fixture(scope="session")
def authority() -> certificates.Authority:
    return certificates.Authority()


@pytest.fixture
def folder(tmp_path: pathlib.Path, authority: certificates.Authority) -> pathlib.Path:
    """A certificate folder that the members accept."""
    return certificates.fill(tmp_path / "client", authority.pem, authority.issue("client"))


@pytest.fixture
async def etcd(authority: certificates.Authority) -> AsyncIterator[gateways.Etcd]:
    """Three voters; 1 leads."""
    made = gateways.Etcd(authority)
    for number in (1, 2, 3):
        await made.add(number)
    yield made
    await made.close()


@pytest.fixture
async def budget(folder: pathlib.Path, etcd: gateways.Etcd) -> float:
    """Seconds in which a survey hears of each member that answers at all: ten times what that takes here and now."""
    began = time.monotonic()
    await members.Members(folder, tuple(etcd.urls), budget=60.0).read(facts.NOT_READ)
    for gateway in etcd.gateways:
        gateway.asked.clear()
    return max(0.4, 10 * (time.monotonic() - began))
