"""`accept`: declares that a check of a stuck transition will not be met, so that it completes without it.

What is accepted is written into ConfigMap topology-accepted-checks, a permission of its own, next to the attempt that
it is for; the operator takes it up into the record, or does not (`decide.convergence`). What it would not take up is
refused here already, with what it would. While the person reads what accepting means the cluster moves on, so it is
judged again before the write (`write`). `judged` is pure.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TextIO

from topology_api import vocabulary
from topology_api.vocabulary import CheckName, CheckStatus, Phase, Stage
from topology_controller import shell
from topology_controller._version import __version__
from topology_controller.decide import records
from topology_controller.definitions import registry
from topology_controller.kube import errors as kube
from topology_controller.observe import catalog, fields
from topology_controller.report import view

from .. import answers, cluster, document, errors, sections, write
from ..errors import Ended, ExitCode
from . import wait

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable

    from topology_api.types import Check, TopologyTransition
    from topology_controller.definitions import load

_STANDS = "the request remains, and the operator takes it up automatically: see oc topology status"
_FINAL = (
    "The transition completes without it, once every other check is met and stable. Then minor upgrades are allowed.",
    "It is final for this attempt: recorded with your reason and the time, and shown wherever this transition is.",
    "The component can still be repaired later. That needs no further command.",
)


class Offer(NamedTuple):
    """A check that can be accepted now, for the attempt of this record. `operator`: who leads, or that none runs."""

    record: TopologyTransition
    check: Check
    operator: str


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Show what accepting means, ask for consent unless it was given with --yes, and accept."""

    async def consent(offer: Offer) -> Ended | None:
        sheet = document.Document.for_stream(sys.stderr)
        add_offer(sheet, offer.record, offer.check, offer.operator)
        if options.yes or not sys.stdin.isatty():
            sys.stderr.write(sheet.text())
            no_terminal = "there is no terminal to ask at: --yes accepts without being asked"
            return None if options.yes else Ended(no_terminal, ExitCode.USAGE)
        if await consented(sheet, options.check, "accept that"):
            return None
        return Ended("not accepted; nothing was written", ExitCode.FAILED)

    return (await accept(connection, transitions, options, consent)).printed(sys.stdout)


async def consented(sheet: document.Document, word: str, what: str) -> bool:
    """Show what it means, and have the word typed that consents."""
    sys.stderr.write(sheet.text())
    return (await typed(f"\nType {word} to {what}: ", sys.stdin, sys.stderr)).strip() == word


