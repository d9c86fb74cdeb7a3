"""What is broken in a kept cluster, and how a person repairs it: by taking an annotation off.

A scenario breaks something and repairs it later. Where a person plays (`play.Player` with `by_hand`), the repair is
left to them: what is broken carries an annotation, `commands` has what takes it off, and `tend` notices that.
Only what a real cluster has no command for is repaired so: a machine without power, a disk that is too slow, an
operator that does not react. What an administrator would repair with `oc` is repaired with that.
"""

from __future__ import annotations

import asyncio
import functools
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import client, kinds, machine_api, scenario
from .actors import hub, kubelets

_PREFIX = "topology-simulator/"
_POLL_SECONDS = 0.2


class _Place(NamedTuple):
    """Where the annotation of something broken is, and the step that repairs it."""

    kind: kinds.Kind
    key: str
    value: str
    repair: str
    namespace: str = ""
    name: str = ""
    """Of the object, where the step does not say it."""


_PLACES = {
    "down": _Place(kinds.NODES, kubelets.POWER, "off", "up"),
    "stick_learner": _Place(kinds.NODES, f"{_PREFIX}disk", "slow", "heal_learner"),
    "hold": _Place(kinds.CLUSTER_OPERATORS, f"{_PREFIX}reacts", "no", "release"),
    "degrade_pool": _Place(kinds.MACHINE_CONFIG_POOLS, f"{_PREFIX}degraded", "yes", "mend_pool"),
    "fail_host": _Place(kinds.BARE_METAL_HOSTS, f"{_PREFIX}controller", "silent", "mend_host", machine_api.NAMESPACE),
    "start_upgrade": _Place(kinds.CLUSTER_VERSIONS, f"{_PREFIX}upgrade", "held", "end_upgrade", name="version"),
}
REPAIRS = {place.repair for place in _PLACES.values()}
"""The steps that are left to a person."""


def command(word: str, value: Any) -> str | None:
    """Return the command that repairs what this step breaks, None for a step that breaks nothing."""
    if word == "pause_pool":
        body = '{"spec":{"paused":false}}'
        return shlex.join(["kubectl", "patch", "machineconfigpool", value, "--type", "merge", "-p", body])
    place = _PLACES.get(word)
    if place is None:
        return None
    where = ["-n", place.namespace] if place.namespace else []
    return shlex.join(["kubectl", *where, "annotate", place.kind.kind.lower(), _name(place, value), f"{place.key}-"])


def commands(played: scenario.Scenario) -> Iterator[str]:
    """Yield the commands that repair what a scenario breaks, in their order."""
    repairs = (command(*step.action) for step in played.steps)
    yield from dict.fromkeys(repair for repair in repairs if repair is not None)


def _name(place: _Place, value: Any) -> str:
    return place.name or str(value)


@dataclass(slots=True)
class _Lever:
    place: _Place
    name: str
    repair: Callable[[], object]
    marked: bool = False


class Levers:
    """What a person may repair. `tend` runs until cancelled."""

    def __init__(self, api: client.Client, actors: hub.Actors) -> None:
        self._api = api
        self._pulled: list[_Lever] = []
        self._repairs: dict[str, Callable[[str], object]] = {
            "up": actors.kubelets.bring_up,
            "heal_learner": actors.etcd.heal,
            "release": actors.release,
            "mend_pool": actors.mend_pool,
            "mend_host": actors.hosts.mend,
            "end_upgrade": lambda _: actors.version.release_upgrades(),
        }

    def pulled(self, word: str, value: Any) -> None:
        """A step has broken something: let it be marked as soon as it exists, and repaired when the mark is gone."""
        if (place := _PLACES.get(word)) is not None:
            name = _name(place, value)
            self._pulled.append(_Lever(place, name, functools.partial(self._repairs[place.repair], name)))

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
        place = lever.place
        obj = await self._api.find(place.kind, lever.name, place.namespace)
        if obj is None:
            return
        if not lever.marked:
            change = {"metadata": {"annotations": {place.key: place.value}}}
            await self._api.patch(place.kind, lever.name, change, place.namespace)
            lever.marked = True
        elif place.key not in (obj["metadata"].get("annotations") or {}):
            lever.repair()
            self._pulled.remove(lever)
