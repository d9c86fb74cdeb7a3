"""Watches every write of the operators and says which promise one of them breaks.

Writes are judged twice: when they leave (what the operator could know then: the lease, its evidence, what it watched)
and when they arrive (what the server has then). What is true comes from `oracle`, from the raw objects that the
operator itself was given. A broken promise is remembered, because whoever made the write may catch exceptions; the
machine raises it at the end of its step.
"""

from __future__ import annotations

import asyncio
import enum
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from topology_api.types import NATIVE_ATTEMPT

from . import client as clients
from . import oracle
from . import pace as paces
from . import server as servers
from . import world as worlds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from topology_controller.decide.state import Decision
    from topology_controller.definitions import model
    from topology_controller.kube import resource

    from .client import Read, Write
    from .operators import Election, Process
    from .server import Key, Objects, Raw, Server

EVIDENCE_BOUND = 2.0
EXECUTION_BOUND = 4.0
SOON = 30.0
"""Within how many seconds after a restored store answers all is to be known."""
UNAWARE = 62.0
"""For how long our fields may be back before it is noticed."""
NEWER_PHASE = "Verifying"
"""Of a version that is not written yet."""
_MINUTE = 60.0
_PHASES_IN_A_MINUTE = 6
_HOLDING = frozenset({"Pending", "Admitting", "Converging"})


class Promise(enum.StrEnum):
    """What is promised; the value is what a failure begins with."""

    ONLY_FROM_ADMITTING = "topology is written only from Admitting, by whoever recorded that attempt"
    ONCE_PER_ATTEMPT = "topology is written at most once per admission"
    PROVEN = "topology is written only while every preflight fact is true in what was read live"
    FRESH = "topology is written only on evidence of the last two seconds, Infrastructure read last"
    IN_TIME = "no fact behind a change is older than four seconds when it is executed"
    ECHOED = "topology is written only while ClusterVersion holds upgrades back in our words"
    REQUESTED = "topology is written only while it is requested"
    LEASED = "nothing is written without the lease"
    STOOD_DOWN = "nothing is admitted where the operator must not act"
    EXTERNAL = "Infrastructure of a hosted cluster is never written"
    CONVERGED = "Completed only after every convergence check held together for the settle time"
    HELD_BACK = "upgrades are held back from Admitting until Completed"
    CALM = "nothing is written twice for the same facts"
    PACED = "the record is written for newer answers alone only when its interval has passed"
    AT_ONCE = "a phase, an attempt, a problem and an accepted check are recorded at once"
    LOST = "a node or voter that the change rested on and that is gone is a problem with the first look"
    STUCK = "a transition is stuck past its deadline, once no answer was new for long, and then it says so"
    CANCELLED = "a request that was cancelled before the change leaves nothing open"
    UNBROKEN = "the loop ends only when it is told to"
    REMEMBERED = "what has moved the topology is not forgotten while a copy of its record is left"
    ARRIVES = "a standing request reaches Completed when everything is good"
    STEADY = "a record changes its phase at most six times in a minute of the cluster"
    NEWER = "the record of a newer version is never written over"
    PLAIN = "a record alone moves no topology"
    THEIRS = "what the native controller has begun is taken over only where it has, and cannot end it"
    FOLLOWED = "what the native controller has changed and cannot end is followed to its end"
    ANOTHER_TIME = "no change rests on what was read before the store was put back"
    RESTORED = "half a minute after a restored store answers, what is known of it is true, and a request is taken up"


class BrokenError(AssertionError):
    """A promise that was broken, and how."""

    def __init__(self, promise: Promise, how: str) -> None:
        super().__init__(f"{promise.name}: {promise}. But: {how}")
        self.promise = promise


@dataclass(slots=True)
class Tally:
    """What has happened, so that a machine that proves nothing is seen."""

    admitted: int = 0
    changed: int = 0
    converged: int = 0
    refused: int = 0


