"""Records events beside Infrastructure, without delaying the loop, losing an event or repeating one.

Events wait in a bounded queue and are sent by a task of their own: an API server that refuses events must not block the
change of topology. The name of an event is a hash of what it is about, so an operator that crashed between the change
and the event sends it after its restart, and one that crashed after it learns that it exists.

What could not be sent keeps waiting, and is tried again with growing pauses; those that are refused take turns. When
too many wait, the oldest are given up, and what the API calls invalid is.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from topology_api.types import TopologyTransition, stamp
from topology_api.vocabulary import OPERATOR_NAME, EventReason, Phase

from ..decide import records
from ..decide.state import EventSpec
from ..kube import client as clients
from ..kube import errors, lease, queue
from ..kube import resource as resources
from ..observe import facts

_LOG = logging.getLogger(__name__)
EVENTS = resources.Resource("", "v1", "events", "Event", namespaced=True)
"""`kubectl describe` orders by lastTimestamp, which events.k8s.io/v1 refuses (pkg/apis/core/validation/events.go)."""
_NAMESPACE = "default"  # of events about a cluster-scoped object: the API refuses others
_ABOUT = {"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "name": "cluster"}
# Kubernetes, pkg/apis/core/validation/events.go.
_NOTE_BYTES = 1024
_WORD_BYTES = 128
_WAITING = 64
_REMEMBERED = 256
_RECENT = 600.0
_PAUSES = 1.0, 60.0  # seconds after an event that was not sent, the shortest and the longest
_UNSURE = 0.5
FLUSH = 2.0  # seconds that are left for what waits when the operator ends
_LATE = 0.05  # seconds in which the last events come: those of a write that the loop has just done


def name(uid: str, reason: EventReason, record: TopologyTransition | None, generation: int | None = None) -> str:
    """The name of the event: the same occurrence always has the same one."""
    # An admission has its attempt. Before it, the time of the request and the `generation` in which it was made (of the
    # record, unless another is given) distinguish two requests, also within one second. A request stays the same in
    # another phase or with another attempt, and what blocks it is another occurrence when it is another set of checks.
    # `kubectl describe` orders by seconds, then by name: the place of the reason comes before the hash.
    occurrence, phase = "", ""
    if record is not None:
        generation = record.observed_generation if generation is None else generation
        requested = f"{record.requested_time or record.phase_transition_time or ''}@{generation or ''}"
        request = reason is EventReason.TRANSITION_REQUESTED
        occurrence, phase = (requested, "") if request else (record.attempt or requested, record.phase.value)
        if reason is EventReason.TRANSITION_BLOCKED:
            phase = f"{phase}/{','.join(records.unmet(record))}"
    digest = hashlib.sha256(f"{uid}/{reason}/{occurrence}/{phase}".encode()).hexdigest()
    return f"topology.{list(EventReason).index(reason)}-{digest[:16]}"


class EventRecorder:
    """Sends events in order, one at a time. Run `run()` as a task. `guard` raises KubeError where none may be sent.

    Once the store was restored from a backup (`void`), what waits is about a state that never was, and is dropped.
    While that may be about to turn out (`unsure`), nothing is sent but at the end.
    """

    def __init__(  # noqa: PLR0913 - where to, as whom, when not
        self,
        client: clients.Client,
        identity: str,
        utcnow: Callable[[], datetime],
        guard: Callable[[], Awaitable[None]] | None = None,
        *,
        void: Callable[[], bool] = lambda: False,
        unsure: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._guard = guard
        self._void = void
        self._unsure = unsure
        # In bytes, as the API counts.
        self._identity = identity.encode()[:_WORD_BYTES].decode(errors="ignore")
        self._utcnow = utcnow
        self._waiting: dict[str, dict[str, Any]] = {}  # what is sent, by name
        self._more = asyncio.Event()
        self._recorded: dict[str, None] = {}
        self._request: tuple[object, int | None] | None = None
        self._trouble: tuple[object, ...] | None = None

    def record(self, infrastructure: facts.Infrastructure, record: TopologyTransition | None, spec: EventSpec) -> None:
        """Let an event wait that was not recorded before; when too many wait, the oldest of them is given up."""
        key = name(infrastructure.uid, spec.reason, record, self._generation(record, spec.reason))
        if key in self._recorded:
            return
        phase = Phase.IDLE if record is None else record.phase
        self._waiting[key] = self._body(key, infrastructure.uid, spec, phase)
        self._more.set()
        # What lasts (a transition that is stuck) is decided again with every look; it is one event.
        self._recorded[key] = None
        if len(self._recorded) > _REMEMBERED:
            del self._recorded[next(iter(self._recorded))]
        if len(self._waiting) > _WAITING:
            key = next(iter(self._waiting))
            about = {"count": _WAITING, "event": self._waiting.pop(key)["reason"]}
            self._recorded.pop(key, None)
            _LOG.warning("more than %(count)d events wait: %(event)s, the oldest, is given up", about)

    async def run(self) -> None:
        """Send what waits until cancelled, and then for `FLUSH` seconds at most what still does."""
        pauses = queue.Backoff(*_PAUSES)
        try:
            while True:
                while not self._waiting:
                    self._more.clear()
                    await self._more.wait()
                if self._unsure():
                    await asyncio.sleep(_UNSURE)
                    continue
                key = next(iter(self._waiting))
                error = await self._send(key)
                if error is None:
                    pauses.reset()
                    continue
                if not error.may_pass and key in self._waiting:
                    # It may be this one that is refused: the others get their turn.
                    self._waiting[key] = self._waiting.pop(key)
                await asyncio.sleep(pauses.next(error.retry_after))
        finally:
            await self._flush()

    async def _send(self, key: str) -> errors.KubeError | None:
        """Send an event, or return why it still waits; one that the API would never take is given up."""
        body, done = self._waiting.get(key), "is sent"
        if body is None or self._void():
            self._waiting.pop(key, None)
            return None
        facts = {"event": body["reason"]}
        try:
            if self._guard is not None:
                await self._guard()
            await self._client.create(EVENTS, body, namespace=_NAMESPACE)
        except errors.AlreadyExists:
            done = "was sent before"
        except errors.Invalid as error:
            self._waiting.pop(key, None)
            _LOG.warning("event %(event)s was not sent, and is given up: %(error)s", {**facts, "error": error})
            return None
        except errors.KubeError as error:
            if error.same_as != self._trouble:
                self._trouble = error.same_as
                _LOG.warning(
                    "event %(event)s was not sent: %(error)s; it waits and is tried again, as are those that follow",
                    {**facts, "error": error},
                )
            return error
        self._waiting.pop(key, None)
        _LOG.debug("event %(event)s %(done)s: %(message)s", {**facts, "done": done, "message": body["message"]})
        if self._trouble is not None:
            self._trouble = None
            _LOG.info("events are sent again")
        return None

    def _body(self, key: str, uid: str, spec: EventSpec, phase: Phase) -> dict[str, Any]:
        note, now = spec.note.encode(), self._utcnow()
        if len(note) > _NOTE_BYTES:
            # A letter may be several bytes: one that was cut is dropped.
            note = note[: _NOTE_BYTES - 3].decode(errors="ignore").encode() + b"..."
        seconds = stamp(now)
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": key, "namespace": _NAMESPACE},
            "eventTime": lease.micro_time(now),
            "firstTimestamp": seconds,
            "lastTimestamp": seconds,
            "involvedObject": {**_ABOUT, "uid": uid},
            "reason": spec.reason.value,
            "action": phase.value,
            "message": note.decode(),
            "type": "Warning" if spec.warning else "Normal",
            "reportingComponent": OPERATOR_NAME,
            "reportingInstance": self._identity,
        }

    async def _flush(self) -> None:
        """The end: send what waits, once each, while there is time; no pauses for what is refused."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH):
                # The loop ends beside this, and may record an event of the write that it was at.
                await asyncio.sleep(_LATE)
                for key in tuple(self._waiting):
                    await self._send(key)
        if self._waiting:
            lost = ", ".join(body["reason"] for body in self._waiting.values())
            about = {"count": len(self._waiting), "events": lost}
            _LOG.warning("%(count)d events were not sent before the end, and are lost: %(events)s", about)

    def _generation(self, record: TopologyTransition | None, reason: EventReason) -> int | None:
        """The generation in which this request was made, as far as known: a later change of the spec is no new one."""
        if record is None:
            return None
        if reason is EventReason.TRANSITION_CANCELLED:
            self._request = None
            return record.observed_generation
        if self._request is None or self._request[0] != record.requested_time:
            self._request = (record.requested_time, record.observed_generation)
        return self._request[1]


def after_restart(record: TopologyTransition, now: datetime) -> tuple[EventSpec, ...]:
    """The events that a predecessor may not have sent any more: those of a phase that was entered a moment ago."""
    entered = record.phase_transition_time
    if entered is None or (now - entered).total_seconds() > _RECENT or not record.phase.changed:
        return ()
    # The same events as for the step that led here, whichever open phase it came from.
    return records.between(records.updated(record, phase=Phase.ADMITTING), record, None, "", now)
