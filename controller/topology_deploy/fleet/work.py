"""For Open Cluster Management: a ManifestWorkReplicaSet that asks one cluster after the other.

Facts of the engine that the text depends on (open-cluster-management.io/ocm v1.2.0): a cluster has failed where its
work is Progressing and Degraded; the clusters of a group come in the order of their names; without a Placement's
decision a work is deleted; beside a mandatory group maxFailures has no effect, since progress in a group ends with the
first cluster that has failed or is out of time (sdk-go v1.2.0 pkg/apis/cluster/v1alpha1/rollout.go,
progressivePerGroup).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_controller import shell

from .. import manifests
from . import meaning, objects
from .meaning import State
from .objects import HUB, File

if TYPE_CHECKING:
    from . import plan as plans


def pack(plan: plans.Plan) -> tuple[File, ...]:
    """All objects, in the order in which they are applied; the last one ends with the command that cancels."""
    what = "ManifestWorkReplicaSet, and the command that cancels"
    text = roll_out(plan) + withdraw(plan)
    return (*objects.shared(plan), File(HUB, "3-roll-out.yaml", what, "owner of the roll-out", text))


def roll_out(plan: plans.Plan) -> str:
    """Placement and ManifestWorkReplicaSet."""
    wanted = plan.wanted
    tests = meaning.work(plan.pair, wanted.transition)
    clusters = (shell.command("{}", name) for name in wanted.canaries or ("CLUSTER",))
    label = " ".join((shell.command("oc label managedcluster"), *clusters, shell.command("{}=0", wanted.wave_label)))
    # A cluster that is not for us has nothing to wait for, and has not failed.
    going_on = frozenset(State) - {State.DONE, State.NOT_FOR_US}
    return manifests.filled(
        "fleet/templates/work.tmpl",
        LABEL=label,
        PLACEMENT=objects.placement(plan, canaries_first=True).rstrip("\n"),
        NAME=wanted.name,
        NAMESPACE=wanted.namespace,
        MAX_CONCURRENCY=str(wanted.max_concurrency),
        SOAK=str(wanted.soak),
        MINUTES=str(plan.minutes),
        TARGET=wanted.target,
        GOING_ON=objects.block(meaning.holds(tests, going_on), 16),
        NEEDS_A_PERSON=objects.block(meaning.holds(tests, {State.NEEDS_A_PERSON}), 16),
    )


def withdraw(plan: plans.Plan) -> str:
    """The last step of a roll-out that was stopped, as a comment: applied with the rest it would undo it."""
    wanted = plan.wanted
    template = "/spec/manifestWorkTemplate/workload/manifests/0/spec"
    patch = shell.command("oc -n {} patch manifestworkreplicaset {} --type json -p", wanted.namespace, wanted.name)
    return f"""\
# CANCEL what is left. A roll-out that was stopped leaves requests behind, and each is fulfilled as soon as its
# cluster can.
# This cancels those whose topology has not changed; a cluster whose topology has changed refuses, and goes on:
#     {patch} '[
#       {{"op":"replace","path":"{template}","value":{{}}}},
#       {{"op":"replace","path":"/spec/placementRefs/0/rolloutStrategy","value":{{"type":"All"}}}}]'
"""
