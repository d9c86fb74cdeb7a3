"""The verb `accept`: declares that a check of a stuck transition will not come, so that it is completed without it.

Nothing is decided here. What a person accepts is written into ConfigMap topology-accepted-checks, next to the attempt
that it is for; the operator takes it up into the record, or does not (`decide.acceptance`). What it would not take up
is refused here already, with what it would: before the deadline, for a check that is Met, for nodes, etcd, static pods
and machine configs. That one ConfigMap is a permission of its own, Role topology-check-acceptor, and its
resourceVersion keeps two people from writing over each other. Whoever accepts is shown what that means, and consents
(`consent`); while they think the cluster moves on, so it is read and judged again before the write. `judged` is pure.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.types import TopologyTransition
from topology_api.vocabulary import CheckStatus, Phase, Stage

from .._version import __version__
from ..decide import records
from ..kube import errors as kube
from ..observe import catalog, fields, parse
from ..report import view
from . import answers, connection, errors, judging, reading, running, writing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from topology_api.types import Check

    from ..report import state
    from ..transitions import load

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0
_STANDS = "the request stands, and the operator takes it up by itself: oc topology status tells"
_UNKNOWN = "whether the request was written is not known, because the answer had not come: oc topology status tells"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for. `patience` is how many seconds the operator has to take it up."""

    check: str
    reason: str = ""
    patience: float = 30.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: one sentence or two, and the exit code."""

    said: str
    code: int


@dataclass(frozen=True, slots=True)
class Offer:
    """A check that can be accepted now, for this attempt."""

    record: TopologyTransition
    attempt: str
    check: Check
    operator: str
    """Who leads, or that nobody does."""


def judged(seen: reading.Seen, transitions: load.Transitions, check: str) -> Offer | Ended:
    """Can this check be accepted now? If not, why not, and what could be."""
    record = seen.record
    shown = view.look(None, seen.known, view.About(__version__, transitions))
    if shown["disabled"] is not None:
        return Ended(f"{shown['disabled']['message']} ({shown['disabled']['reason']})", judging.UNSUPPORTED)
    if record is not None and (done := _done(record, check)):
        return done
    if record is None or record.phase is not Phase.CONVERGING or record.attempt is None:
        phase = record.phase.value if record is not None else "none, because the operator has recorded nothing here"
        return Ended(
            f"a check is accepted while the cluster follows a topology that has moved, and past the deadline; "
            f"the phase is {phase}",
            judging.BLOCKED,
        )
    if record.target != records.pair(seen.infrastructure):
        said = f"somebody has set the topology back to {records.pair(seen.infrastructure)}: see oc topology status"
        return Ended(said, judging.BLOCKED)
    found = {one.name: one for one in records.of_stage(record, Stage.CONVERGENCE)}
    late = _is_late(shown, seen.now)
    if why := _refused(check, record, found, "" if late else _deadline(shown)):
        could = [one for one in vocabulary.ACCEPTABLE_CHECKS if _open(one, record, found)] if late else []
        now = f". Could be accepted now: {', '.join(could)}" if could else ". Nothing could be accepted now"
        return Ended(f"{why}{now}", judging.BLOCKED)
    return Offer(record, record.attempt, found[check], running.operator(seen)["message"])


def _done(record: TopologyTransition, check: str) -> Ended | None:
    """It is in the record of this attempt already."""
    if record.phase not in {Phase.CONVERGING, Phase.COMPLETED}:
        return None
    accepted = next((one for one in record.accepted if one.name == check), None)
    if accepted is None:
        return None
    when = answers.stamp(accepted.accepted_time)
    return Ended(f"{check} was accepted at {when}. {_standing(record)}", judging.DONE)


def _is_late(shown: state.State, now: datetime) -> bool:
    """Is it past the deadline? The operator's own word counts: it may have been given other definitions."""
    transition = shown["transition"]
    deadline = transition["deadline"] if transition is not None else None
    return shown["stuck"] or (deadline is not None and now >= datetime.fromisoformat(deadline))


def _deadline(shown: state.State) -> str:
    transition = shown["transition"]
    deadline = transition["deadline"] if transition is not None else None
    return deadline or "when the operator says TransitionStuck"


def _refused(check: str, record: TopologyTransition, found: dict[str, Check], deadline: str) -> str:
    """Why the operator would not take it up; `deadline` is empty once it has passed."""
    if check not in vocabulary.ACCEPTABLE_CHECKS:
        return f"{check} can never be accepted: without it nobody knows whether the control plane is well"
    if check not in found:
        return f"transition {record.name} does not wait for {check}"
    if found[check].status is CheckStatus.MET:
        return f"{check} is Met: there is nothing to accept"
    if deadline:
        return f"{check} may still come: nothing is accepted before the deadline, {deadline}"
    return ""


def _open(check: str, record: TopologyTransition, found: dict[str, Check]) -> bool:
    answer = found.get(check)
    accepted = {one.name for one in record.accepted}
    return answer is not None and answer.status is not CheckStatus.MET and check not in accepted


def _standing(record: TopologyTransition) -> str:
    """What becomes of the transition."""
    without = {one.name for one in record.accepted}
    if record.phase is Phase.COMPLETED:
        return f"The transition is completed, accepted without: {', '.join(sorted(without))}"
    checks = records.of_stage(record, Stage.CONVERGENCE)
    failing = [one.name for one in checks if one.status is not CheckStatus.MET and one.name not in without]
    waiting = f"waits for {', '.join(failing)}" if failing else "is completed once it has stayed quiet"
    return f"The transition {waiting}; see oc topology wait"


