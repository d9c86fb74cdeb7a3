"""PATCH: merge and JSON patches, their errors, and the types that only some kinds take."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.table import first, get, patch, post, row

ONE = s.WIDGETS + "/one"
STATUS = ONE + "/status"
CM = s.CONFIG_MAPS + "/one"


def _json(*operations: dict[str, object], path: str = ONE, **more: Any) -> t.Step:
    return patch(path, list(operations), t.JSON_PATCH, **more)


def _op(op: str, path: str, *value: object, **more: object) -> dict[str, object]:
    return {"op": op, "path": path, **({"value": value[0]} if value else {}), **more}


ROWS = (
    row(
        "a merge patch merges objects, replaces lists and removes by null",
        first(post(s.WIDGETS, s.widget(size=1, mode="slow", tags=["a", "b"], free={"x": {"y": 1, "z": 2}}))),
        patch(ONE, {"spec": {"mode": None, "tags": ["c"], "free": {"x": {"y": None, "w": [1]}}}}),
        patch(ONE, {"spec": {"labels": {"a": None}}}),
        patch(ONE, {}),
    ),
    row(
        "a merge patch with an old resourceVersion is a conflict",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        first(patch(ONE, {"spec": {"size": 2}})),
        patch(ONE, {"metadata": {"resourceVersion": "{a.metadata.resourceVersion}"}, "spec": {"size": 3}}),
        first(post(s.CONFIG_MAPS, s.config_map(a="1")), "c"),
        first(patch(CM, {"data": {"a": "2"}})),
        patch(CM, {"metadata": {"resourceVersion": "{c.metadata.resourceVersion}"}, "data": {"a": "3"}}),
    ),
    row(
        "a merge patch with the current resourceVersion succeeds",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        patch(ONE, {"metadata": {"resourceVersion": "{a.metadata.resourceVersion}"}, "spec": {"size": 3}}),
    ),
    row(
        "a patch of what is not there is not found",
        patch(ONE, {"spec": {"size": 2}}),
        patch(STATUS, {"status": {}}),
        patch(CM, {"data": {}}),
    ),
    row(
        "a JSON patch adds, replaces and removes",
        first(post(s.WIDGETS, s.widget(size=1, tags=["a", "b"], free={"x": 1}))),
        _json(_op("add", "/spec/tags/0", "z"), _op("add", "/spec/tags/-", "y"), _op("replace", "/spec/size", 4)),
        _json(_op("remove", "/spec/tags/1"), _op("test", "/spec/size", 4)),
        _json(_op("add", "/metadata/annotations", {"example.com/ab": "1"})),
        _json(_op("replace", "/metadata/annotations/example.com~1ab", "2")),
        _json(),
    ),
    row(
        "a failed test in a JSON patch is refused",
        first(post(s.WIDGETS, s.widget(size=1))),
        _json(_op("test", "/spec/size", 9), _op("replace", "/spec/size", 2)),
        _json(_op("test", "/spec/missing", 9)),
        _json(_op("test", "/spec/note", None), _op("replace", "/spec/size", 2)),
        _json(_op("test", "/status/controlPlaneTopology", "x")),
        get(ONE),
    ),
    row(
        "a JSON patch of status leaves the rest",
        first(post(s.WIDGETS, s.widget(size=1))),
        _json(_op("add", "/status", {"phase": "Set"}), _op("replace", "/spec/size", 9), path=STATUS),
        _json(_op("replace", "/status/phase", "Other"), path=STATUS),
    ),
    row(
        "a custom resource takes no strategic merge patch",
        first(post(s.WIDGETS, s.widget())),
        patch(ONE, {"spec": {"size": 2}}, t.STRATEGIC),
    ),
    row(
        "an apply creates and owns",
        patch(
            ONE,
            {"apiVersion": s.API, "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 4}},
            t.APPLY,
            fieldManager="tester",
        ),
    ),
    row(
        "a patch that is a dry run leaves the object as it was",
        first(post(s.WIDGETS, s.widget(size=1))),
        patch(ONE, {"spec": {"size": 2}}, dryRun="All"),
        get(ONE),
    ),
)
