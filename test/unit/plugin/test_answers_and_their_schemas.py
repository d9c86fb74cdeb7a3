"""`-o json` is what docs/schemas says: no field more, none less, in every phase and whatever the cluster."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given

from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import answers, errors

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies

SCHEMAS = pathlib.Path(__file__).parents[3] / "docs" / "schemas"


def _strict(schema: Any) -> Any:
    """The same, refusing fields that it does not name: they may come, but not without being written down."""
    if isinstance(schema, dict):
        found = {name: _strict(value) for name, value in schema.items()}
        return {**found, "additionalProperties": False} if "properties" in schema else found
    return [_strict(one) for one in schema] if isinstance(schema, list) else schema


def _load(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((SCHEMAS / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(_strict(schema))


VALID = {
    "TopologyPlan": _load("plan.json"),
    "TopologyPlanList": _load("plan-list.json"),
    "TopologyStatus": _load("status.json"),
    "TopologyAudit": _load("audit.json"),
    "TopologyFleet": _load("fleet.json"),
}
FORMS = {"TopologyPlan": answers.Plan, "TopologyPlanList": answers.Overview, "TopologyStatus": answers.Status}
FORMS |= {"TopologyAudit": answers.Audit, "TopologyFleet": answers.Fleet}


def conforms(found: dict[str, Any]) -> None:
    wrong = [f"{error.json_path}: {error.message}" for error in VALID[found["kind"]].iter_errors(found)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_conforms(phase: Phase) -> None:
    known = replies.in_phase(phase)
    told = replies.told(known)
    for found in (told, replies.overview(known), replies.planned(known), replies.planned(known, "DualReplica")):
        conforms(found)
    assert told["phase"] == (None if phase is Phase.IDLE else phase.value)


@given(known=worlds_of_any_kind())
def test_any_cluster_conforms_and_can_be_printed_at_any_width(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    found = [replies.told(known), replies.overview(known), replies.audited(known)]
    try:
        found.append(replies.planned(known))
    except errors.PluginError:
        assert isinstance(known.installed, facts.Installed)
    for one in found:
        conforms(one)
        for width in (0, 40, 80, 200):
            assert replies.printed(one, width)


@pytest.mark.parametrize("kind", sorted(VALID))
def test_the_schema_names_every_field_of_the_code(kind: str) -> None:
    assert set(VALID[kind].schema["properties"]) == set(FORMS[kind].__annotations__)


def test_a_field_that_nobody_has_written_down_would_be_noticed() -> None:
    found = replies.planned(worlds.healthy())
    with pytest.raises(AssertionError, match="surprise"):
        conforms({**found, "surprise": 1})
    with pytest.raises(AssertionError, match="verdict"):
        conforms({**found, "verdict": "Maybe"})
