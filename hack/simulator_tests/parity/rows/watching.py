"""watch: from where, what is told, how it ends."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.table import compact, delete, first, get, patch, post, row, watch

ONE = s.WIDGETS + "/one"
A = first(post(s.WIDGETS, s.widget("a", {"tier": "x"}, size=1)), "a")
B = first(post(s.WIDGETS, s.widget("b", {"tier": "y"}, size=1)), "b")
LISTED = first(get(s.WIDGETS), "list")


def _plain(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event whose table has no prose about its columns."""
    headers = event["object"]["columnDefinitions"] or []
    described = [{**one, "description": bool(one["description"])} for one in headers]
    return {**event, "object": {**event["object"], "columnDefinitions": described}}


def _since(name: str = "list") -> dict[str, str]:
    return {"resourceVersion": f"{{{name}.metadata.resourceVersion}}"}


ROWS = (
    row(
        "a watch from a list tells what comes after it",
        A,
        LISTED,
        watch(
            s.WIDGETS,
            first(post(s.WIDGETS, s.widget("c"))),
            first(patch(s.WIDGETS + "/c", {"spec": {"size": 2}})),
            first(delete(s.WIDGETS + "/c")),
            query=_since(),
            events=3,
        ),
    ),
    row(
        "a watch from a version tells all that came after it",
        A,
        B,
        first(patch(s.WIDGETS + "/a", {"spec": {"size": 4}})),
        first(delete(s.WIDGETS + "/b")),
        watch(s.WIDGETS, query=_since("a"), events=3),
    ),
    row(
        "a watch without a version begins with what is there",
        A,
        B,
        watch(s.WIDGETS, first(patch(s.WIDGETS + "/a", {"spec": {"size": 5}})), events=3),
    ),
    row("a watch from 0 begins with what is there", A, B, watch(s.WIDGETS, resourceVersion="0", events=2)),
    row(
        "a watch is asked for by any word but no",
        A,
        watch(s.WIDGETS, events=1, query={"watch": "1"}),
        watch(s.WIDGETS, events=1, query={"watch": "True"}),
        get(s.WIDGETS, watch="0", view=lambda body: body["kind"]),
        get(s.WIDGETS, watch="false", view=lambda body: body["kind"]),
    ),
    row(
        "a watch of a built-in kind has kind and apiVersion in its objects",
        watch(s.CONFIG_MAPS, first(post(s.CONFIG_MAPS, s.config_map())), fieldSelector="metadata.name=one", events=1),
    ),
    row(
        "a watch of one namespace tells nothing of others",
        watch(
            s.CONFIG_MAPS,
            first(post("/api/v1/namespaces/default/configmaps", s.config_map("{row}"))),
            first(post(s.CONFIG_MAPS, s.config_map("{row}"))),
            fieldSelector="metadata.name={row}",
            events=1,
        ),
    ),
    row(
        "a watch gets a bookmark before timeoutSeconds when there was something that it was not told",
        A,
        LISTED,
        # It comes two seconds before the end, of what was written until then: four seconds for a busy machine to write.
        watch(
            s.WIDGETS,
            first(post(s.WIDGETS, s.widget("b"))),
            fieldSelector="metadata.name=other",
            query=_since(),
            events=1,
            timeoutSeconds=6,
            allowWatchBookmarks="true",
        ),
    ),
    row("a watch without bookmarks ends without one", A, LISTED, watch(s.WIDGETS, query=_since(), timeoutSeconds=1)),
    row(
        "initial events come in the order of names and end with a bookmark",
        B,
        A,
        watch(
            s.WIDGETS,
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            events=3,
        ),
    ),
    row(
        "a bookmark of a built-in kind is an empty object",
        watch(
            s.NODES,
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            labelSelector="parity={row}",
            events=1,
        ),
        watch(
            s.CONFIG_MAPS,
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            events=1,
        ),
        watch(
            s.LEASES,
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            events=1,
        ),
    ),
    row(
        "no initial events when not wanted",
        A,
        B,
        watch(
            s.WIDGETS,
            first(post(s.WIDGETS, s.widget("c"))),
            sendInitialEvents="false",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            events=1,
        ),
    ),
    row(
        "initial events need their parameters",
        get(s.WIDGETS, watch="true", sendInitialEvents="true"),
        get(s.WIDGETS, watch="true", resourceVersionMatch="NotOlderThan"),
        get(s.WIDGETS, watch="true", sendInitialEvents="true", resourceVersionMatch="Exact"),
        watch(s.WIDGETS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", timeoutSeconds=1),
    ),
    row(
        "a watch from before the log is gone",
        A,
        first(patch(s.WIDGETS + "/a", {"spec": {"size": 7}})),
        compact(),
        watch(s.WIDGETS, resourceVersion="1", events=2),
    ),
    row("a watch from the future", A, watch(s.WIDGETS, resourceVersion="99999999", timeoutSeconds=1, events=2)),
    row(
        "a watch from what is no version is refused",
        watch(s.WIDGETS, resourceVersion="x"),
        watch(s.WIDGETS, resourceVersion="-1"),
    ),
    row(
        "a watch by name and by field selector is of one object",
        A,
        B,
        LISTED,
        watch(
            s.WIDGETS + "/a",
            first(patch(s.WIDGETS + "/b", {"spec": {"size": 2}})),
            first(patch(s.WIDGETS + "/a", {"spec": {"size": 2}})),
            query=_since(),
            events=1,
        ),
        watch(s.WIDGETS, fieldSelector="metadata.name=a", query=_since(), events=1),
    ),
    row(
        "an object that comes and goes by its labels is added and deleted",
        A,
        B,
        LISTED,
        watch(
            s.WIDGETS,
            first(patch(s.WIDGETS + "/b", {"metadata": {"labels": {"tier": "x"}}})),
            first(patch(s.WIDGETS + "/b", {"spec": {"size": 3}})),
            first(patch(s.WIDGETS + "/b", {"metadata": {"labels": {"tier": "z"}}})),
            labelSelector="tier=x",
            query=_since(),
            events=3,
        ),
    ),
    row("a watch as metadata", A, watch(s.WIDGETS, accept=t.METADATA, events=1)),
    row("a watch as a table has headers once", A, B, watch(s.WIDGETS, accept=t.TABLE, events=2, each=_plain)),
    row(
        "an update that changes nothing is not told",
        A,
        LISTED,
        watch(
            s.WIDGETS,
            first(patch(s.WIDGETS + "/a", {"spec": {"size": 1}})),
            first(patch(s.WIDGETS + "/a", {"spec": {"size": 2}})),
            query=_since(),
            events=1,
        ),
    ),
    row(
        "a deletion with a finalizer is a change first",
        first(post(s.WIDGETS, s.meta(s.widget("a"), finalizers=["example.com/x"]))),
        LISTED,
        watch(
            s.WIDGETS,
            first(delete(s.WIDGETS + "/a")),
            first(patch(s.WIDGETS + "/a", {"metadata": {"finalizers": None}})),
            query=_since(),
            events=2,
        ),
    ),
    row(
        "a status write is told like any other",
        A,
        LISTED,
        watch(s.WIDGETS, first(patch(s.WIDGETS + "/a/status", {"status": {"phase": "Set"}})), query=_since(), events=1),
    ),
    row("the old path of watches", A, watch("/apis/parity.example.com/v1/watch/namespaces/{row}/widgets", events=1)),
    row(
        "a watch of a kind that is not there",
        watch("/apis/parity.example.com/v1/nothings"),
        watch("/api/v1/nothings"),
        namespace=False,
    ),
    row(
        "a watch with a bad selector is refused",
        watch(s.WIDGETS, labelSelector="a b"),
        watch(s.WIDGETS, fieldSelector="spec.size=1"),
        watch(s.WIDGETS, timeoutSeconds="x"),
    ),
)
