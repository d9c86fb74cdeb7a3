"""`status`: how far it has come, as the operator has recorded it.

The structure is that of the status page on a process that does not lead (`report.view`): phase, checks and conditions
stand as the leader wrote them, and are not judged again. Nodes, members of etcd and operands, which only a leader
watches, are read live and put beside it by the page's own functions. `status` is pure.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from topology_api.vocabulary import Phase, Stage

from ..._version import __version__
from ...checks import catalog
from ...checks.result import ConvergenceContext
from ...decide import acceptance
from ...observe import facts
from ...report import evidence, view
from .. import cluster, errors, printing
from . import head, show

if TYPE_CHECKING:
    import argparse

    from ...checks.result import CheckResult
    from ...definitions import load
    from ...report import state
    from .. import answers

NOT_NOW = "Looked at while a transition is under way"
_STAGES = {Stage.PREFLIGHT.value: Stage.PREFLIGHT, Stage.CONVERGENCE.value: Stage.CONVERGENCE}


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Print how it stands; with --watch at every change, until it is interrupted."""
    if options.watch:
        await _follow(connection, options, transitions)
    snapshot = await cluster.present(connection, transitions, options.operator_namespace)
    show(options, status(snapshot, transitions), printing.status)
    return errors.ExitCode.DONE


async def _follow(
    connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions
) -> NoReturn:
    from .. import live, live_lines  # noqa: PLC0415 - most of what is imported here only --watch needs

    connection.interruption.text = "nothing was written. Watch on with: oc topology status --watch"
    draws = options.output == "text" and live_lines.can_draw(sys.stdout, os.environ)
    following = live.Following(connection, transitions, options.operator_namespace, draws=draws)
    if draws:
        from .. import live_screen  # noqa: PLC0415 - only a terminal needs it

        await following.show(live_screen.taken(sys.stdout))
    lines = live_lines.Lines(sys.stdout, sys.stderr, options.output)
    await following.show(contextlib.nullcontext(lines.show))


def status(snapshot: cluster.Snapshot, transitions: load.Transitions) -> answers.Status:
    """Everything that `status` shows."""
    known, record = snapshot.known, snapshot.record
    shown = view.look(None, known, view.About(__version__, transitions))
    stage = _STAGES.get(shown["stage"] or "")
    definition = transitions.named(record.name) if record is not None else None
    results: tuple[CheckResult, ...] = ()
    if record is not None and definition is not None and stage is not None:
        convergence = ConvergenceContext(record.baseline, transitions.matrix, acceptance.names(record))
        results = catalog.ask(stage, definition, known, snapshot.now, convergence)
    operands: state.Operands = {"items": [], "said": NOT_NOW}
    if record is not None and record.phase is Phase.CONVERGING and shown["disabled"] is None:
        operands = evidence.operands(results, definition, transitions.matrix)
    nodes: state.Nodes = {"items": [], "said": NOT_NOW}
    etcd: state.Members = {"items": [], "said": NOT_NOW}
    if known.control_plane_nodes is not facts.NOT_READ:
        nodes = evidence.nodes(known, results, leads=True)
        etcd = evidence.members(known, stage, leads=True)
    return {
        **head("TopologyStatus", snapshot),
        "topologyWriter": snapshot.infrastructure.topology_writer,
        "desired": shown["desired"],
        "cancel": shown["cancel"],
        "phase": snapshot.phase,
        "since": shown["since"],
        "stuck": shown["stuck"],
        "paused": shown["paused"],
        "headline": shown["headline"],
        "operator": cluster.operator_state(snapshot),
        "disabled": shown["disabled"],
        "degraded": shown["degraded"],
        "conditions": shown["conditions"],
        "transition": shown["transition"],
        "stage": shown["stage"],
        "checks": shown["checks"],
        "progress": shown["progress"],
        "operands": operands,
        "nodes": nodes,
        "etcd": etcd,
        "accepted": shown["accepted"],
        "advisories": shown["advisories"],
        "available": shown["available"],
        "unread": list(snapshot.unread),
    }
