"""What a command has read, made from facts, and what it would answer."""

import argparse
import errno
import io
import json
import pathlib
from datetime import datetime
from typing import Any

import jsonschema
import referencing
from hypothesis import strategies as st

from kubectl_topology import arguments, cluster, document, progress
from kubectl_topology.commands import audit, cancel, fleet, plan, status
from kubectl_topology.commands import set as setting
from topology_api.vocabulary import Phase
from topology_controller.observe import facts

from ..core import worlds

SCHEMAS = pathlib.Path(__file__).parents[3] / "docs" / "schemas"


def _strict(schema: Any) -> Any:
    """The same, refusing fields that it does not name: they may come, but not without being written down."""
    if isinstance(schema, dict):
        found = {name: _strict(value) for name, value in schema.items()}
        return {**found, "additionalProperties": False} if "properties" in schema else found
    return [_strict(one) for one in schema] if isinstance(schema, list) else schema


def _schema(name: str) -> Any:
    return _strict(json.loads((SCHEMAS / name).read_text()))


PLAN: referencing.Registry[Any] = referencing.Registry().with_resource(
    "plan.json", referencing.Resource.from_contents(_schema("plan.json"))
)
VALID = {
    schema["title"]: jsonschema.Draft202012Validator(schema, registry=PLAN)
    for schema in (_schema(path.name) for path in SCHEMAS.glob("*.json"))
}


def conforms(found: dict[str, Any]) -> None:
    wrong = [f"{error.json_path}: {error.message}" for error in VALID[found["kind"]].iter_errors(found)]
    assert not wrong, "\n".join(wrong)


class Terminal(io.TextIOWrapper):
    """A terminal that keeps what is written to it. Once it has `gone`, it refuses that."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding, errors="backslashreplace", write_through=True)
        self.gone = False

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.gone:
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)

    @property
    def seen(self) -> str:
        """Everything that was written."""
        buffer: Any = self.buffer
        return str(buffer.getvalue(), "utf-8")


def any_json(keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Whatever JSON can hold, with these keys."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=12,
    )


LEASE = facts.Lease("operator-a_1", worlds.NOW, 137)
WITHOUT_REQUEST = worlds.with_infrastructure(worlds.healthy(), desired=None, cluster_name="edge-7f4kd")


def seen(known: facts.Facts, now: datetime = worlds.NOW, **changes: Any) -> cluster.Snapshot:
    assert isinstance(known.infrastructure, facts.Infrastructure)
    return cluster.Snapshot(known, known.infrastructure, **{"operator": LEASE, "now": now, **changes})


def asked(target: str = "HighlyAvailable", **flags: bool) -> argparse.Namespace:
    """The command line of `set`."""
    return arguments.parse(["set", target, *(f"--{name.replace('_', '-')}" for name, on in flags.items() if on)])


def planned(known: facts.Facts, target: str = "HighlyAvailable", **changes: Any) -> dict[str, Any]:
    found, _ = plan.target(seen(known, **changes), worlds.TRANSITIONS, target)
    return through_json(found)


def overview(known: facts.Facts, **changes: Any) -> dict[str, Any]:
    found = plan.overview(seen(known, **changes), worlds.TRANSITIONS)
    return through_json(found)


def told(known: facts.Facts, **changes: Any) -> dict[str, Any]:
    return through_json(status.answer(seen(known, **changes), worlds.TRANSITIONS))


def audited(known: facts.Facts, **changes: Any) -> dict[str, Any]:
    found, _ = audit.audit(seen(known, **changes), worlds.TRANSITIONS)
    return through_json(found)


def through_json(found: Any) -> dict[str, Any]:
    again: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    assert again == found, "an answer is JSON as it stands"
    return again


def printed(found: Any, width: int = 0, *, colour: bool = False, wide: bool = False) -> str:
    sheet = document.Document(width, colour, whole=wide)
    by_kind: dict[str, Any] = {
        "TopologyPlan": plan.add_plan,
        "TopologyPlanList": plan.add_overview,
        "TopologyStatus": progress.add_status,
        "TopologyAudit": audit.add_audit,
        "TopologySet": setting.add_request,
        "TopologyCancel": cancel.add_cancel,
        "TopologyFleet": fleet.table,
        "CAPIAudit": audit.add_definitions,
    }
    by_kind[found["kind"]](sheet, found)
    return sheet.text()


def in_phase(phase: Phase) -> facts.Facts:
    """A cluster in that phase, as the operator has recorded it."""
    if phase is Phase.IDLE:
        return WITHOUT_REQUEST
    if phase is Phase.CONVERGING:
        return worlds.moved(worlds.healthy(), worlds.converging())
    if phase is Phase.COMPLETED:
        return worlds.moved(worlds.converged(worlds.healthy()), worlds.completed())
    if phase is Phase.ADMITTING:
        return worlds.recorded(worlds.healthy(), worlds.admitting())
    known = worlds.healthy(scheduler=False)
    if phase is Phase.UNSUPPORTED:
        known = worlds.with_infrastructure(known, desired="DualReplica")
    return worlds.recorded(known, worlds.decide(known, transitions=worlds.TRANSITIONS).record)
