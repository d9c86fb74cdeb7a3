"""watch: from where, what is told, how it ends."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import compact, delete, first, get, patch, post, row, watch

A = first(post(s.WIDGETS, s.widget("a", {"tier": "x"}, size=1)), "a")
B = first(post(s.WIDGETS, s.widget("b", {"tier": "y"}, size=1)), "b")
LISTED = first(get(s.WIDGETS), "list")


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
        "a watch from before the log is gone",
        A,
        first(patch(s.WIDGETS + "/a", {"spec": {"size": 7}})),
        compact(),
        watch(s.WIDGETS, resourceVersion="1", events=2),
    ),
    row("a watch from the future", A, watch(s.WIDGETS, resourceVersion="99999999", timeoutSeconds=1, events=2)),
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
        "a watch of a kind that is not there",
        watch("/apis/parity.example.com/v1/nothings"),
        watch("/api/v1/nothings"),
        namespace=False,
    ),
)
