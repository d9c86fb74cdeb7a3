"""delete: preconditions, finalizers, collections."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import delete, first, get, patch, post, row

ONE = s.WIDGETS + "/one"
HELD = first(post(s.WIDGETS, s.meta(s.widget(), finalizers=["example.com/x"])), "a")


ROWS = (
    row("a delete says what is gone", first(post(s.WIDGETS, s.widget())), delete(ONE), get(ONE), delete(ONE)),
    row(
        "a delete has preconditions",
        first(post(s.WIDGETS, s.widget()), "a"),
        delete(ONE, {"preconditions": {"uid": "33333333-3333-3333-3333-333333333333"}}),
        delete(ONE, {"preconditions": {"resourceVersion": "1"}}),
        delete(ONE, {"preconditions": {"uid": "{a.metadata.uid}", "resourceVersion": "{a.metadata.resourceVersion}"}}),
    ),
    row(
        "a finalizer holds a deleted object",
        HELD,
        delete(ONE),
        get(ONE),
        delete(ONE),
        patch(ONE, {"spec": {"size": 3}}),
        patch(ONE, {"metadata": {"finalizers": ["example.com/x", "example.com/y"]}}),
        patch(ONE, {"metadata": {"finalizers": None}}),
        get(ONE),
    ),
    row(
        "a delete that is a dry run leaves the object",
        first(post(s.WIDGETS, s.widget())),
        delete(ONE, dryRun="All"),
        delete(ONE, {"dryRun": ["All"]}),
        get(ONE),
    ),
)
