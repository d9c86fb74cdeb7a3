"""delete: preconditions, finalizers, collections."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import delete, first, get, patch, post, put, row

ONE = s.WIDGETS + "/one"
CM = s.CONFIG_MAPS + "/one"
HELD = first(post(s.WIDGETS, s.meta(s.widget(), finalizers=["example.com/x"])), "a")


def _names(body: dict[str, Any]) -> list[str]:
    return sorted(one["metadata"]["name"] for one in body["items"])


ROWS = (
    row("a delete says what is gone", first(post(s.WIDGETS, s.widget())), delete(ONE), get(ONE), delete(ONE)),
    row(
        "a delete of a built-in object says what is gone",
        first(post(s.CONFIG_MAPS, s.config_map())),
        delete(CM),
        get(CM),
        delete(CM),
    ),
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
        "a finalizer holds a deleted config map",
        first(post(s.CONFIG_MAPS, s.meta(s.config_map(), finalizers=["example.com/x"])), "a"),
        delete(CM),
        put(CM, s.config_map()),
        get(CM),
    ),
    row(
        "a deleted object's name cannot be used while it is held", HELD, first(delete(ONE)), post(s.WIDGETS, s.widget())
    ),
    row(
        "a delete that is a dry run leaves the object",
        first(post(s.WIDGETS, s.widget())),
        delete(ONE, dryRun="All"),
        delete(ONE, {"dryRun": ["All"]}),
        get(ONE),
    ),
    row("a delete that is a dry run does not mark what is held", HELD, delete(ONE, dryRun="All"), get(ONE)),
    row(
        "how dependents go is a matter of the options",
        first(post(s.WIDGETS, s.widget())),
        delete(ONE, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}),
        get(ONE),
    ),
    row(
        "orphaning marks the object",
        first(post(s.WIDGETS, s.widget())),
        delete(ONE, propagationPolicy="Orphan"),
        get(ONE),
        patch(ONE, {"metadata": {"finalizers": None}}),
        get(ONE),
    ),
    row(
        "background deletion is at once",
        first(post(s.WIDGETS, s.widget())),
        delete(ONE, {"propagationPolicy": "Background"}),
        get(ONE),
    ),
    row(
        "an unknown propagation is refused",
        first(post(s.WIDGETS, s.widget())),
        delete(ONE, {"propagationPolicy": "Sideways"}),
        delete(ONE, {"propagationPolicy": "Orphan", "orphanDependents": True}),
        get(ONE),
    ),
    row(
        "malformed delete options are refused",
        first(post(s.WIDGETS, s.widget())),
        delete(ONE, "{not json"),
        delete(ONE, "[1]"),
        delete(ONE, {"kind": "Other", "apiVersion": "v1"}),
    ),
    row(
        "a collection is deleted by selector",
        *(
            first(post(s.WIDGETS, s.widget(name, {"tier": tier})))
            for name, tier in (("a", "x"), ("b", "y"), ("c", "x"))
        ),
        delete(s.WIDGETS, labelSelector="tier=x"),
        get(s.WIDGETS, view=_names),
        delete(s.WIDGETS, fieldSelector="metadata.name=b"),
        get(s.WIDGETS, view=_names),
    ),
    row("a collection of nothing", delete(s.WIDGETS), delete(s.CONFIG_MAPS)),
    row(
        "a collection that is a dry run stays",
        first(post(s.WIDGETS, s.widget())),
        delete(s.WIDGETS, dryRun="All"),
        get(s.WIDGETS, view=_names),
    ),
    row(
        "a collection over all namespaces cannot be deleted",
        delete(f"{s.BASE}/widgets"),
        delete("/api/v1/configmaps"),
        namespace=False,
    ),
    row(
        "a sub-resource cannot be deleted",
        first(post(s.WIDGETS, s.widget())),
        delete(ONE + "/status"),
        post(ONE + "/status", s.widget()),
        post(ONE, s.widget()),
    ),
    row("a lease is deleted", first(post(s.LEASES, s.lease())), delete(s.LEASES + "/one")),
    row(
        "a node is deleted",
        first(post(s.NODES, s.node())),
        delete(s.NODES + "/{row}"),
        get(s.NODES + "/{row}"),
        namespace=False,
    ),
)
