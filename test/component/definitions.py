"""Other forms of a cluster's CRDs: laxer than the real ones, or older.

A payload brings its own CRDs, and an object may be older than its schema. So a test loosens a definition to put into
the cluster what the real one would refuse, and takes our fields away to be the cluster that never had them.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_simulator import client

Schema = dict[str, Any]


async def change(api: client.Client, kind: kinds.Kind, alter: Callable[[Schema], Schema]) -> Schema:
    """Replace the schema of a kind by what `alter` makes of it; return the versions that stood there before."""
    name = f"{kind.plural}.{kind.group}"
    crd = await api.get(kinds.DEFINITIONS, name)
    versions = copy.deepcopy(crd["spec"]["versions"])
    for version in versions:
        version["schema"]["openAPIV3Schema"] = alter(version["schema"]["openAPIV3Schema"])
    await api.patch(kinds.DEFINITIONS, name, {"spec": {"versions": versions}})
    before: Schema = crd["spec"]["versions"]
    return before


async def restore(api: client.Client, kind: kinds.Kind, versions: Schema) -> None:
    """Put back what `change` returned."""
    await api.patch(kinds.DEFINITIONS, f"{kind.plural}.{kind.group}", {"spec": {"versions": versions}})


def without_rules(schema: Schema) -> Schema:
    """Without CEL rules, and with any text where the real one has an enum."""
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key in {"x-kubernetes-validations", "enum"} and isinstance(value, list):
            continue
        if key == "properties":
            kept[key] = {name: without_rules(field) for name, field in value.items()}
        else:
            kept[key] = without_rules(value)
    return kept


def without_our_fields(schema: Schema) -> Schema:
    """As a payload has it that does not know this operator: what it does not name is pruned."""
    changed = copy.deepcopy(schema)
    for part in ("spec", "status"):
        changed["properties"][part].pop("x-kubernetes-preserve-unknown-fields", None)
    del changed["properties"]["spec"]["properties"]["desiredTopology"]
    del changed["properties"]["status"]["properties"]["topologyTransition"]
    changed.pop("x-kubernetes-validations", None)
    return changed


def anything(_: Schema) -> Schema:
    """No promise at all."""
    free = {"x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": {"spec": dict(free), "status": dict(free)}}
