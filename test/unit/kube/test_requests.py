"""One request path; lists: what is sent, what may be part of a path, what counts as an answer, how long it lasts."""

# ruff: noqa: PLR0917 - a row of a table has many columns

import asyncio
import contextlib
import gc
import itertools
import json
import socket
import time
import weakref
from typing import Any

import pytest

from topology_controller.kube import client as clients
from topology_controller.kube import config, errors, queue, resource, transport

CLUSTER = resource.Resource("example.org", "v1", "widgets", "Widget")
REVIEW = resource.Resource("example.org", "v1", "widgetreviews", "Widget")
ALL = resource.Selection(CLUSTER)
PAIRS = resource.Selection(CLUSTER, page=2)


def status(code, reason, **more):
    found = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return {**found, "message": "because", **more}


async def test_a_read_carries_who_and_what(faulty, connect, make_widget):
    faulty.answer(200, make_widget("a", 7))
    seen = []
    client = await connect(observer=lambda *told: seen.append(told))
    assert await client.get(CLUSTER, "a") == make_widget("a", 7)
    (asked,) = faulty.asked
    assert (asked.method, asked.path, asked.query) == ("GET", "/apis/example.org/v1/widgets/a", {})
    assert asked.headers["User-Agent"] == "tester/1"
    assert asked.headers["Accept"] == "application/json"
    assert [told[:3] for told in seen] == [("get", "widgets", "200")]
    assert 0 <= seen[0][3] < 2


