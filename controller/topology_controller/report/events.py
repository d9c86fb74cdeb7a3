"""Tells what happened, beside Infrastructure, without delaying or repeating anything.

Happenings are put into a short queue and sent by a task of their own: an API server that refuses events must not keep
the topology from moving. The name of an event is a hash of what it is about, so an operator that crashed between the
flip and the event tells it after its restart, and one that crashed after it finds that it exists.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from typing import TYPE_CHECKING, Any

from topology_api.vocabulary import OPERATOR_NAME, EventReason, Phase

from ..decide import happenings
from ..kube import errors, events

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from topology_api.types import TopologyTransition

    from ..decide.decision import Happening
    from ..kube import client as clients
    from ..observe import facts

_LOG = logging.getLogger(__name__)
_TRIES = 4
_WAITING = 64
_REMEMBERED = 256
_RECENT = 600.0


def name(uid: str, reason: EventReason, record: TopologyTransition | None) -> str:
    """The name of the event: the same occurrence always has the same one.

    Before an admission there is no attempt; the time of the request tells two wishes apart. A request is one also when
    the record was dropped, and the wish is found in another phase or gets another attempt than before.
    """
    occurrence, phase = "", ""
    if record is not None:
        requested = str(record.requested_time or record.phase_transition_time or "")
        request = reason is EventReason.TRANSITION_REQUESTED
        occurrence, phase = (requested, "") if request else (record.attempt or requested, record.phase.value)
    digest = hashlib.sha256(f"{uid}/{reason}/{occurrence}/{phase}".encode()).hexdigest()
    return f"topology.{digest[:16]}"


class Teller:
    """Sends events in order, one at a time. Run `run()` as a task."""

    def __init__(self, client: clients.Client, identity: str, utcnow: Callable[[], datetime]) -> None:
        self._client = client
        self._identity = identity
        self._utcnow = utcnow
        self._queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_WAITING)
        self._told: dict[str, None] = {}

    def tell(
        self, infrastructure: facts.Infrastructure, record: TopologyTransition | None, happening: Happening
    ) -> None:
        """Queue an event that was not told before; when too many wait already, it is dropped and logged."""
        called = name(infrastructure.uid, happening.reason, record)
        if called in self._told:
            return
        event = {
            "name": called,
            "regarding": {
                "apiVersion": "config.openshift.io/v1",
                "kind": "Infrastructure",
                "name": "cluster",
                "uid": infrastructure.uid,
            },
            "reason": happening.reason.value,
            "action": record.phase.value if record is not None else Phase.IDLE.value,
            "note": happening.note,
            "type_": "Warning" if happening.warning else "Normal",
        }
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            _LOG.warning("event %s dropped: %d others wait already", happening.reason, _WAITING)
            return
        # What lasts (a transition that is stuck) is decided again with every look; it is one event.
        self._told[called] = None
        if len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]

    async def run(self) -> None:
        """Send what is queued until cancelled."""
        while True:
            event = await self._queue.get()
            await self._send(event)

    async def _send(self, event: dict[str, Any]) -> None:
        for attempt in range(_TRIES):
            try:
                await events.post(
                    self._client,
                    **event,
                    reporting_controller=OPERATOR_NAME,
                    reporting_instance=self._identity[:128],
                    now=self._utcnow(),
                )
            except errors.KubeError as error:
                if not error.may_pass or attempt == _TRIES - 1:
                    _LOG.warning("event %s was not sent: %s", event["reason"], error)
                    self._told.pop(event["name"], None)
                    return
                await asyncio.sleep(2.0**attempt)
            else:
                return


def after_restart(record: TopologyTransition, now: datetime) -> tuple[Happening, ...]:
    """What a predecessor may not have told any more: the events of a phase that was entered a moment ago."""
    entered = record.phase_transition_time
    if entered is None or (now - entered).total_seconds() > _RECENT:
        return ()
    if record.phase not in {Phase.CONVERGING, Phase.COMPLETED}:
        return ()
    # The same events as for the step that led here, whichever open phase it came from.
    before = record.model_copy(update={"phase": Phase.ADMITTING})
    return happenings.between(before, record, None, "")
