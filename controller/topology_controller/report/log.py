"""What a leader logs about its decisions: one line when something changes, none when nothing does.

What was logged last is remembered. A failure that stays is repeated every five minutes, so that it is seen at the end
of a log.
"""

from __future__ import annotations

import asyncio
import logging

from topology_api.types import TopologyTransition

from ..checks.result import CheckResult
from ..decide.state import Decision
from ..kube import errors

_LOG = logging.getLogger(__name__)
_FAILING_STILL = 300.0


class DecisionLog:
    """The log of one term of leadership."""

    def __init__(self) -> None:
        self._line = ""
        self._answers: dict[str, CheckResult] = {}
        self._ignored: tuple[str, ...] = ()
        self._taken: set[tuple[str | None, str]] = set()
        self._failed: object = None
        self._failed_at = 0.0

    def decided(self, decision: Decision) -> None:
        """Log the phase if it or its message has changed, and every check that answers differently."""
        stopped = decision.disabled or decision.degraded
        text = f"{stopped.reason}: {stopped.message}" if stopped else decision.note
        line = f"{decision.phase}: {text}"
        if line != self._line:
            self._line = line
            sentence = "phase %(phase)s: %(message)s" if text else "phase %(phase)s"
            facts = {"phase": decision.phase, "message": text or None, "reason": stopped.reason if stopped else None}
            _LOG.info(sentence, {**facts, **about(decision.record)})
        self._acceptances(decision)
        if not decision.results:
            if not decision.watch:
                # The next request is logged from its beginning.
                self._answers = {}
            return
        for answer in decision.results:
            # What is met from the beginning needs no line.
            if answer != self._answers.get(answer.name) and (not answer.met or answer.name in self._answers):
                news = {"check": answer.name, "status": answer.status, "message": answer.message}
                _LOG.info("check %(check)s is %(status)s: %(message)s", news)
        self._answers = {answer.name: answer for answer in decision.results}

    def _acceptances(self, decision: Decision) -> None:
        """Log what is taken up and what is ignored of what administrators accept, each when it is new."""
        record = decision.record
        if record is None or not decision.results:
            return
        for sentence in decision.ignored:
            if sentence not in self._ignored:
                _LOG.warning("%(message)s", {"message": sentence, **about(record)})
        self._ignored = decision.ignored
        for check in decision.taken:
            # A decision that was made again, because of a conflict, is no news.
            if (record.attempt, check.name) not in self._taken:
                self._taken.add((record.attempt, check.name))
                reason = check.reason or "no reason was given"
                _LOG.warning(
                    "check %(check)s is accepted and not waited for any more: %(reason)s; it says: %(message)s",
                    {"check": check.name, "reason": reason, "message": check.message, **about(record)},
                )

    def failed(self, error: Exception, delay: float) -> None:
        """Log what went wrong, and in how many seconds it is tried again."""
        now, level = asyncio.get_running_loop().time(), logging.DEBUG
        kind = error.same_as if isinstance(error, errors.KubeError) else str(error)
        news = kind != self._failed or now >= self._failed_at + _FAILING_STILL
        if news:
            self._failed, self._failed_at, level = kind, now, logging.WARNING
        _LOG.log(level, "%(error)s; trying again in %(seconds).1f s", {"error": error, "seconds": delay})


def about(record: TopologyTransition | None) -> dict[str, object]:
    """The facts that distinguish transitions, for a line about its record."""
    if record is None:
        return {}
    return {"definition": record.name, "attempt": record.attempt, "generation": record.observed_generation}
