"""PUT: optimistic locking, what each endpoint may touch, generation."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import first, get, kept, patch, post, put, row

ONE = s.WIDGETS + "/one"
STATUS = ONE + "/status"
CM = s.CONFIG_MAPS + "/one"

ROWS = (
    row(
        "a replace with the current resourceVersion succeeds and counts one generation",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        put(ONE, s.versioned(s.widget(size=2), "{a.metadata.resourceVersion}")),
    ),
    row(
        "a replace with an old resourceVersion is a conflict",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        first(put(ONE, s.versioned(s.widget(size=2), "{a.metadata.resourceVersion}"))),
        put(ONE, s.versioned(s.widget(size=3), "{a.metadata.resourceVersion}")),
        get(ONE),
    ),
    row(
        "a replace without resourceVersion is refused for custom resources and overwrites built-in ones",
        first(post(s.WIDGETS, s.widget(size=1))),
        first(post(s.CONFIG_MAPS, s.config_map(a="1"))),
        put(ONE, s.widget(size=2)),
        put(CM, s.config_map(a="2")),
    ),
    row(
        "the main endpoint ignores status",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        put(ONE, s.versioned(s.widget(size=2), "{a.metadata.resourceVersion}", status={"phase": "Set"})),
        kept(put(STATUS, s.versioned(s.widget(size=2), "", status={"phase": "Set"})), "b"),
        get(ONE),
    ),
    row(
        "the status endpoint ignores spec, labels and annotations",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        put(
            STATUS,
            s.versioned(
                s.meta(s.widget(size=9, labels={"a": "b"}), annotations={"c": "d"}, finalizers=["example.com/x"]),
                "{a.metadata.resourceVersion}",
                status={"phase": "Set"},
            ),
        ),
        get(ONE),
        get(STATUS),
    ),
    row(
        "the status endpoint checks resourceVersion",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        first(patch(ONE, {"spec": {"size": 2}})),
        put(STATUS, s.versioned(s.widget(), "{a.metadata.resourceVersion}", status={"phase": "Set"})),
        patch(STATUS, {"metadata": {"resourceVersion": "{a.metadata.resourceVersion}"}, "status": {"phase": "Set"}}),
        get(ONE),
    ),
    row(
        "a status write that changes nothing writes nothing, and none counts a generation",
        first(post(s.WIDGETS, s.widget(size=1))),
        patch(STATUS, {"status": {"phase": "Set"}}),
        patch(STATUS, {"status": {"phase": "Set"}}),
        patch(STATUS, {"status": None}),
    ),
    row(
        "generation counts changes of spec and not of metadata",
        first(post(s.WIDGETS, s.widget(size=1))),
        patch(ONE, {"metadata": {"labels": {"a": "b"}}}),
        patch(ONE, {"metadata": {"annotations": {"a": "b"}}}),
        patch(ONE, {"spec": {"size": 5}}),
        patch(ONE, {"metadata": {"generation": 99}}),
    ),
    row(
        "identity cannot be patched",
        first(post(s.WIDGETS, s.widget(size=1))),
        patch(ONE, {"metadata": {"name": "two"}}),
        patch(ONE, {"metadata": {"namespace": "two"}}),
        patch(ONE, {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}),
    ),
)