async def accept(
    made: connection.Connection,
    transitions: load.Transitions,
    namespace: str,
    asked: Asked,
    consent: Callable[[Offer], Awaitable[Ended | None]],
) -> Ended:
    """Read, judge, have a person consent, write, and wait until the operator has taken it up.

    `consent` is shown what is offered and returns None to go on, else how it ends. Raises PluginError when the cluster
    cannot be asked or a right lacks.
    """
    found = judged(await reading.head(made, namespace), transitions, asked.check)
    if isinstance(found, Ended):
        return found
    if (declined := await consent(found)) is not None:
        return declined
    again = judged(await reading.head(made, namespace), transitions, asked.check)
    if isinstance(again, Ended):
        return again
    if again.attempt != found.attempt:
        return Ended("another attempt is under way than the one that was shown; nothing was written", judging.BLOCKED)
    await _write(made, namespace, asked, found.attempt)
    return await _taken_up(made, namespace, asked, found.attempt)


async def _write(made: connection.Connection, namespace: str, asked: Asked, attempt: str) -> None:
    """Ask for it in the ConfigMap; what others have asked for stays."""
    source = catalog.acceptances(namespace).selection
    value = json.dumps({"attempt": attempt, "reason": asked.reason})
    before = made.interruption.said
    for _ in range(writing.ATTEMPTS):
        try:
            raw = await made.client.get(source.resource, vocabulary.ACCEPTED_CHECKS, namespace=namespace)
            version = fields.text(raw, "metadata.resourceVersion")
            body = {"metadata": {"resourceVersion": version}, "data": {asked.check: value}}
            made.interruption.now(_UNKNOWN)
            await made.client.merge_patch(source.resource, vocabulary.ACCEPTED_CHECKS, body, namespace=namespace)
        except kube.Conflict:
            made.interruption.now(before)
            continue
        except kube.KubeError as error:
            if error.outcome_unknown:
                # Whether it was written is seen from whether it is taken up.
                return
            raise _explained(made, error, namespace) from error
        made.interruption.now(_STANDS)
        return
    raise errors.PluginError(
        f"ConfigMap {vocabulary.ACCEPTED_CHECKS} was changed {writing.ATTEMPTS} times between reading and writing. "
        "Nothing was written",
        "The same command begins again",
    )


def _explained(made: connection.Connection, error: kube.KubeError, namespace: str) -> errors.PluginError:
    if isinstance(error, kube.Forbidden):
        user = made.acting.user if made.acting is not None else "YOU"
        return errors.PluginError(
            f"{made.lacks(error)}, and nothing was written",
            f"Role {vocabulary.CHECK_ACCEPTOR} grants it: oc -n {namespace} create rolebinding accepting "
            f"--role={vocabulary.CHECK_ACCEPTOR} --user={user}. The server says: {error.message}",
        )
    if isinstance(error, kube.NotFound):
        return errors.PluginError(
            f"{error.resource.describe(error.name, error.namespace)} does not exist, and nothing was written",
            f"It comes with the operator: {vocabulary.OPERATOR_NAME} manifests, or "
            f"oc -n {namespace} create configmap {vocabulary.ACCEPTED_CHECKS}. Where the operator is in another "
            "namespace, say --operator-namespace",
        )
    return connection.explained(made, error)


async def _taken_up(made: connection.Connection, namespace: str, asked: Asked, attempt: str) -> Ended:
    """Wait until it is recorded, or it is certain that it need not be."""
    pause, record = _FIRST_PAUSE, None
    try:
        async with asyncio.timeout(asked.patience):
            while True:
                record = await _record(made) or record
                if record is not None and (ended := _ended(record, asked.check, attempt)):
                    return ended
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
    except TimeoutError:
        pass
    return Ended(await _not_taken_up(made, namespace, asked, record), judging.TIMED_OUT)


async def _record(made: connection.Connection) -> TopologyTransition | None:
    try:
        raw = await made.client.get(catalog.INFRASTRUCTURES, catalog.INFRASTRUCTURE.selection.name or "")
        found = parse.infrastructure(raw).record
    except (kube.KubeError, ValueError):
        # For a while it may not be read: a node with an API server restarts, for one.
        return None
    return found if isinstance(found, TopologyTransition) else None


def _ended(record: TopologyTransition, check: str, attempt: str) -> Ended | None:
    if record.attempt != attempt:
        return Ended(f"the attempt that {check} was accepted for is over; see oc topology status", judging.FAILED)
    if (done := _done(record, check)) is not None:
        return done
    if record.phase is Phase.COMPLETED:
        return Ended(f"{check} has come by itself meanwhile: the transition is completed", judging.DONE)
    return None


async def _not_taken_up(
    made: connection.Connection, namespace: str, asked: Asked, record: TopologyTransition | None
) -> str:
    """What is known of why not, and what to look at."""
    said = f"{asked.check} is not recorded as accepted after {asked.patience:g} s; {_STANDS}"
    found = {one.name: one for one in records.of_stage(record, Stage.CONVERGENCE)}
    if asked.check in found and found[asked.check].status is CheckStatus.MET:
        return f"{said}. It is Met now, and is taken up only if that changes"
    try:
        operator = running.operator(await reading.head(made, namespace))["message"]
    except errors.PluginError as error:
        operator = str(error)
    return f"{said}. {operator}. Look at: oc -n {namespace} logs deployment/{vocabulary.OPERATOR_NAME}"
