"""The life of a CustomResourceDefinition."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.rows.discovery import AGGREGATED
from simulator_tests.parity.table import delete, first, get, patch, post, put, row, watch

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

_SCALES = {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}
_SCALED_VERSION = {**MADE["spec"]["versions"][0], "subresources": {"status": {}, "scale": _SCALES}}
SCALED = (
    first(post(s.DEFINITIONS, {**MADE, "spec": {**MADE["spec"], "versions": [_SCALED_VERSION]}})),
    ESTABLISHED,
    SERVED,
    first(post(THINGS, THING)),
)
SCALE = THINGS + "/one/scale"


def scale(replicas: int, **meta: str) -> dict[str, Any]:
    """Return a Scale of the thing `one`."""
    named = {"name": "one", "namespace": "{row}", **meta}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": named, "spec": {"replicas": replicas}}


def _scale_listed(body: dict[str, Any]) -> list[Any]:
    return [{**one, "verbs": sorted(one["verbs"])} for one in body["resources"] if one["name"] == "things/scale"]


def _scale_of_aggregated(body: dict[str, Any]) -> list[Any]:
    versions = [version for item in body["items"] for version in item["versions"]]
    kinds = [kind for version in versions for kind in version["resources"]]
    parts = [part for kind in kinds if kind["resource"] == "things" for part in kind["subresources"]]
    return [{**part, "verbs": sorted(part["verbs"])} for part in parts if part["subresource"] == "scale"]


def _refused(**changes: Any) -> t.Step:
    return post(s.DEFINITIONS, {**MADE, "spec": {**MADE["spec"], **changes}})


ROWS = (
    row(
        "a definition is stored with its names and versions completed",
        post(s.DEFINITIONS, MADE, view=lambda body: {**body["spec"], "generation": body["metadata"]["generation"]}),
        get(CRD, until=_ready, view=_life),
    ),
    row(
        "a definition without singular and list kind gets them",
        post(
            s.DEFINITIONS,
            {**MADE, "spec": {**MADE["spec"], "names": {"plural": "things", "kind": "Thing"}}},
            view=lambda body: body["spec"]["names"],
        ),
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
        first(get(THINGS, until=lambda body: not _served(body), compared=False))
        if False
        else get(THINGS, until=lambda body: not _served(body)),
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
        first(
            patch(
                CRD,
                [
                    {
                        "op": "add",
                        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b",
                        "value": s.INTEGER,
                    }
                ],
                t.JSON_PATCH,
            )
        ),
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
    row("a definition's name is plural and group", post(s.DEFINITIONS, s.meta(MADE, name="wrong"))),
    row(
        "an incomplete definition is refused",
        post(
            s.DEFINITIONS,
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "things." + GROUP},
                "spec": {},
            },
        ),
        _refused(scope="Wrong"),
        _refused(versions=[]),
        _refused(names={}),
    ),
    row(
        "a definition has exactly one storage version",
        _refused(versions=[{**MADE["spec"]["versions"][0], "storage": False}]),
        _refused(versions=[MADE["spec"]["versions"][0], {**MADE["spec"]["versions"][0], "name": "v2"}]),
    ),
    row("a version needs a schema", _refused(versions=[{"name": "v1", "served": True, "storage": True}])),
    row(
        "a bad column path is refused",
        _refused(
            versions=[
                {
                    **MADE["spec"]["versions"][0],
                    "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": "spec.a"}],
                }
            ]
        ),
        _refused(
            versions=[
                {
                    **MADE["spec"]["versions"][0],
                    "additionalPrinterColumns": [{"name": "A", "type": "odd", "jsonPath": ".spec.a"}],
                }
            ]
        ),
    ),
    row(
        "scope and group of a definition never change",
        first(post(s.DEFINITIONS, MADE)),
        first(get(CRD, until=_ready), "crd"),
        patch(CRD, {"spec": {"scope": "Cluster"}}),
        patch(CRD, {"spec": {"group": "other.example.com"}}),
        patch(CRD, {"spec": {"names": {"plural": "others"}}}),
        patch(CRD, {"spec": {"names": {"kind": "Other"}}}, view=lambda body: body["spec"]["names"]),
    ),
    row(
        "a definition needs a resourceVersion to be replaced",
        first(post(s.DEFINITIONS, MADE)),
        put(CRD, MADE),
        first(get(CRD, until=_ready), "crd"),
        put(
            CRD,
            s.versioned(
                {**MADE, "spec": {**MADE["spec"], "names": {**MADE["spec"]["names"], "shortNames": ["th"]}}},
                "{crd.metadata.resourceVersion}",
            ),
            view=lambda body: [body["metadata"]["generation"], body["spec"]["names"]],
        ),
    ),
    row(
        "two served versions show the same object",
        first(
            post(
                s.DEFINITIONS,
                {
                    **MADE,
                    "spec": {
                        **MADE["spec"],
                        "versions": [
                            {**MADE["spec"]["versions"][0], "name": "v1beta1", "storage": False, "deprecated": True},
                            MADE["spec"]["versions"][0],
                        ],
                    },
                },
            )
        ),
        ESTABLISHED,
        SERVED,
        first(post(THINGS, THING)),
        get(f"/apis/{GROUP}/v1beta1/namespaces/{{row}}/things/one"),
        get(f"/apis/{GROUP}/v1beta1/namespaces/{{row}}/things", view=lambda body: [body["apiVersion"], body["kind"]]),
        get(f"/apis/{GROUP}", until=lambda body: len(body.get("versions", ())) == 2),
    ),
    row(
        "a version that is not served is not found",
        first(
            post(
                s.DEFINITIONS,
                {
                    **MADE,
                    "spec": {
                        **MADE["spec"],
                        "versions": [
                            MADE["spec"]["versions"][0],
                            {**MADE["spec"]["versions"][0], "name": "v2", "storage": False, "served": False},
                        ],
                    },
                },
            )
        ),
        ESTABLISHED,
        SERVED,
        get(f"/apis/{GROUP}/v2/namespaces/{{row}}/things"),
    ),
    row(
        "a generation counts changes of a definition",
        first(post(s.DEFINITIONS, MADE)),
        first(get(CRD, until=_ready)),
        patch(
            CRD,
            {"spec": {"names": {"shortNames": ["th"]}}},
            view=lambda body: [body["metadata"]["generation"], body["spec"]["names"]],
        ),
    ),
    row(
        "a definition that is a dry run serves nothing",
        post(s.DEFINITIONS, MADE, dryRun="All", view=lambda body: body["spec"]),
        get(CRD),
        get(THINGS),
    ),
    row(
        "selectable fields of a definition",
        first(
            post(
                s.DEFINITIONS,
                {
                    **MADE,
                    "spec": {
                        **MADE["spec"],
                        "versions": [{**MADE["spec"]["versions"][0], "selectableFields": [{"jsonPath": ".spec.a"}]}],
                    },
                },
            )
        ),
        ESTABLISHED,
        SERVED,
        first(post(THINGS, THING)),
        get(THINGS, fieldSelector="spec.a=1", view=lambda body: len(body["items"])),
        get(THINGS, fieldSelector="spec.a=2", view=lambda body: len(body["items"])),
    ),
    row("a scale sub-resource", *SCALED, get(SCALE)),
    row(
        "a scale is written",
        *SCALED,
        put(SCALE, scale(3)),
        get(THINGS + "/one", view=lambda body: [body["spec"], body["metadata"]["generation"]]),
        patch(SCALE, {"spec": {"replicas": 5}}),
        patch(SCALE, [{"op": "replace", "path": "/spec/replicas", "value": 4}], media=t.JSON_PATCH),
        put(SCALE, scale(4)),
        get(THINGS + "/one", view=lambda body: [body["spec"], body["metadata"]["generation"]]),
    ),
    row(
        "a scale of an old version is refused",
        *SCALED,
        first(get(SCALE, keep="old")),
        first(put(SCALE, scale(2))),
        put(SCALE, scale(3, resourceVersion="{kept.old.metadata.resourceVersion}")),
        patch(SCALE, [{"op": "test", "path": "/spec/replicas", "value": 1}], media=t.JSON_PATCH),
        get(SCALE, view=lambda body: body["spec"]),
    ),
    row(
        "a scale that makes no sense is refused",
        *SCALED,
        put(SCALE, {**scale(3), "metadata": {"name": "two"}}),
        put(SCALE, {**scale(3), "kind": "Thing"}),
        put(THINGS + "/two/scale", scale(3, name="two")),
        get(THINGS + "/two/scale"),
        get(SCALE, view=lambda body: body["spec"]),
    ),
    row(
        "who scales owns the number",
        *SCALED,
        first(put(SCALE, scale(3), fieldManager="scaler")),
        get(
            THINGS + "/one",
            view=lambda body: [
                [entry["manager"], entry.get("subresource"), entry["fieldsV1"]]
                for entry in sorted(body["metadata"]["managedFields"], key=lambda entry: str(entry["manager"]))
            ],
        ),
    ),
    row(
        "discovery has the scale sub-resource",
        *SCALED,
        get(f"/apis/{GROUP}/v1", view=_scale_listed),
        get("/apis", accept=AGGREGATED, view=_scale_of_aggregated),
    ),
)
