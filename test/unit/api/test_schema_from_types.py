"""The schema that the types turn into, and what has no structural form."""

from __future__ import annotations

from typing import Annotated, Any

import pydantic
import pytest

from topology_api import crd, types
from topology_api.vocabulary import Phase
from topology_controller import manifests


def test_every_field_of_the_record_is_in_the_schema_and_described():
    made = crd.record_schema()
    fields = types.TopologyTransition.model_fields
    assert set(made["properties"]) == {field.alias for field in fields.values()}
    assert made["required"] == ["phase"]
    assert made["properties"]["phase"]["enum"] == [phase.value for phase in Phase]
    undescribed = [name for name, child in made["properties"].items() if not child.get("description")]
    assert not undescribed
    assert made["properties"]["checks"]["x-kubernetes-list-map-keys"] == ["stage", "name"]
    assert made["properties"]["admittedTime"]["format"] == "date-time"


def test_nothing_of_json_schema_is_left_that_a_structural_schema_may_not_have():
    def keys(node: Any) -> set[str]:
        if isinstance(node, list):
            return {key for item in node for key in keys(item)}
        if not isinstance(node, dict):
            return set()
        return set(node) | {key for child in node.values() for key in keys(child)}

    forbidden = {"$ref", "$defs", "anyOf", "oneOf", "title", "const"}
    assert not keys(crd.infrastructure(manifests.edges())) & forbidden


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (int | str, "field: a union"),
        (dict[str, int], "field: additionalProperties has no structural form"),
        (Any, "field: no type"),
        (Annotated[int, pydantic.Field(gt=0)], "field: exclusiveMinimum has no structural form"),
        (list[types.PoolBaseline], "field: nothing says which fields tell"),
    ],
)
def test_what_has_no_structural_form_is_refused(type_, message):
    model: Any = pydantic.create_model("Made", field=(type_, ...))
    with pytest.raises(TypeError, match=message):
        crd.structural(model.model_json_schema(), {})


def test_a_topology_without_any_edge_still_has_rules():
    made = crd.rules(())
    assert "none is defined" in made[1]["message"]
    assert all(rule["fieldPath"] == ".spec.desiredTopology" for rule in made)
