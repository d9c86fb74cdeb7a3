"""Other forms of a cluster's CRDs: laxer than the real ones, or older.

A payload brings its own CRDs, and an object may be older than its schema. So a test loosens a definition to put into
the cluster what the real one would refuse, and takes our fields away to be the cluster that never had them.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from test import polling
from topology_simulator import client, install, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]
Versions = list[dict[str, Any]]


async def change(api: client.Client, kind: kinds.Kind, alter: Callable[[Schema], Schema]) -> Versions:
    """Replace the schema of a kind by what `alter` makes of it; return the versions that stood there before.

    Returns when it is in force: a real server takes a moment.
    """
    crd = await api.get(kinds.DEFINITIONS, f"{kind.plural}.{kind.group}")
    before: Versions = crd["spec"]["versions"]
    versions = copy.deepcopy(before)
    for version in versions:
        version["schema"]["openAPIV3Schema"] = alter(version["schema"]["openAPIV3Schema"])
        version.setdefault("additionalPrinterColumns", []).append(_MARK)
    await _put(api, kind, versions)
    return before


async def restore(api: client.Client, kind: kinds.Kind, versions: Versions) -> None:
    """Put back what `change` returned, and wait until it is in force."""
    await _put(api, kind, versions)


_MARK = {"name": "Altered", "type": "string", "jsonPath": ".metadata.uid"}
"""A column of every altered definition. Tables tell by it which one is in force, without a write."""


async def _put(api: client.Client, kind: kinds.Kind, versions: Versions) -> None:
    await api.patch(kinds.DEFINITIONS, f"{kind.plural}.{kind.group}", {"spec": {"versions": versions}})
    columns = [one["name"] for one in versions[0].get("additionalPrinterColumns") or []]

    async def in_force() -> bool:
        with client.allowing(*install.NOT_YET):
            found = [one["name"] for one in (await api.table(kind))["columnDefinitions"]]
            return (_MARK["name"] in columns) is (_MARK["name"] in found)
        return False

    await polling.until(f"the definition of {kind.plural} is in force", in_force)


async def until_served(api: client.Client, kind: kinds.Kind, seconds: float = 30.0) -> None:
    """Wait until the server serves a kind: one that is ready has yet to look at its definitions."""

    async def ask() -> bool:
        with client.allowing(*install.NOT_YET):
            await api.list(kind)
            return True
        return False

    await polling.until(f"{kind.plural} are served", ask, seconds)


def without_our_fields(schema: Schema) -> Schema:
    """As a payload has it that does not know this operator: what it does not name is pruned."""
    changed = copy.deepcopy(schema)
    for part in ("spec", "status"):
        changed["properties"][part].pop("x-kubernetes-preserve-unknown-fields", None)
    del changed["properties"]["spec"]["properties"]["desiredTopology"]
    del changed["properties"]["status"]["properties"]["topologyTransition"]
    changed.pop("x-kubernetes-validations", None)
    return changed


def with_the_native_field(schema: Schema) -> Schema:
    """As OpenShift serves it where MutableTopology is enabled; the Default one has no `spec.controlPlaneTopology`."""
    changed = copy.deepcopy(schema)
    changed["properties"]["spec"]["properties"]["controlPlaneTopology"] = {"type": "string"}
    return changed
