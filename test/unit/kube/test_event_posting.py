"""Events: what is written, told once, and cut to what the API takes."""

# ruff: noqa: ICN001 - datetime is our usual name

import asyncio
import datetime
import json

import pytest
from test.polling import PATIENCE

from topology_controller.kube import errors, events

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
ABOUT = {"apiVersion": "example.org/v1", "kind": "Widget", "name": "a", "uid": "u"}


def posted(client, **changes):
    words = {
        "name": "abc",
        "regarding": ABOUT,
        "reason": "Happened",
        "action": "Happening",
        "note": "it happened",
        "reporting_controller": "tester",
        "reporting_instance": "tester-1",
        "now": NOW,
    }
    return events.post(client, **{**words, **changes})


async def echo(asked, reply):
    await reply.whole(201, {"kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "abc"}})


async def test_an_event_is_written_as_the_api_wants_it(faulty, connect):
    faulty.behave = echo
    assert await posted(await connect(), type_="Warning") is True
    (asked,) = faulty.asked
    assert (asked.method, asked.path) == ("POST", "/apis/events.k8s.io/v1/namespaces/default/events")
    assert json.loads(asked.body) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "abc", "namespace": "default"},
        "eventTime": "2026-01-02T01:04:05.000060Z",
        "regarding": ABOUT,
        "reason": "Happened",
        "action": "Happening",
        "note": "it happened",
        "type": "Warning",
        "reportingController": "tester",
        "reportingInstance": "tester-1",
    }


async def test_an_event_that_was_told_before_is_success(faulty, connect):
    async def behave(asked, reply):
        await reply.whole(409, {"kind": "Status", "code": 409, "reason": "AlreadyExists"})

    faulty.behave = behave
    assert await posted(await connect()) is False


@pytest.mark.parametrize("note", ["x" * 1024, "x" * 1025, "ä" * 600, "x" * 1020 + "ä" * 5, "𝄞" * 400])
async def test_a_long_note_loses_its_end(faulty, connect, note):
    faulty.behave = echo
    await posted(await connect(), note=note)
    sent = json.loads(faulty.asked[0].body)["note"]
    assert len(sent.encode()) <= 1024
    assert sent == note if len(note.encode()) <= 1024 else sent.endswith("...")
    assert note.startswith(sent.removesuffix("..."))
    assert len(sent.encode()) > 1015


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("reason", "reason"),
        ("action", "action"),
        ("reporting_controller", "reportingController"),
        ("reporting_instance", "reportingInstance"),
    ],
)
@pytest.mark.parametrize("text", ["", "x" * 129])
async def test_what_the_api_would_refuse_is_refused_before(faulty, connect, field, name, text):
    client = await connect()
    with pytest.raises(ValueError, match=f"^{name} "):
        await posted(client, **{field: text})
    assert not faulty.asked


async def test_other_errors_come_through(faulty, connect):
    client = await connect()
    with pytest.raises(errors.NotFound):
        await asyncio.wait_for(posted(client), 5 * PATIENCE)
