"""Wrong hands: ManifestWorks that people write without the pack, each with one mistake, and what becomes of them.

The ManifestWork must say why it is refused, nothing may change, and when it is deleted, Infrastructure stays. One
mistake is not harmless, and is tried last: with the default delete option the agent applies first and takes possession
in a second request. That one is refused, so the hub calls the work not applied; the cluster converts anyway.
"""

import asyncio
import copy
from dataclasses import dataclass
from typing import Any

from .. import conditions, kinds
from . import chronicle, pack, spoke, verdict

_SECONDS = 60.0
_KEPT = ("uid", "ownerReferences", "finalizers", "labels", "annotations")


@dataclass(frozen=True, slots=True)
class _Mistake:
    """A work with a mistake; the refusal has `says`. `requests` when half of it happens anyway."""

    name: str
    what: str
    spec: dict[str, Any]
    says: str
    requests: bool = False


def refusal(work: dict[str, Any]) -> str:
    """Return why the manifest was not applied; empty when it was, or when that is not known."""
    manifests = ((work.get("status") or {}).get("resourceStatus") or {}).get("manifests") or []
    states = [conditions.find({"status": manifest}, "Applied") for manifest in manifests]
    return next((str(state.get("message", "")) for state in states if state.get("status") == "False"), "")


async def wrong(fleet: chronicle.Fleet, cluster: spoke.Spoke) -> None:
    """Try every mistake on a cluster. Raises StoryFailedError, ClientError."""
    good = fleet.pack.work_spec()
    for mistake in _mistakes(good):
        await _try(fleet, cluster, mistake)
    role = fleet.pack.rights()[0]
    # Without the right to make a request.
    await _give(cluster, {**role, "rules": [rule for rule in role["rules"] if rule["verbs"] != ["set"]]})
    unmarked = _Mistake("no-marker", "a work agent without our marker", good, "desiredtopology")
    await _try(fleet, cluster, unmarked)
    await _give(cluster, role)
    await cluster.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": "SingleReplica"}})
    foreign = _Mistake("foreign-field", "a request that another field manager owns", good, "fleet-harness")
    await _try(fleet, cluster, foreign)
    await cluster.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": None}})
    spec = {name: part for name, part in good.items() if name != "deleteOption"}
    what = "the default delete option, which takes possession of the object,"
    possessive = _Mistake("foreground", what, spec, "ownerReferences", requests=True)
    await _try(fleet, cluster, possessive)


def _mistakes(good: dict[str, Any]) -> list[_Mistake]:
    replacing = {name: good[name] for name in ("workload", "deleteOption")}
    wide = copy.deepcopy(good)
    wide["workload"]["manifests"][0]["spec"]["cloudConfig"] = {"name": "other"}
    return [
        _Mistake("replaces", "the default update strategy, which replaces the whole object,", replacing, "update"),
        _Mistake("more-fields", "a manifest with a field that is another manager's", wide, "cloudConfig"),
    ]


async def _try(fleet: chronicle.Fleet, cluster: spoke.Spoke, mistake: _Mistake) -> None:
    hub = fleet.hub
    before = await cluster.infrastructure()
    await hub.apply([pack.WORKS.new(mistake.name, cluster.name, spec=mistake.spec)])
    work: dict[str, Any] = {}

    async def answered() -> bool:
        work.update(await hub.api.get(pack.WORKS, mistake.name, cluster.name))
        return bool(conditions.find(work, "Applied"))

    await verdict.until(f"{cluster.name} answers {mistake.name}", answered, _SECONDS)
    sentence = refusal(work)
    fleet.chronicle.tell(cluster.name, f"{mistake.what}: {sentence or 'applied'}")
    fleet.claim(
        f"{mistake.what} is called not applied, and the ManifestWork says why",
        holds=mistake.says in sentence,
        actual=sentence,
    )
    await hub.api.delete(pack.WORKS, mistake.name, cluster.name)

    async def gone() -> bool:
        return await hub.api.find(pack.WORKS, mistake.name, cluster.name) is None

    await verdict.until(f"ManifestWork {mistake.name} of {cluster.name} is gone", gone, _SECONDS)
    after = await cluster.api.find(kinds.INFRASTRUCTURES, "cluster")
    spec = dict((after or {}).get("spec") or {})
    if mistake.requests:
        requested = spec.pop("desiredTopology", None)
        fleet.equal(f"{mistake.what} makes the request anyway", requested, pack.TARGET)
    fleet.claim(
        f"{mistake.what} changes nothing else, and Infrastructure outlives it",
        holds=after is not None
        and spec == before["spec"]
        and all(after["metadata"].get(part) == before["metadata"].get(part) for part in _KEPT),
        actual=after and {"spec": spec, "metadata": after["metadata"]},
    )


async def _give(cluster: spoke.Spoke, role: dict[str, Any]) -> None:
    kind = kinds.any_kind(role)
    present = await cluster.api.get(kind, role["metadata"]["name"])
    await cluster.api.put(kind, {**present, "rules": role["rules"]})
    # Its authorizer watches roles.
    await asyncio.sleep(1.0)
