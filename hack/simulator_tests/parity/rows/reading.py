"""get and list: which version, which pages, which objects, which form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import compact, delete, first, get, kept, patch, post, row

if TYPE_CHECKING:
    from simulator_tests.parity import table as t

ONE = s.WIDGETS + "/one"
THREE = (
    first(post(s.WIDGETS, s.widget("a", {"tier": "x", "n": "1"}, size=1)), "a"),
    first(post(s.WIDGETS, s.widget("b", {"tier": "y"}, size=2)), "b"),
    first(post(s.WIDGETS, s.widget("c", size=3)), "c"),
)
SEVERAL = (
    first(post(s.CONFIG_MAPS, s.config_map("a", x="1"))),
    first(post(s.CONFIG_MAPS, s.config_map("b", x="1"))),
    first(post(s.CONFIG_MAPS, s.config_map("c", x="1"))),
)


def _names(body: dict[str, Any]) -> list[str]:
    return [one["metadata"]["name"] for one in body["items"]]


def _sizes(body: dict[str, Any]) -> dict[str, int]:
    return {one["metadata"]["name"]: one["spec"]["size"] for one in body["items"]}


def _event(name: str) -> dict[str, Any]:
    regarding = {"kind": "Widget", "namespace": "{row}", "name": "x"}
    return s.meta({**s.event(), "regarding": regarding}, name=name, namespace="{row}")


def _select(selector: str) -> t.Step:
    return get(s.WIDGETS, labelSelector=selector, view=_names)


def _fields(selector: str, path: str = s.WIDGETS) -> t.Step:
    return get(path, fieldSelector=selector, view=_names)


ROWS = (
    row(
        "what is not there is not found",
        get(ONE),
        get(s.CONFIG_MAPS + "/one"),
        get(s.NODES + "/{row}"),
        get(ONE + "/status"),
    ),
    row("a list has kind, version and items in the order of names", *THREE, get(s.WIDGETS)),
    row("items of a built-in list carry neither kind nor apiVersion", *SEVERAL, get(s.CONFIG_MAPS)),
    row(
        "a list over all namespaces",
        *THREE,
        get(f"{s.BASE}/widgets", labelSelector="tier=x", fieldSelector="metadata.namespace={row}"),
    ),
    row(
        "a list comes in pages",
        *THREE,
        kept(get(s.WIDGETS, limit=2), "page"),
        get(s.WIDGETS, limit=2, query={"continue": "{page.metadata.continue}"}),
        get(s.WIDGETS, limit=3),
        get(s.WIDGETS, limit=99),
    ),
    row(
        "pages show one moment",
        *THREE,
        first(get(s.WIDGETS, limit=1), "page"),
        first(delete(s.WIDGETS + "/c")),
        first(post(s.WIDGETS, s.widget("d"))),
        first(patch(s.WIDGETS + "/b", {"spec": {"size": 7}})),
        get(s.WIDGETS, limit=5, query={"continue": "{page.metadata.continue}"}, view=_sizes),
        get(s.WIDGETS, view=_sizes),
    ),
    row(
        "resourceVersion 0 is as good as the latest",
        *THREE,
        get(s.WIDGETS, resourceVersion="0", view=_names, until=lambda body: len(body["items"]) == 3),
    ),
    row(
        "a list not older than a version",
        *THREE,
        get(
            s.WIDGETS, resourceVersion="{c.metadata.resourceVersion}", resourceVersionMatch="NotOlderThan", view=_names
        ),
        get(s.WIDGETS, resourceVersion="{a.metadata.resourceVersion}", view=_names),
    ),
    row(
        # Of events alone the real server keeps no recent past in memory, which would serve the page all the same.
        "a page after the history was compacted is gone, and the rest may be had as it is now",
        *(first(post(s.EVENTS, _event(name))) for name in "abc"),
        first(get(s.EVENTS, limit=1), "page"),
        first(delete(s.EVENTS + "/b")),
        first(post(s.EVENTS, _event("d"))),
        compact(),
        kept(get(s.EVENTS, limit=1, query={"continue": "{page.metadata.continue}"}), "gone"),
        kept(get(s.EVENTS, limit=1, query={"continue": "{gone.metadata.continue}"}), "rest"),
        get(s.EVENTS, query={"continue": "{rest.metadata.continue}"}, view=_names),
    ),
    row(
        "labels select by equality, sets and existence",
        *THREE,
        _select("tier=x"),
        _select("tier==x"),
        _select("tier!=x"),
        _select("tier in (x,y)"),
        _select("tier notin (x)"),
        _select("tier"),
        _select("!tier"),
        _select("tier in (x, y),n"),
        _select(""),
    ),
    row(
        "fields select by name and namespace",
        *THREE,
        _fields("metadata.name=b"),
        _fields("metadata.name!=b"),
        _fields("metadata.name==b,metadata.namespace={row}"),
        _fields("metadata.namespace=other"),
        _fields("metadata.name=missing"),
    ),
)
