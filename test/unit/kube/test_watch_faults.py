"""Faults of the network and of servers, on a real socket: never a hot loop, never garbage as an event,
never a hang.

Each fault is met by a whole reflector. The server keeps doing it for a while, and then behaves; nothing
may be lost.
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


def listing(*items, version="10"):
    return {
        "kind": "WidgetList",
        "apiVersion": "example.org/v1",
        "metadata": {"resourceVersion": version},
        "items": list(items),
    }


class Watched(reflector.Reflector[Any]):
    """A reflector that is run by a test."""

    news: list[reflector.Snapshot[Any]]
    task: asyncio.Task[None]


@contextlib.asynccontextmanager
async def reflecting(connect, timing, server=None, request_timeout=PATIENCE):
    """Run a reflector of `spec` on a faulty server; `news` are its wake-ups."""
    client = await connect(request_timeout=request_timeout, server=server)
    made = Watched(
        client,
        resource.Selection(WIDGETS),
        lambda raw: raw.get("spec"),
        lambda: made.news.append(made.snapshot()),
        malformed=lambda name, error: (name, error),
        timing=timing,
    )
    made.news = []
    made.task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        made.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await made.task


@pytest.fixture
async def reflect(connect, quick):
    async with contextlib.AsyncExitStack() as stack:

        async def started(**figures):
            return await stack.enter_async_context(reflecting(connect, dataclasses.replace(quick, **figures)))

        yield started


@pytest.fixture
def each_fault(connect, quick, faulty):
    """Tell one story with all faults at the same time.

    Each with a server of its own; name the faults that fail.
    """

    async def told(faults, story):
        async def one(fault, expected):
            server = type(faulty)()
            server.behave = fault
            await server.start()
            try:
                async with reflecting(connect, quick, server, 1.0) as made:
                    await story(server, made, fault, expected)
            finally:
                await server.stop()

        results = await asyncio.gather(*(one(*pair) for pair in faults), return_exceptions=True)
        wrong = {pair[0].__name__: result for pair, result in zip(faults, results, strict=True) if result}
        assert not wrong, wrong

    return told


async def empty_503(asked, reply):
    await reply.whole(503, b"")


async def html_502(asked, reply):
    await reply.whole(502, b"<html>\n<title>502</title>\n</html>\n", Content_Type="text/html")


async def text_401(asked, reply):
    await reply.whole(401, b"Unauthorized\n")


async def status_401(asked, reply):
    await reply.whole(401, {"kind": "Status", "code": 401, "reason": "Unauthorized"})


async def status_403(asked, reply):
    await reply.whole(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "widgets is forbidden"})


async def status_404(asked, reply):
    await reply.whole(404, b"404 page not found\n")


async def http_410(asked, reply):
    await reply.whole(410, {"kind": "Status", "code": 410, "reason": "Expired"})


async def closed_at_once(asked, reply):
    await reply.begin()
    await reply.end()


async def closed_without_a_word(asked, reply):
    reply.hang_up()


async def html_with_200(asked, reply):
    await reply.whole(200, b"<html>\n<body>\nsign in\n</body>\n</html>\n", Content_Type="text/html")


async def silent(asked, reply):
    await reply.begin()
    await asyncio.sleep(30)


async def silent_before_the_headers(asked, reply):
    await asyncio.sleep(30)


async def cut_in_the_middle(asked, reply):
    await reply.begin()
    await reply.chunk(b'{"type": "ADDED", "object": {"kind": "Wid')
    reply.hang_up()


async def cut_in_the_middle_in_good_order(asked, reply):
    await reply.begin()
    await reply.chunk(b'{"type": "ADDED", "object": {"kind": "Wid')
    await reply.end()


async def error_401_in_the_stream(asked, reply):
    await reply.begin()
    await reply.event("ERROR", {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "expired"})
    await asyncio.sleep(30)


async def error_410_in_the_stream(asked, reply):
    await reply.begin()
    await reply.event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
    await reply.end()


async def garbage_events(asked, reply):
    await reply.begin()
    await reply.chunk(b'"text"\n')
    await asyncio.sleep(30)


async def another_kind(asked, reply):
    await reply.begin()
    await reply.event("ADDED", {"kind": "Gadget", "metadata": {"name": "g", "resourceVersion": "11"}})
    await asyncio.sleep(30)


async def an_event_without_a_name(asked, reply):
    await reply.begin()
    await reply.event("ADDED", {"kind": "Widget", "metadata": {"resourceVersion": "11"}, "spec": "no"})
    await asyncio.sleep(30)


async def an_unknown_event(asked, reply):
    await reply.begin()
    await reply.event("EXPLODED", {"kind": "Widget", "metadata": {"name": "g", "resourceVersion": "11"}})
    await asyncio.sleep(30)


FAULTS = [
    (empty_503, errors.ServerError),
    (html_502, errors.ServerError),
    (text_401, errors.Unauthorized),
    (status_401, errors.Unauthorized),
    (status_403, errors.Forbidden),
    (status_404, errors.NotFound),
    (http_410, errors.Gone),
    (closed_at_once, errors.Unreachable),
    (closed_without_a_word, errors.Unreachable),
    (html_with_200, errors.Malformed),
    (silent, errors.TimedOut),
    (silent_before_the_headers, errors.TimedOut),
    (cut_in_the_middle, errors.Unreachable),
    (cut_in_the_middle_in_good_order, errors.Unreachable),
    (error_401_in_the_stream, errors.Unauthorized),
    (error_410_in_the_stream, errors.Gone),
    (garbage_events, errors.Malformed),
    (another_kind, errors.Malformed),
    (an_event_without_a_name, errors.Malformed),
    (an_unknown_event, errors.Malformed),
]


def assert_paused(requests):
    """Pauses of 0.1, 0.2 and 0.4 s, each with its jitter; a hot loop makes a thousand requests in that time."""
    times = [asked.at for asked in requests]
    assert times[-1] - times[0] > 0.25, times


async def test_a_watch_in_trouble_waits_and_recovers(each_fault, make_widget, soon):
    async def story(server, made, fault, expected):
        good = asyncio.Event()

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
        await soon(lambda: len(server.watches) >= 5, 30.0)
        assert_paused(server.watches)
        await soon(lambda: made.snapshot().error is not None)
        assert type(made.snapshot().error) is expected, made.snapshot().error
        assert not made.alive
        assert dict(made.snapshot().objects) == {(None, "a"): "old"}
        assert len(server.lists) == 1 or expected is errors.Gone
        good.set()
        await soon(lambda: made.snapshot().objects == {(None, "a"): "new"})
        await soon(lambda: made.snapshot().error is None)
        assert made.alive
        if expected is not errors.Gone:
            assert len(server.lists) == 1
            assert {asked.query["resourceVersion"] for asked in server.watches} == {"10"}

    await each_fault(FAULTS, story)


async def test_a_list_in_trouble_waits_and_recovers(each_fault, make_widget, soon):
    async def story(server, made, fault, expected):
        good = asyncio.Event()

        async def behave(asked, reply):
            if not good.is_set():
                await fault(asked, reply)
            elif not asked.is_watch:
                await reply.whole(200, listing(make_widget("a", 5, spec="x")))
            else:
                await reply.begin()
                await reply.peer_hangs_up()

        server.behave = behave
        await soon(lambda: len(server.asked) >= 4, 30.0)
        assert_paused(server.asked)
        assert not made.snapshot().synced
        assert not made.alive
        assert not made.snapshot().objects
        good.set()
        await soon(lambda: made.snapshot().synced, 3.0)
        assert dict(made.snapshot().objects) == {(None, "a"): "x"}
        await soon(lambda: made.snapshot().error is None)

    about_lists = [pair for pair in FAULTS if "stream" not in pair[0].__name__ and "event" not in pair[0].__name__]
    await each_fault(about_lists, story)


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
    # On a busy machine the pieces come slowly.
    made = await reflect(silence=30.0)
    await soon(lambda: len(made.snapshot().objects) == 3)
    assert [made.snapshot().objects[None, f"w{number}"] for number in range(3)] == [
        text + str(number) for number in range(3)
    ]
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
    await soon(lambda: made.snapshot().error is not None)
    assert type(made.snapshot().error) is errors.Malformed


async def test_bookmarks_keep_a_quiet_watch_alive(faulty, reflect, make_widget, soon):
    sent = []

    async def behave(asked, reply):
        if not asked.is_watch:
            await reply.whole(200, listing(make_widget("a", 5, spec="x")))
            return
        await reply.begin()
        for version in range(11, 40):
            sent.append(version)
            await reply.event("BOOKMARK", {"kind": "Widget", "metadata": {"resourceVersion": str(version)}})
            await asyncio.sleep(0.05)

    faulty.behave = behave
    made = await reflect()
    await soon(lambda: made.snapshot().synced, 2.0)
    before = made.last_activity
    await soon(lambda: len(sent) > 18)
    # At least three times the silence that means death; but it was not silent.
    assert len(faulty.watches) == 1
    assert made.snapshot().error is None
    assert made.last_activity > before
    assert len(made.news) == 1, "a bookmark is no news"
