"""What happened where, and when: from watches of the hub's ManifestWorks and of every cluster's Infrastructure.

The verdict of a story is about order, and only what was seen counts. An event is a word (see `Moment`); each is printed
when it happens, and `table` shows at the end when each cluster came to what. `opened` opens hub and clusters with it,
as one; whatever ends that, the logs are kept in one folder, one below for each.
"""

import asyncio
import contextlib
import functools
import pathlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import client, conditions, kinds, pace, terminal
from .. import opened as parts
from . import hub as hubs
from . import pack, spoke, verdict

ASKED, UNASKED = "asked", "no longer asked"
REQUESTED, CANCELLED, CHANGED = "requested", "cancelled", "topology changed"
COMPLETED, DONE, FAILED = "completed", "done", "failed"
_MILESTONES = (ASKED, REQUESTED, CHANGED, COMPLETED, DONE, FAILED, CANCELLED, UNASKED)
_STATES = ("Applied", "Progressing", "Degraded")
_RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Moment:
    """At so many seconds after the beginning, a cluster came to an event.

    The hub says `asked` (there is a ManifestWork for it), `no longer asked`, `done` and `failed` (what the work
    manager makes of it); the cluster says `requested`, `cancelled`, `topology changed`, `completed`.
    """

    seconds: float
    cluster: str
    event: str


class Chronicle:
    """Watches and remembers. `run` goes on until cancelled."""

    def __init__(self, hub: hubs.Hub, spokes: Iterable[spoke.Spoke], screen: terminal.Terminal) -> None:
        self._hub = hub
        self._spokes = tuple(spokes)
        self.tell = screen.say
        """Prints a line of what happens."""
        self._began = time.monotonic()
        self._last: dict[tuple[str, str], Any] = {}
        self.moments: list[Moment] = []
        self.works: dict[str, dict[str, Any]] = {}
        """The ManifestWork of each cluster, as it was last seen."""
        self.infrastructures: dict[str, dict[str, Any]] = {}

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def first(self, cluster: str, event: str) -> float | None:
        """Return when a cluster first came to an event, None if it never did."""
        return next((each.seconds for each in self.moments if (each.cluster, each.event) == (cluster, event)), None)

    def came_to(self, event: str) -> list[str]:
        """Return the clusters that came to an event, in that order, each once."""
        return list(dict.fromkeys(each.cluster for each in self.moments if each.event == event))

    def table(self) -> list[str]:
        """Return one line a cluster, in the order of what each came to first: what, with the seconds."""
        seen: dict[str, list[str]] = {}
        for each in (moment for moment in self.moments if moment.event in _MILESTONES):
            seen.setdefault(each.cluster, []).append(f"{each.event} {each.seconds:.1f}")
        silent = [each.name for each in self._spokes if each.name not in seen]
        return [f"{name:<10} {', '.join(events)}" for name, events in seen.items()] + silent

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(self._hub.api, pack.WORKS, self._work))
            group.create_task(self._follow(self._hub.api, pack.REPLICA_SETS, self._replica_set))
            for each in self._spokes:
                note = functools.partial(self._infrastructure, each.name)
                group.create_task(self._follow(each.api, kinds.INFRASTRUCTURES, note))

    async def _follow(self, api: client.Client, kind: kinds.Kind, note: Callable[[dict[str, Any], bool], None]) -> None:
        async for obj, deleted in api.states(kind, retry_seconds=_RETRY_SECONDS):
            note(obj, deleted)

    # -- what the hub says

    def _work(self, work: dict[str, Any], deleted: bool) -> None:  # noqa: FBT001 - what is followed says so
        cluster = work["metadata"]["namespace"]
        if work["metadata"]["name"] != pack.NAME:
            return
        self.works[cluster] = work
        if self._new(cluster, "work", not deleted):
            self._note(cluster, UNASKED if deleted else ASKED)
        for name in _STATES:
            state = conditions.find(work, name)
            if state and self._new(cluster, name, (state["status"], state.get("message"))):
                self.tell(cluster, f"{name}={state['status']} {state.get('message', '')}", "dim")
        word = _made_of(work)
        if self._new(cluster, "verdict", word) and word:
            self._note(cluster, word)

    def _replica_set(self, obj: dict[str, Any], _: bool) -> None:  # noqa: FBT001 - as above
        status = obj.get("status") or {}
        summary = ", ".join(f"{name} {number}" for name, number in (status.get("summary") or {}).items())
        rolled = conditions.find(obj, "PlacementRolledOut").get("reason", "")
        if summary and self._new("hub", "summary", (summary, rolled)):
            self.tell("hub", f"{summary}; roll-out {rolled}", "dim")

    # -- what the clusters say

    def _infrastructure(self, name: str, obj: dict[str, Any], _: bool) -> None:  # noqa: FBT001 - as above
        before = self.infrastructures.get(name)
        self.infrastructures[name] = obj
        desired = (obj.get("spec") or {}).get("desiredTopology")
        if self._new(name, "desired", desired) and (desired or before):
            self._note(name, REQUESTED if desired else CANCELLED)
        topology = (obj.get("status") or {}).get("controlPlaneTopology")
        if self._new(name, "topology", topology) and before is not None:
            self._note(name, CHANGED)
        record = spoke.record_of(obj)
        phase = record.get("phase")
        if self._new(name, "phase", phase) and phase:
            self.tell(name, f"phase {phase}")
            if phase == "Completed":
                self._note(name, COMPLETED)
        problem = (record.get("problem") or {}).get("reason", "")
        if self._new(name, "problem", problem) and (problem or before):
            self.tell(name, f"problem {problem}" if problem else "no problem any more", "yellow" if problem else "")

    def _new(self, subject: str, part: str, value: Any) -> bool:
        key = (subject, part)
        if key in self._last and self._last[key] == value:
            return False
        self._last[key] = value
        return True

    def _note(self, cluster: str, event: str) -> None:
        self.moments.append(Moment(self.seconds, cluster, event))
        self.tell(cluster, event, "bold")


