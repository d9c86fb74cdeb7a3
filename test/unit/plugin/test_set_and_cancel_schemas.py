"""`set -o json` and `cancel -o json` are what docs/schemas says: no field more, none less."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import jsonschema
import pytest
import referencing

from topology_api.vocabulary import Phase
from topology_controller.plugin import answers
from topology_controller.plugin.commands import cancel
from topology_controller.plugin.commands import set as setting

from ..core import worlds
from . import replies
from .infrastructure_api import Api

SCHEMAS = pathlib.Path(__file__).parents[3] / "docs" / "schemas"


def _strict(schema: Any) -> Any:
    if isinstance(schema, dict):
        found = {name: _strict(value) for name, value in schema.items()}
        return {**found, "additionalProperties": False} if "properties" in schema else found
    return [_strict(one) for one in schema] if isinstance(schema, list) else schema


def _schema(name: str) -> Any:
    schema = json.loads((SCHEMAS / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return _strict(schema)


REGISTRY: referencing.Registry[Any] = referencing.Registry().with_resource(
    "plan.json", referencing.Resource.from_contents(_schema("plan.json"))
)
VALID = {
    kind: jsonschema.Draft202012Validator(_schema(name), registry=REGISTRY)
    for kind, name in (("TopologySet", "set.json"), ("TopologyCancel", "cancel.json"))
}
FORMS = {"TopologySet": answers.Set, "TopologyCancel": answers.Cancel}


def conforms(found: Any) -> None:
    again = replies.through_json(found)
    wrong = [f"{error.json_path}: {error.message}" for error in VALID[again["kind"]].iter_errors(again)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("target", ["HighlyAvailable", "SingleReplica", "DualReplica"])
def test_set_conforms_in_every_phase(phase: Phase, target: str) -> None:
    seen = replies.seen(replies.in_phase(phase))
    for asked in (setting.Asked(target), setting.Asked(target, confirm=True, allow_pending=True)):
        conforms(setting.judged(seen, worlds.TRANSITIONS, asked)[0])


@pytest.mark.parametrize("phase", list(Phase))
def test_cancel_conforms_in_every_phase(phase: Phase) -> None:
    answer, _ = cancel.judged(replies.seen(replies.in_phase(phase)), worlds.TRANSITIONS, "oc")
    # What could be cancelled is not an answer: it is cancelled.
    conforms({**answer, "result": "Written"} if answer["result"] == "WouldWrite" else answer)


async def test_what_is_written_conforms_too() -> None:
    api = Api(runs=False)
    asked = setting.Asked("HighlyAvailable", confirm=True, allow_pending=True)
    made, _ = await setting.request(api.made(), worlds.TRANSITIONS, "openshift-topology-operator", asked)
    cancelled, _ = await cancel.cancel(api.made(), worlds.TRANSITIONS, "openshift-topology-operator")
    assert (made["result"], cancelled["result"]) == ("Written", "Written")
    conforms(made)
    conforms(cancelled)


@pytest.mark.parametrize("kind", sorted(VALID))
def test_the_schema_names_every_field_of_the_code(kind: str) -> None:
    assert set(VALID[kind].schema["properties"]) == set(FORMS[kind].__annotations__)
