"""The status page over HTTP: the page, its state, and the stream that tells of changes."""

import asyncio
import base64
import contextlib
import dataclasses
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from test import polling
from test.unit.core import worlds
from test.unit.serving import pages

from topology_controller.serve import routes


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    limit = aiohttp.ClientTimeout(total=pages.LONG)
    async with aiohttp.ClientSession(timeout=limit, connector=aiohttp.TCPConnector(limit=0)) as made:
        yield made


async def block(answer: aiohttp.ClientResponse) -> str:
    """The next event or comment of a stream; empty at its end."""
    lines: list[str] = []
    async with asyncio.timeout(pages.LONG):
        while line := (await answer.content.readline()).decode():
            if line == "\n":
                break
            lines.append(line)
    return "".join(lines)


async def told(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    """The next state of a stream, past comments."""
    while (found := await block(answer)).startswith(":"):
        pass
    assert found.startswith("data: "), found
    state: dict[str, Any] = json.loads(found.removeprefix("data: "))
    return state


async def test_the_page_runs_what_stands_in_it_and_nothing_else(house, session):
    async with session.get(f"{house.url}/") as answer:
        text = await answer.text()
        assert (answer.status, answer.content_type) == (200, "text/html")
        allowed = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    assert allowed["default-src"] == allowed["base-uri"] == allowed["form-action"] == "'none'"
    assert allowed["connect-src"] == "'self'"
    for kind in ("script", "style"):
        (inline,) = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert allowed[f"{kind}-src"] == f"'sha256-{digest}'"
    assert "unsafe" not in str(allowed)


def test_the_page_never_makes_elements_from_text():
    (page_file,) = (worlds.BINDATA / "page").iterdir()
    text = page_file.read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " onclick", " style="):
        assert word not in text, word


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1"),
    ],
)
async def test_a_browser_gets_nothing_for_another_site(house, session, header, value):
    """The port of a forward is open to every site that the browser of that machine visits."""
    for path in ("/", "/state", "/events"):
        async with session.get(f"{house.url}{path}", headers={header: value}) as answer:
            assert answer.status == 403
            assert "for another site" in await answer.text()


async def test_what_is_not_watched_is_asked_for_while_a_page_is_open(house, session):
    house.pin(worlds.healthy())
    async with session.get(f"{house.url}/events") as answer:
        await told(answer)
        assert house.wanted >= 1, "when it connects"
        seen = house.wanted
        await polling.until("it is asked for again while nothing happens", lambda: house.wanted >= seen + 2)
    await polling.until("the stream has ended", lambda: not house.page._streams)
    seen = house.wanted
    await asyncio.sleep(3 * pages.QUICK.comment)
    assert house.wanted == seen, "without a reader nothing is read"
    async with session.get(f"{house.url}/state") as answer:
        assert answer.status == 200
    assert house.wanted == seen + 1


async def test_a_process_that_does_not_lead_reads_nothing_for_a_page(house, session):
    house.pin(worlds.healthy())
    house.latest.clear()
    async with session.get(f"{house.url}/state") as answer:
        assert (answer.status, (await answer.json())["leads"]) == (200, False)
    assert house.wanted == 0


async def test_many_decisions_in_a_moment_are_few_events_and_the_last_one_is_told(session):
    async with pages.opened(dataclasses.replace(pages.QUICK, interval=0.25)) as house:
        house.pin(worlds.healthy(scheduler=worlds.BROKEN))
        async with session.get(f"{house.url}/events") as answer:
            assert (answer.status, answer.content_type) == (200, "text/event-stream")
            assert (await told(answer))["phase"] == "Pending"
            began = time.monotonic()
            for number in range(100):
                house.pin(worlds.healthy(control_plane_nodes=(worlds.node(0, cpus=number / 100),)))
                await asyncio.sleep(0.005)
            events = 0
            while "0.99 of 4" not in str((await told(answer))["nodes"]):
                events += 1
            lasted = time.monotonic() - began
    assert events <= lasted / 0.25 + 1, f"{events} events in {lasted:.2f} s"


async def test_there_are_only_so_many_streams(house, session):
    answers = [await session.get(f"{house.url}/events") for _ in range(routes.STREAMS)]
    assert {answer.status for answer in answers} == {200}
    async with session.get(f"{house.url}/events") as refused:
        assert (refused.status, refused.headers["Retry-After"]) == (503, "15")
        assert "/state" in await refused.text()
    async with session.get(f"{house.url}/state") as answer:
        assert answer.status == 200
    for answer in answers:
        answer.close()


async def test_a_reader_who_does_not_read_is_let_go(session):
    async with pages.opened(dataclasses.replace(pages.QUICK, interval=0.001)) as house:
        house.pin(worlds.healthy())
        reader, writer = await asyncio.open_connection("127.0.0.1", int(house.url.rpartition(":")[2]), limit=2**12)
        writer.write(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await writer.drain()
        await polling.until("the stream is there", lambda: len(house.page._streams) == 1)
        ends = time.monotonic() + 2 * pages.LONG
        number = 0
        while house.page._streams:
            assert time.monotonic() < ends, "somebody who does not read holds a stream"
            number += 1
            house.pin(worlds.healthy(control_plane_nodes=(worlds.node(0, name=f"node-{number}-{'x' * 60000}"),)))
            await asyncio.sleep(0.005)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        assert reader is not None


async def test_a_stream_whose_time_is_over_ends_in_good_order(session):
    async with pages.opened(limits=dataclasses.replace(pages.USUAL, stream=0.5)) as house:
        house.pin(worlds.healthy())
        answer = await session.get(f"{house.url}/events")
        await told(answer)
        while (found := await block(answer)).startswith(":"):
            pass
        assert found == "", "a clean end, not a broken connection"
        await polling.until("the stream is forgotten", lambda: not house.page._streams)


async def test_shutting_down_ends_streams_at_once_and_in_order(session):
    async with pages.opened(dataclasses.replace(pages.QUICK, comment=pages.LONG, standby=pages.LONG)) as house:
        house.pin(worlds.healthy())
        answers = [await session.get(f"{house.url}/events") for _ in range(3)]
        for answer in answers:
            await told(answer)
        began = time.monotonic()
    lasted = time.monotonic() - began
    assert lasted < pages.LONG / 2, f"{lasted:.2f} s: the server waited for streams that nobody ended"
    for answer in answers:
        assert await block(answer) == "", "a clean end, not a broken connection"
    assert not house.page._streams
