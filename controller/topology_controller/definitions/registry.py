"""The registry of checks: everything that is known of a check, but the function that answers it.

A new check is a name in `topology_api.vocabulary.CheckName`, a row here, what to do about it in
hack/explanations/checks.yaml, and a function in `checks.catalog`. One that is about operands is its name and their file
in `bindata/operands`: it has a row only where something is special. Tests say which of them is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from topology_api.vocabulary import AdvisoryName, CheckName, Stage


@dataclass(frozen=True, slots=True)
class Traits:
    """What a definition may ask, what the check needs, and what an administrator may do about it.

    `stages`: where a definition may ask it; none: every admission implies it. `required` and `optional` are parameters
    as the file spells them. `operands`: it is answered by its group of the operand matrix. `acceptable`: what the
    cluster goes without when it is accepted past the deadline; empty but for workloads. `advisory`: it waits for it.
    """

    stages: frozenset[Stage]
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    operands: bool = False
    acceptable: str = ""
    advisory: AdvisoryName | None = None

    @property
    def parameters(self) -> frozenset[str]:
        """Every parameter that the check takes."""
        return self.required | self.optional


_BOTH = frozenset(Stage)
_BEFORE = frozenset({Stage.PREFLIGHT})
_AFTER = frozenset({Stage.CONVERGENCE})
_AT_LEAST = frozenset({"atLeast"})
_OPERANDS = Traits(_AFTER, operands=True)


def _workload(loss: str, advisory: AdvisoryName | None = None) -> Traits:
    return Traits(_AFTER, operands=True, acceptable=f"the loss of one node may {loss}", advisory=advisory)


TRAITS: Final[dict[CheckName, Traits]] = {
    CheckName.CLUSTER_OPERATORS_STABLE: Traits(_BOTH),
    CheckName.NO_UPGRADE_IN_PROGRESS: Traits(_BEFORE),
    CheckName.CONTROL_PLANE_NODES: Traits(_BOTH, _AT_LEAST, optional=frozenset({"minCpus", "minMemoryGib"})),
    CheckName.CONTROL_PLANE_MACHINES: Traits(_BEFORE),
    CheckName.DEDICATED_WORKERS: Traits(_BEFORE),
    CheckName.ELIGIBLE_WORKERS: Traits(_BOTH, _AT_LEAST),
    CheckName.MASTERS_SCHEDULABLE: Traits(_BEFORE, frozenset({"wanted"})),
    CheckName.ETCD_VOTING_MEMBERS: Traits(_BOTH, _AT_LEAST),
    CheckName.ETCD_HEALTHY: Traits(_BOTH),
    CheckName.ETCD_OPERATOR_ALIVE: Traits(_BOTH),
    CheckName.ETCD_SCALING_SAFE: Traits(_BEFORE),
    CheckName.ETCD_MEMBERS_DIRECT: Traits(_BEFORE, _AT_LEAST),
    CheckName.LOAD_BALANCER_BACKENDS: Traits(_BEFORE, advisory=AdvisoryName.LOAD_BALANCER_BACKENDS_UNCONFIRMED),
    CheckName.ROUTER_SURVIVES_DRAINS: Traits(_BEFORE),
    CheckName.UPGRADES_BLOCKED: Traits(frozenset()),
    CheckName.MACHINE_CONFIG_POOLS_READY: Traits(_BEFORE),
    CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED: Traits(_AFTER),
    CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT: _OPERANDS,
    CheckName.KUBE_API_SERVER_REVISION: _OPERANDS,
    CheckName.KUBE_CONTROLLER_MANAGER_REVISION: _OPERANDS,
    CheckName.KUBE_SCHEDULER_REVISION: _OPERANDS,
    CheckName.ETCD_REVISION: _OPERANDS,
    CheckName.API_SERVER_REPLICAS: Traits(
        _AFTER,
        operands=True,
        acceptable="the loss of a node may take projects, routes, builds and logins along, until it is back: "
        "openshift-apiserver or oauth-apiserver does not run on every control-plane node",
    ),
    # Every ingress operator writes spec.replicas when it makes the default controller (cluster-ingress-operator
    # pkg/operator/operator.go, release-4.20 to 4.22), so a cluster that began as a single node has this advisory.
    CheckName.ROUTER_REPLICAS: _workload(
        "take every route along, *.apps and the console among them, until the router has started elsewhere",
        AdvisoryName.ROUTER_REPLICAS_PINNED,
    ),
    CheckName.CONSOLE_REPLICAS: _workload("take the console along until it has started elsewhere"),
    CheckName.OAUTH_REPLICAS: _workload("keep people from logging in until oauth-openshift has started elsewhere"),
    CheckName.MONITORING_REPLICAS: _workload(
        "take metrics and alerts along, also those about that very loss, and what was stored with them"
    ),
    CheckName.IMAGE_REGISTRY_REPLICAS: _workload("keep images of the internal registry from being pulled and pushed"),
    CheckName.PACKAGE_SERVER_REPLICAS: _workload("keep operators from being found and installed"),
    CheckName.MULTUS_ADMISSION_REPLICAS: _workload(
        "keep pods and networks with additional interfaces from being created"
    ),
    CheckName.GUARD_POD_DISRUPTION_BUDGETS: Traits(
        _AFTER,
        operands=True,
        acceptable="nothing keeps two control-plane nodes from being drained at once, which ends the quorum of etcd",
    ),
}
_OTHER = _workload("take along what it is about, until that has started elsewhere")
TRAITS.update({check: _OTHER for check in CheckName if check not in TRAITS})
ASKED: Final = tuple(check for check, traits in TRAITS.items() if traits.stages)
OPERAND_CHECKS: Final = tuple(check for check, traits in TRAITS.items() if traits.operands)
"""The checks that cannot be answered without their group of the matrix."""
ACCEPTABLE_CHECKS: Final = tuple(check for check, traits in TRAITS.items() if traits.acceptable)
