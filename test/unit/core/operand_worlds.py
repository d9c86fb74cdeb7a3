"""What the other operators run, as facts: made from the operand matrix, so that a line added there is there too.

`worlds` puts them into a cluster. `at(pair)` is how it looks when everybody has followed a topology; `fresh` is how
often the objects were written again since, as after a change.
"""

from datetime import UTC, datetime

from test import sentences

from topology_api.types import TopologyPair
from topology_controller.definitions import operands as matrices
from topology_controller.observe import catalog, facts

LONG_AGO = datetime(2026, 2, 28, 12, 0, 0, tzinfo=UTC)
"""When everything that was there before the change came to rest."""
REACTED = datetime(2026, 3, 1, 12, 0, 20, tzinfo=UTC)
"""When the operators have come to rest again after the change: 20 s after `worlds.NOW`."""
REVISION = 7
CONFIGURED = 2
"""What configurations ask for where topology implies no number."""
NAMES = ("node-0", "node-1", "node-2")


def static_pods(revision: int, nodes: tuple[str, ...] = NAMES) -> facts.StaticPods:
    """Static pods of one revision on every node."""
    return facts.StaticPods(
        latest=revision,
        nodes=tuple(facts.NodeRevision(name, current=revision, target=0, last_failed=0) for name in nodes),
    )


def workload(replicas: int, *, generation: int = 1) -> facts.Workload:
    """A workload that has what it asks for."""
    return facts.Workload(
        generation=generation, observed=True, wanted=replicas, updated=replicas, ready=replicas, available=replicas
    )


def replicas(operand: matrices.Operand, topology: str, nodes: int) -> int:
    """How many a topology implies; 1 where the matrix does not know that topology."""
    if operand.replicas == "perControlPlaneNode":
        return nodes
    if operand.replicas == "perConfiguration":
        return CONFIGURED
    known = {key.value: count for key, count in (operand.replicas or {}).items()}
    return known.get(topology, 1)


def at(
    matrix: matrices.Matrix, pair: TopologyPair, *, fresh: int = 0, nodes: tuple[str, ...] = NAMES
) -> dict[str, facts.Fact[facts.Operand]]:
    """Every operand of the matrix, by key, as it is when its operator has followed the topology."""
    found: dict[str, facts.Fact[facts.Operand]] = {
        one.key: facts.Unobserved(one.what, sentences.MISSING, facts.Kind.MISSING) for one in catalog.ALL if one.operand
    }
    for group in matrix.groups:
        topology = group.topology(pair)
        if group.managed_by is not None:
            told = any(operand.replicas == "perConfiguration" for operand in group.operands)
            found[group.managed_by.key] = facts.Managed("Managed", CONFIGURED if told else None)
        for operand in group.operands:
            if operand.kind == "IngressController" or operand.key.startswith("etcds."):
                continue  # they have fields of their own in `Facts`
            found[operand.key] = _operand(operand, topology, nodes, fresh=fresh)
    return found


def _operand(
    operand: matrices.Operand, topology: str, nodes: tuple[str, ...], *, fresh: int
) -> facts.Fact[facts.Operand]:
    if operand.kind == "StaticPods":
        return static_pods(REVISION + fresh, nodes)
    if operand.kind == "PodDisruptionBudget":
        if topology == "SingleReplica":
            return facts.Unobserved(operand.key, sentences.MISSING, kind=facts.Kind.MISSING)
        return facts.DisruptionBudget(len(nodes) - 1)
    return workload(replicas(operand, topology, len(nodes)), generation=1 + fresh)
