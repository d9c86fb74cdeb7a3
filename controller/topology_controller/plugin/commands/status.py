"""`status`: how far it has come, as the operator has recorded it.

The structure is that of the status page on a process that does not lead (`report.view`): phase, checks and conditions
stand as the leader wrote them, and are not judged again. Nodes, members of etcd and operands, which only a leader
watches, are read live and put beside it by the page's own functions. `status` is pure.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from topology_api.vocabulary import Phase, Stage

from ..._version import __version__
from ...observe import facts
from ...report import followers, places, view
from .. import answers, cluster, errors, printing
from . import phase as recorded_phase
from . import show, unread

if TYPE_CHECKING:
    import argparse

    from ...report import state
    from ...transitions import load
    from .. import live

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

    connection.interruption.now("nothing was written. Watch on with: oc topology status --watch")
    sheet: live.Sheet
    if options.output == "text" and live_lines.can_draw(sys.stdout, os.environ):
        from .. import live_screen  # noqa: PLC0415 - only a terminal needs it

        sheet = live_screen.Screen(sys.stdout)
    else:
        sheet = live_lines.Lines(sys.stdout, sys.stderr, options.output)
    await live.follow(connection, transitions, options.operator_namespace, sheet)


def status(snapshot: cluster.Snapshot, transitions: load.Transitions) -> answers.Status:
    """Everything that `status` shows."""
    known, record = snapshot.known, snapshot.record
    shown = view.look(None, known, view.About(__version__, transitions), snapshot.now)
    stage = _STAGES.get(shown["stage"] or "")
    definition = transitions.named(record.name) if record is not None else None
    operands: state.Operands = {"items": [], "said": NOT_NOW}
    if record is not None and record.phase is Phase.CONVERGING and shown["disabled"] is None:
        operands = followers.operands(known, record, definition, transitions.matrix, snapshot.now)
    nodes: state.Nodes = {"items": [], "said": NOT_NOW}
    etcd: state.Members = {"items": [], "said": NOT_NOW}
    if known.control_plane_nodes is not facts.NOT_READ:
        nodes = places.nodes(known, definition, stage, leads=True)
        etcd = places.members(known, stage, leads=True)
    return {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyStatus",
        "evaluated": answers.stamp(snapshot.now),
        "cluster": shown["cluster"],
        "topologyWriter": snapshot.infrastructure.topology_writer,
        "wish": shown["wish"],
        "withdraw": shown["withdraw"],
        "phase": recorded_phase(snapshot),
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
        "unread": unread(snapshot),
    }
