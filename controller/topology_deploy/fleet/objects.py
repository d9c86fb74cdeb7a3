"""What several engines are given alike: rights, placement, the survey, and what each reads of Infrastructure."""

from __future__ import annotations

import json
import textwrap

import yaml

from topology_api import vocabulary
from topology_api.vocabulary import Phase, Stage
from topology_controller import bindata

from . import meaning
from . import plan as plans
from .files import CLUSTERS, HUB, File
from .meaning import State

SURVEY = "topology-survey"
"""Name of the ManifestWork that says where a cluster is, in the namespace of each cluster on the hub."""
STATE_CONDITION = "Ready"
"""Condition of the survey: its message begins with the name of the state (`meaning.State`)."""
AGENT_MANAGER = "work-agent-topology"
"""Field manager of the work agent; its name must begin with work-agent."""


def block(text: str, indent: int) -> str:
    """Indent the lines of a block of YAML, but the first, which stands where it is put."""
    return textwrap.indent(text.rstrip("\n"), " " * indent).lstrip(" ")


def flow(value: object) -> str:
    """Return a value as one line of YAML."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).removesuffix("...\n").strip()


def shared(plan: plans.Plan) -> tuple[File, ...]:
    """What every roll-out on a hub has: rights on the clusters, its place, and the survey."""
    wanted = plan.wanted
    return (
        File(CLUSTERS, "rbac.yaml", "rights of the engines' agents", "administrator of the cluster, or `fleet install`",
             rights()),
        File(HUB, "1-namespace.yaml", "namespace and ManagedClusterSetBinding", "administrator of the hub",
             place(wanted.namespace, wanted.cluster_set)),
        File(HUB, "2-survey.yaml", "the survey for `oc topology fleet`", "owner of the roll-out", survey(plan)),
    )  # fmt: skip


RESOURCE = "{group: config.openshift.io, resource: infrastructures, name: cluster}"


def rights() -> str:
    """What the engines' agents need on each cluster, and no more: no verb `delete`, and for the work agent no `update`.

    Without `update` the work agent's default strategy, which writes the whole object, is refused. The policy controller
    has no other way to write (open-cluster-management.io/config-policy-controller v0.18.0
    controllers/configurationpolicy_controller.go, checkAndUpdateResource); there the marker is what bounds it: our
    admission policy refuses every other field to a client that has it without the right to all.
    """
    return (bindata.root() / "fleet" / "rbac.yaml").read_text(encoding="utf-8")


def place(namespace: str, cluster_set: str) -> str:
    """The namespace of a pack on the hub, and the clusters that its Placements may choose.

    Without a binding a Placement chooses none. It has the name of its set, or the hub rejects it, and who creates it
    needs verb `create` on managedclustersets/bind (open-cluster-management.io/ocm v1.2.0
    pkg/registration/webhook/v1beta2). Every hub has set `global`, with all clusters.
    """
    return f"""\
# Where the objects are on the hub, and the set of clusters that they can reach. Creating the binding takes verb create
# on managedclustersets/bind.
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {{name: {cluster_set}, namespace: {namespace}}}
spec: {{clusterSet: {cluster_set}}}
"""


def selector(plan: plans.Plan) -> object:
    """The clusters of a roll-out."""
    wanted = plan.wanted
    if wanted.wave is None:
        return {"matchExpressions": [{"key": wanted.wave_label, "operator": "Exists"}]}
    values = [plans.CANARY_WAVE, wanted.wave]
    return {"matchExpressions": [{"key": wanted.wave_label, "operator": "In", "values": values}]}


_TOLERATIONS = """\
  # A cluster that cannot be reached stays in. Otherwise its work would be deleted, and a canary that dies would leave
  # an empty first group: the fleet would start.
  tolerations:
    - {key: cluster.open-cluster-management.io/unreachable, operator: Exists}
    - {key: cluster.open-cluster-management.io/unavailable, operator: Exists}
"""


def placed(namespace: str, name: str, labels: object) -> str:
    """A Placement of the clusters with these labels."""
    return f"""\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  predicates:
    - requiredClusterSelector:
        labelSelector: {flow(labels)}
{_TOLERATIONS}"""


def placement(plan: plans.Plan, *, canaries_first: bool) -> str:
    """The clusters of a roll-out, as a Placement; with the canaries as a group of their own where an engine asks it."""
    wanted = plan.wanted
    text = placed(wanted.namespace, wanted.name, selector(plan))
    if canaries_first:
        text += f"""\
  decisionStrategy:
    groupStrategy:
      decisionGroups:
        - groupName: canary
          groupClusterSelector:
            labelSelector: {{matchLabels: {{{wanted.wave_label}: "{plans.CANARY_WAVE}"}}}}