async def test_a_peer_that_vanishes_is_found_by_its_socket_within_a_minute(faulty, connect, make_widget, monkeypatch):
    faulty.answer(200, make_widget("a", 7))
    made: dict[str, socket.socket] = {}
    make = transport._make_socket
    monkeypatch.setattr(transport, "_make_socket", lambda address: made.setdefault("first", make(address)))
    await (await connect()).get(CLUSTER, "a")
    options = (socket.SOL_SOCKET, socket.SO_KEEPALIVE), (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert [made["first"].getsockopt(*option) for option in options] == [1, 30_000]


async def test_each_write_says_its_content_type_and_its_author(faulty, connect, make_widget):
    faulty.answer(200, make_widget("a", 8))
    client = await connect()
    body = make_widget("a", 7, text="ä")
    await client.create(CLUSTER, body)
    await client.replace(CLUSTER, "a", body)
    await client.merge_patch(CLUSTER, "a", {"spec": None}, subresource="status")
    told = [(one.method, one.path, one.query, one.headers["Content-Type"]) for one in faulty.asked]
    base = "/apis/example.org/v1/widgets"
    author = {"fieldManager": "tester"}
    assert told == [
        ("POST", base, author, "application/json"),
        ("PUT", f"{base}/a", author, "application/json"),
        ("PATCH", f"{base}/a/status", author, "application/merge-patch+json"),
    ]
    assert json.loads(faulty.asked[0].body) == body


@pytest.mark.parametrize(
    ("within", "limit", "sent"), [(3.4567, 10.0, "3456ms"), (1.5, 10.0, "1500ms"), (3.5, 2.0, "2000ms")]
)
async def test_a_write_that_must_not_be_late_says_so_to_the_server(faulty, connect, make_widget, within, limit, sent):
    faulty.answer(200, make_widget("a", 8))
    client = await connect(request_timeout=limit)
    await client.merge_patch(CLUSTER, "a", {}, executed_within=within)
    assert faulty.asked[0].query == {"fieldManager": "tester", "timeout": sent}


async def test_a_write_that_must_not_be_late_is_given_up_in_time_and_its_outcome_is_not_known(faulty, connect):
    async def behave(asked, reply):
        await asyncio.sleep(30)

    faulty.behave = behave
    client = await connect(request_timeout=10.0)
    began = time.monotonic()
    with pytest.raises(errors.TimedOut) as caught:
        await client.merge_patch(CLUSTER, "a", {}, executed_within=0.4)
    assert 0.35 < time.monotonic() - began < 5, "not a whole request timeout"
    assert caught.value.outcome_unknown
    assert str(caught.value).endswith("TimedOut: no answer in time")


@pytest.mark.parametrize(
    ("code", "reason", "expected", "may_pass", "unknown"),
    [
        (400, "BadRequest", errors.Invalid, False, False),
        (401, "Unauthorized", errors.Unauthorized, False, False),
        (403, "Forbidden", errors.Forbidden, False, False),
        (404, "NotFound", errors.NotFound, False, False),
        (409, "Conflict", errors.Conflict, False, False),
        (409, "AlreadyExists", errors.AlreadyExists, False, False),
        (410, "Expired", errors.Gone, False, False),
        (415, "UnsupportedMediaType", errors.Invalid, False, False),
        (422, "Invalid", errors.Invalid, False, False),
        (429, "TooManyRequests", errors.Throttled, True, False),
        (500, "InternalError", errors.ServerError, True, True),
        (503, "ServiceUnavailable", errors.ServerError, True, True),
        (504, "Timeout", errors.ServerError, True, True),
    ],
)
async def test_each_refusal_has_its_class_and_says_what_it_means(
    faulty, connect, code, reason, expected, may_pass, unknown
):
    faulty.answer(code, status(code, reason))
    client = await connect()
    with pytest.raises(errors.KubeError) as caught:
        await client.merge_patch(CLUSTER, "a", {}, retry=False)
    error = caught.value
    assert type(error) is expected
    assert (error.verb, error.resource, error.name, error.status, error.reason) == ("patch", CLUSTER, "a", code, reason)
    assert (error.may_pass, error.outcome_unknown) == (may_pass, unknown)
    assert str(error) == f"cannot patch widgets.example.org/a: {code} {reason}: because"
    # The same found while reading leaves nothing unknown.
    with pytest.raises(expected) as caught:
        await client.get(CLUSTER, "a", retry=False)
    assert not caught.value.outcome_unknown


@pytest.mark.parametrize(
    ("code", "body", "headers", "expected", "text"),
    [
        (503, b"", {}, errors.ServerError, "503: an empty answer"),
        (
            502,
            b"<html><head><title>502 Bad\nGateway</title></head></html>",
            {"Content_Type": "text/html"},
            errors.ServerError,
            "502: a page of HTML: 502 Bad Gateway",
        ),
        (401, b"Unauthorized\n", {}, errors.Unauthorized, "401: 13 bytes beginning with 'Unauthorized'"),
        (200, b"", {}, errors.Malformed, "an empty answer"),
        (200, b"<!doctype html><html>log in</html>", {}, errors.Malformed, "a page of HTML"),
        (200, b'{"kind": "Widget", "meta', {}, errors.Malformed, "NotJSON: 24 bytes"),
        (200, b"[" * 100_000, {}, errors.Malformed, "NotJSON"),
        (200, b"[]", {}, errors.Malformed, "a list"),
        (200, b"null", {}, errors.Malformed, "a NoneType"),
        (200, b"{}", {}, errors.Malformed, "wanted Widget, found 'None'"),
        (200, {"kind": "WidgetList", "items": []}, {}, errors.Malformed, "wanted Widget, found 'WidgetList'"),
        (302, b"", {"Location": "/elsewhere"}, errors.Malformed, "redirects are not followed"),
        (418, b"tea", {}, errors.Invalid, "418"),
    ],
)
async def test_what_is_not_an_answer_is_never_taken_for_one(faulty, connect, code, body, headers, expected, text):
    faulty.answer(code, body, **headers)
    client = await connect()
    with pytest.raises(errors.KubeError) as caught:
        await client.get(CLUSTER, "a", retry=False)
    assert type(caught.value) is expected
    assert text in str(caught.value)
    assert [asked.path for asked in faulty.asked] == ["/apis/example.org/v1/widgets/a"]


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("verb", "meets", "budget", "requests"),
    [
        ("get", [(503, None)] * 2, 60.0, 3),
        # The third would come after about another second.
        ("get", [(503, None)] * 9, 1.0, 2),
        ("get", [(429, 20.0)], 60.0, 2),
        ("get", [(503, 300.0)], 60.0, 1),
        # A throttled write was not executed.
        ("merge_patch", [(429, 1.0)], 30.0, 2),
    ],
)
async def test_it_is_tried_again_while_waiting_can_help_and_never_in_vain(
    monkeypatch, looptime, verb, meets, budget, requests
):
    asked: list[float] = []
    left = list(meets)

    async def ask(_transport, request, _left):
        asked.append(float(looptime))
        if left:
            code, retry_after = left.pop(0)
            kind = errors.Throttled if code == 429 else errors.ServerError
            error = request.error(kind, code, "", "no")
            error.retry_after = retry_after
            raise error
        return {"kind": "Widget", "metadata": {"name": "a", "resourceVersion": "1"}}

    monkeypatch.setattr(transport.Transport, "ask", ask)
    configuration = config.library().client.Configuration()
    async with clients.Client(configuration, user_agent="t", field_manager="t", request_timeout=2.0) as client:
        answered = contextlib.nullcontext() if requests > len(meets) else pytest.raises(errors.ServerError)
        with answered:
            await getattr(client, verb)(CLUSTER, "a", *([{}] if verb != "get" else []), timeout=budget)
    assert len(asked) == requests
    assert looptime == asked[-1], "nothing is gained by waiting for the end of the budget"
    for (_, retry_after), (one, other) in zip(meets, itertools.pairwise(asked), strict=False):
        assert other - one >= (retry_after or 0.25)


