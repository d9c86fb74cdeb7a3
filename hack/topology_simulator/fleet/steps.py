"""What several stories do and wait for, and what must hold at their end: of the clusters, and of who wrote what."""

import asyncio
import contextlib
import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from topology_api import vocabulary

from .. import conditions
from ..envtest import audit
from . import chronicle, pack, spoke, verdict

READY_SECONDS, CONVERSION_SECONDS = 90.0, 240.0
SOAK_SECONDS = 5
_LOOK_SECONDS = 15.0


def rollout(fleet: chronicle.Fleet, **parts: Any) -> list[dict[str, Any]]:
    """Return a roll-out with the times of a story, or with these."""
    planned = {"soak_seconds": SOAK_SECONDS, "deadline_seconds": 600, "max_concurrency": 1}
    return fleet.pack.roll_out(**(planned | parts))


async def prepared(fleet: chronicle.Fleet, without: Iterable[spoke.Spoke] = ()) -> None:
    """Let the survey begin, and wait until each cluster but those says that it is ready."""
    await fleet.hub.apply(fleet.pack.survey())
    for each in (each for each in fleet.spokes if each not in without):
        await verdict.until(f"{each.name} says that it is ready", each.ready, READY_SECONDS)
    fleet.chronicle.tell("fleet", "the clusters say that they are ready to be asked")
    for each in fleet.spokes:
        fleet.before[each.name] = (await each.infrastructure())["spec"]


async def lost(fleet: chronicle.Fleet, cluster: spoke.Spoke) -> None:
    """Take the power of a cluster, and let the hub see that."""
    await cluster.lose()
    await fleet.hub.report(cluster.name, reachable=False)
    fleet.chronicle.tell("story", f"{cluster.name} has lost its power; the hub calls it unreachable", "yellow")


async def regained(fleet: chronicle.Fleet, cluster: spoke.Spoke) -> None:
    """Give it back, and let the hub see that."""
    await cluster.recover()
    await fleet.hub.report(cluster.name, reachable=True)
    fleet.chronicle.tell("story", f"{cluster.name} has its power back")


async def all_done(fleet: chronicle.Fleet) -> None:
    """Wait until the engine says so."""
    await came(fleet, chronicle.DONE, fleet.spokes, CONVERSION_SECONDS)

    async def complete() -> bool:
        return await rolled_out(fleet) == "Complete"

    await verdict.until("the roll-out is complete", complete, READY_SECONDS)


async def rolled_out(fleet: chronicle.Fleet) -> str:
    """Return where the roll-out is, as the hub calls it: Progressing, Complete and the like."""
    states = (await fleet.hub.replica_set())["status"].get("conditions") or []
    return next((state["reason"] for state in states if state["type"] == "PlacementRolledOut"), "")


async def open_requests(fleet: chronicle.Fleet) -> list[str]:
    """Return the clusters of which a topology is requested."""
    specs = {each.name: (await each.infrastructure())["spec"] for each in fleet.spokes}
    return [name for name, spec in specs.items() if spec.get("desiredTopology")]


async def came(fleet: chronicle.Fleet, event: str, clusters: Iterable[spoke.Spoke], seconds: float) -> None:
    """Wait until each of these clusters came to an event."""
    names = [each.name for each in clusters]

    async def came() -> bool:
        return set(names) <= set(fleet.chronicle.came_to(event))

    await verdict.until(f"{', '.join(names)}: {event}", came, seconds)


async def looked(cluster: spoke.Spoke) -> None:
    """Let an operator see that its cluster is ready: without a request it looks once an hour, and when it starts."""
    for _ in range(6):
        await asyncio.sleep(_LOOK_SECONDS)
        await cluster.stop_operator()
        await cluster.start_operator()
        with contextlib.suppress(verdict.StoryFailedError):
            await verdict.until(f"{cluster.name} says that it is ready", cluster.ready, _LOOK_SECONDS)
            return
    raise verdict.StoryFailedError(f"{cluster.name} is never ready")


async def complies(cluster: spoke.Spoke, compliance: str, name: str = pack.NAME) -> None:
    """Wait until a policy says so."""

    async def agrees() -> bool:
        return (await cluster.compliance(name))[0] == compliance

    await verdict.until(f"the policy {name} of {cluster.name} is {compliance}", agrees, READY_SECONDS)


_OWN_WRITES = {"appliedmanifestworks", "configurationpolicies", "events", "subjectaccessreviews"}
_FIELD = vocabulary.DESIRED
_TELLING = ("labels", "annotations", "ownerReferences", "finalizers")
_AGENTS = "system:open-cluster-management:"
_SURVEY_SECONDS = 120.0
_REQUESTS = {(verb, "infrastructures", "cluster", "") for verb in ("patch", "update")}