"""
    return text


def survey(plan: plans.Plan) -> str:
    """Where each cluster is, read and never written: what `oc topology fleet` shows."""
    wanted = plan.wanted
    operator = vocabulary.CLUSTER_OPERATOR
    tests = meaning.work(plan.pair, wanted.transition)
    return f"""\
# Where each cluster is. It writes nothing to any cluster (ReadOnly), and nothing is deleted with it (Orphan). Its
# clusters do not depend on the label of the roll-out: they are all of the set that is bound.
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: {SURVEY}, namespace: {wanted.namespace}}}
spec:
{_TOLERATIONS}\
---
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {{name: {SURVEY}, namespace: {wanted.namespace}}}
spec:
  placementRefs:
    - {{name: {SURVEY}, rolloutStrategy: {{type: All}}}}
  manifestWorkTemplate:
    deleteOption: {{propagationPolicy: Orphan}}
    workload:
      manifests:
        - {{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {{name: cluster}}}}
        - apiVersion: config.openshift.io/v1
          kind: ClusterOperator
          metadata: {{name: {operator}}}
    manifestConfigs:
      - resourceIdentifier: {RESOURCE}
        updateStrategy: {{type: ReadOnly}}
        feedbackScrapeType: Watch # Poll would be 250 requests an hour
        feedbackRules:
          - type: JSONPaths
            jsonPaths:
              - {{name: controlPlane, path: .controlPlaneTopology}}
              - {{name: infrastructure, path: .infrastructureTopology}}
              - {{name: phase, path: .{vocabulary.RECORD}.phase}}
              - {{name: since, path: .{vocabulary.RECORD}.phaseTransitionTime}}
              - {{name: problem, path: .{vocabulary.RECORD}.problem.reason}}
              - {{name: problemSince, path: .{vocabulary.RECORD}.problem.since}}
              - {{name: deadline, path: .{vocabulary.RECORD}.deadlineTime}}
        conditionRules:
          - type: CEL
            condition: {STATE_CONDITION}
            celExpressions:
              - |-
                {block(meaning.holds(tests, {State.READY}), 16)}
            messageExpression: |-
              {block(meaning.choice(tests, _message(plan)), 14)}
      - resourceIdentifier: {{group: config.openshift.io, resource: clusteroperators, name: {operator}}}
        updateStrategy: {{type: ReadOnly}}
        feedbackScrapeType: Poll # to watch, the agent lists every ClusterOperator, and may get only this one
        feedbackRules:
          - type: JSONPaths
            jsonPaths:
              - {{name: disabled, path: '.conditions[?(@.type=="Disabled")].reason'}}
"""


def _message(plan: plans.Plan) -> dict[State, str]:
    """What the survey says of a cluster in each state, as CEL: the state, and what it waits for."""
    names = [definition.name for definition in plan.definitions]
    blockers = (
        f"{meaning.RECORD}.?available.orValue([])"
        f'.filter(entry, entry.?name.orValue("") in {json.dumps(names)})'
        '.map(entry, entry.?name.orValue("") + ": " + entry.?blockers.orValue([])'
        '.map(blocker, blocker.?name.orValue("")).join(", ")).join("; ")'
    )
    texts = {state: f'"{state}"' for state in State}
    texts[State.NOT_READY] = f'"{State.NOT_READY}: " + {blockers}'
    # What it waits for: the checks of its stage that are not met. Preflight checks do not matter once it converges.
    waiting = (
        f"[{meaning.RECORD}.?checks.orValue([])"
        f'.filter(entry, entry.?status.orValue("") != "Met" && (entry.?stage.orValue("") == "{Stage.CONVERGENCE}" '
        f'|| {meaning.PHASE} != "{Phase.CONVERGING}")).map(entry, entry.?name.orValue(""))'
        '.join(", ")].filter(names, names != "").map(names, ": " + names).join("")'
    )
    texts[State.UNDER_WAY] = f'"{State.UNDER_WAY}: " + {meaning.PHASE} + {waiting}'
    reason = f"{meaning.RECORD}.?problem.?reason.orValue({meaning.PHASE})"
    texts[State.NEEDS_A_PERSON] = f'"{State.NEEDS_A_PERSON}: " + {reason} + {waiting}'
    return texts
