"""With a serving certificate the status page is on a loopback address of the pod, where `port-forward` ends.

So the API server decides who sees it, by the right to forward a port of that pod; the operator asks for nothing.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import aiohttp
import pytest

from test.component import metrics_clients
from topology_simulator import serving

if TYPE_CHECKING:
    import pathlib

    from test.component.process import Operator
    from test.component.world import World

_PAGE = "the status page is on port "
_LIMIT = aiohttp.ClientTimeout(total=5.0)


async def started(world: World, folder: pathlib.Path, *flags: str) -> Operator:
    authority = await world.server.client_authority(world.api)
    given = serving.Serving(folder / "tls", authority)
    flags = ("--serving-cert-dir", str(given.certificates), *flags)
    operator = await world.operator("operator-a", *flags, wait=False)
    operator.tls = metrics_clients.trusting(given)
    await operator.ready()
    return operator


async def page_port(operator: Operator) -> int:
    return int((await operator.said(_PAGE)).partition(_PAGE)[2].split()[0])


async def code(port: int, path: str, **headers: str) -> int:
    async with (
        aiohttp.ClientSession(timeout=_LIMIT) as session,
        session.get(f"http://127.0.0.1:{port}{path}", headers=headers) as answer,
    ):
        return answer.status


async def test_the_page_is_on_loopback_and_asks_for_nothing(world: World, tmp_path: pathlib.Path) -> None:
    operator = await started(world, tmp_path, "--page-address", "127.0.0.1:0")
    port = await page_port(operator)
    async with aiohttp.ClientSession(f"http://localhost:{port}", timeout=_LIMIT) as forwarded:
        async with forwarded.get("/") as answer:
            assert (answer.status, "<title>" in await answer.text()) == (200, True)
        async with forwarded.get("/state") as answer:
            assert (answer.status, (await answer.json())["phase"]) == (200, "Idle")
        async with forwarded.get("/events") as answer:
            assert (await answer.content.readuntil(b"\n\n")).startswith(b"data: {")
    assert [await code(port, path) for path in ("/metrics", "/healthz", "/sign-in")] == [404, 404, 404]


async def test_a_site_whose_name_leads_to_this_machine_gets_nothing(world: World, tmp_path: pathlib.Path) -> None:
    port = await page_port(await started(world, tmp_path, "--page-address", "127.0.0.1:0"))
    for path in ("/", "/state", "/events"):
        assert await code(port, path, Host="evil.example") == 421
        assert await code(port, path, Origin="http://evil.example") == 403
        assert await code(port, path, **{"Sec-Fetch-Site": "cross-site"}) == 403


@pytest.mark.parametrize("flags", [(), ("--page-address", "")], ids=["no flag", "empty"])
async def test_without_an_address_there_is_no_page(
    world: World, tmp_path: pathlib.Path, flags: tuple[str, ...]
) -> None:
    operator = await started(world, tmp_path, *flags)
    assert _PAGE not in operator.words()
    for path in ("/", "/state", "/events", "/sign-in"):
        assert (await operator.ask(path))[0] == 401
        known = await operator.ask(path, headers={"Authorization": "Bearer operator-b"})
        # The real server knows that this user may read nothing; the embedded one allows everything.
        assert known[0] == (403 if world.server.is_real else 404), "nor on the port that others reach"


async def test_a_port_that_is_taken_ends_it_at_the_start(world: World, tmp_path: pathlib.Path) -> None:
    given = serving.Serving(tmp_path / "tls", serving.authority())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        flags = ("--serving-cert-dir", str(given.certificates), "--page-address", place)
        operator = await world.operator("operator-a", *flags, wait=False)
        assert await operator.ended() == 1
    assert f"cannot listen on {place}" in operator.tail()