@pytest.mark.parametrize(
    ("body", "headers", "seconds"),
    [(b"", {"Retry_After": "300"}, 300), (status(429, "TooManyRequests", details={"retryAfterSeconds": 7}), {}, 7)],
)
async def test_retry_after_stands_in_a_header_or_in_the_status(faulty, connect, body, headers, seconds):
    faulty.answer(429, body, **headers)
    client = await connect()
    with pytest.raises(errors.Throttled) as caught:
        await client.get(CLUSTER, "a", retry=False)
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize("code", [500, 502, 503, 504])
async def test_a_write_is_never_tried_again(faulty, connect, code):
    faulty.answer(code, b"")
    client = await connect()
    for write in (
        client.create(CLUSTER, {"metadata": {"name": "a"}}),
        client.replace(CLUSTER, "a", {}),
        client.merge_patch(CLUSTER, "a", {}),
    ):
        faulty.asked.clear()
        with pytest.raises(errors.ServerError) as caught:
            await write
        assert caught.value.outcome_unknown
        assert len(faulty.asked) == 1


@pytest.mark.parametrize(
    "part", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"]
)
async def test_a_connection_that_is_cut_leaves_a_write_unknown(faulty, connect, part):
    async def behave(asked, reply):
        await reply.bytes(part)
        reply.hang_up()

    faulty.behave = behave
    client = await connect()
    for write in (client.merge_patch, client.replace):
        faulty.asked.clear()
        with pytest.raises(errors.Unreachable) as caught:
            await write(CLUSTER, "a", {})
        assert caught.value.outcome_unknown
        assert len(faulty.asked) == 1


