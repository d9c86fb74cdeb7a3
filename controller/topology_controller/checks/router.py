"""The router of a single node, which the drains after the change evict: said before it, and a check for who asks it.

A single node is installed with an explicit `spec.replicas` of 1 and no budget, and is never drained; the nodes of a
larger control plane are, within half a minute of the change (machine-config-operator, release-4.21). An explicit number
is honoured at any topology: cluster-ingress-operator pkg/operator/controller/ingress/replicas.go (4.22). Whether there
are two routers after the change is `operands`' question.
"""

from __future__ import annotations

from topology_api import vocabulary

from .. import shell
from ..observe import facts
from .result import CheckContext, CheckResult, Count

_NAMESPACE, _NAME = "openshift-ingress-operator", "default"
_ROUTERS = 2
_DRAIN = vocabulary.ROUTER_DRAIN_ANNOTATION
ALONE = (
    "The drains that follow the change evict the only router, and ingress is gone for about half a minute each time, "
    "unless there are two before"
)
"""What stands before `two_routers`."""
BRIEFLY = "The drains that follow the change interrupt ingress, unless there are two routers before"
"""The same in a condition, beside all else."""


def survives_drains(context: CheckContext) -> CheckResult:
    """The default router asks for two replicas and has them before the change, or its drain is accepted."""
    router = context.facts.ingress_controller
    if drain_accepted(context.facts):
        return context.met(f"Accepted by annotation {_DRAIN} of ClusterOperator {vocabulary.CLUSTER_OPERATOR}")
    if isinstance(router, facts.Unobserved):
        return context.unknown(router)
    asks, has = router.wanted_replicas, router.available_replicas
    if asks is not None and min(asks, has) >= _ROUTERS:
        return context.met(f"IngressController {_NAME} has {_ROUTERS} replicas or more available")
    wait = "Wait until they are available" if asks is not None and asks >= _ROUTERS else f"Run: {two_routers()}"
    wait += f". To accept one, annotate ClusterOperator {vocabulary.CLUSTER_OPERATOR} with {_DRAIN}=true"
    return context.unmet(
        f"{_ROUTERS} routers of IngressController {_NAME}",
        f"{'none' if asks is None else asks} requested, {has} available",
        wait,
        count=Count(min(asks or 0, has), _ROUTERS, "replicas"),
    )


def drain_accepted(known: facts.Facts) -> bool:
    """Does an administrator accept that the only router is drained? Without our ClusterOperator nothing is accepted."""
    own = known.own_operator
    return isinstance(own, facts.OwnOperator) and own.router_drain_accepted


def two_routers() -> str:
    """The command after which a node can be drained without taking ingress away."""
    body = f'{{"spec":{{"replicas":{_ROUTERS}}}}}'
    return shell.command("oc -n {} patch ingresscontroller {} --type merge -p {}", _NAMESPACE, _NAME, body)


def alone(known: facts.Facts) -> bool:
    """Is there a single router that its configuration fixes, which the drains after the change will evict?"""
    router = known.ingress_controller
    return isinstance(router, facts.IngressController) and router.wanted_replicas == 1
