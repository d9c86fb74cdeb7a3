"""Faults of the network and of servers, on a real socket: never a hot loop, never garbage as an event, never a hang.

Each fault is met by a whole reflector. The server keeps doing it for a while, and then behaves; nothing may be lost.
"""

import asyncio
import contextlib
import dataclasses
import json
from typing import Any

import pytest
from test.polling import PATIENCE

from topology_controller.kube import errors, reflector, resource, transport

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")


def listing(*items):
    metadata = {"resourceVersion": "10"}
    return {"kind": "WidgetList", "apiVersion": "example.org/v1", "metadata": metadata, "items": list(items)}


@contextlib.asynccontextmanager
async def reflecting(connect, timing, server=None, request_timeout=PATIENCE):
    """Run a reflector of `spec` on a faulty server."""
    made: reflector.Reflector[Any] = reflector.Reflector(
        await connect(request_timeout=request_timeout, server=server),
        resource.Selection(WIDGETS),
        lambda raw: raw.get("spec"),
        lambda: None,
        malformed=lambda name, error: (name, error),
        timing=timing,
    )
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def reflect(connect, quick):
    async with contextlib.AsyncExitStack() as stack:
        yield lambda: stack.enter_async_context(reflecting(connect, quick))


def whole(status, body, **headers):
    """Answer so, and nothing else."""

    async def fault(asked, reply):
        await reply.whole(status, body, **headers)

    return fault


def stream(*chunks, then):
    """Begin a stream with these chunks; then `end` it, `hang up`, or be silent."""

    async def fault(asked, reply):
        await reply.begin()
        for chunk in chunks:
            await reply.chunk(chunk)
        if then == "silence":
            await asyncio.sleep(30)
        elif then == "end":
            await reply.end()
        else:
            reply.hang_up()

    return fault


async def closed(asked, reply):
    reply.hang_up()


async def silent(asked, reply):
    await asyncio.sleep(30)


def status(code, reason):
    return {"kind": "Status", "code": code, "reason": reason, "message": "because"}


def event(kind, found):
    return json.dumps({"type": kind, "object": found}).encode() + b"\n"


GADGET = {"kind": "Gadget", "metadata": {"name": "g", "resourceVersion": "11"}}
NAMELESS = {"kind": "Widget", "metadata": {"resourceVersion": "11"}, "spec": "no"}
HALF = b'{"type": "ADDED", "object": {"kind": "Wid'
FAULTS = {
    "empty 503": (whole(503, b""), errors.ServerError),
    "502 of a proxy": (whole(502, b"<html>\n502\n</html>\n", Content_Type="text/html"), errors.ServerError),
    "text 401": (whole(401, b"Unauthorized\n"), errors.Unauthorized),
    "status 401": (whole(401, status(401, "Unauthorized")), errors.Unauthorized),
    "status 403": (whole(403, status(403, "Forbidden")), errors.Forbidden),
    "text 404": (whole(404, b"404 page not found\n"), errors.NotFound),
    "status 410": (whole(410, status(410, "Expired")), errors.Gone),
    "a page with 200": (whole(200, b"<html>\nsign in\n</html>\n", Content_Type="text/html"), errors.Malformed),
    "closed without a word": (closed, errors.Unreachable),
    "silent before the headers": (silent, errors.TimedOut),
    "closed at once": (stream(then="end"), errors.Unreachable),
    "silent": (stream(then="silence"), errors.TimedOut),
    "cut in the middle": (stream(HALF, then="hang up"), errors.Unreachable),
    "cut in the middle in good order": (stream(HALF, then="end"), errors.Unreachable),
    "event 401": (stream(event("ERROR", status(401, "Unauthorized")), then="silence"), errors.Unauthorized),
    "event 410": (stream(event("ERROR", status(410, "Expired")), then="end"), errors.Gone),
    "garbage": (stream(b'"text"\n', then="silence"), errors.Malformed),
    "another kind": (stream(event("ADDED", GADGET), then="silence"), errors.Malformed),
    "no name": (stream(event("ADDED", NAMELESS), then="silence"), errors.Malformed),
    "an unknown event": (stream(event("EXPLODED", {**GADGET, "kind": "Widget"}), then="silence"), errors.Malformed),
}


