"""Certificates that do not fit, on either side: the answer is not Met, and says whose certificate it is about."""

from __future__ import annotations

import pytest

from test.etcd import asking
from topology_simulator.etcd import certificates

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def folder(three, tmp_path):
    """A client's folder that is good, to be spoilt."""
    return certificates.write(tmp_path / "client", three.authority.certificate, three.authority.client())


async def test_members_of_another_authority_are_not_believed(three, folder):
    certificates.write(folder, certificates.Authority().certificate)
    answer = await asking.ask(three, folder=folder)
    assert answer.status is asking.UNKNOWN, answer
    assert "certificate verify failed" in answer.message


async def test_a_client_certificate_of_another_authority_is_refused(three, folder):
    certificates.write(folder, three.authority.certificate, certificates.Authority().client())
    answer = await asking.ask(three, folder=folder)
    assert answer.status is asking.UNKNOWN, answer
    assert "TLS: " in answer.message


async def test_an_expired_client_certificate_is_named(three, folder):
    certificates.write(folder, three.authority.certificate, three.authority.client(expired=True))
    answer = await asking.ask(three, folder=folder)
    assert answer.status is asking.UNKNOWN, answer
    assert "TLS: it refused us: " in answer.message
    assert "certificate expired" in answer.message
