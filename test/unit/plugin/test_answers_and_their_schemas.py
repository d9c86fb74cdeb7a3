"""`-o json` is what docs/schemas says: no field more, none less, in every phase and whatever the cluster."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import jsonschema
import pytest
import referencing
from hypothesis import assume, given

from topology_controller.observe import facts
from topology_controller.plugin import answers, errors
from topology_controller.plugin.commands import cancel
from topology_controller.plugin.commands import set as setting

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies
from .infrastructure_api import Api

SCHEMAS = pathlib.Path(__file__).parents[3] / "docs" / "schemas"


def _strict(schema: Any) -> Any:
    """The same, refusing fields that it does not name: they may come, but not without being written down."""
    if isinstance(schema, dict):
        found = {name: _strict(value) for name, value in schema.items()}
        return {**found, "additionalProperties": False} if "properties" in schema else found
    return [_strict(one) for one in schema] if isinstance(schema, list) else schema


def _schema(name: str) -> Any:
    schema = json.loads((SCHEMAS / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return _strict(schema)


PLAN: referencing.Registry[Any] = referencing.Registry().with_resource(
    "plan.json", referencing.Resource.from_contents(_schema("plan.json"))
)
FORMS = {
    "TopologyPlan": ("plan.json", answers.Plan),
    "TopologyPlanList": ("plan-list.json", answers.Overview),
    "TopologyStatus": ("status.json", answers.Status),
    "TopologyAudit": ("audit.json", answers.Audit),
    "TopologyFleet": ("fleet.json", answers.Fleet),
    "TopologySet": ("set.json", answers.Set),
    "TopologyCancel": ("cancel.json", answers.Cancel),
}
VALID = {kind: jsonschema.Draft202012Validator(_schema(name), registry=PLAN) for kind, (name, _) in FORMS.items()}


def conforms(found: dict[str, Any]) -> None:
    wrong = [f"{error.json_path}: {error.message}" for error in VALID[found["kind"]].iter_errors(found)]
    assert not wrong, "\n".join(wrong)


async def test_what_is_written_conforms_too() -> None:
    api = Api(runs=False)
    asked = setting.Asked("HighlyAvailable", confirm=True, allow_pending=True)
    made, _ = await setting.request(api.made(), worlds.TRANSITIONS, "openshift-topology-operator", asked)
    cancelled, _ = await cancel.cancel(api.made(), worlds.TRANSITIONS, "openshift-topology-operator")
    for found in (made, cancelled):
        assert found["result"] == "Written"
        conforms(replies.through_json(found))


@given(known=worlds_of_any_kind())
def test_any_cluster_conforms_and_can_be_printed_at_any_width(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    found = [replies.told(known), replies.overview(known), replies.audited(known)]
    try:
        found.append(replies.planned(known))
        cancelled, _ = cancel.judged(replies.seen(known), worlds.TRANSITIONS, "oc")
        # What could be cancelled is not an answer: it is cancelled.
        found.append(cancelled if cancelled["result"] != "WouldWrite" else {**cancelled, "result": "Written"})
    except errors.PluginError:
        assert isinstance(known.installed, facts.Installed)
    for one in found:
        conforms(one)
        for width in (0, 40):
            assert replies.printed(one, width)


@pytest.mark.parametrize("kind", sorted(VALID))
def test_the_schema_names_every_field_of_the_code(kind: str) -> None:
    assert set(VALID[kind].schema["properties"]) == set(FORMS[kind][1].__annotations__)
