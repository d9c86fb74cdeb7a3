"""From members that answer over TLS to one fact: what each deviation becomes, and how long it may take."""

import asyncio
import collections
import contextlib
import pathlib
from typing import Any

import pytest
from aiohttp import web

from topology_controller.etcd import survey as surveys
from topology_controller.observe import facts, members
from topology_simulator.etcd import certificates

from . import gateways


def voice(found: facts.EtcdMembers, gateway: gateways.Gateway) -> facts.EtcdVoice:
    return next(one for one in found.voices if one.member == gateway.id)


async def read(folder: pathlib.Path, *endpoints: str, published: Any = facts.NOT_READ) -> tuple[Any, dict[str, int]]:
    """What is read, and how often each status came."""
    heard: list[str] = []
    asked = members.Members(folder, endpoints, budget=gateways.BUDGET, observer=heard.append)
    return await asked.read(published), collections.Counter(heard)


async def test_three_healthy_voters(etcd, folder):
    found = await etcd.survey(folder)
    assert not found.silences
    for gateway in etcd.gateways:
        assert sorted(gateway.asked) == [
            ("/health", None), ("/v3/cluster/member/list", {"linearizable": True}), ("/v3/maintenance/status", {}),
        ], "nothing that leaves a trace, and always the quorum"  # fmt: skip
    listed = tuple(facts.EtcdMember(str(number), f"etcd-{number}") for number in (1, 2, 3))
    assert [one.endpoint for one in found.voices] == sorted(etcd.urls)
    for gateway in etcd.gateways:
        assert voice(found, gateway) == facts.EtcdVoice(
            endpoint=gateway.url,
            member=gateway.id,
            cluster="cdf818194e3a8c32",
            members=listed,
            confirmed=True,
            leader="1",
            term=2,
        )


async def test_addresses_are_taken_from_what_is_published(folder, monkeypatch):
    """Port 2379 of every published address, whatever the key."""
    asked: list[Any] = []

    async def survey(_context, endpoints, hosts, *, budget, observer):
        asked.append((tuple(endpoints), sorted(hosts), budget))
        return ()

    monkeypatch.setattr(surveys, "survey", survey)
    published = facts.EtcdEndpoints((("cafe", "192.0.2.11"), ("node-0", "192.0.2.10"), ("x", "2001:DB8::1"), ("y", "")))
    await members.Members(folder).read(published)
    endpoints = ("https://192.0.2.10:2379", "https://192.0.2.11:2379", "https://[2001:db8::1]:2379")
    assert asked == [(endpoints, ["192.0.2.10", "192.0.2.11", "2001:db8::1"], 1.0)]


@pytest.mark.parametrize(
    ("published", "said"),
    [
        (facts.EtcdEndpoints(()), "has no address"),
        (facts.EtcdEndpoints((("a", "garbage"),)), "has no address"),
        (facts.Unobserved("configmaps/etcd-endpoints", "Forbidden"), "configmaps/etcd-endpoints: Forbidden"),
    ],
)
async def test_without_an_address_there_is_nobody_to_ask(folder, published, said):
    found, _ = await read(folder, published=published)
    assert isinstance(found, facts.Unobserved)
    assert said in str(found)


@pytest.mark.parametrize("path", ["/v3/maintenance/status", "/v3/cluster/member/list", "/health"])
async def test_what_was_answered_before_the_time_was_up_counts(etcd, folder, path):
    async def slow(asked: str, _: Any) -> None:
        if asked == path:
            await asyncio.sleep(30)

    slow_one = etcd.gateways[1]
    slow_one.before = slow
    # Whether it is well is asked once it has confirmed the list.
    found = await etcd.survey(folder, answers=7 if path.endswith("list") else 8)
    assert voice(found, etcd.gateways[0]).confirmed
    if path == "/v3/maintenance/status":
        assert found.silences == (facts.EtcdSilence(slow_one.url, ("2",), "no answer in time", down=True),)
    elif path == "/health":
        assert isinstance(voice(found, slow_one).healthy, facts.Unobserved)
    else:
        said = voice(found, slow_one)
        assert (said.confirmed, said.unconfirmed, said.members) == (False, "no answer in time", ())


async def test_without_a_quorum_a_members_own_opinion_says_what_is_wrong(etcd, folder):
    etcd.quorum_lost = True
    found = await etcd.survey(folder, answers=6)
    for one in found.voices:
        assert (one.confirmed, one.leader, one.errors) == (False, None, ("etcdserver: no leader",))
        assert [member.id for member in one.members] == ["1", "2", "3"]