@pytest.mark.parametrize("review", [False, True])
async def test_a_kept_connection_that_was_closed_costs_a_read_nothing(
    faulty, connect, make_widget, monkeypatch, review
):
    monkeypatch.setattr(queue.Backoff, "next", lambda *_: pytest.fail("a pause"))
    sleep, pauses = asyncio.sleep, []

    async def noted(seconds, *result):
        pauses.append(seconds)
        return await sleep(0, *result)

    monkeypatch.setattr(asyncio, "sleep", noted)

    async def behave(asked, reply):
        if len(faulty.asked) == 2:
            reply.hang_up()
        else:
            await reply.whole(200, make_widget("a", 1))

    faulty.behave = behave
    client = await connect()
    for _ in range(2):
        await (client.create(REVIEW, {}) if review else client.get(CLUSTER, "a"))
    assert len(faulty.asked) == 3
    assert not any(pauses), pauses


@pytest.mark.parametrize("kind", [errors.Unreachable, errors.TimedOut])
async def test_a_write_that_was_never_sent_is_known_not_to_have_happened(faulty, connect, monkeypatch, kind):
    """Refused at once, or not accepted in time: the queue of one that listens is full."""
    monkeypatch.setattr(transport, "_CONNECT", 0.2)
    client = await connect()
    await faulty.stop()
    with contextlib.ExitStack() as full:
        if kind is errors.TimedOut:
            full.enter_context(socket.create_server(("127.0.0.1", faulty.port), backlog=0))
            full.enter_context(socket.create_connection(("127.0.0.1", faulty.port)))
        with pytest.raises(kind) as caught:
            await client.merge_patch(CLUSTER, "a", {})
    assert caught.value.may_pass
    assert not caught.value.outcome_unknown
    assert "cannot patch widgets.example.org/a: NoConnection" in str(caught.value)


# Paths and versions

INFRASTRUCTURES = resource.Resource("config.openshift.io", "v1", "infrastructures", "Infrastructure")
NODES = resource.Resource("", "v1", "nodes", "Node")
LEASES = resource.Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)


@pytest.mark.parametrize(
    ("kind", "arguments", "path"),
    [
        (INFRASTRUCTURES, {}, "/apis/config.openshift.io/v1/infrastructures"),
        (INFRASTRUCTURES, {"name": "cluster"}, "/apis/config.openshift.io/v1/infrastructures/cluster"),
        (
            INFRASTRUCTURES,
            {"name": "cluster", "subresource": "status"},
            "/apis/config.openshift.io/v1/infrastructures/cluster/status",
        ),
        (NODES, {"name": "master-0.example.org"}, "/api/v1/nodes/master-0.example.org"),
        (LEASES, {}, "/apis/coordination.k8s.io/v1/leases"),
        (LEASES, {"namespace": "a"}, "/apis/coordination.k8s.io/v1/namespaces/a/leases"),
        (LEASES, {"namespace": "a", "name": "b"}, "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"),
        (NODES, {"name": "system:node"}, "/api/v1/nodes/system:node"),
        (NODES, {"name": "knoten-ä"}, "/api/v1/nodes/knoten-%C3%A4"),
    ],
)
def test_paths(kind, arguments, path):
    assert kind.path(**arguments) == path


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../../secrets", "a?watch=true", "a#b", "a%2fb", "a b", "a\nb", "a\\b", "x" * 254]
)
def test_names_that_would_leave_their_place_are_refused(name):
    with pytest.raises(ValueError, match="cannot be part of a path"):
        NODES.path(name=name)
    with pytest.raises(ValueError, match="cannot be part of a path"):
        LEASES.path(namespace=name, name="a")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: NODES.path(namespace="a"), "no namespaces"),
        (lambda: LEASES.path(name="a"), "a namespace is needed"),
        (lambda: NODES.path(name="a", subresource="../x"), "subresource"),
        (lambda: resource.Resource("", "v1", "no/des", "Node").path(), "plural"),
    ],
)
def test_a_path_that_makes_no_sense_is_refused(make, why):
    with pytest.raises(ValueError, match=why):
        make()


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("5", "5", False),
        ("a", "b", False),
        ("", "1", False),
        ("²", "3", False),
        ("007", "8", True),
        ("007", "7", False),
        ("0", "00", False),
        ("10", "9" * 5000, True),
        ("9" * 5000, "10", False),
    ],
)
def test_versions_compare_as_numbers_or_not_at_all(version, than, older):
    assert resource.is_older(version, than) is older


