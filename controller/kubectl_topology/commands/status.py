"""`status`: how far it has come, as the operator has recorded it, once; `live` has --watch. `answer` is pure.

The structure is that of the status page on a process that does not lead (`report.view`): phase, checks and conditions
stand as the leader wrote them. Nodes, members of etcd and operands, which only a leader watches, are read live and put
beside it. What can be requested is looked at again where the operator did so too long ago (`cluster.is_old`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from topology_api.vocabulary import Phase, Stage
from topology_controller._version import __version__
from topology_controller.checks import advisories, catalog
from topology_controller.checks.result import ConvergenceContext
from topology_controller.decide import applicability, records
from topology_controller.observe import facts
from topology_controller.report import state, view

from .. import answers, cluster, errors, optional, progress, sections, simulate
from . import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from topology_api.types import AvailableTransition
    from topology_controller.checks.result import CheckResult
    from topology_controller.definitions import load, model

NOT_NOW = "Looked at while a transition is under way"


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Print how it stands."""
    snapshot = await cluster.present(connection, transitions)
    shown, since, record = answer(snapshot, transitions), optional.changed(snapshot), snapshot.record
    if since is not None and record is not None and advisories.is_settled(record, snapshot.now):
        await optional.add(shown, connection, transitions.matrix, since)
    show(options, shown, progress.add_status)
    return errors.ExitCode.DONE


def answer(
    snapshot: cluster.Snapshot, transitions: load.Transitions, looked: Iterable[AvailableTransition] = ()
) -> answers.Status:
    """Everything that `status` shows. `looked` are verdicts that may be newer than those of the record."""
    known, record, about = snapshot.known, snapshot.record, view.About(__version__, transitions)
    shown = view.look(None, known, about)
    if known.lacks and shown["disabled"] is None:
        # The native controller is in charge (`cluster.assembled`), and our operator has not said so, or does not run.
        cause = applicability.disabled(known, snapshot.infrastructure)
        shown["disabled"] = None if cause is None else {"reason": cause.reason, "message": cause.message}
    stage, definition, results = _judged(snapshot, transitions, shown["stage"])
    operands: state.Operands = {"items": [], "said": NOT_NOW}
    nodes: state.Nodes = {"items": [], "said": NOT_NOW}
    etcd: state.Members = {"items": [], "said": NOT_NOW}
    if record is not None and record.phase is Phase.CONVERGING and shown["disabled"] is None:
        operands = state.operands(results, definition, transitions.matrix)
    if known.control_plane_nodes is not facts.NOT_READ:
        nodes = state.nodes(known, results, leads=True)
        etcd = state.members(known, stage, leads=True)
    every: dict[str, Any] = {
        **shown,
        **sections.judged(snapshot, "TopologyStatus"),
        "assessment": "",
        "awaited": _awaited(shown["checks"], results, operands["items"]),
        "topologyWriter": snapshot.infrastructure.topology_writer,
        "operands": operands,
        "nodes": nodes,
        "etcd": etcd,
        "machines": sections.machines(known),
        "available": [view.available(item, about) for item in _available(snapshot, transitions, looked)],
        "unread": list(snapshot.unread),
    }
    # What the page has besides stays there.
    names = (name for name in answers.Status.__annotations__ if name in every)
    everything = cast("answers.Status", {name: every[name] for name in names})
    everything["assessment"] = progress.line(everything, snapshot.now)
    return everything


def _judged(
    snapshot: cluster.Snapshot, transitions: load.Transitions, shown: str | None
) -> tuple[Stage | None, model.Definition | None, tuple[CheckResult, ...]]:
    """What the checks of the present stage answer now, of what was read: nodes and operands are listed by that."""
    known, record = snapshot.known, snapshot.record
    stage = None if shown is None else Stage(shown)
    definition = transitions.named(record.name) if record is not None else None
    if stage is None and known.control_plane_nodes is not facts.NOT_READ:
        # Nothing is under way, and what can be requested was looked at: nodes are shown as that would judge them.
        stage = Stage.PREFLIGHT
        definition = next(iter(transitions.starting_at(records.pair(snapshot.infrastructure))), None)
    results: tuple[CheckResult, ...] = ()
    if record is not None and definition is not None and stage is not None:
        convergence = ConvergenceContext(record.baseline, transitions.matrix, records.accepted(record))
        results = catalog.ask(stage, definition, known, snapshot.now, convergence)
    return stage, definition, results


def evaluated(snapshot: cluster.Snapshot, transitions: load.Transitions) -> tuple[AvailableTransition, ...]:
    """What could be requested, as far as it was read; nothing where it was not looked at."""
    if snapshot.known.control_plane_nodes is facts.NOT_READ:
        return ()
    return tuple(simulate.evaluated(snapshot.known, transitions, snapshot.now, snapshot.available).values())


def _available(
    snapshot: cluster.Snapshot, transitions: load.Transitions, looked: Iterable[AvailableTransition]
) -> Iterable[AvailableTransition]:
    record, newest = snapshot.record, snapshot.available
    at_rest = record is None or record.phase in {Phase.IDLE, Phase.UNSUPPORTED}
    for item in (*looked, *(evaluated(snapshot, transitions) if at_rest else ())):
        if item.name not in newest or item.evaluated_time >= newest[item.name].evaluated_time:
            newest[item.name] = item
    return newest.values()


def _awaited(
    checks: Iterable[state.Check], results: Iterable[CheckResult], operands: Iterable[state.Operand]
) -> list[answers.Awaited]:
    """The checks of the record that are not met, with how far each is now, and what is found."""
    now = {result.name.value: result for result in results}
    awaited: list[answers.Awaited] = []
    for check in (check for check in checks if check["status"] != "Met"):
        result = now.get(check["name"])
        count = None if result is None else result.count
        own = [operand for operand in operands if operand["check"] == check["name"]]
        have, wanted = (None, None) if count is None else (count.have, count.wanted)
        if count is None and own:
            numbers = [(operand["have"], operand["wanted"]) for operand in own]
            have, wanted = sum(operand["status"] == "Met" for operand in own), len(own)
            if all(number is not None for pair in numbers for number in pair):
                have, wanted = sum(min(pair) for pair in numbers), sum(pair[1] for pair in numbers)  # type: ignore[type-var,misc] # see the condition
        seen = None if result is None or result.met else result.found()
        awaited.append({"name": check["name"], "have": have, "wanted": wanted, "seen": seen})
    return awaited
