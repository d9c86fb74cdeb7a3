"""What a structural schema does: pruning, defaults, validation, and how strict about unknown fields."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.table import first, get, patch, post, row

ONE = s.WIDGETS + "/one"
UNKNOWN = s.widget(size=1, surprise=1, deep={"more": 2}, parts=[{"name": "a", "odd": 1}])


def _open(**spec: object) -> dict[str, object]:
    return s.definition(
        "opens",
        "Open",
        {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}},
        group="{row}.example.com",
    )


OPENS = "/apis/{row}.example.com/v1/namespaces/{row}/opens"
OPEN_CRD = s.DEFINITIONS + "/opens.{row}.example.com"
_MAXIMUM = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/maximum"
SERVED = get(OPENS, until=lambda body: isinstance(body, dict) and "items" in body)


def _made(spec: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": "{row}.example.com/v1", "kind": "Open", "metadata": {"name": "one"}, "spec": spec}


ROWS = (
    row(
        "unknown fields are pruned with a warning",
        post(s.WIDGETS, UNKNOWN),
        get(ONE),
        patch(ONE, {"spec": {"other": 1}}),
        patch(ONE, {"metadata": {"odd": "x"}}),
        patch(ONE, {"top": 1}),
    ),
    row("unknown fields are refused when asked for", post(s.WIDGETS, UNKNOWN, fieldValidation="Strict"), get(ONE)),
    row(
        "fields below preserve-unknown-fields are kept",
        post(s.WIDGETS, s.widget(free={"a": {"b": [1, {"c": None}]}})),
        get(ONE),
    ),
    row(
        "defaults are filled in at every depth",
        post(s.WIDGETS, s.widget(parts=[{"name": "a"}, {"name": "b", "count": 1}])),
        post(s.WIDGETS, {"apiVersion": s.API, "kind": "Widget", "metadata": {"name": "bare"}}),
        post(s.WIDGETS, s.widget("deep", deep={"level": 1})),
    ),
    row(
        "null gets the default where null is not allowed, and stays where it is",
        post(s.WIDGETS, s.widget(size=None, note=None, mode=None)),
        patch(ONE, {"spec": {"size": None}}),
        patch(ONE, [{"op": "add", "path": "/spec/size", "value": None}], t.JSON_PATCH),
        post(s.WIDGETS, s.widget("two", free={"a": None}, tags=None)),
        post(s.WIDGETS, {**s.widget("three"), "spec": None}),
    ),
    row(
        "numbers have bounds",
        post(s.WIDGETS, s.widget(size=11)),
        post(s.WIDGETS, s.widget(size=-1)),
        post(s.WIDGETS, s.widget("whole", size=2.0)),
        post(s.WIDGETS, s.widget(ratio="1")),
    ),
    row(
        "texts have form and length",
        post(s.WIDGETS, s.widget(word="a")),
        post(s.WIDGETS, s.widget(word="abcdef")),
        post(s.WIDGETS, s.widget(word="AB")),
        post(s.WIDGETS, s.widget(mode="medium")),
        post(s.WIDGETS, s.widget(moment="yesterday")),
        post(s.WIDGETS, s.widget("fine", moment="2020-01-01T00:00:00.5+02:00")),
    ),
    row(
        "lists have lengths and sets no doubles",
        post(s.WIDGETS, s.widget(tags=["a", "b", "a"])),
        post(s.WIDGETS, s.widget(parts=[{}, {}, {}, {}])),
        post(s.WIDGETS, s.widget(parts={"a": 1})),
        post(s.WIDGETS, s.widget(parts=["a"])),
        post(s.WIDGETS, s.widget(tags="a")),
    ),
    row(
        "map lists have no doubles of a key",
        first(post(s.WIDGETS, s.widget())),
        patch(
            ONE + "/status", {"status": {"conditions": [{"type": "A", "status": "x"}, {"type": "A", "status": "y"}]}}
        ),
        patch(ONE + "/status", {"status": {"conditions": [{"type": "A"}]}}),
        patch(ONE + "/status", {"status": {"conditions": [{"status": "A"}]}}),
    ),
    row(
        "objects have required fields",
        post(s.WIDGETS, s.widget(pair={"right": "x"})),
        post(s.WIDGETS, s.widget(pair="x")),
        post(s.WIDGETS, {**s.widget(), "spec": "x"}),
    ),
    row(
        "an int-or-string takes both",
        post(s.WIDGETS, s.widget("number", port=80)),
        post(s.WIDGETS, s.widget("text", port="http")),
        post(s.WIDGETS, s.widget(port=True)),
        post(s.WIDGETS, s.widget(port=1.5)),
    ),
    row(
        "several broken rules are told together",
        post(s.WIDGETS, s.widget("Bad Name", size=11, mode="x", tags=["a", "a"], pair={})),
    ),
    row(
        "an unchanged invalid field does not keep others from changing",
        first(post(s.DEFINITIONS, _open(a=s.INTEGER, b=s.STRING))),
        first(SERVED),
        first(post(OPENS, _made({"a": 50, "b": "x"}))),
        first(patch(OPEN_CRD, [{"op": "add", "path": _MAXIMUM, "value": 10}], t.JSON_PATCH)),
        post(
            OPENS,
            {**_made({"a": 51}), "metadata": {"name": "late"}},
            dryRun="All",
            until=lambda body: body.get("kind") == "Status",
        ),
        patch(OPENS + "/one", {"spec": {"b": "y"}}),
        patch(OPENS + "/one", {"spec": {"a": 60}}),
        patch(OPENS + "/one", {"spec": {"a": 6}}),
    ),
)
