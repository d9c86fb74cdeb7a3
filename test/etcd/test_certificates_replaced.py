"""Certificates that are replaced on disk while the operator runs: the next question uses the new ones."""

from __future__ import annotations

import pytest

from test.etcd import asking, conftest
from topology_simulator.etcd import certificates, cluster, member

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_clients_and_members_move_to_another_authority(tmp_path):
    """As in a rotation of the CA: members trust both, clients are given the new pair, then the old one is dropped."""
    async with cluster.Cluster(strict=False) as etcd:
        await etcd.grow(*conftest.THREE)
        await move_to_another_authority(etcd, tmp_path)


async def move_to_another_authority(etcd, tmp_path):
    old, new = etcd.authority, certificates.Authority("etcd-signer-2")
    both = old.certificate + new.certificate
    folder = certificates.write(tmp_path / "client", both, old.client())
    asker = asking.Asker(etcd, folder=folder, data=await asking.published(etcd))
    assert (await asker.ask()).status is asking.MET

    await restart(etcd, lambda name: member.Secrets(both, old.member(name), old.member(name)))
    await asker.until(asking.MET)
    for one in etcd.members.values():
        one.give(member.Secrets(new.certificate, new.member(one.name), new.member(one.name)))
    assert (await asker.ask()).status is asking.MET, "members serve with the new one, clients trust both"

    certificates.write(folder, new.certificate)
    assert (await asker.ask()).status is asking.MET, "the old certificate of ours is still trusted"

    await restart(etcd, lambda name: member.Secrets(new.certificate, new.member(name), new.member(name)))
    await asker.until(asking.UNKNOWN, words="TLS: ")

    certificates.write(folder, new.certificate, new.client())
    await asker.until(asking.MET)


async def test_the_way_a_secret_volume_is_replaced(three, tmp_path):
    """A volume swaps a whole folder by turning one link."""
    stranger = certificates.Authority()
    first = certificates.write(tmp_path / "..1", stranger.certificate, stranger.client())
    second = certificates.write(tmp_path / "..2", three.authority.certificate, three.authority.client())
    (tmp_path / "..data").symlink_to(first.name)
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    asker = asking.Asker(three, folder=tmp_path)
    assert (await asker.ask()).status is asking.UNKNOWN
    (tmp_path / "..data_tmp").symlink_to(second.name)
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    assert (await asker.ask()).status is asking.MET


async def restart(etcd, secrets):
    """Give members other certificates, and start all of them again: whom they trust is read at the start only.

    They are ready a moment later; the administrator's client cannot wait for it, since it trusts the old authority.
    """
    for one in etcd.members.values():
        await one.kill()
    for one in etcd.members.values():
        one.give(secrets(one.name))
        await one.start_again()