async def test_a_watch_in_trouble_waits_and_recovers(faulty, connect, quick, make_widget, soon):
    """All faults at the same time, each on a server of its own; those that fail are named."""

    async def story(server, made, expected, good):
        await soon(lambda: len(server.watches) >= 5, 30.0)
        # Pauses of 0.1, 0.2 and 0.4 s, each with its jitter; a hot loop makes a thousand requests in that time.
        assert server.watches[-1].at - server.watches[0].at > 0.25
        # On a busy machine an answer that is cut lasts long enough to look alive, for that moment.
        await soon(lambda: made.error is not None and not made.alive)
        assert type(made.error) is expected, made.error
        assert made.objects == {(None, "a"): "old"}
        good.set()
        await soon(lambda: made.objects == {(None, "a"): "new"})
        await soon(lambda: made.error is None)
        assert made.alive
        if expected is not errors.Gone:
            assert len(server.lists) == 1
            assert {asked.query["resourceVersion"] for asked in server.watches} == {"10"}

    async def one(fault, expected):
        server, good = type(faulty)(), asyncio.Event()

        async def behave(asked, reply):
            if not asked.is_watch:
                await reply.whole(200, listing(make_widget("a", 5, spec="old")))
            elif not good.is_set():
                await fault(asked, reply)
            else:
                await reply.begin()
                await reply.event("MODIFIED", make_widget("a", 12, spec="new"))
                await reply.peer_hangs_up()

        server.behave = behave
        await server.start()
        try:
            silence, answer = (0.3, 1.0) if expected is errors.TimedOut else (quick.silence, 30.0)
            timing = dataclasses.replace(quick, silence=silence, settle=0.5)
            async with reflecting(connect, timing, server, answer) as made:
                await story(server, made, expected, good)
        finally:
            await server.stop()

    results = await asyncio.gather(*(one(*pair) for pair in FAULTS.values()), return_exceptions=True)
    wrong = {name: result for name, result in zip(FAULTS, results, strict=True) if result}
    assert not wrong, wrong


@pytest.mark.parametrize("size", [1, 5 * 1024 * 1024])
async def test_events_of_any_size_arrive_whole_in_pieces_of_any_size(faulty, reflect, make_widget, soon, size):
    text = "ä" + "x" * size

    async def behave(asked, reply):
        if not asked.is_watch:
            await reply.whole(200, listing())
            return
        await reply.begin()
        data = b""
        for number in range(3):
            found = make_widget(f"w{number}", 11 + number, spec=text + str(number))
            data += json.dumps({"type": "ADDED", "object": found}, ensure_ascii=False).encode() + b"\n"
        step = max(1, len(data) // 40)
        for begin in range(0, len(data), step):
            await reply.chunk(data[begin : begin + step])
        await reply.peer_hangs_up()

    faulty.behave = behave
    made = await reflect()
    await soon(lambda: len(made.objects) == 3)
    assert [made.objects[None, f"w{number}"] for number in range(3)] == [text + str(number) for number in range(3)]
    assert len(faulty.watches) == 1


async def test_a_line_without_end_does_not_eat_the_memory(faulty, reflect, monkeypatch, soon):
    monkeypatch.setattr(transport, "_LONGEST_BODY", 1024 * 1024)

    async def behave(asked, reply):
        if not asked.is_watch:
            await reply.whole(200, listing())
            return
        await reply.begin()
        while not reply.writer.transport.is_closing():
            await reply.chunk(b"x" * 65536)

    faulty.behave = behave
    made = await reflect()
    await soon(lambda: made.error is not None)
    assert type(made.error) is errors.Malformed
