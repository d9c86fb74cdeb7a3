"""The life of a CustomResourceDefinition."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.table import delete, first, get, patch, post, row, watch

GROUP = "{row}.example.com"
CRD = s.DEFINITIONS + "/things." + GROUP
THINGS = f"/apis/{GROUP}/v1/namespaces/{{row}}/things"
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": s.INTEGER}}}}
MADE = s.definition("things", "Thing", SCHEMA, group=GROUP)
THING = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "one"}, "spec": {"a": 1, "b": 2}}


def _ready(body: Any) -> bool:
    conditions = (body.get("status") or {}).get("conditions") or [] if isinstance(body, dict) else []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _served(body: Any) -> bool:
    return isinstance(body, dict) and "items" in body


def _life(body: dict[str, Any]) -> dict[str, Any]:
    status = body["status"]
    return {
        "conditions": sorted(status["conditions"], key=lambda one: str(one["type"])),
        "names": status["acceptedNames"],
        "stored": status["storedVersions"],
    }


ADDED = {"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b"}
ESTABLISHED = first(get(CRD, until=_ready))
SERVED = first(get(THINGS, until=_served))


ROWS = (
    row(
        "a definition is stored with its names and versions completed",
        post(s.DEFINITIONS, MADE, view=lambda body: {**body["spec"], "generation": body["metadata"]["generation"]}),
        get(CRD, until=_ready, view=_life),
    ),
    row(
        "a kind is not found before its definition and after it",
        get(THINGS),
        first(post(s.DEFINITIONS, MADE)),
        ESTABLISHED,
        get(THINGS, until=_served),
        first(delete(CRD)),
        get(THINGS, until=lambda body: not _served(body)),
        get(CRD, until=lambda body: body.get("kind") == "Status"),
    ),
    row(
        "objects go with their definition",
        first(post(s.DEFINITIONS, MADE)),
        ESTABLISHED,
        SERVED,
        first(post(THINGS, THING)),
        first(delete(CRD)),
        get(THINGS, until=lambda body: not _served(body)),
        first(post(s.DEFINITIONS, MADE, until=lambda body: body.get("kind") == "CustomResourceDefinition")),
        ESTABLISHED,
        get(THINGS, until=_served),
    ),
    row(
        "a change of the schema takes effect",
        first(post(s.DEFINITIONS, MADE)),
        ESTABLISHED,
        SERVED,
        post(THINGS, THING),
        first(patch(CRD, [{**ADDED, "value": s.INTEGER}], t.JSON_PATCH)),
        patch(
            THINGS + "/one",
            {"spec": {"b": 3}},
            until=lambda body: "b" in body.get("spec", {}),
            view=lambda body: body["spec"],
        ),
        patch(THINGS + "/one", {"spec": {"b": "x"}}),
    ),
    row(
        "watches end when their definition changes, and when it goes",
        first(post(s.DEFINITIONS, MADE)),
        ESTABLISHED,
        SERVED,
        first(post(THINGS, THING)),
        watch(THINGS, first(patch(CRD, [{**ADDED, "value": s.INTEGER}], t.JSON_PATCH))),
        first(get(THINGS, until=_served)),
        watch(THINGS, first(delete(CRD))),
    ),
)
