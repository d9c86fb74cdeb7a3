"""`wait`: until the transition is completed, or it is certain that it will not be.

The idle watches of the operator (`observe.watches`) bring everything that is needed: Infrastructure with the record,
and ClusterOperator `topology`. A watch that is cut goes on by itself. Only a record that speaks of the present
generation counts, since a request that was made a moment ago still finds the record of the one before. `standing` is
pure.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, TextIO

from topology_api.vocabulary import CheckStatus, Phase, Reason, Stage
from topology_controller import terminal
from topology_controller._version import __version__
from topology_controller.decide import acceptance, records
from topology_controller.observe import facts, watches
from topology_controller.report import view

from .. import cluster, errors, naming
from ..errors import Ended, ExitCode

if TYPE_CHECKING:
    import argparse

    from topology_api.types import TopologyTransition
    from topology_controller.definitions import load
    from topology_controller.report import state

_FINAL = frozenset(
    {Reason.HOSTED_CONTROL_PLANE, Reason.UNKNOWN_TOPOLOGY, Reason.IMAGE_BASED_INSTALL, Reason.NATIVE_CONTROLLER_ACTIVE}
)
"""Reasons of Disabled with which the operator never carries a request out."""


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Wait, and print how it ended."""
    return await until_completed(connection, transitions, options.timeout, sys.stdout)


async def until_completed(
    connection: cluster.Connection, transitions: load.Transitions, seconds: float | None, out: TextIO
) -> int:
    """Wait for at most so many `seconds`, None without limit; progress goes to standard error, the end to `out`.

    Raises PluginError when the cluster cannot be asked, or there is nothing to wait for.
    """
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    await cluster.infrastructure(connection)
    news = asyncio.Event()
    before = ""
    async with watches.Watches(connection.client, news.set, sources=()) as watched:
        try:
            async with asyncio.timeout_at(deadline):
                await watched.first_answers()
                while True:
                    news.clear()
                    watched.raise_failed()
                    if watched.restored.is_set():
                        await watched.read_anew()
                    now = standing(watched.known(), transitions)
                    if now.code is not None:
                        return now.printed(out)
                    if now.message != before:
                        before = now.message
                        sys.stderr.write(f"{naming.caller().spoken(terminal.plain(before))}\n")
                        sys.stderr.flush()
                    await news.wait()
        except TimeoutError:
            text = f"not completed after {seconds:g} s. {before}".strip(". ")
            return Ended(f"{text}. All of it: oc topology status", ExitCode.TIMED_OUT).printed(out)


def standing(known: facts.Facts, transitions: load.Transitions) -> Ended:
    """Is it over, and how? Raises PluginError when there is nothing to wait for."""
    here = known.infrastructure
    if isinstance(here, facts.Unobserved):
        # It was there when the waiting began: what cannot be read for a while is waited for like everything else.
        return Ended(f"Infrastructure cannot be read: {here.why}")
    shown = view.look(None, known, view.About(__version__, transitions))
    disabled, degraded = shown["disabled"], shown["degraded"]
    if disabled is not None and disabled["reason"] in _FINAL:
        return Ended(f"{disabled['message']} ({disabled['reason']})", ExitCode.UNSUPPORTED)
    if here.desired is None:
        raise errors.PluginError("there is no request to wait for", "What can be requested: oc topology plan")
    record = records.recover(here, known.own_operator)
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
        return Ended(
            f"Completed: the cluster is {records.pair(here)}{acceptance.note(record)}{left}",
            ExitCode.DONE,
        )
    if record.phase is Phase.IDLE and here.desired == here.control_plane:
        return Ended(f"Fulfilled: the cluster is {records.pair(here)}", ExitCode.DONE)
    if record.phase is Phase.UNSUPPORTED:
        reason = Reason.UNSUPPORTED_TRANSITION
        why = [condition["message"] for condition in shown["conditions"] if condition["reason"] == reason]
        return Ended("".join(why) or f"No transition leads to {here.desired}", ExitCode.UNSUPPORTED)
    return Ended(progress(record, degraded))


def progress(record: TopologyTransition, degraded: state.Said | None = None) -> str:
    """Where it is and what it waits for, from the record alone: the conditions are written a moment later."""
    stage = Stage.CONVERGENCE if record.phase is Phase.CONVERGING else Stage.PREFLIGHT
    checks = records.of_stage(record, stage)
    accepted = acceptance.names(record)
    failing = [check.name for check in checks if check.status is not CheckStatus.MET and check.name not in accepted]
    text = record.phase.value
    if checks:
        text += f" {sum(check.status is CheckStatus.MET for check in checks)}/{len(checks)}"
    if failing:
        text += f": waiting for {', '.join(failing)}"
    if stage is Stage.CONVERGENCE:
        text += acceptance.note(record)
    return text if degraded is None else f"{text}. {degraded['message']} ({degraded['reason']})"