@dataclass(slots=True)
class Judge:
    """Stands between the operators and the server."""

    server: Server
    election: Election
    definitions: dict[str, model.Definition]
    processes: dict[str, Process] = field(default_factory=dict)
    broken: list[BrokenError] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    recorded_by: dict[str, str] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    at_change: dict[str, Objects] = field(default_factory=dict)
    unaware_until: float = 0.0
    """Until when an operator need not know that the definition has our fields again: nobody watches that."""
    open: tuple[str, Raw | None] | None = None
    carrying: bool = False
    """Is a write of an operator arriving right now? Whatever the server tells of meanwhile follows from it."""
    phases: list[float] = field(default_factory=list)
    """When operators changed the phase of the record, or its definition, since somebody else last did something."""
    ended: str = ""
    """When a transition was last completed, as recorded."""
    heard: dict[str, int] = field(default_factory=dict)
    met_since: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    pace: paces.Pace = field(default_factory=paces.Pace)
    patience: paces.Patience = field(default_factory=paces.Patience)

    def sent(self, write: Write) -> None:
        """A write leaves its operator."""
        process = self.processes[write.operator]
        left = self.election.left(process)
        if left < clients.REQUEST_TIMEOUT:
            self._break(Promise.LEASED, f"{write.operator} sends its {write.sort} with {left:.1f} s of the lease left")
        if write.sort is clients.Sort.CHANGE:
            if any(read.asked < self.server.answers_from for read in _fresh(write).values()):
                self._break(Promise.ANOTHER_TIME, f"{write.operator} changes on what was read before")
            self._judge_evidence(write, process)
        if write.sort is clients.Sort.SAVE and self._phase(write.body) == "Completed":
            self._judge_completed(write, process)

    def carry_out(self, write: Write) -> Raw:
        """A write arrives: judge it by what the server has, and let it happen."""
        before = self.server.objects.get(write.key)
        self.carrying = True
        try:
            if write.create:
                return self.server.create(write.key, write.body)
            after = self.server.patch_status(write.key, write.body)
        except servers.Refused:
            self.tally.refused += 1
            raise
        finally:
            self.carrying = False
        if before is None:
            return after
        dropped = self.server.pruning and write.key == servers.INFRASTRUCTURE
        if after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"] and not dropped:
            self._break(Promise.CALM, f"{write.operator} sent a {write.sort} that changes nothing: {write.body}")
        if write.key == servers.INFRASTRUCTURE:
            self._judge_infrastructure(write, before, after)
        elif write.key == servers.OPERATOR:
            self._judge_report(write, after)
        return after

    def answered(self, write: Write) -> None:
        """An operator knows that its write has happened."""
        process = self.processes[write.operator]
        if write.key == servers.INFRASTRUCTURE:
            self.pace.answered(write.operator, process.loop.time(), process.skew)
        age = process.loop.time() - min((read.asked for read in _fresh(write).values()), default=0.0)
        if write.sort is clients.Sort.CHANGE and age > EXECUTION_BOUND:
            self._break(Promise.IN_TIME, f"the change of {write.operator} was executed after {age:.1f} s")

    def stirred(self) -> None:
        """Somebody else did something, or an operator gets news of it: each of that may lead to other phases."""
        self.phases.clear()

    def put_back(self, now: float, *, unaware: bool) -> None:
        """The store is what it was at an earlier moment: what happened since has not happened.

        With `unaware` our fields are there again, which nobody watches.
        """
        self.stirred()
        self.open = None
        if unaware:
            self.unaware_until = max(self.server.answers_from, now) + UNAWARE
        if self.server.phase == "Admitting":
            self.changed.discard(str(self.server.record.get("attempt")))

    def begun(self, operator: str) -> None:
        """An operator begins to reconcile, and remembers nothing."""
        process = self.processes.get(operator)
        if process is None:
            return
        self.pace.begun(operator)
        self.patience.begun(operator, process.loop.time())
        for key in [key for key in self.met_since if key[0] == operator]:
            del self.met_since[key]
        self.heard.pop(operator, None)

    def decided(self, name: str, decision: Decision) -> None:
        """An operator has decided."""
        process = self.processes.get(name)
        if process is not None:
            self.patience.decided(name, decision, process.loop.time())

    def looked(self, name: str) -> None:
        """An operator looks at what it knows: since when has it seen each check converged?"""
        process = self.processes.get(name)
        if process is None or self.heard.get(name) == process.client.news:
            return
        self.heard[name] = process.client.news
        record = _record(process.client.view.get(servers.INFRASTRUCTURE, {}))
        definition = self.definitions.get(str(record.get("name")))
        if record.get("phase") != "Converging" or definition is None:
            return
        key = (name, str(record.get("attempt")))
        lacking = {text.partition(":")[0] for text in self._not_converged(process, definition, key[1])}
        asked = {spec.check.value for spec in definition.convergence.checks}
        known = self.met_since.get(key, {})
        self.met_since[key] = {check: known.get(check, process.loop.time()) for check in asked - lacking}

    def at_rest(self, process: Process) -> None:
        """An operator had every chance to do what it has to: what is on the server now?"""
        self.looked(process.name)
        phase = self.server.phase
        holding = phase in _HOLDING and not self._excused(self.server.objects)
        if holding and self._upgradeable() != "False":
            self._break(Promise.HELD_BACK, f"the phase is {phase} and Upgradeable is {self._upgradeable()}")
        self._judge_memory(process.loop.time())
        self._judge_delay(process)
        self._judge_following(process)
        hosted = self.server.pair[0] == "External"
        if self.server.desired is None and not hosted and phase in {"Pending", "Admitting", "Unsupported"}:
            self._break(Promise.CANCELLED, f"no request, and the phase is {phase}")

    def restored(self, process: Process) -> None:
        """A restored store has answered for long enough, and nothing has disturbed this operator."""
        watched = process.watches
        if not process.quiet or watched is None:
            return self._break(Promise.RESTORED, f"{process.name} has not come to rest")
        for name, watch in watched._watches.items():
            known = {key: entry.version for key, entry in watch.reflector._entries.items()}
            there = process.client.versions(watch.source.selection)
            if known != there:
                self._break(Promise.RESTORED, f"{process.name} knows {name} as {known}, and it is {there}")
        found = self.server.objects[servers.INFRASTRUCTURE]["status"]
        definition = next(
            (
                one
                for one in self.definitions.values()
                if one.target.control_plane.value == self.server.desired
                and one.source.control_plane.value == found.get("controlPlaneTopology")
                and found.get("infrastructureTopology") in one.source.infrastructure
            ),
            None,
        )
        waits = self._stands_down(self.server.objects) or self.server.pruning or self.server.phase == NEWER_PHASE
        # A backup from between a topology that was set back and the end of its request: it stops, and says so.
        waits |= (self.server.record.get("problem") or {}).get("reason") == "TopologyOverwritten"
        if definition is not None and not waits and self.server.phase not in _HOLDING:
            self._break(Promise.RESTORED, f"{self.server.desired} is requested, and the phase is {self.server.phase}")
        return None

    # A change that leaves. What its operator learned while it read may come too late for it.
    def _judge_evidence(self, write: Write, process: Process) -> None:
        record = {**self.server.record, **(write.body["status"].get("topologyTransition") or {})}
        definition = self.definitions.get(str(record.get("name")))
        if definition is None:
            return self._break(Promise.PROVEN, f"no definition is named {record.get('name')}")
        by_selection = _fresh(write)
        fresh = list(by_selection.values())
        objects: Objects = {}
        for selection, read in sorted(by_selection.items(), key=lambda item: item[1].order):
            # What an earlier read had, and this one would have too, is gone.
            gone = [key for key, raw in objects.items() if servers.selects(selection, key, raw)]
            objects = {key: raw for key, raw in objects.items() if key not in gone} | read.objects
        found = objects.get(servers.INFRASTRUCTURE)
        version = write.body.get("metadata", {}).get("resourceVersion")
        if found is None or version != found["metadata"]["resourceVersion"]:
            return self._break(
                Promise.FRESH, f"version {version} of Infrastructure was not read in the last two seconds"
            )
        infrastructure = next(one for one in fresh if servers.INFRASTRUCTURE in one.objects)
        if any(one.order > infrastructure.order for one in fresh):
            self._break(Promise.FRESH, "something was read after Infrastructure")
        case = oracle.Case(objects, definition, process.now())
        if lacking := oracle.lacking(case, definition.preflight):
            self._break(Promise.PROVEN, f"{write.operator} changes although {lacking}")
        if not oracle.echoed(case):
            self._break(Promise.ECHOED, f"{write.operator} changes without the echo")
        status = found["status"]
        if found["spec"].get("desiredTopology") != definition.target.control_plane.value:
            self._break(Promise.REQUESTED, f"the request that was read is {found['spec'].get('desiredTopology')}")
        starts = definition.source.control_plane.value == status.get("controlPlaneTopology") and (
            status.get("infrastructureTopology") in definition.source.infrastructure
        )
        if not starts or status.get("platformStatus", {}).get("type") not in definition.platforms:
            self._break(Promise.STOOD_DOWN, f"{definition.name} does not start at {status}")
        # ClusterVersion is among the first that are read: what was known then counts, and not what came meanwhile.
        first = next((one for one in fresh if servers.VERSION in one.objects), infrastructure)
        if self._stands_down({**first.view, servers.INFRASTRUCTURE: found}):
            self._break(Promise.STOOD_DOWN, f"{write.operator} changes although it must stand down or is paused")
        self.at_change[str(record.get("attempt"))] = {**write.view, **objects}
        return None

    # A record that arrives.
    def _judge_infrastructure(self, write: Write, before: Raw, after: Raw) -> None:
        old, new = _record(before), _record(after)
        if before["status"].get("controlPlaneTopology") == "External":
            self._break(Promise.EXTERNAL, f"{write.operator} writes {write.body}")
        attempt = str(new.get("attempt"))
        process = self.processes[write.operator]
        if old.get("phase") == NEWER_PHASE:
            self._break(Promise.NEWER, f"{write.operator} writes {write.body}")
        self._judge_steadiness(process.loop.time(), old, new)
        if too_soon := self.pace.arrived(write.operator, write.sent, process.skew, old, new):
            self._break(Promise.PACED, f"{write.operator} writes {too_soon}")
        self._judge_patience(process, old, new)
        if write.sort is clients.Sort.SAVE:
            if new.get("phase") == "Admitting" and old.get("attempt") != new.get("attempt"):
                self.recorded_by[attempt] = write.operator
                self.tally.admitted += 1
            if new.get("phase") == "Completed" and old.get("phase") != "Completed":
                self.tally.converged += 1
                self.open = None
                self.ended = max(self.ended, new["completedTime"])
            if new.get("phase") == "Converging" != old.get("phase") and attempt.startswith(NATIVE_ATTEMPT):
                self._judge_taken_over(write, attempt)
            moved = {"controlPlaneTopology", "infrastructureTopology"}
            if any(before["status"].get(name) != after["status"].get(name) for name in moved):
                self._break(Promise.PLAIN, f"{write.body}")
            return
        self._judge_change(write, before, old, new)
        self._judge_deadline(process, new)

    def _judge_taken_over(self, write: Write, attempt: str) -> None:
        """It begins with the conditions, or goes on from a copy. What it is measured against is what was seen then."""
        # After a conflict Infrastructure and the report are read: they count where the watches are behind.
        view = dict(write.view)
        for read in _fresh(write).values():
            view |= {
                key: raw for key, raw in read.objects.items() if key not in view or _version(raw) > _version(view[key])
            }
        copy = view.get(servers.OPERATOR, {}).get("status", {}).get("extension") or {}
        record = _record(view[servers.INFRASTRUCTURE])
        if copy.get("attempt") == attempt and not record:
            return
        begun, last = _left_unfinished(view), record.get("lastTransition")
        if not begun or (last or {}).get("completedTime", "") >= begun:
            self._break(Promise.THEIRS, f"{write.operator} takes {attempt} over, begun at {begun}, after {last}")
        self.at_change[attempt] = {key: raw for key, raw in view.items() if not _is_newer(key)}

    def _judge_following(self, process: Process) -> None:
        """Nobody else follows it. What has ended here since, or is not seen, is nothing to follow."""
        begun = _left_unfinished(self.server.objects)
        seen = begun and begun == _left_unfinished(process.client.view) and process.client.lost is None
        excused = self.server.pruning or self.server.phase in {"Converging", "Completed", NEWER_PHASE}
        excused = excused or process.loop.time() < self.unaware_until or self.ended >= begun
        if seen and not excused and not self._stands_down(self.server.objects, paused=False):
            self._break(Promise.FOLLOWED, f"it was begun at {begun}, and the phase is {self.server.phase}")

    def _judge_steadiness(self, now: float, old: Raw, new: Raw) -> None:
        if (old.get("phase"), old.get("name")) == (new.get("phase"), new.get("name")):
            return
        self.phases = [*(at for at in self.phases if at > now - _MINUTE), now]
        if len(self.phases) > _PHASES_IN_A_MINUTE:
            self._break(Promise.STEADY, f"{old.get('phase')} becomes {new.get('phase')}, the last at {self.phases}")

    def _judge_change(self, write: Write, before: Raw, old: Raw, new: Raw) -> None:
        attempt = str(new.get("attempt"))
        self.tally.changed += 1
        if old.get("phase") != "Admitting" or old.get("attempt") != new.get("attempt"):
            self._break(
                Promise.ONLY_FROM_ADMITTING,
                f"the record was in {old.get('phase')} with attempt {old.get('attempt')}, the change is of {attempt}",
            )
        if self.recorded_by.get(attempt) != write.operator:
            self._break(
                Promise.ONLY_FROM_ADMITTING,
                f"{write.operator} changes attempt {attempt}, which {self.recorded_by.get(attempt)} recorded",
            )
        if attempt in self.changed:
            self._break(Promise.ONCE_PER_ATTEMPT, f"attempt {attempt} has moved the topology before")
        self.changed.add(attempt)
        target = (new.get("target") or {}).get("controlPlane")
        if before["spec"].get("desiredTopology") != target:
            self._break(
                Promise.REQUESTED, f"the request is {before['spec'].get('desiredTopology')}, the change is to {target}"
            )

    # What may wait, and for how long.
    def _judge_patience(self, process: Process, old: Raw, new: Raw) -> None:
        definition = self.definitions.get(str(new.get("name")))
        late = new.get("deadlineTime") and process.now() >= datetime.fromisoformat(new["deadlineTime"])
        if _problem(new) == "Stuck" and _problem(old) != "Stuck" and definition is not None:
            quiet = self.patience.quiet(process.name, process.loop.time())
            if not late or quiet < 60 * definition.convergence.stuck_minutes - 1:
                self._break(Promise.STUCK, f"{process.name} says so after {quiet:.0f} s, and overdue is {late}")
        for one in (new.get("accepted") or [])[len(old.get("accepted") or []) :]:
            asked = process.client.view.get(worlds.ACCEPTED, {}).get("data", {}).get(one["name"])
            if not late or asked is None or json.loads(asked)["attempt"] != new.get("attempt"):
                self._break(Promise.CONVERGED, f"{process.name} accepts {one['name']}, asked: {asked}, overdue: {late}")

    def _judge_deadline(self, process: Process, new: Raw) -> None:
        definition, seen = self.definitions.get(str(new.get("name"))), self.at_change.get(str(new.get("attempt")))
        if definition is None or seen is None:
            return
        due = oracle.deadline(oracle.Case(seen, definition, process.now()), datetime.fromisoformat(new["admittedTime"]))
        if datetime.fromisoformat(new["deadlineTime"]) != due:
            self._break(Promise.STUCK, f"the deadline is {new['deadlineTime']} and not {due}")

    def _judge_delay(self, process: Process) -> None:
        """What has happened stands in the record, and a transition that is stuck says so."""
        record = self.server.record
        copy = self.server.objects.get(servers.OPERATOR, {}).get("status", {}).get("extension") or {}
        out_of_place = self.server.pruning or record.get("phase") == NEWER_PHASE
        out_of_place = out_of_place or self._stands_down(self.server.objects, paused=False)
        if not record or not copy or out_of_place:
            return
        if behind := paces.waiting(record, copy):
            self._break(Promise.AT_ONCE, f"{process.name} has not recorded: {behind}")
        definition = self.definitions.get(str(record.get("name")))
        if record.get("phase") != "Converging" or definition is None or self._excused(self.server.objects):
            return
        self._judge_loss(process, definition, record)
        late = process.now() >= datetime.fromisoformat(record["deadlineTime"]) + timedelta(seconds=1)
        quiet = self.patience.quiet(process.name, process.loop.time())
        patient = quiet <= 60 * definition.convergence.stuck_minutes + 1
        if late and not patient and self.patience.lacks(process.name) and not self._says_stuck(record):
            self._break(Promise.STUCK, f"{process.name} has given no new answer for {quiet:.0f} s and does not say so")

    def _judge_loss(self, process: Process, definition: model.Definition, record: Raw) -> None:
        """What the change rested on and is gone is a problem. A record whose baseline was lost does not know it."""
        seen = self.at_change.get(str(record.get("attempt")))
        if seen is None or not record.get("baseline"):
            return
        gone = oracle.lost(oracle.Case(process.client.view, definition, process.now(), seen))
        if gone and _problem(record) not in {"TwoVoters", "RedundancyLost"}:
            self._break(Promise.LOST, f"{gone} are lost, and the problem is {_problem(record)}")

    def _says_stuck(self, record: Raw) -> bool:
        """What costs redundancy comes before every other problem (docs/api.md); Degraded says it even then."""
        degraded = next(
            (item for item in oracle.conditions(self.server.objects[servers.OPERATOR]) if item["type"] == "Degraded"),
            {},
        )
        covered = _problem(record) in {"TwoVoters", "RedundancyLost"} and degraded.get("reason") == "TransitionStuck"
        return _problem(record) == "Stuck" or covered

    def _judge_completed(self, write: Write, process: Process) -> None:
        record = {**self.server.record, **_record(write.body)}
        definition = self.definitions.get(str(record.get("name")))
        attempt = str(record.get("attempt"))
        if definition is None or self.server.phase != "Converging":
            return None
        accepted = {one["name"] for one in record.get("accepted") or []}
        if lacking := self._not_converged(process, definition, attempt, accepted):
            return self._break(Promise.CONVERGED, f"{write.operator} completes although {lacking}")
        if process.client.lost is not None and process.client.frozen_at is None:
            return self._break(Promise.CONVERGED, f"{write.operator} completes while its watches are lost")
        known, now = self.met_since.get((write.operator, attempt), {}), process.loop.time()
        awaited = {spec.check.value for spec in definition.convergence.checks} - accepted
        quiet = min((now - known.get(check, now) for check in awaited), default=0.0)
        if quiet < definition.convergence.settle_seconds - 1e-6:
            self._break(Promise.CONVERGED, f"{write.operator} completes after {quiet:.1f} s of quiet")
        return None

    def _judge_report(self, write: Write, after: Raw) -> None:
        phase = self.server.phase
        if self.server.restarts and self.processes[write.operator].loop.time() < self.server.answers_from + SOON:
            # Its watches do not all come back at the same moment: for so long it may speak of what it knew before.
            return
        status = next((item["status"] for item in oracle.conditions(after) if item["type"] == "Upgradeable"), "absent")
        if phase in {"Admitting", "Converging"} and status != "False" and not self._excused(self.server.objects):
            self._break(Promise.HELD_BACK, f"{write.operator} reports Upgradeable={status} while {phase}")

    def _judge_memory(self, now: float) -> None:
        """A record that was dropped comes back from the copy, as long as that is there."""
        if self.server.pruning or (self.server.phase is None and now < self.unaware_until):
            self._judge_block_without_record()
        elif self.server.phase == "Converging":
            found = self.server.record
            self.open = (str(found.get("attempt")), found.get("target"))
        elif self.server.phase == "Completed" or self.open is None:
            self.open = None
        else:
            attempt, target = self.open
            self.open = None
            pair = {"controlPlane": self.server.pair[0], "infrastructure": self.server.pair[1]}
            if pair == target and not self._stands_down(self.server.objects, paused=False):
                self._break(Promise.REMEMBERED, f"attempt {attempt} was converging, and now it is {self.server.phase}")

    def _judge_block_without_record(self) -> None:
        """The definition of our fields is gone, and the record with it: what was converging goes on blocking."""
        pair = {"controlPlane": self.server.pair[0], "infrastructure": self.server.pair[1]}
        if self.open is None or pair != self.open[1] or self._stands_down(self.server.objects, paused=False):
            return
        if self._upgradeable() != "False":
            self._break(Promise.HELD_BACK, f"the record was dropped and Upgradeable is {self._upgradeable()}")

    # What is so.
    def _not_converged(
        self, process: Process, definition: model.Definition, attempt: str, accepted: Iterable[str] = ()
    ) -> list[str]:
        case = oracle.Case(process.client.view, definition, process.now(), self.at_change.get(attempt, {}))
        return oracle.lacking(case, definition.convergence.checks, accepted)

    def _excused(self, objects: Objects) -> bool:
        """Is there a reason not to hold upgrades back although a transition is open?"""
        found = objects[servers.INFRASTRUCTURE]
        record = _record(found)
        target = record.get("target") or {}
        pair = (found["status"].get("controlPlaneTopology"), found["status"].get("infrastructureTopology"))
        overwritten = record.get("phase") == "Converging" and pair != (
            target.get("controlPlane"),
            target.get("infrastructure"),
        )
        return overwritten or self._stands_down(objects, paused=False)

    @staticmethod
    def _stands_down(objects: Objects, *, paused: bool = True) -> bool:
        """Must nothing be admitted here, by the label, the native controller or the annotation?"""
        found = objects[servers.INFRASTRUCTURE]
        labels = found["metadata"].get("labels") or {}
        native = _gate(objects) and any(
            item["type"].startswith("TopologyTransitionController")
            for item in oracle.conditions(objects.get(worlds.NATIVE, {}))
        )
        annotations = objects.get(servers.OPERATOR, {}).get("metadata", {}).get("annotations") or {}
        return (
            found["status"].get("controlPlaneTopology") not in worlds.KNOWN
            or labels.get("topology.openshift.io/image-based-install", "false") != "false"
            or native
            or (paused and annotations.get("topology.openshift.io/paused", "false") != "false")
        )

    def _upgradeable(self) -> str:
        found = oracle.conditions(self.server.objects.get(servers.OPERATOR, {}))
        return next((item["status"] for item in found if item["type"] == "Upgradeable"), "absent")

    @staticmethod
    def _phase(body: Raw) -> str | None:
        found: str | None = _record(body).get("phase")
        return found

    def _break(self, promise: Promise, how: str) -> None:
        self.broken.append(BrokenError(promise, how))


