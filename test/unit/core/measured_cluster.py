"""Convergence as the checks see it: a cluster that has followed, measured against how it was at the change.

`baseline(known)` is made here by hand from the facts, apart from the operator's own code; `ask` answers one check of a
definition against a cluster, `answers` all of them.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings

from topology_api.types import (
    Baseline,
    OperandBaseline,
    OperatorBaseline,
    PoolBaseline,
    TopologyPair,
    TopologyTransition,
)
from topology_api.vocabulary import Phase, Stage
from topology_controller.checks import catalog, result
from topology_controller.observe import facts

from . import worlds

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.vocabulary import CheckName, CheckStatus
    from topology_controller.definitions import model

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For rules with many inputs: that the machine is busy with other things is no finding."""
MASTER = "machineconfigpools.machineconfiguration.openshift.io/master"


def baseline(known: facts.Facts) -> Baseline:
    """How a cluster was, of everything that the matrix names."""
    assert isinstance(known.cluster_operators, tuple)
    assert isinstance(known.machine_config_pools, tuple)
    assert isinstance(known.controller_config, facts.ControllerConfig)
    operands = [operand for group in worlds.MATRIX.groups for operand in group.operands]
    return Baseline(
        version="4.20.1",
        control_plane_observed=known.controller_config.control_plane,
        machine_config_pools=tuple(
            PoolBaseline(name=pool.name, configuration=pool.configuration)
            for pool in known.machine_config_pools
            if isinstance(pool, facts.MachineConfigPool)
        ),
        operands=tuple(operand_baseline(operand.key, known.operand(operand.key)) for operand in operands),
        cluster_operators=tuple(
            OperatorBaseline(name=one.name, settled_time=one.settled_time)
            for one in known.cluster_operators
            if isinstance(one, facts.ClusterOperator)
        ),
    )


def operand_baseline(key: str, found: facts.Fact[facts.Operand]) -> OperandBaseline:
    """How one operand was."""
    if isinstance(found, facts.StaticPods):
        return OperandBaseline(name=key, revision=found.latest)
    if isinstance(found, facts.Workload):
        return OperandBaseline(name=key, generation=found.generation, replicas=found.wanted, ready=found.ready)
    return OperandBaseline(name=key, missing=isinstance(found, facts.Unobserved) and found.missing)


@dataclasses.dataclass(frozen=True)
class MeasuredCluster:
    """A cluster after the change, and what it is measured by."""

    asked: model.Definition
    known: facts.Facts
    convergence: result.ConvergenceContext

    def but(self, **changes: Any) -> MeasuredCluster:
        """The same cluster with other facts."""
        return dataclasses.replace(self, known=dataclasses.replace(self.known, **changes))

    def having(self, key: str, found: facts.Fact[facts.Operand]) -> MeasuredCluster:
        """The same cluster with another operand."""
        if key == ROUTER:
            assert isinstance(found, facts.IngressController | facts.Unobserved)
            return self.but(ingress_controller=found)
        if key == ETCD:
            assert isinstance(found, facts.StaticPods | facts.Unobserved)
            return self.but(etcd=dataclasses.replace(worlds.etcd(), static_pods=found))
        return self.but(operands={**self.known.operands, key: found})

    def measured_by(self, **changes: Any) -> MeasuredCluster:
        """The same cluster, where something else was recorded at the change."""
        assert self.convergence.baseline is not None
        changed = self.convergence.baseline.model_copy(update=changes)
        return dataclasses.replace(self, convergence=dataclasses.replace(self.convergence, baseline=changed))

    def unmeasured(self) -> MeasuredCluster:
        """The same cluster with a record that has no baseline, as one that was rebuilt."""
        return dataclasses.replace(self, convergence=result.ConvergenceContext(None, self.convergence.matrix))

    def without_reaction(self) -> MeasuredCluster:
        """The same cluster, where no operator has been busy since the change."""
        return self.but(cluster_operators=worlds.cluster_operators())

    def converging(self, admitted: datetime = worlds.NOW - timedelta(minutes=1)) -> facts.Facts:
        """The facts with the record that its change wrote."""
        asked, before = self.asked, worlds.ready_for(self.asked).infrastructure
        assert isinstance(before, facts.Infrastructure)
        record = TopologyTransition(
            phase=Phase.CONVERGING,
            name=asked.name,
            source=TopologyPair(control_plane=before.control_plane or "", infrastructure=before.infrastructure or ""),
            target=asked.target.pair,
            attempt="mine",
            requested_time=admitted,
            phase_transition_time=admitted,
            admitted_time=admitted,
            baseline=self.convergence.baseline,
            deadline_time=worlds.DEADLINE,
        )
        pair = asked.target.pair
        return worlds.recorded(self.known, record, control_plane=pair.control_plane, infrastructure=pair.infrastructure)

    def answers(self) -> dict[CheckName, result.CheckResult]:
        """Every convergence check of the definition."""
        found = catalog.ask(Stage.CONVERGENCE, self.asked, self.known, worlds.NOW, self.convergence)
        return {answer.name: answer for answer in found}

    def ask(self, check: CheckName) -> tuple[CheckStatus, str]:
        """One of them."""
        answer = self.answers()[check]
        return answer.status, answer.message

    def unmet(self) -> set[CheckName]:
        """The checks that are not Met."""
        return {name for name, answer in self.answers().items() if not answer.met}


ETCD = "etcds.operator.openshift.io/cluster"
ROUTER = "ingresscontrollers.operator.openshift.io/openshift-ingress-operator/default"
CONSOLE = "deployments.apps/openshift-console/console"
REGISTRY = "deployments.apps/openshift-image-registry/image-registry"
REGISTRY_CONFIGURATION = "configs.imageregistry.operator.openshift.io/cluster"
KUBE_API_SERVER = "kubeapiservers.operator.openshift.io/cluster"


def followed(asked: model.Definition = worlds.COMPACT) -> MeasuredCluster:
    """A cluster in which everybody has followed."""
    before = worlds.ready_for(asked)
    return MeasuredCluster(
        asked, worlds.converged(before, asked.target.pair), result.ConvergenceContext(baseline(before), worlds.MATRIX)
    )
