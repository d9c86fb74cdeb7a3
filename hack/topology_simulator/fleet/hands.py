"""Wrong hands: ManifestWorks that people write without the pack, each with one mistake, and what becomes of them.

Each is given to one cluster that nothing else is asked of. It must be refused with a sentence that says why, or change
nothing; and when it is deleted, Infrastructure stays.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import conditions, kinds
from . import pack, verdict, wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import hub as hubs
    from . import spoke

_SECONDS = 60.0
_TARGET = "HighlyAvailable"


@dataclass(frozen=True, slots=True)
class _Mistake:
    """A work with a mistake; the refusal has `says`."""

    name: str
    what: str
    spec: dict[str, Any]
    says: str


def refusal(work: dict[str, Any]) -> str:
    """Return why the manifest was not applied; empty when it was, or when that is not known."""
    manifests = ((work.get("status") or {}).get("resourceStatus") or {}).get("manifests") or []
    states = [conditions.of({"status": manifest}, "Applied") for manifest in manifests]
    return next((str(state.get("message", "")) for state in states if state.get("status") == "False"), "")


async def wrong(hub: hubs.Hub, cluster: spoke.Spoke, judged: verdict.Verdict, tell: Callable[[str, str], None]) -> None:
    """Try every mistake on a cluster. Raises StoryFailedError, ClientError."""
    for mistake in _mistakes():
        await _try(hub, cluster, mistake, judged, tell)
    role = pack.rights()[0]
    await _give(cluster, pack.rights(marker=False)[0])
    unmarked = _Mistake("no-marker", "a work agent without our marker", pack.work_spec(_spec(), []), "desiredtopology")
    await _try(hub, cluster, unmarked, judged, tell)
    await _give(cluster, role)
    await cluster.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": "SingleReplica"}})
    foreign = _Mistake(
        "foreign-field", "a request that another field manager owns", pack.work_spec(_spec(), []), "fleet-harness"
    )
    await _try(hub, cluster, foreign, judged, tell)
    await cluster.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": None}})


def _spec() -> dict[str, Any]:
    return {"desiredTopology": _TARGET}


def _mistakes() -> list[_Mistake]:
    good = pack.work_spec(_spec(), [])
    replacing = {"workload": good["workload"], "deleteOption": good["deleteOption"]}
    foreground = {name: part for name, part in good.items() if name != "deleteOption"}
    forced = pack.work_spec({"desiredTopology": _TARGET, "cloudConfig": {"name": "other"}}, [])
    return [
        _Mistake("replaces", "the default update strategy, which replaces the whole object", replacing, "update"),
        _Mistake(
            "foreground", "the default delete option, which takes the object along", foreground, "ownerReferences"
        ),
        _Mistake("more-fields", "a manifest with a field that is not ours", forced, "cloudConfig"),
    ]


async def _try(
    hub: hubs.Hub,
    cluster: spoke.Spoke,
    mistake: _Mistake,
    judged: verdict.Verdict,
    tell: Callable[[str, str], None],
) -> None:
    before = await cluster.infrastructure()
    await hub.api.create(wire.WORKS, wire.WORKS.new(mistake.name, cluster.name, spec=mistake.spec))
    sentence = await _answer(hub, cluster, mistake)
    tell(cluster.name, f"{mistake.what}: {sentence or 'applied'}")
    judged.claim(
        f"{mistake.what} is refused, and the ManifestWork says why", holds=mistake.says in sentence, actual=sentence
    )
    await hub.api.delete(wire.WORKS, mistake.name, cluster.name)
    await _gone(hub, cluster, mistake.name)
    after = await cluster.api.find(kinds.INFRASTRUCTURES, "cluster")
    judged.claim(
        f"{mistake.what} changes nothing, and Infrastructure outlives it",
        holds=after is not None and after["spec"] == before["spec"] and _same(after, before),
        actual=(after or {}).get("spec"),
    )


def _same(after: dict[str, Any], before: dict[str, Any]) -> bool:
    parts = ("uid", "ownerReferences", "finalizers", "labels", "annotations")
    return all(after["metadata"].get(part) == before["metadata"].get(part) for part in parts)


async def _answer(hub: hubs.Hub, cluster: spoke.Spoke, mistake: _Mistake) -> str:
    """Return the refusal, empty when it was applied."""
    work: dict[str, Any] = {}

    async def answered() -> bool:
        work.update(await hub.api.get(wire.WORKS, mistake.name, cluster.name))
        return bool(conditions.of(work, "Applied"))

    await verdict.until(f"{cluster.name} answers {mistake.name}", answered, _SECONDS)
    return refusal(work)


async def _gone(hub: hubs.Hub, cluster: spoke.Spoke, name: str) -> None:
    async def gone() -> bool:
        return await hub.api.find(wire.WORKS, name, cluster.name) is None

    await verdict.until(f"ManifestWork {name} of {cluster.name} is gone", gone, _SECONDS)


async def _give(cluster: spoke.Spoke, role: dict[str, Any]) -> None:
    kind = wire.kind_of(role)
    present = await cluster.api.get(kind, role["metadata"]["name"])
    await cluster.api.put(kind, {**present, "rules": role["rules"]})
    # Its authorizer watches roles.
    await asyncio.sleep(1.0)