async def test_learners_unstarted_members_alarms_and_ill_health_are_told(etcd, folder):
    learner = await etcd.add(0xCAFE, learner=True)
    waiting = gateways.Told(9, "", [])
    told = [*etcd.told, waiting]
    for gateway in etcd.gateways:
        gateway.members = told
        gateway.errors = [f"memberID:{0xCAFE} alarm:NOSPACE "]
    etcd.gateways[1].health = {"health": "false", "reason": "ALARM NOSPACE"}
    found = await etcd.survey(folder, etcd.urls[0])
    assert found.voices[0].members[-1:] == (facts.EtcdMember("cafe", "etcd-51966", learner=True),)
    assert facts.EtcdMember("9", "") in found.voices[0].members
    assert voice(found, etcd.gateways[1]).healthy is False
    assert voice(found, etcd.gateways[0]).errors == ("alarm NOSPACE of member cafe",)
    assert learner.id not in {one.member for one in found.voices}, "a learner proves nothing: it is not asked"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: web.json_response({"code": 7, "message": "permission denied"}, status=403), "403 permission denied"),
        (lambda: web.Response(status=404, text="Not Found\n"), "404 Not Found"),
        (lambda: web.Response(text="<html>"), "answered what etcd does not"),
        (lambda: web.json_response([]), "answered what etcd does not"),
        (
            lambda: web.json_response({"header": {"cluster_id": "1"}, "members": []}),
            "header: member_id: Field required",
        ),
        (lambda: web.Response(status=302, headers={"Location": "https://127.0.0.1:1/"}), "302 Found"),
        (lambda: web.Response(body=b"x" * (2**16 + 1)), "more than 65536 bytes"),
        (lambda: web.Response(body=b"[" * 50_000), "answered what etcd does not"),
        (lambda: web.Response(status=500, body=b"[" * 50_000), "500 Internal Server Error"),
        (lambda: web.json_response({"message": "x\n\x1b[31m" + "y" * 1000}, status=403), f"403 x[31m{'y' * 193}"),
    ],
)
async def test_an_answer_that_is_not_etcds_is_no_answer(etcd, folder, answer, said):
    async def strange(*_: Any) -> web.Response:
        made: web.Response = answer()
        return made

    etcd.gateways[1].before = strange
    found = await etcd.survey(folder)
    (silence,) = found.silences
    assert (silence.endpoint, silence.members, silence.down) == (etcd.urls[1], ("2",), False)
    assert said in silence.why


async def test_an_endpoint_behind_which_several_members_answer_proves_nothing(etcd, folder):
    async def other(path: str, _: Any) -> web.Response | None:
        etcd.gateways[0].told.id = 1 if path.endswith("list") else 7
        return None

    etcd.gateways[0].before = other
    found = await etcd.survey(folder, etcd.urls[0])
    assert any("several members answer there" in one.why for one in found.silences)


async def test_a_member_that_advertises_no_https_is_not_asked_in_the_clear(etcd, folder):
    etcd.gateways[2].told.urls = ["http://127.0.0.1:2379"]
    (silence,) = (await etcd.survey(folder, *etcd.urls[:2])).silences
    assert (silence.members, silence.down) == (("3",), False)
    assert "is not https" in silence.why


async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


@pytest.mark.parametrize("listens", [False, True])
async def test_only_where_nobody_listens_a_member_is_down(folder, listens):
    async with await asyncio.start_server(cut, "127.0.0.1", 0) as server:
        where = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        if not listens:
            server.close()
        found, heard = await read(folder, where)
    assert isinstance(found, facts.Unobserved)
    assert not found.awaited
    assert str(found).startswith(f"the members of etcd: none of them answered: {where}: ")
    assert ("refused" in str(found), "no answer in time" in str(found)) == (not listens, False)
    assert set(heard) == {"error"}


async def test_every_answer_is_counted_with_its_status(etcd, folder):
    assert (await read(folder, *etcd.urls))[1] == {"200": 9}, "three questions to each of three members"

    async def refuse(path, _body):
        return web.json_response({"message": "no"}, status=503) if path == "/v3/cluster/member/list" else None

    etcd.gateways[0].before = refuse
    _, heard = await read(folder, *etcd.urls)
    assert heard["503"] >= 1, heard
    assert heard["error"] == 0, heard


async def served(etcd: gateways.Etcd, pair: certificates.Pair) -> str:
    """Let member 3 serve with another certificate."""
    await etcd.gateways[2].close()
    await etcd.gateways[2].open(etcd.serving(pair))
    etcd.gateways[2].told.urls = [etcd.gateways[2].url]
    return etcd.gateways[2].url


@pytest.mark.parametrize(
    ("issue", "said"),
    [
        (lambda _: certificates.Authority("other").member("member"), "unable to get local issuer certificate"),
        (lambda ours: ours.member("member", ("127.0.0.9",)), "IP address mismatch"),
        (lambda ours: ours.member("member", expired=True), "certificate has expired"),
    ],
    ids=["another authority", "another host", "expired"],
)
async def test_a_member_with_a_wrong_certificate_is_named_with_what_tls_said(etcd, folder, authority, issue, said):
    where = await served(etcd, issue(authority))
    (silence,) = (await etcd.survey(folder)).silences
    assert (silence.endpoint, silence.members, silence.down) == (where, ("3",), False)
    assert silence.why.startswith("TLS: certificate verify failed: ")
    assert said in silence.why
    assert "_ssl.c" not in silence.why


async def test_being_cancelled_leaves_nothing_behind(etcd, folder):
    arrived = asyncio.Semaphore(0)

    async def hang(*_: Any) -> None:
        arrived.release()
        await asyncio.sleep(30)

    for gateway in etcd.gateways:
        gateway.before = hang
    reading = asyncio.create_task(etcd.survey(folder))
    for _ in etcd.gateways:
        await arrived.acquire()
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading
    left = {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("ask ")}
    assert not left
