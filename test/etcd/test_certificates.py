"""Certificates that do not fit, on either side: the answer is not Met, and says whose certificate it is about."""

from __future__ import annotations

import pytest

from test.etcd import asking, conftest
from topology_simulator.etcd import certificates

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def folder(three, tmp_path):
    """A client's folder that is good, to be spoilt."""
    return certificates.write(tmp_path / "client", three.authority.certificate, three.authority.client())


async def test_a_good_folder_is_met(three, folder):
    assert (await asking.ask(three, folder=folder)).status is asking.MET


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


async def test_a_certificate_that_may_only_serve_is_refused(three, folder):
    """An administrator who takes the serving certificate of something else for it."""
    certificates.write(folder, three.authority.certificate, three.authority.server_only("etcd-client"))
    answer = await asking.ask(three, folder=folder)
    assert answer.status is asking.UNKNOWN, answer
    assert "TLS: " in answer.message


async def test_an_expired_client_certificate_is_named(three, folder):
    certificates.write(folder, three.authority.certificate, three.authority.client(expired=True))
    answer = await asking.ask(three, folder=folder)
    assert answer.status is asking.UNKNOWN, answer
    assert "TLS: it refused us: " in answer.message
    assert "certificate expired" in answer.message


@pytest.mark.parametrize("name", ["ca.crt", "tls.crt", "tls.key"])
async def test_a_file_that_is_missing_is_named(three, folder, name):
    (folder / name).unlink()
    answer = await asking.ask(three, folder=folder)
    assert answer.status is asking.UNKNOWN, answer
    assert f"{folder / name}: it does not exist" in answer.message


async def test_a_key_of_another_certificate_is_named(three, folder):
    (folder / "tls.key").write_bytes(three.authority.client().key)
    answer = await asking.ask(three, folder=folder)
    assert answer.status is asking.UNKNOWN, answer
    assert "tls.key" in answer.message


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        (lambda authority: authority.member("master-1", expired=True), "certificate has expired"),
        (lambda authority: authority.member("master-1", ("192.0.2.1", "etcd.example")), "IP address mismatch"),
        (lambda _: certificates.Authority().member("master-1"), "certificate verify failed"),
        (lambda authority: authority.client("master-1"), "certificate verify failed"),
    ],
    ids=["expired", "of another host", "of another authority", "of a client"],
)
@pytest.mark.parametrize("asked", [conftest.THREE, conftest.THREE[:1]], ids=["named", "revealed"])
async def test_one_member_with_a_certificate_that_does_not_fit_spoils_the_answer(three, folder, spoilt, words, asked):
    """etcd reads its serving certificate at every handshake, so a running member can be given another one."""
    member = three.members["master-1"]
    asker = asking.Asker(three, folder=folder, endpoints=tuple(three.members[name].url for name in asked))
    assert (await asker.ask()).status is asking.MET
    member.give(three.secrets(member.name, serving=spoilt(three.authority)))
    try:
        answer = await asker.ask()
    finally:
        member.give(three.secrets(member.name))
    assert answer.status is asking.UNKNOWN, answer
    assert member.url in answer.message
    assert words in answer.message
    assert (await asker.ask()).status is asking.MET
