"""The verb `status`: how far it has come, as the operator has recorded it.

The structure is that of the status page on a process that does not lead (`report.view`): phase, checks and conditions
stand as the leader wrote them, and are not judged again. Nodes, members of etcd and operands, which only a leader
watches, are read live here and put beside it by the page's own functions. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import Phase, Stage

from .._version import __version__
from ..checks import catalog
from ..checks.result import Yardstick
from ..decide import acceptance
from ..observe import facts
from ..report import evidence, view
from . import answers, plan, running

if TYPE_CHECKING:
    from ..checks.result import CheckResult
    from ..report import state
    from ..transitions import load
    from . import reading

_STAGES = {Stage.PREFLIGHT.value: Stage.PREFLIGHT, Stage.CONVERGENCE.value: Stage.CONVERGENCE}
NOT_NOW = "Looked at while a transition is under way"


def status(seen: reading.Seen, transitions: load.Transitions) -> answers.Status:
    """Everything that `status` shows."""
    shown = view.look(None, seen.known, view.About(__version__, transitions))
    record = seen.record
    stage = _STAGES.get(shown["stage"] or "")
    definition = transitions.named(record.name) if record is not None else None
    results: tuple[CheckResult, ...] = ()
    if record is not None and definition is not None and stage is not None:
        yardstick = Yardstick(record.baseline, transitions.matrix, acceptance.names(record))
        results = catalog.ask(stage, definition, seen.known, seen.now, yardstick)
    operands: state.Operands = {"items": [], "said": NOT_NOW}
    if record is not None and record.phase is Phase.CONVERGING and shown["disabled"] is None:
        operands = evidence.operands(results, definition, transitions.matrix)
    nodes: state.Nodes = {"items": [], "said": NOT_NOW}
    etcd: state.Members = {"items": [], "said": NOT_NOW}
    if seen.known.control_plane_nodes is not facts.NOT_READ:
        nodes = evidence.nodes(seen.known, results, leads=True)
        etcd = evidence.members(seen.known, stage, leads=True)
    return {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyStatus",
        "evaluated": answers.stamp(seen.now),
        "cluster": shown["cluster"],
        "topologyWriter": seen.infrastructure.topology_writer,
        "wish": shown["wish"],
        "withdraw": shown["withdraw"],
        "phase": plan.phase(seen),
        "since": shown["since"],
        "stuck": shown["stuck"],
        "paused": shown["paused"],
        "headline": shown["headline"],
        "operator": running.operator(seen),
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
        "unread": plan.unread(seen),
    }
