"""The verb `wait`: until the transition is completed, or it is certain that it will not be.

The idle watches of the operator (`observe.watches`) tell everything that is needed: Infrastructure with the record, and
ClusterOperator `topology`. A watch that is cut goes on by itself. Only a record that speaks of the present generation
of the wish counts, since a wish that was made a moment ago still finds the old one. `standing` is pure.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus, ConditionType, Phase, Reason, Stage

from ..decide import acceptance, records
from ..observe import facts, watches
from . import connection, errors, judging

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_api.types import TopologyTransition

_FINAL = frozenset(
    {Reason.HOSTED_CONTROL_PLANE, Reason.UNKNOWN_TOPOLOGY, Reason.IMAGE_BASED_INSTALL, Reason.NATIVE_CONTROLLER_ACTIVE}
)
"""Reasons of Disabled: nobody here will ever carry the wish out."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where it stands. `code` is the exit code when there is nothing more to wait for, None while there is."""

    said: str
    code: int | None = None


def standing(known: facts.Facts) -> Standing:
    """Is it over, and how? Raises PluginError when there is nothing to wait for."""
    found = known.infrastructure
    if isinstance(found, facts.Unobserved):
        # It was there when the waiting began: what cannot be read for a while is waited for like everything else.
        return Standing(f"Infrastructure cannot be read: {found.why}")
    own = known.own_operator
    conditions = {} if isinstance(own, facts.Unobserved) else _conditions(own)
    disabled = conditions.get(ConditionType.DISABLED)
    if disabled is not None and disabled.reason in _FINAL:
        return Standing(f"{disabled.message} ({disabled.reason})", judging.UNSUPPORTED)
    if found.desired is None:
        raise errors.PluginError("there is no wish to wait for", "How to make one is told by: oc topology plan TARGET")
    record = records.recover(found, own)
    if record is None or (record.observed_generation or 0) < found.generation:
        return Standing(f"{found.desired} is wished for; the operator has not said anything about that yet")
    degraded = conditions.get(ConditionType.DEGRADED)
    if degraded is not None and degraded.reason == Reason.TOPOLOGY_OVERWRITTEN:
        return Standing(f"{degraded.message} ({degraded.reason})", judging.BLOCKED)
    if degraded is not None and degraded.reason == Reason.API_NOT_INSTALLED:
        raise errors.PluginError(degraded.message)
    told = conditions.get(ConditionType.PROGRESSING)
    if record.phase is Phase.COMPLETED:
        return Standing(f"Completed: the cluster is {records.pair(found)}{acceptance.told(record)}", judging.DONE)
    if record.phase is Phase.IDLE and found.desired == found.control_plane:
        return Standing(f"Fulfilled: the cluster is {records.pair(found)}", judging.DONE)
    if record.phase is Phase.UNSUPPORTED:
        said = told is not None and told.reason == Reason.UNSUPPORTED_TRANSITION
        why = told.message if told is not None and said else f"No transition leads to {found.desired}"
        return Standing(why, judging.UNSUPPORTED)
    return Standing(progress(record, degraded))


def progress(record: TopologyTransition, degraded: facts.Condition | None = None) -> str:
    """Where it is and what it waits for, from the record alone: the conditions are written a moment later."""
    stage = Stage.CONVERGENCE if record.phase is Phase.CONVERGING else Stage.PREFLIGHT
    checks = records.of_stage(record, stage)
    gone = acceptance.names(record)
    failing = [check.name for check in checks if check.status is not CheckStatus.MET and check.name not in gone]
    text = record.phase.value
    if checks:
        text += f" {sum(check.status is CheckStatus.MET for check in checks)}/{len(checks)}"
    if failing:
        text += f": waiting for {', '.join(failing)}"
    if stage is Stage.CONVERGENCE:
        text += acceptance.told(record)
    return text if degraded is None else f"{text}. {degraded.message} ({degraded.reason})"


def _conditions(own: facts.OwnOperator) -> dict[str, facts.Condition]:
    """What stands on ClusterOperator `topology`: Disabled and Degraded while they are True, Progressing always."""
    items = own.status.get("conditions")
    found = {}
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        one = facts.Condition(*(str(item.get(name) or "") for name in ("type", "status", "reason", "message")))
        if one.status == "True" or one.type == ConditionType.PROGRESSING:
            found[one.type] = one
    return found


async def wait(made: connection.Connection, seconds: float | None, tell: Callable[[str], None]) -> Standing:
    """Wait, telling what is new; it ends after so many `seconds`, None for never.

    Raises PluginError when the cluster cannot be asked, or there is nothing to wait for.
    """
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    await connection.infrastructure(made)
    news = asyncio.Event()
    told = ""
    async with watches.Watches(made.client, news.set, sources=()) as watched:
        try:
            async with asyncio.timeout_at(deadline):
                await watched.first_answers()
                while True:
                    news.clear()
                    watched.raise_failed()
                    found = standing(watched.known())
                    if found.code is not None:
                        return found
                    if found.said != told:
                        told = found.said
                        tell(told)
                    await news.wait()
        except TimeoutError:
            return Standing(f"not completed after {seconds:g} s. {told}".strip(), judging.TIMED_OUT)
