"""For Open Cluster Management: a ManifestWorkReplicaSet that asks one cluster after the other.

Facts of the engine that the text depends on (open-cluster-management.io/ocm v1.2.0): a cluster has failed where its
work is Progressing and Degraded; the clusters of a group come in the order of their names; without a Placement's
decision a work is deleted; beside a mandatory group maxFailures has no effect, since progress in a group ends with the
first cluster that has failed or is out of time (sdk-go v1.2.0 pkg/apis/cluster/v1alpha1/rollout.go,
progressivePerGroup).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_controller import shell

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
    return f"""\
# Label the clusters that go first, then the others; nothing is asked of a cluster without the label:
#     {label}
# Clusters of a group are taken in the order of their names. This needs the feature gate ManifestWorkReplicaSet.
{objects.placement(plan, canaries_first=True)}\
---
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {{name: {wanted.name}, namespace: {wanted.namespace}}}
spec:
  placementRefs:
    - name: {wanted.name}
      rolloutStrategy:
        type: Progressive
        progressive:
          mandatoryDecisionGroups: [{{groupName: canary}}]
          maxConcurrency: {wanted.max_concurrency}
          maxFailures: 0 # beside a first group one cluster that fails stops the roll-out, whatever stands here
          minSuccessTime: {wanted.soak}m
          progressDeadline: {plan.minutes}m
  manifestWorkTemplate:
    deleteOption: {{propagationPolicy: Orphan}} # the default would delete Infrastructure
    workload:
      manifests:
        - apiVersion: config.openshift.io/v1
          kind: Infrastructure
          metadata: {{name: cluster}}
          spec: {{{vocabulary.DESIRED}: {wanted.target}}}
    manifestConfigs:
      - resourceIdentifier: {objects.RESOURCE}
        # The default would write the whole object, and take away what is not in it.
        updateStrategy: {{type: ServerSideApply, serverSideApply: {{fieldManager: {objects.AGENT_MANAGER}}}}}
        feedbackScrapeType: Watch
        conditionRules:
          - type: CEL
            condition: Progressing
            celExpressions:
              - |-
                {objects.block(meaning.holds(tests, _going_on()), 16)}
          - type: CEL
            condition: Degraded
            celExpressions:
              - |-
                {objects.block(meaning.holds(tests, {State.NEEDS_A_PERSON}), 16)}
"""


def _going_on() -> frozenset[State]:
    """A cluster that is not for us has nothing to wait for, and has not failed."""
    return frozenset(State) - {State.DONE, State.NOT_FOR_US}


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
