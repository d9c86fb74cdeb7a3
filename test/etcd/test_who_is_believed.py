"""Who is asked and who is believed: members that say that they are, published, and certified by one authority.

Endpoints where somebody else answers, or nobody, and certificates that do not fit are never Met, and are named.
"""

from __future__ import annotations

import contextlib
import re
import ssl

import pytest
from aiohttp import web

from test.etcd import asking, conftest
from topology_controller.observe import facts
from topology_simulator.etcd import certificates, cluster, member

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_member_is_heard_for_itself(three):
    answer = await asking.ask(three)
    ids = await asking.ids(three)
    leader = await three.leader()
    status = await three.client.status(leader.url)
    for name in conftest.THREE:
        voice = answer.voice(ids[name])
        assert voice == facts.EtcdVoice(
            endpoint=three.members[name].url,
            member=ids[name],
            cluster=voice.cluster,
            members=tuple(
                sorted((facts.EtcdMember(id_, one, learner=False) for one, id_ in ids.items()), key=lambda one: one.id)
            ),
            confirmed=True,
            leader=ids[leader.name],
            term=status.term,
            learner=False,
            healthy=True,
            errors=(),
        )


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda data: dict(list(data.items())[:2]), asking.UNMET),
        (lambda data: {**data, "abc": "192.168.126.20"}, asking.UNMET),
        (lambda data: {f"{number:x}": where for number, where in enumerate(data.values(), 1)}, asking.UNMET),
        (lambda data: {f"0{key}": where for key, where in data.items()}, asking.UNKNOWN),
        (lambda data: {f"master-{n}": where for n, where in enumerate(data.values())}, asking.UNKNOWN),
        (lambda _: {}, asking.UNMET),
    ],
    ids=["one is not published", "one too many is", "others are", "padded ids", "names", "nothing"],
)
async def test_the_members_of_another_cluster_prove_nothing(three, change, status):
    answer = await asking.ask(three, data=change(await asking.published(three)))
    assert answer.status is status, answer
    assert "etcd-endpoints" in answer.message


# -- certificates


@pytest.mark.parametrize(
    ("trusted", "shown", "words"),
    [
        ("stranger", None, "certificate verify failed"),
        ("cluster", "stranger", "TLS: it refused us: |does it accept our certificate"),
        ("cluster", "expired", "TLS: it refused us: "),
    ],
)
async def test_a_certificate_that_does_not_fit_on_either_side(three, tmp_path, trusted, shown, words):
    stranger, own = certificates.Authority(), three.authority
    pairs = {"stranger": stranger.client(), "expired": own.client(expired=True), None: own.client()}
    authority = stranger if trusted == "stranger" else own
    folder = certificates.write(tmp_path / "client", authority.certificate, pairs[shown])
    answer = await asking.ask(three, folder=folder)
    assert answer.status is asking.UNKNOWN, answer
    assert re.search(words, answer.message), answer


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


# -- endpoints


@contextlib.asynccontextmanager
async def served(answer, context=None):
    """Answer every request with `answer(request)`, over TLS when there is a context; yields the https URL."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
def serving(three, tmp_path):
    """A TLS context that the cluster's own authority has signed: whoever has it is no stranger to TLS."""
    folder = certificates.write(tmp_path / "server", three.authority.certificate, three.authority.member("x"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


async def good_otherwise(three, url):
    """The same question with this endpoint besides all good ones, and with it alone."""
    besides = await asking.ask(three, endpoints=(*three.urls, url))
    alone = await asking.ask(three, endpoints=(url,))
    return besides, alone


async def test_a_server_that_is_no_etcd(three, serving):
    """What a body must be is a table of the unit tests; here it comes over TLS that everybody trusts."""
    for answer in (
        lambda _: web.json_response({}),
        lambda _: web.Response(text="<html>It works!</html>", content_type="text/html"),
        lambda _: web.Response(status=307, headers={"Location": "https://127.0.0.1:1/"}),
        lambda _: web.Response(body=b"\x00" * (2 << 20)),
    ):

        async def say(request, answer=answer):
            return answer(request)

        async with served(say, serving) as url:
            for told in await good_otherwise(three, url):
                assert told.status is asking.UNKNOWN, told
                assert url in told.message


async def test_a_member_of_another_cluster(three):
    """The same authority signs for both, as it may in a fleet that was set up by one script."""
    async with cluster.Cluster(strict=False, authority=three.authority) as other:
        await other.grow(*conftest.THREE)
        besides, alone = await good_otherwise(three, other.urls[0])
    assert besides.status is asking.UNMET, besides
    assert "different etcd clusters" in besides.message
    assert alone.status is asking.UNMET, alone
    assert "etcd-endpoints" in alone.message


async def test_a_removed_member_that_was_started_anew_by_itself(three):
    """A node that was taken out and reinstalled with a single etcd of its own, at an address that is still named."""
    async with cluster.Cluster(strict=False, authority=three.authority) as lonely:
        await lonely.bootstrap("master-2")
        answer = await asking.ask(three, endpoints=(*three.urls[:2], lonely.urls[0]))
    assert answer.status is asking.UNMET, answer