def canary_alone(fleet: chronicle.Fleet, soak_seconds: float) -> None:
    """No other cluster is asked before the canary is done and has soaked: by the times that the hub has written."""
    works = fleet.chronicle.works
    done = conditions.find(works.get(fleet.canary.name), "Progressing").get("lastTransitionTime")
    asked = [works[each.name]["metadata"]["creationTimestamp"] for each in fleet.others if each.name in works]
    earliest = min(asked, default=None)
    soaked = done is not None and (
        earliest is None
        or (dt.datetime.fromisoformat(earliest) - dt.datetime.fromisoformat(done)).total_seconds() >= soak_seconds
    )
    fleet.claim(
        f"no other cluster is asked before the canary is done and has soaked for {soak_seconds:g} s",
        holds=soaked,
        actual=f"the canary is done at {done}, the next is asked at {earliest}",
    )


def nobody_but(fleet: chronicle.Fleet, when: str, clusters: Sequence[spoke.Spoke]) -> None:
    """Only these clusters have been asked until now."""
    asked = fleet.chronicle.came_to(chronicle.ASKED)
    names = [each.name for each in clusters]
    fleet.equal(f"{when}, only {', '.join(names)} is asked", asked, names)


def one_at_a_time(fleet: chronicle.Fleet) -> None:
    """After the canary one cluster is under way, in the order of the names."""
    events, names = fleet.chronicle, [each.name for each in fleet.others]
    spans = [(events.first(name, chronicle.ASKED), events.first(name, chronicle.DONE)) for name in names]
    times = [moment for span in spans for moment in span]
    known = [moment for moment in times if moment is not None]
    ordered = len(known) == len(times) and all(former <= later for former, later in itertools.pairwise(known))
    fleet.claim("the others are converted one at a time, in the order of their names", holds=ordered, actual=spans)


def asked_once(fleet: chronicle.Fleet) -> None:
    """No cluster lost its ManifestWork."""
    fleet.equal("no cluster loses its ManifestWork at any time", fleet.chronicle.came_to(chronicle.UNASKED), [])


async def converted(fleet: chronicle.Fleet, clusters: Iterable[spoke.Spoke], to: str = "HighlyAvailable") -> None:
    """These clusters have that topology in both parts."""
    for each in clusters:
        status = (await each.infrastructure())["status"]
        pair = (status["controlPlaneTopology"], status["infrastructureTopology"])
        fleet.equal(f"{each.name} is {to}, in both parts", pair, (to, to))


async def least_writes(fleet: chronicle.Fleet) -> None:
    """A cluster's specification is what it was but for the request, and the engines there wrote nothing else.

    That is read in the audit logs of the whole roll-out: of what was sent to Infrastructure, and of everything else.
    """
    for each in fleet.spokes:
        spec, was = (await each.infrastructure())["spec"], fleet.before[each.name]
        other = {name for name in spec.keys() | was.keys() if spec.get(name) != was.get(name)} - {_FIELD}
        fleet.equal(f"nothing of {each.name}'s specification differs from before but {_FIELD}", other, set())
        written = each.written_by_engines()
        foreign = [
            _described(event) for event in written if event.resource not in _OWN_WRITES and not _is_request(event)
        ]
        fleet.equal(f"the engines on {each.name} wrote Infrastructure and their own, says the audit log", foreign, [])
        further = [part for event in written if _is_request(event) for part in _further(event.body, was)]
        fleet.equal(f"they sent nothing but spec.{_FIELD} to Infrastructure that differs from before", further, [])
    foreign = [
        f"{event.user}: {_described(event)}"
        for event in audit.Log(fleet.hub.server.folder / "audit.log").read()
        if event.user.startswith(_AGENTS)
        and (event.verb not in ("get", "list", "watch") and 200 <= event.code < 300)
        and (event.resource not in ("manifestworks", "events") or event.user != f"{_AGENTS}{event.namespace}:agent")
    ]
    fleet.equal("on the hub each agent wrote the works of its own cluster, and events", foreign, [])


def _is_request(event: audit.Event) -> bool:
    return (event.verb, event.resource, event.name, event.subresource) in _REQUESTS


def _described(event: audit.Event) -> str:
    return f"{event.verb} {event.resource}/{event.name}"


def _further(body: Mapping[str, Any], was: Mapping[str, Any]) -> list[str]:
    """Return what a write would change besides the request; status is another resource."""
    spec = body.get("spec") or {}
    meta = [f"metadata.{name}" for name in _TELLING if body["metadata"].get(name)]
    return meta + [f"spec.{name}" for name in spec if name != _FIELD and spec[name] != was.get(name)]


async def surveyed(fleet: chronicle.Fleet, when: str, line: str, code: int, *names: str) -> None:
    """`oc topology fleet` prints this line of counts and these names, and ends with this code; agents need a moment."""
    answer: tuple[int, str] = (-1, "")

    async def agrees() -> bool:
        nonlocal answer
        answer = await fleet.hub.surveyed()
        return answer[0] == code and all(text in answer[1] for text in (line, *names))

    holds = False
    with contextlib.suppress(verdict.StoryFailedError):
        await verdict.until(line, agrees, _SURVEY_SECONDS)
        holds = True
    fleet.chronicle.tell("survey", answer[1].strip())
    fleet.claim(f"{when}, `oc topology fleet` says: {line}; exit code {code}", holds=holds, actual=answer)
