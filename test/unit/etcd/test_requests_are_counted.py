"""What etcd is asked is told to an observer, once for every request, with what came back."""

from __future__ import annotations

import collections

from aiohttp import web

from topology_controller.observe import facts, members


async def counted(folder, *endpoints: str) -> collections.Counter[str]:
    found: list[str] = []
    await members.Members(folder, endpoints, budget=0.4, observer=found.append).read(facts.NOT_READ)
    return collections.Counter(found)


async def test_every_answer_is_counted_with_its_status(etcd, folder):
    assert await counted(folder, *etcd.urls) == {"200": 9}, "three questions to each of three members"


async def test_a_refusal_is_counted_with_its_status(etcd, folder):
    async def refuse(path, _body):
        return web.json_response({"message": "no"}, status=503) if path == "/v3/cluster/member/list" else None

    etcd.gateways[0].before = refuse
    found = await counted(folder, *etcd.urls)
    assert found["503"] >= 1, found
    assert found["error"] == 0, found


async def test_what_nobody_answers_is_counted_too(etcd, folder):
    gone = etcd.gateways[2].url
    await etcd.gateways[2].close()
    found = await counted(folder, gone)
    assert set(found) == {"error"}, found
