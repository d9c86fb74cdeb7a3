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
        "a replace of a built-in object with an old resourceVersion is a conflict",
        first(post(s.CONFIG_MAPS, s.config_map(a="1")), "a"),
        first(put(CM, s.config_map(a="2"))),
        put(CM, s.versioned(s.config_map(a="3"), "{a.metadata.resourceVersion}")),
    ),
    row(
        "a replace without resourceVersion is refused for custom resources and overwrites built-in ones",
        first(post(s.WIDGETS, s.widget(size=1))),
        first(post(s.CONFIG_MAPS, s.config_map(a="1"))),
        put(ONE, s.widget(size=2)),
        put(CM, s.config_map(a="2")),
    ),
    row(
        "a resourceVersion that is no number is refused",
        first(post(s.WIDGETS, s.widget(size=1))),
        first(post(s.CONFIG_MAPS, s.config_map(a="1"))),
        put(ONE, s.versioned(s.widget(size=2), "abc")),
        put(CM, s.versioned(s.config_map(a="2"), "abc")),
    ),
    row(
        "a resourceVersion from the future is a conflict",
        first(post(s.WIDGETS, s.widget(size=1))),
        put(ONE, s.versioned(s.widget(size=2), "999999999")),
    ),
    row(
        "a replace of what is not there is not found",
        put(ONE, s.versioned(s.widget(size=2), "5")),
        put(CM, s.config_map(a="2")),
        put(s.WIDGETS + "/one/status", s.versioned(s.widget(), "5")),
    ),
    row(
        "the name and the namespace of a body must be those of the path",
        first(post(s.WIDGETS, s.widget()), "a"),
        put(ONE, s.versioned(s.widget("two"), "{a.metadata.resourceVersion}")),
        put(ONE, s.meta(s.widget(), namespace="other", resourceVersion="{a.metadata.resourceVersion}")),
        put(
            ONE,
            {"apiVersion": s.API, "kind": "Widget", "metadata": {"resourceVersion": "{a.metadata.resourceVersion}"}},
        ),
        first(post(s.CONFIG_MAPS, s.config_map())),
        put(CM, s.config_map("two")),
        put(CM, {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}),
    ),
    row(
        "another uid in a body is a conflict",
        first(post(s.WIDGETS, s.widget()), "a"),
        put(
            ONE,
            s.meta(
                s.widget(), uid="33333333-3333-3333-3333-333333333333", resourceVersion="{a.metadata.resourceVersion}"
            ),
        ),
        first(post(s.CONFIG_MAPS, s.config_map())),
        put(CM, s.meta(s.config_map(), uid="33333333-3333-3333-3333-333333333333")),
    ),
    row(
        "a replace that changes nothing writes nothing",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        put(ONE, s.versioned(s.widget(size=1), "{a.metadata.resourceVersion}")),
        get(ONE),
        first(post(s.CONFIG_MAPS, s.config_map(a="1"))),
        put(CM, s.config_map(a="1")),
    ),
    row(
        "the main endpoint ignores status",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        put(ONE, s.versioned(s.widget(size=2), "{a.metadata.resourceVersion}", status={"phase": "Set"})),
        kept(put(STATUS, s.versioned(s.widget(size=2), "", status={"phase": "Set"})), "b"),
        get(ONE),
    ),
    row(
        "removing status through the main endpoint keeps it",
        first(post(s.WIDGETS, s.widget(size=1))),
        first(patch(STATUS, {"status": {"phase": "Set"}}), "b"),
        put(ONE, s.versioned(s.widget(size=2), "{b.metadata.resourceVersion}")),
        patch(ONE, {"status": None, "spec": {"size": 4}}),
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
        "without a status sub-resource status is a field like others",
        first(post(s.GADGETS, s.gadget(size=1))),
        patch(s.GADGETS + "/{row}", {"status": {"size": 4}}),
        get(s.GADGETS + "/{row}/status"),
        patch(s.GADGETS + "/{row}/status", {"status": {"size": 4}}),
        namespace=False,
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
        patch(ONE, {"metadata": {"uid": "33333333-3333-3333-3333-333333333333"}}),
        patch(ONE, {"metadata": {"name": "two"}}),
        patch(ONE, {"metadata": {"namespace": "two"}}),
        patch(ONE, {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}),
        patch(ONE, {"apiVersion": "parity.example.com/v9"}),
        patch(ONE, {"kind": "Gadget"}),
    ),
    row(
        "a replace that is a dry run leaves the object as it was",
        first(post(s.WIDGETS, s.widget(size=1)), "a"),
        put(ONE, s.versioned(s.widget(size=2), "{a.metadata.resourceVersion}"), dryRun="All"),
        patch(STATUS, {"status": {"phase": "Set"}}, dryRun="All"),
        get(ONE),
    ),
    row(
        "true is not 1 and 1.0 is 1",
        first(post(s.WIDGETS, s.widget(free={"a": 1, "b": True}))),
        patch(ONE, {"spec": {"free": {"a": True}}}),
        patch(ONE, {"spec": {"free": {"a": True}}}),
        patch(ONE, {"spec": {"free": {"b": 1}}}),
        first(patch(ONE, {"spec": {"ratio": 1}})),
        patch(ONE, '{"spec": {"ratio": 1.0}}'),
        patch(ONE, '{"spec": {"ratio": 0.5}}'),
        patch(ONE, '{"spec": {"size": 2.0}}'),
    ),
    row(
        "a lease is created by a replace of what is not there, a config map is not",
        put(s.LEASES + "/one", s.lease(holderIdentity="a")),
        put(s.LEASES + "/two", s.versioned(s.lease("two"), "7")),
        put(CM, s.config_map()),
    ),
)
