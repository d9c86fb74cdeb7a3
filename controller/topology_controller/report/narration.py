"""What a leader says in the log about its decisions: one line when something changes, none when nothing does.

`reconcile` decides often: at every heartbeat that leads to a new fact, at every look that it asked for. So the last
words are remembered here, and only what differs from them is said: the phase with what it waits for, each check whose
answer has changed, a failure that is another one than before. A failure that stays is repeated every five minutes, so
that whoever reads only the end of a log sees it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from ..kube import errors

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition

    from ..checks.result import CheckResult
    from ..decide.decision import Decision

_LOG = logging.getLogger(__name__)
_FAILING_STILL = 300.0


class Narrator:
    """The voice of one term of leadership."""

    def __init__(self) -> None:
        self._said = ""
        self._answers: dict[str, CheckResult] = {}
        self._failed: object = None
        self._complained = 0.0

    def decided(self, decision: Decision) -> None:
        """Say the phase if it, or what is said about it, has changed; and every check that answers differently."""
        stopped = decision.disabled or decision.degraded
        text = f"{stopped.reason}: {stopped.message}" if stopped else decision.note
        said = f"{decision.phase}: {text}"
        if said != self._said:
            self._said = said
            sentence = "phase %(phase)s: %(message)s" if text else "phase %(phase)s"
            reason = stopped.reason if stopped else None
            facts = {"phase": decision.phase, "message": text or None, "reason": reason}
            _LOG.info(sentence, {**facts, **about(decision.record)})
        if not decision.results:
            if not decision.watch:
                # The next wish is told from its beginning.
                self._answers = {}
            return
        for answer in decision.results:
            # What is met from the beginning needs no line.
            if answer != self._answers.get(answer.name) and (not answer.met or answer.name in self._answers):
                _LOG.info(
                    "check %(check)s is %(status)s: %(message)s",
                    {"check": answer.name, "status": answer.status, "message": answer.message},
                )
        self._answers = {answer.name: answer for answer in decision.results}

    def failed(self, error: Exception, delay: float) -> None:
        """Say what went wrong, and in how many seconds it is tried again."""
        now = asyncio.get_running_loop().time()
        kind = error.same_as if isinstance(error, errors.KubeError) else str(error)
        news = kind != self._failed or now >= self._complained + _FAILING_STILL
        if news:
            self._failed, self._complained = kind, now
        level = logging.WARNING if news else logging.DEBUG
        _LOG.log(level, "%(error)s; trying again in %(seconds).1f s", {"error": error, "seconds": delay})


def about(record: TopologyTransition | None) -> dict[str, object]:
    """The facts that tell one transition from another, for a line about its record."""
    if record is None:
        return {}
    return {"definition": record.name, "attempt": record.attempt, "generation": record.observed_generation}
