"""What comes on a watch, cut into pieces of any size: events about what was asked for, or one of our errors.

Through `Transport.stream` and a `Reflector`, as in the operator; only the connection is made up.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

import hypothesis
from hypothesis import strategies as st

from topology_controller.kube import client, credentials, errors, reflector, resource, transport, watch

from . import bounds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

KIND = resource.Resource("example.org", "v1", "widgets", "Widget")
SELECTION = resource.Selection(KIND)
CONFIGURATION = credentials.Configuration("http://127.0.0.1:1", proxy="")
REQUEST = errors.Request("watch", KIND, None, None, (KIND.kind,), "/apis/example.org/v1/widgets")
TYPES = st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "added", "", None, 7])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", "b"]) | JSON,
        "namespace": st.none() | st.just("n") | JSON,
        "resourceVersion": st.integers(1, 30).map(str) | st.sampled_from(["", "x", "-1", "9" * 5000]) | JSON,
    },
)
OBJECTS = st.fixed_dictionaries(
    {"kind": st.just("Widget") | st.sampled_from(["Status", "widget"]) | JSON, "metadata": METADATA | JSON},
    optional={
        "code": st.integers() | JSON,
        "reason": JSON,
        "message": JSON,
        "details": JSON | st.fixed_dictionaries({"retryAfterSeconds": JSON}),
        "spec": JSON,
    },
)
EVENTS = st.fixed_dictionaries({"type": TYPES, "object": OBJECTS | JSON}).map(lambda one: json.dumps(one).encode())
GOOD = st.builds(
    lambda happened, name, version: json.dumps(
        {"type": happened, "object": {"kind": "Widget", "metadata": {"name": name, "resourceVersion": str(version)}}}
    ).encode(),
    st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]),
    st.sampled_from(["a", "b"]),
    st.integers(10, 40),
)
HURTING = st.one_of(
    st.builds(lambda deep, pair: pair[0] * deep + pair[1] * deep, st.sampled_from([50, 100_000]),
              st.sampled_from([(b"[", b"]"), (b'{"a":', b"}"), (b"[", b""), (b'{"object":', b"")])),
    st.builds(lambda count: b'{"type":"ADDED","object":{"kind":"Widget","metadata":{"name":"' + b"a" * count + b'"}}}',
              st.sampled_from([10, 500_000])),
    st.builds(lambda digits: b'{"type":"ADDED","object":' + b"9" * digits + b"}", st.sampled_from([100, 200_000])),
    st.builds(lambda count: b"{" + b'"type":"ADDED",' * count + b'"type":"ERROR"}', st.sampled_from([2, 20_000])),
    st.sampled_from([b"\xff\xfe{}", b'{"type":"ADDED\xff"}', b'{"type":"\\ud800"}', b"NaN", b"\x00"]),
)  # fmt: skip
LINES = GOOD | EVENTS | HURTING | st.binary(max_size=60)


@st.composite
def cut(draw: st.DrawFn) -> bytes:
    """Whole events, spoilt ones, and maybe an end in the middle of one."""
    raw = b"\n".join(draw(st.lists(LINES, max_size=8))) + b"\n"
    return raw[: draw(st.integers(0, len(raw)))] if draw(st.booleans()) else raw


class Wire:
    """A connection that brings these bytes, in pieces, and nothing else; it is session and response."""

    status = 200

    def __init__(self, raw: bytes, piece: int) -> None:
        self._raw, self._piece = raw, piece
        self.content = self
        self.headers: dict[str, str] = {}

    def request(self, *_: Any, **__: Any) -> Any:
        return contextlib.nullcontext(self)

    async def iter_any(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._raw), self._piece):
            yield self._raw[start : start + self._piece]


class Wired(transport.Transport):
    """A transport whose connections are such a wire."""

    def __init__(self, raw: bytes, piece: int) -> None:
        super().__init__(CONFIGURATION, "t")
        self._session: Any = Wire(raw, piece)
        self._tls: Any = None

    async def _authorization(self) -> dict[str, str]:
        return {}


def streaming(raw: bytes, piece: int) -> Any:
    return Wired(raw, piece).stream(REQUEST, start=60.0, silence=60.0, longest=60.0)


class Server:
    """What a reflector asks: a list of one object, and a watch that brings these bytes, each time it is opened."""

    def __init__(self, raw: bytes, piece: int) -> None:
        self._raw, self._piece = raw, piece

    async def list(self, selection: Any, reduce: Any, **_: Any) -> client.Listing[Any]:
        one = {"kind": selection.resource.kind, "metadata": {"name": "a", "resourceVersion": "10"}}
        return client.Listing((reduce(one),), "10")

    def open_watch(self, *_: Any) -> Any:
        return streaming(self._raw, self._piece)


@bounds.fuzz(cut(), st.sampled_from([1, 7, 4096, 1 << 20]))
def test_any_bytes_are_events_and_then_the_end_or_an_error(raw, piece):
    async def read() -> list[Any]:
        found: list[Any] = []
        server: Any = Server(raw, piece)
        # However long a busy machine takes for these bytes: a watch that ends is one that ended too soon.
        events = watch.watch(server, SELECTION, lambda one: one, timing=watch.Timing(settle=3600.0))
        async with contextlib.aclosing(events):
            async for event in events:
                if isinstance(event, watch.Disturbed):
                    return found
                found.append(event)
        raise AssertionError("a watch without an end")

    with bounds.ended(len(raw)):
        listed, opened, *found = asyncio.run(read())
    assert isinstance(listed, watch.Listed)
    assert isinstance(opened, watch.Opened)
    # A history that goes back is listed once more, at once, and the same bytes come again.
    again = [event for event in found if isinstance(event, watch.Listed | watch.Opened)]
    assert again in ([], [listed, opened]), again
    for event in found:
        if event in again:
            continue
        if isinstance(event, watch.Bookmark):
            assert isinstance(event.resource_version, str)
        else:
            assert isinstance(event, watch.Applied | watch.Deleted)
            assert event.entry.value["kind"] == "Widget"
            assert isinstance(event.entry.version, str)
            assert event.entry.key[1] == event.entry.value["metadata"]["name"]


LONG = b'{"type":"%b","object":{"kind":"Widget","metadata":{"name":"a","resourceVersion":"' + b"9" * 5000 + b'"}}}\n'


@hypothesis.example(raw=LONG % b"MODIFIED", piece=1 << 20)
@hypothesis.example(raw=LONG % b"DELETED", piece=1 << 20)
@bounds.fuzz(cut(), st.sampled_from([7, 1 << 20]))
def test_a_store_never_holds_what_is_no_object_and_says_that_it_is_in_trouble(raw, piece):
    reduced: list[dict[str, Any]] = []

    def reduce(one: dict[str, Any]) -> str:
        reduced.append(one)
        return str(one["metadata"]["resourceVersion"])

    async def follow() -> reflector.Reflector[str]:
        store = reflector.Reflector(
            Server(raw, piece),  # type: ignore[arg-type]  # stands in for the client
            SELECTION,
            reduce,
            lambda: None,
            malformed=lambda name, error: f"{name}: {error}",
            timing=watch.Timing(first=3600.0, cap=3600.0),
        )
        task = asyncio.create_task(store.run())
        while store.error is None and not task.done():  # noqa: ASYNC110 - a store tells of changes, not of this
            await asyncio.sleep(0)
        assert not task.done(), task.exception()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return store

    with bounds.ended(len(raw)):
        found = asyncio.run(follow())
    # The connection has ended long before its time, whatever it has brought.
    assert isinstance(found.error, errors.KubeError)
    assert found.synced
    assert all(isinstance(name, str) and name for _, name in found.objects)
    assert all(isinstance(one, dict) and one["kind"] == "Widget" for one in reduced)


def test_a_line_in_the_smallest_pieces_takes_no_more_than_a_few_times_its_length():
    raw = b'{"type":"ADDED","object":{"kind":"Widget","metadata":{"name":"' + b"a" * 400_000

    async def read() -> None:
        with contextlib.suppress(errors.KubeError):
            async with streaming(raw, 2) as lines:
                async for _ in lines:
                    raise AssertionError("an event without an end")

    with bounds.kept(len(raw), times=5, beside=bounds.MIB // 4):
        asyncio.run(read())