# Lists: pages, a snapshot that is lost in the middle, and pages that are reduced as they arrive


def page(names, token="", version="50", kind="WidgetList", **more):
    items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in names]
    return {"kind": kind, "metadata": {"resourceVersion": version, "continue": token}, "items": items, **more}


def names(listing):
    return [item["metadata"]["name"] for item in listing.items]


@pytest.fixture
async def paged(faulty, connect):
    pages = {"": page("ab", "t1"), "t1": page("cd", "t2"), "t2": page("e")}

    async def behave(asked, reply):
        await reply.whole(200, pages[asked.query.get("continue", "")])

    faulty.behave = behave
    return await connect()


async def test_pages_are_followed(faulty, paged):
    listing = await paged.list(resource.Selection(CLUSTER, name="x", label_selector="a=b", page=2), dict)
    assert (names(listing), listing.resource_version) == (list("abcde"), "50")
    asked = {"limit": "2", "labelSelector": "a=b", "fieldSelector": "metadata.name=x"}
    assert [one.query for one in faulty.asked] == [asked, {**asked, "continue": "t1"}, {**asked, "continue": "t2"}]


@pytest.mark.parametrize(("enough", "read"), [(1, "ab"), (2, "ab"), (3, "abcd"), (9, "abcde")])
async def test_no_page_is_asked_for_once_there_are_enough(paged, enough, read):
    listing = await paged.list(PAIRS, dict, enough=lambda items: len(items) >= enough)
    assert names(listing) == list(read)


class Item(dict[str, Any]):
    """A dict that can be asked whether it is still alive."""


async def test_raw_pages_do_not_pile_up(faulty, connect, monkeypatch):
    refs: list[weakref.ref[Item]] = []
    seen = []
    judged = errors.page

    def watched(call, status, raw):
        # Here no request is under way that could be given up, and sent again, meanwhile.
        gc.collect()
        seen.append(sum(ref() is not None for ref in refs))
        found, version, token = judged(call, status, raw)
        alive = [Item(item) for item in found]
        refs.extend(weakref.ref(item) for item in alive)
        return alive, version, token

    monkeypatch.setattr(errors, "page", watched)

    async def behave(asked, reply):
        at = int(asked.query.get("continue", "0"))
        await reply.whole(200, page([f"n{at}-{i}" for i in range(10)], str(at + 1) if at < 5 else ""))

    faulty.behave = behave
    client = await connect()
    listing = await client.list(ALL, lambda raw: raw["metadata"]["name"])
    assert len(listing.items) == 60
    assert seen == [0] * 6, f"raw objects alive at each page: {seen}"


@pytest.mark.parametrize(
    "broken",
    [
        page("a", kind="GadgetList"),
        page("a", kind="Widget"),
        page("a", items={"a": 1}),
        page("a", items=["a"]),
        page("a", items=[{"metadata": None}]),
        page("a", items=[{"metadata": {"name": 5}}]),
        page("a", metadata={}),
        page("a", metadata=None),
    ],
)
async def test_a_list_that_is_not_one_is_an_error(faulty, connect, broken):
    faulty.answer(200, broken)
    client = await connect(request_timeout=0.3)
    with pytest.raises(errors.Malformed):
        await client.list(ALL, dict, timeout=0.4)


@pytest.mark.parametrize("kind", ["PartialObjectMetadataList", "WidgetList"])
async def test_metadata_only_asks_for_it_and_takes_the_whole_too(faulty, connect, kind):
    faulty.answer(200, page("a", kind=kind))
    client = await connect()
    assert names(await client.list(resource.Selection(CLUSTER, metadata_only=True), dict)) == ["a"]
    assert faulty.asked[0].headers["Accept"] == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
