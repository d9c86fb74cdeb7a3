"""A hosted cluster, seen from inside: what can be done about its availability, and where.

HyperShift fixes controllerAvailabilityPolicy when a HostedCluster is made (an immutable field of its API), while
infrastructureAvailabilityPolicy may change and becomes status.infrastructureTopology of the hosted cluster. The numbers
of routers and image registries are written once, when their objects are made (hypershift
control-plane-operator/hostedclusterconfigoperator/controllers/resources/{ingress,registry}, 2026-08), so two advisories
of the operator hold here too. They are read with the rights of the person who asks; the operator reads none of it.

Which HostedCluster it is, and in which namespace, no object of the hosted cluster says. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import EXTERNAL, AdvisoryName, CheckName, Topology
from topology_controller.checks import advisories
from topology_controller.decide import records
from topology_controller.observe import catalog

from . import simulate

if TYPE_CHECKING:
    from datetime import datetime

    from topology_controller.definitions import load
    from topology_controller.observe import facts

    from . import answers, consistency

REQUIRED: Final = AdvisoryName.ROUTER_REPLICAS_PINNED.value
"""The one that always can be followed; whether a second registry can run depends on its storage."""
_HOLD: Final = frozenset({REQUIRED, AdvisoryName.IMAGE_REGISTRY_REPLICAS_FIXED.value})
_PATCH: Final = (
    "oc -n NAMESPACE patch hostedcluster NAME --type merge "
    """-p '{"spec":{"infrastructureAvailabilityPolicy":"HighlyAvailable"}}'"""
)


def is_hosted(infrastructure: facts.Infrastructure) -> bool:
    """Does its control plane run on a management cluster?"""
    return infrastructure.control_plane == EXTERNAL


def sources(infrastructure: facts.Infrastructure, transitions: load.Transitions) -> tuple[catalog.Source, ...]:
    """What `steps` goes by, besides Infrastructure: nothing but where two of something are wanted."""
    if not is_hosted(infrastructure) or infrastructure.infrastructure != Topology.HIGHLY_AVAILABLE:
        return ()
    group = transitions.matrix.group(CheckName.IMAGE_REGISTRY_REPLICAS)
    registry = group.managed_by.key if group is not None and group.managed_by is not None else None
    configured = [source for source in catalog.operands(transitions) if source.key == registry]
    return (catalog.Sources.cluster_version, catalog.Sources.ingress_controller, *configured)


def step(infrastructure: facts.Infrastructure) -> list[answers.Expected]:
    """What can be done on the management cluster; nothing where there is nothing left to ask for."""
    if not is_hosted(infrastructure) or infrastructure.infrastructure != Topology.SINGLE_REPLICA:
        return []
    message = (
        "Routers and the image registry keep the numbers that they were made with; oc topology audit shows their "
        "commands afterwards. To make infrastructureTopology HighlyAvailable, on the management cluster"
    )
    return [simulate.item("HostedCluster", message, _PATCH)]


def instead(infrastructure: facts.Infrastructure) -> list[answers.Expected]:
    """What there is to do where nothing can be requested."""
    audit = simulate.item("Audit", "Which parts of this cluster do not follow its topology", "oc topology audit")
    return step(infrastructure) or [audit]


def add(
    answer: answers.Plan | answers.Overview | consistency.Audit,
    known: facts.Facts,
    here: facts.Infrastructure,
    transitions: load.Transitions,
    now: datetime,
) -> None:
    """Add what was fixed when a hosted cluster was made and no longer fits, and what its management cluster can do."""
    if not is_hosted(here):
        return
    every = advisories.advise(known, records.pair(here), transitions.matrix, None, now)
    answer["advisories"] = [
        simulate.item(each.name, each.message, each.command) for each in every if each.name in _HOLD
    ]
    answer["next"] = step(here)