def _fresh(write: Write) -> dict[resource.Selection, Read]:
    """What was read live right before a change left."""
    return {
        selection: read for selection, read in write.reads.items() if read.asked >= write.sent - EVIDENCE_BOUND - 1e-6
    }


def _version(raw: Raw) -> int:
    return int(raw["metadata"]["resourceVersion"])


def _gate(objects: Objects) -> bool:
    """Is the native controller switched on?"""
    gates = objects.get(worlds.GATES, {}).get("status", {}).get("featureGates") or []
    version = objects.get(servers.VERSION, {}).get("status", {}).get("desired", {}).get("version")
    # Of several versions the one that runs counts; where that is not known, all of them.
    gates = [entry for entry in gates if entry["version"] == version] or gates
    return any(gate["name"] == "MutableTopology" for entry in gates for gate in entry["enabled"])


def _left_unfinished(objects: Objects) -> str:
    """When the native controller began what it has changed and, switched off, cannot end; empty where it has not."""
    status = objects.get(servers.INFRASTRUCTURE, {}).get("status", {})
    pair = {status.get(name) for name in ("controlPlaneTopology", "infrastructureTopology")}
    moving = [item for item in oracle.conditions(objects.get(worlds.NATIVE, {})) if item["reason"] == worlds.MOVING]
    if pair != {"HighlyAvailable"} or worlds.GATES not in objects or _gate(objects) or not moving:
        return ""
    return str(moving[0]["lastTransitionTime"])


def _is_newer(key: Key) -> bool:
    """May this have followed before anybody measured it? What it was like at the change is not known then."""
    kind = key[0]
    return kind == worlds.POOLS or key == worlds.CONTROLLER_CONFIG or kind.partition(".")[2] == "operator.openshift.io"


def _record(raw: Raw) -> Raw:
    return raw.get("status", {}).get("topologyTransition") or {}


def _problem(record: Raw) -> str | None:
    found: str | None = (record.get("problem") or {}).get("reason")
    return found


def whose() -> str:
    """Name of the operator whose task runs now."""
    task = asyncio.current_task()
    return "" if task is None else task.get_name()