async def typed(prompt: str, terminal: TextIO, output: TextIO) -> str:
    """Show the prompt and return the line that is typed, without its line break; empty at the end of the input."""
    # The loop waits, and sees Ctrl-C and SIGTERM meanwhile. It never waits for an ordinary file.
    output.write(prompt)
    output.flush()
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(terminal.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(terminal.fileno())
    return terminal.readline().rstrip("\n")


async def accept(
    connection: cluster.Connection,
    transitions: load.Transitions,
    asked: argparse.Namespace,
    consent: Callable[[Offer], Awaitable[Ended | None]],
) -> Ended:
    """Read, judge, have a person consent, judge again, write, and wait until the operator has taken it up.

    `consent` returns None to go on, else how it ends. Raises PluginError: no answer, or a right lacks.
    """
    name, namespace = vocabulary.ACCEPTED_CHECKS, connection.namespace
    target = write.Target(catalog.CONFIG_MAPS, name, f"ConfigMap {name}", "the request", namespace)
    offer = judged(await cluster.head(connection), transitions, asked.check)
    if isinstance(offer, Ended):
        return offer
    if (declined := await consent(offer)) is not None:
        return declined
    attempt = offer.record.attempt

    async def judge(_: int) -> tuple[Ended | None, write.Raw | None]:
        now = judged(await cluster.head(connection), transitions, asked.check)
        if isinstance(now, Ended):
            return now, None
        if now.record.attempt != attempt:
            message = "another attempt is under way than the one that was shown; nothing was written"
            return Ended(message, ExitCode.BLOCKED), None
        try:
            raw = await connection.client.get(target.resource, name, namespace=namespace)
        except kube.KubeError as error:
            raise _explained(connection, error) from error
        # What others have accepted stays: it names one key.
        data = {asked.check: json.dumps({"attempt": attempt, "reason": asked.reason})}
        return None, {"metadata": {"resourceVersion": fields.text(raw, "metadata.resourceVersion")}, "data": data}

    ended, _, outcome = await write.guarded(connection, target, judge)
    if ended is not None:
        return ended
    if not isinstance(outcome, kube.KubeError):
        connection.interruption.text = _STANDS
    elif not outcome.outcome_unknown:
        raise _explained(connection, outcome) from outcome
    # Where the answer was lost, whether it was written is seen from whether it is taken up.
    return await _taken_up(connection, asked, attempt)


def judged(snapshot: cluster.Snapshot, transitions: load.Transitions, check: str) -> Offer | Ended:
    """Can this check be accepted now? If not, why not, and what could be."""
    record, here = snapshot.record, records.pair(snapshot.infrastructure)
    shown = view.look(None, snapshot.known, view.About(__version__, transitions))
    if shown["disabled"] is not None:
        return Ended(f"{shown['disabled']['message']} ({shown['disabled']['reason']})", ExitCode.UNSUPPORTED)
    if record is not None and (done := _done(record, check)):
        return done
    if record is None or record.phase is not Phase.CONVERGING or record.attempt is None:
        phase = record.phase.value if record is not None else "none, because the operator has recorded nothing here"
        when = "only past the deadline, while the cluster follows a topology that has changed"
        return Ended(f"a check can be accepted {when}; the phase is {phase}", ExitCode.BLOCKED)
    if record.target != here:
        message = f"another client has set the topology back to {here}: see oc topology status"
        return Ended(message, ExitCode.BLOCKED)
    transition = shown["transition"]
    deadline = transition["deadline"] if transition is not None else None
    # What the operator says counts: it may have been given other definitions.
    late = shown["stuck"] or (deadline is not None and snapshot.now >= datetime.fromisoformat(deadline))
    checks = {item.name: item for item in records.of_stage(record, Stage.CONVERGENCE)}
    if check not in registry.ACCEPTABLE_CHECKS:
        why = f"{check} can never be accepted: without it nothing shows that the control plane is healthy"
    elif check not in checks:
        why = f"transition {record.name} does not wait for {check}"
    elif checks[check].status is CheckStatus.MET:
        why = f"{check} is Met: there is nothing to accept"
    elif not late:
        until = deadline or "when the operator says TransitionStuck"
        why = f"{check} may still come: nothing is accepted before the deadline, {until}"
    else:
        return Offer(record, checks[check], sections.operator_state(snapshot)["message"])
    failing = {item.name for item in wait.failing(record)} if late else set()
    could = ", ".join(name for name in registry.ACCEPTABLE_CHECKS if name in failing)
    others = f"Could be accepted now: {could}" if could else "Nothing could be accepted now"
    return Ended(f"{why}. {others}", ExitCode.BLOCKED)


def _done(record: TopologyTransition, check: str) -> Ended | None:
    accepted = {item.name: item for item in record.accepted}
    if not record.phase.changed or check not in accepted:
        return None
    rest = "The transition is completed once it has stayed quiet; see oc topology wait"
    if record.phase is Phase.COMPLETED:
        rest = f"The transition is completed, accepted without: {', '.join(sorted(accepted))}"
    elif failing := [item.name for item in wait.failing(record)]:
        rest = f"The transition waits for {', '.join(failing)}; see oc topology wait"
    when = answers.stamp(accepted[check].accepted_time)
    return Ended(f"{check} was accepted at {when}. {rest}", ExitCode.DONE)


def _explained(connection: cluster.Connection, error: kube.KubeError) -> errors.PluginError:
    namespace = error.namespace
    if isinstance(error, kube.Forbidden):
        user, role = connection.acting.user if connection.acting is not None else "YOU", vocabulary.CHECK_ACCEPTOR
        command = shell.command("oc -n {} create rolebinding accepting --role={} --user={}", namespace, role, user)
        hint = f"Role {role} grants it: {command}. The server says: {error.message}"
        return errors.PluginError(f"{connection.lacks(error)}, and nothing was written", hint)
    if isinstance(error, kube.NotFound):
        command = shell.command("oc -n {} create configmap {}", namespace, vocabulary.ACCEPTED_CHECKS)
        comes = f"It comes with the operator: {vocabulary.OPERATOR_NAME} manifests, or {command}"
        hint = f"{comes}. Where the operator is in another namespace, say --operator-namespace"
        what = error.resource.describe(error.name, namespace)
        return errors.PluginError(f"{what} does not exist, and nothing was written", hint)
    return cluster.explained(connection, error)


async def _taken_up(connection: cluster.Connection, asked: argparse.Namespace, attempt: str | None) -> Ended:
    """Wait until it is recorded, or it is certain that it need not be."""
    check, latest = asked.check, None

    def ended(record: TopologyTransition) -> Ended | None:
        nonlocal latest
        latest = record
        if record.attempt != attempt:
            message = f"the attempt that {check} was accepted for is over; see oc topology status"
            return Ended(message, ExitCode.FAILED)
        if (done := _done(record, check)) is None and record.phase is Phase.COMPLETED:
            return Ended(f"{check} has been met meanwhile: the transition is completed", ExitCode.DONE)
        return done

    if (end := await write.observed(connection, ended, asked.timeout)) is not None:
        return end
    message = f"{check} is not recorded as accepted after {asked.timeout:g} s; {_STANDS}"
    checks = records.of_stage(latest, Stage.CONVERGENCE)
    if any(item.name == check and item.status is CheckStatus.MET for item in checks):
        return Ended(f"{message}. It is Met now, and is taken up only if that changes", ExitCode.TIMED_OUT)
    try:
        operator = sections.operator_state(await cluster.head(connection))["message"]
    except errors.PluginError as error:
        operator = str(error)
    logs = shell.command("oc -n {} logs deployment/{}", connection.namespace, vocabulary.OPERATOR_NAME)
    return Ended(f"{message}. {operator}. Look at: {logs}", ExitCode.TIMED_OUT)


def add_offer(sheet: document.Document, record: TopologyTransition, check: Check, operator: str) -> None:
    """`accept`, before the consent: what was found, what is given up, and that it is final. `operator`: who leads."""
    transition = f"{record.name} to {record.target}, attempt {record.attempt}"
    about = [("Check", f"{check.status.value}  {check.name}"), ("Message", check.message)]
    sections.fields(sheet, [*about, ("Transition", transition), ("Operator", operator)])
    given_up = f"It is not repaired: {registry.TRAITS[CheckName(check.name)].acceptable}."
    sheet.add(f"If you accept that {check.name} will not be met", [("*", text) for text in (given_up, *_FINAL)])
