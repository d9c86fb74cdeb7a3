"""managedFields: who wrote what last."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import first, get, patch, post, row

ONE = s.WIDGETS + "/one"
STATUS = ONE + "/status"


def _owners(body: dict[str, Any]) -> list[Any]:
    found = body["metadata"].get("managedFields", [])
    return sorted(found, key=lambda one: (one["manager"], one.get("subresource", ""), one["operation"]))


def _who(*path: str) -> Any:
    """Return a view: who owns a path, as the operator asks it."""

    def view(body: dict[str, Any]) -> list[str]:
        found = []
        for entry in _owners(body):
            tree = entry["fieldsV1"]
            for name in path:
                tree = tree.get(f"f:{name}") if tree is not None else None
            if tree is not None:
                found.append(f"{entry['manager']} {entry['operation']} {entry.get('subresource', '')}".strip())
        return found

    return view


TOPOLOGY = _who("status", "controlPlaneTopology")

ROWS = (
    row(
        "a create is owned by its manager",
        post(s.WIDGETS, s.widget(size=3, free={"a": {"b": 1}}, tags=["x"]), view=_owners, fieldManager="maker"),
    ),
    row(
        "the manager is the first part of the user agent",
        post(s.WIDGETS, s.widget(), view=_owners, agent="some-tool/v1.2 (linux)"),
        post(s.WIDGETS, s.widget("two"), view=_owners, agent="plain"),
    ),
    row(
        "status is owned by whoever wrote it, through its sub-resource",
        first(post(s.WIDGETS, s.widget(size=3), fieldManager="maker")),
        patch(
            STATUS,
            {"status": {"controlPlaneTopology": "SingleReplica", "conditions": [{"type": "A", "status": "x"}]}},
            view=_owners,
            fieldManager="teller",
        ),
    ),
    row(
        "the last who changed a field owns it",
        first(post(s.WIDGETS, s.widget(size=3), fieldManager="maker")),
        first(patch(STATUS, {"status": {"controlPlaneTopology": "SingleReplica", "phase": "x"}}, fieldManager="one")),
        patch(STATUS, {"status": {"controlPlaneTopology": "HighlyAvailable"}}, view=TOPOLOGY, fieldManager="two"),
        get(ONE, view=TOPOLOGY),
        get(ONE, view=_who("status", "phase")),
        patch(STATUS, {"status": {"controlPlaneTopology": "HighlyAvailable"}}, view=TOPOLOGY, fieldManager="three"),
        patch(STATUS, {"status": {"controlPlaneTopology": None}}, view=_owners, fieldManager="three"),
    ),
)
