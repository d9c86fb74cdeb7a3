"""What a kept cluster invites a person to try, what is broken in it, and how that is repaired: by taking a mark off.

Where a person plays, what a scenario breaks carries an annotation, `commands` has what takes it off, and `tend` notices
that. Only what a real cluster has no command for is repaired so: a machine without power, a disk that is too slow, an
operator that does not react. Every line of `lines` that is shown as a command can be pasted as it stands.
"""

import asyncio
import json
import pathlib
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import client, cluster, kinds, scenario
from .actors import hub, kubelets

_POLL_SECONDS = 0.2


class _Place(NamedTuple):
    """Where the annotation of something broken is, and the step that repairs it."""

    kind: str
    key: str
    value: str
    repair: str
    namespace: str = ""
    name: str = ""
    """Of the object, where the step does not say it."""


_PLACES = {
    trouble.get("step", word): _Place(repair=trouble["ends"], **trouble["mark"])
    for word, trouble in hub.TROUBLES.items()
}
REPAIRS = {place.repair for place in _PLACES.values()}
"""The steps that are left to a person."""


def command(word: str, value: Any) -> str | None:
    """Return the command that repairs what this step breaks, None for a step that breaks nothing."""
    if word == "pause_pool":
        return _merge("machineconfigpool", value, body='{"spec":{"paused":false}}')
    place = _PLACES.get(word)
    if place is None:
        return None
    where, kind = ["-n", place.namespace] if place.namespace else [], kinds.named(place.kind).kind.lower()
    return shlex.join(["kubectl", *where, "annotate", kind, place.name or value, f"{place.key}-"])


@dataclass(slots=True)
class _Lever:
    place: _Place
    name: str
    marked: bool = False


class Levers:
    """What a person may repair. `tend` runs until cancelled."""

    def __init__(self, api: client.Client, actors: hub.Actors) -> None:
        self._api = api
        self._actors = actors
        self._pulled: list[_Lever] = []

    def pulled(self, word: str, value: Any) -> None:
        """A step has broken something: let it be marked as soon as it exists, and repaired when the mark is gone."""
        if (place := _PLACES.get(word)) is not None:
            self._pulled.append(_Lever(place, place.name or str(value)))

    async def tend(self) -> None:
        """Mark what is broken, and repair what a person has unmarked."""
        while True:
            for lever in tuple(self._pulled):
                try:
                    await self._look(lever)
                except client.ClientError:
                    continue  # a real server may be away: it is looked at again
            await asyncio.sleep(_POLL_SECONDS)

    async def _look(self, lever: _Lever) -> None:
        place, kind = lever.place, kinds.named(lever.place.kind)
        obj = await self._api.find(kind, lever.name, place.namespace)
        if obj is None:
            return
        if not lever.marked:
            change = {"metadata": {"annotations": {place.key: place.value}}}
            await self._api.patch(kind, lever.name, change, place.namespace)
            lever.marked = True
        elif place.key not in (obj["metadata"].get("annotations") or {}):
            self._actors.order(place.repair, lever.name)
            self._pulled.remove(lever)


def request(played: scenario.Scenario) -> str:
    """Return the command that makes the request of a scenario."""
    topology = next((step.request.topology for step in played.steps if step.request), "HighlyAvailable")
    body = json.dumps({"spec": {"desiredTopology": topology}}, separators=(",", ":"))
    return _merge("infrastructure", "cluster", body=body)


def environment(file: pathlib.Path) -> Iterator[str]:
    """Yield what the second terminal needs first; the programs of this environment, kubectl-topology among them."""
    yield f"export PATH={shlex.quote(str(pathlib.Path(sys.executable).parent))}:$PATH"
    yield f"export KUBECONFIG={shlex.quote(str(file))}"


def experiments(played: scenario.Scenario) -> Iterator[tuple[str, list[str]]]:
    """Yield what may be tried, in this order: a sentence, and the commands that do it.

    Where the scenario breaks something, that is to be found and repaired; else there is something to break.
    """
    commanded = (command(*step.action) for step in played.steps)
    if repairs := list(dict.fromkeys(repair for repair in commanded if repair is not None)):
        yield "Find out what is wrong here:", ["kubectl topology status", "kubectl topology plan"]
        yield "Repair it, when you have seen enough. Nothing else does:", repairs
        return
    joined = [name for step in played.steps for name in step.join or ()]
    if joined:
        off, on = (shlex.join(["kubectl", "annotate", "node", joined[-1], kubelets.POWER + to]) for to in ("=off", "-"))
        yield "Kill a node (kubectl topology plan says what that blocks), and start it again:", [off, on]
        yield (
            "Kill a node, request, and cancel the request while it waits:",
            [off, request(played), "kubectl topology cancel", on],
        )
    if not played.cluster.hosted:
        router = _merge("ingresscontroller", "default", "-n", cluster.INGRESS_NAMESPACE, body='{"spec":{"replicas":1}}')
        yield (
            "Pin the router, then request; the status says how to release it:",
            [router, request(played), "kubectl topology status"],
        )


def lines(played: scenario.Scenario, file: pathlib.Path) -> Iterator[tuple[str, bool]]:
    """Yield the lines for a cluster with an operator, and whether each is a command."""
    requested = [request(played)] if not played.cluster.hosted else []
    commands = (
        *environment(file),
        "kubectl get infrastructures,clusteroperators,nodes",
        "kubectl topology status",
        *requested,
        "kubectl topology status --watch",
    )
    yield from ((command, True) for command in commands)
    for number, (sentence, tried) in enumerate(experiments(played), start=1):
        yield "", False
        yield f"Experiment {number}. {sentence}", False
        yield from ((command, True) for command in tried)


def _merge(*what: str, body: str) -> str:
    return shlex.join(["kubectl", "patch", *what, "--type", "merge", "-p", body])