def _made_of(work: dict[str, Any]) -> str:
    """Return what the work manager makes of a work: done, failed, or nothing yet.

    ocm pkg/work/hub/controllers/manifestworkreplicasetcontroller, clusterRolloutStatusFunc (v1.2.0).
    """
    generation = work["metadata"].get("generation")
    applied, progressing, degraded = (conditions.find(work, name) for name in _STATES)
    current = [state for state in (applied, progressing) if state.get("observedGeneration") == generation]
    if len(current) < 2 or applied["status"] != "True":
        return ""
    if progressing["status"] == "False":
        return DONE
    failed = degraded.get("status") == "True" and degraded.get("observedGeneration") == generation
    return FAILED if failed else ""


@dataclass(slots=True, kw_only=True)
class Fleet(verdict.Verdict):
    """What is open, and what is claimed of it.

    The last cluster is the canary: by their names alone it would come after all others.
    """

    hub: hubs.Hub
    spokes: tuple[spoke.Spoke, ...]
    chronicle: Chronicle
    pack: pack.Pack
    before: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The specification of each cluster's Infrastructure before anything was asked of it."""

    @property
    def canary(self) -> spoke.Spoke:
        """The cluster of wave 0."""
        return self.spokes[-1]

    @property
    def others(self) -> tuple[spoke.Spoke, ...]:
        """All clusters but the canary."""
        return self.spokes[:-1]


@contextlib.asynccontextmanager
async def opened(  # noqa: PLR0913 - what a story may ask for
    number: int,
    speeds: pace.Pace,
    folder: pathlib.Path,
    screen: terminal.Terminal,
    *,
    masters: Mapping[str, int] | None = None,
    deadline_minutes: int | None = None,
    given: pack.Pack,
) -> AsyncIterator[Fleet]:
    """Open a hub and so many clusters; logs go to `folder` when it closes.

    `masters` are the control-plane nodes of those that have not three. `deadline_minutes` is when a transition is
    overdue, in place of what the definitions say. `given` is what the engines are given.
    Raises binaries.MissingError, RealServerError, KeepingError, InstallError, ClientError, OSError.
    """
    names = [f"spoke-{each}" for each in range(1, number + 1)]
    async with contextlib.AsyncExitStack() as stack:
        center = await stack.enter_async_context(hubs.Hub(names, folder / "hub"))
        screen.say("hub", f"serves at {center.server.url}; placement and work manager run")
        spokes = []
        for name in names:
            size = (masters or {}).get(name, 3)
            part = spoke.Spoke(
                name, center, speeds, folder / name, masters=size, deadline_minutes=deadline_minutes, given=given
            )
            spokes.append(await stack.enter_async_context(part))
        screen.say("fleet", f"{', '.join(names)} are installed; operators and work agents run")
        events = Chronicle(center, spokes, screen)
        await stack.enter_async_context(parts.running(events.run()))
        yield Fleet(hub=center, spokes=tuple(spokes), chronicle=events, pack=given)
