"""What must hold at the end of a story: who was asked when, what each cluster is, and who wrote what there."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

from .. import conditions
from . import chronicle

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from . import running, spoke, verdict

_OWN_WRITES = {"appliedmanifestworks", "configurationpolicies", "events", "subjectaccessreviews"}
_REQUESTS = {(verb, "infrastructures", "cluster", "") for verb in ("patch", "update")}


def canary_alone(fleet: running.Fleet, judged: verdict.Verdict, soak_seconds: float) -> None:
    """No other cluster is asked before the canary is done and has soaked: by the times that the hub has written."""
    works = fleet.chronicle.works
    done = conditions.of(works.get(fleet.canary.name), "Progressing").get("lastTransitionTime")
    asked = [works[each.name]["metadata"]["creationTimestamp"] for each in fleet.others if each.name in works]
    earliest = min(asked, default=None)
    soaked = done is not None and (earliest is None or (_time(earliest) - _time(done)).total_seconds() >= soak_seconds)
    judged.claim(
        f"no other cluster is asked before the canary is done and has soaked for {soak_seconds:g} s",
        holds=soaked,
        actual=f"the canary is done at {done}, the next is asked at {earliest}",
    )


def _time(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def nobody_but(fleet: running.Fleet, judged: verdict.Verdict, when: str, clusters: Sequence[spoke.Spoke]) -> None:
    """Only these clusters have been asked until now."""
    asked = fleet.chronicle.came_to(chronicle.ASKED)
    names = [each.name for each in clusters]
    judged.claim(f"{when}, only {', '.join(names)} is asked", holds=asked == names, actual=asked)


def one_at_a_time(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    """After the canary one cluster is under way, in the order of the names."""
    events, names = fleet.chronicle, [each.name for each in fleet.others]
    spans = [(events.first(name, chronicle.ASKED), events.first(name, chronicle.DONE)) for name in names]
    times = [moment for span in spans for moment in span]
    known = [moment for moment in times if moment is not None]
    ordered = len(known) == len(times) and all(former <= later for former, later in itertools.pairwise(known))
    judged.claim("the others are converted one at a time, in the order of their names", holds=ordered, actual=spans)


def asked_once(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    """No cluster lost its ManifestWork."""
    lost = fleet.chronicle.came_to(chronicle.UNASKED)
    judged.claim("no cluster loses its ManifestWork at any time", holds=not lost, actual=lost)


async def converted(judged: verdict.Verdict, clusters: Iterable[spoke.Spoke], to: str = "HighlyAvailable") -> None:
    """These clusters have that topology in both parts."""
    for each in clusters:
        status = (await each.infrastructure())["status"]
        pair = (status["controlPlaneTopology"], status["infrastructureTopology"])
        judged.claim(f"{each.name} is {to}, in both parts", holds=pair == (to, to), actual=pair)


async def least_writes(fleet: running.Fleet, judged: verdict.Verdict, before: Mapping[str, Mapping[str, Any]]) -> None:
    """A cluster's specification is what it was but for the request, and the engines there wrote nothing else."""
    for each in fleet.spokes:
        spec, was = (await each.infrastructure())["spec"], before[each.name]
        other = sorted(name for name in spec.keys() | was.keys() if spec.get(name) != was.get(name))
        judged.claim(
            f"nothing of {each.name}'s specification differs from before but desiredTopology",
            holds=set(other) <= {"desiredTopology"},
            actual=other,
        )
        foreign = [
            f"{event.verb} {event.resource}/{event.name}"
            for event in each.written_by_engines()
            if event.resource not in _OWN_WRITES
            and (event.verb, event.resource, event.name, event.subresource) not in _REQUESTS
        ]
        judged.claim(
            f"the engines on {each.name} wrote nothing else, says the audit log", holds=not foreign, actual=foreign
        )
