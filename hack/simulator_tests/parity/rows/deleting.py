"""delete: finalizers, dry runs."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import delete, first, get, patch, post, row

ONE = s.WIDGETS + "/one"
HELD = first(post(s.WIDGETS, s.meta(s.widget(), finalizers=["example.com/x"])), "a")


ROWS = (
    row("a delete says what is gone", first(post(s.WIDGETS, s.widget())), delete(ONE), get(ONE), delete(ONE)),
    row(
        "a finalizer holds a deleted object",
        HELD,
        delete(ONE),
        get(ONE),
        delete(ONE),
        patch(ONE, {"spec": {"size": 3}}),
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
