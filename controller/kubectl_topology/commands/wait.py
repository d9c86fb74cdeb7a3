"""`wait`: until the transition is completed, or it is certain that it will not be.

The idle watches of the operator (`observe.watches`) bring Infrastructure and ClusterOperator `topology`. Only a record
that speaks of the present generation counts: a request that was made a moment ago still finds the one before. Whether
an operator runs is read from its Lease once a minute. Credentials that have expired end it. `standing` is pure.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
from typing import TYPE_CHECKING, TextIO

from topology_api.vocabulary import CheckStatus, Phase, Reason, Stage
from topology_controller._version import __version__
from topology_controller.decide import records
from topology_controller.observe import catalog, facts, live, watches
from topology_controller.report import view

from .. import cluster, document, errors, progress, sections
from ..errors import Ended, ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from datetime import datetime

    from topology_api.types import Check, TopologyTransition
    from topology_controller.definitions import load
    from topology_controller.report import state

_FINAL = frozenset(
    {Reason.HOSTED_CONTROL_PLANE, Reason.UNKNOWN_TOPOLOGY, Reason.IMAGE_BASED_INSTALL, Reason.NATIVE_CONTROLLER_ACTIVE}
)
"""Reasons of Disabled with which the operator never carries a request out."""


async def run(
    connection: cluster.Connection,
    options: argparse.Namespace,
    transitions: load.Transitions,
    out: TextIO | None = None,
) -> int:
    """Wait for at most `options.timeout` seconds, None without limit; the end goes to `out`. Raises PluginError."""
    loop, out = asyncio.get_running_loop(), out or sys.stdout
    deadline = math.inf if options.timeout is None else loop.time() + options.timeout
    await cluster.infrastructure(connection)
    news, shown, denials = asyncio.Event(), _Shown(), cluster.Denials(connection, connection.grant(cluster.READER))
    absent, read_again_at = "", 0.0
    async with watches.Watches(connection.client, news.set, sources=()) as watched:
        # Also without any time to wait the state is reported as it is.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(connection.client.request_timeout):
                await watched.first_answers()
        while True:
            news.clear()
            watched.raise_failed()
            if watched.restored.is_set():
                await watched.read_anew()
            known = watched.known()
            now = standing(known, transitions, options.target)
            if now.code is not None:
                return now.printed(out)
            if loop.time() >= read_again_at:
                absent = await _absent(connection, known)
                # One that is not renewed is no event.
                read_again_at = loop.time() + 60.0
            shown.show(now.message, absent, known, connection.now)
            if loop.time() >= deadline:
                text = f"not completed after {options.timeout:g} s. {now.message}".strip(". ")
                return Ended(f"{text}. All of it: oc topology status", ExitCode.TIMED_OUT).printed(out)
            denied_until = await denials.note(watched.trouble(catalog.Sources.infrastructure))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(min(read_again_at, deadline, denied_until)):
                    await news.wait()


async def _absent(connection: cluster.Connection, known: facts.Facts) -> str:
    if isinstance(here := known.infrastructure, facts.Unobserved):
        return ""
    held = await live.read(connection.client, cluster.lease(connection.namespace))
    operator = sections.operator_state(cluster.Snapshot(known, here, held, connection.now))
    return operator["message"] if operator["state"] in sections.ABSENT else ""


class _Shown:
    """Prints on standard error what has changed: a line, and a row for each check that is waited for since."""

    _message = _absent = ""
    _checks: frozenset[str] = frozenset()

    def show(self, message: str, absent: str, known: facts.Facts, now: datetime) -> None:
        """Print the message if it is another one than before, and why nothing happens where no operator runs."""
        paper = document.Document.for_stream(sys.stderr)
        here = known.infrastructure
        record = None if isinstance(here, facts.Unobserved) else records.shown(here, known.own_operator)
        waited = [] if record is None else failing(record)
        rows = [
            document.Row((progress.length(f"{check.last_transition_time}", now), check.name, check.message), lines=2)
            for check in waited
            if check.name not in self._checks
        ]
        if message != self._message:
            # What has a row below needs no name here.
            named = f": waiting for {', '.join(check.name for check in waited)}"
            paper.add("", [message.replace(named, "") if len(rows) == len(waited) else message])
        paper.add("", rows)
        if absent != self._absent:
            paper.add("", [sections.sentence(absent) if absent else "The operator runs again."])
        self._message, self._absent, self._checks = message, absent, frozenset(check.name for check in waited)
        if paper.sections:
            sys.stderr.write(paper.text())
            sys.stderr.flush()


def standing(known: facts.Facts, transitions: load.Transitions, target: str | None = None) -> Ended:
    """Is it over, and how? Raises PluginError when there is nothing to wait for, or another `target` is requested."""
    here = known.infrastructure
    if isinstance(here, facts.Unobserved):
        # It was there when the waiting began: what cannot be read for a while is waited for like everything else.
        return Ended(f"Infrastructure cannot be read: {here.why}")
    shown = view.look(None, known, view.About(__version__, transitions))
    disabled, degraded = shown["disabled"], shown["degraded"]
    if disabled is not None and disabled["reason"] in _FINAL:
        return Ended(f"{disabled['message']} ({disabled['reason']})", ExitCode.UNSUPPORTED)
    record = records.recover(here, known.own_operator)
    if here.desired is None and target == here.control_plane and (record is None or record.phase is Phase.IDLE):
        return Ended(f"Nothing is requested: the cluster is {records.pair(here)}", ExitCode.DONE)
    _require(here.desired, target)
    if record is None or (record.observed_generation or 0) < here.generation:
        return Ended(f"{here.desired} is requested; waiting for the operator to pick it up")
    if degraded is not None and degraded["reason"] == Reason.TOPOLOGY_OVERWRITTEN:
        return Ended(f"{degraded['message']} ({degraded['reason']})", ExitCode.BLOCKED)
    if degraded is not None and degraded["reason"] == Reason.API_NOT_INSTALLED:
        raise errors.PluginError(degraded["message"])
    if record.phase is Phase.COMPLETED:
        # What an administrator reads next, where it is not over with that.
        count = len(record.advisories)
        left = f". {count} recommended action{'s' * (count > 1)}, see: oc topology status" if count else ""
        now = f"Completed: the cluster is {records.pair(here)}{records.accepted_note(record)}"
        return Ended(now + left, ExitCode.DONE)
    if record.phase is Phase.IDLE and here.desired == here.control_plane:
        return Ended(f"Fulfilled: the cluster is {records.pair(here)}", ExitCode.DONE)
    if record.phase is Phase.UNSUPPORTED:
        reason = Reason.UNSUPPORTED_TRANSITION
        why = [condition["message"] for condition in shown["conditions"] if condition["reason"] == reason]
        return Ended("".join(why) or f"No transition leads to {here.desired}", ExitCode.UNSUPPORTED)
    return Ended(summary(record, degraded))


def _require(desired: str | None, target: str | None) -> None:
    if desired is None or target not in {None, desired}:
        what = "there is no request to wait for" if target is None else f"{target} is not requested"
        request = "" if desired is None else f": the request is {desired}"
        raise errors.PluginError(f"{what}{request}", "What can be requested: oc topology plan")


def summary(record: TopologyTransition, degraded: state.Said | None = None) -> str:
    """Where it is and what it waits for, from the record alone: the conditions are written a moment later."""
    checks, waited = _checks(record), failing(record)
    text = record.phase.value
    if checks:
        text += f" {sum(check.status is CheckStatus.MET for check in checks)}/{len(checks)}"
    if waited:
        text += f": waiting for {', '.join(check.name for check in waited)}"
    if record.phase is Phase.CONVERGING:
        text += records.accepted_note(record)
    return text if degraded is None else f"{text}. {degraded['message']} ({degraded['reason']})"


def _checks(record: TopologyTransition) -> Sequence[Check]:
    return records.of_stage(record, Stage.CONVERGENCE if record.phase is Phase.CONVERGING else Stage.PREFLIGHT)


def failing(record: TopologyTransition) -> list[Check]:
    """The checks that are waited for."""
    accepted = records.accepted(record)
    return [check for check in _checks(record) if check.status is not CheckStatus.MET and check.name not in accepted]
