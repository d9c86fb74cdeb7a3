"""What the engines are given, for one target: Placement, ManifestWorkReplicaSet, and the rights of the work agent.

Nothing of it grows with the number of clusters. Why each part is as it is: server-side apply, because the default
strategy replaces the whole object; Orphan, because the default deletes Infrastructure with the work; a rule guards
every field, because one that fails to evaluate counts as False, which is success; both tolerations, because a canary
that falls out of the placement leaves an empty group, and the fleet starts.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

NAMESPACE, NAME = "topology-fleet", "topology-ha"
WAVE = "topology.openshift.io/wave"
CANARY = "canary"
FIELD_MANAGER = "work-agent-topology"
AGENT_NAMESPACE, AGENT_ACCOUNT = "open-cluster-management-agent", "klusterlet-work-sa"
POLICY_AGENT_NAMESPACE, POLICY_AGENT_ACCOUNT = "open-cluster-management-agent-addon", "config-policy-controller-sa"
_UNREACHABLE = "cluster.open-cluster-management.io/unreachable"
_UNAVAILABLE = "cluster.open-cluster-management.io/unavailable"
_GROUP = "config.openshift.io"
_PHASE = "object.?status.?topologyTransition.?phase.orValue('')"
_PROBLEM = "object.?status.?topologyTransition.?problem.hasValue()"
_ALL = {"type": "All"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A roll-out. Seconds, and how many clusters may be under way at once after the canaries."""

    target: str = "HighlyAvailable"
    soak_seconds: int = 600
    deadline_seconds: int = 4620
    max_concurrency: int = 100


def done(target: str) -> str:
    """Return the CEL expression for a cluster that has the target; a record that is missing is not done."""
    return " && ".join(
        (
            f"object.?spec.?desiredTopology.orValue('') == '{target}'",
            f"object.?status.?controlPlaneTopology.orValue('') == '{target}'",
            f"object.?status.?infrastructureTopology.orValue('') == '{target}'",
            "object.?status.?topologyTransition.?observedGeneration.orValue(0) >= object.metadata.generation",
            f"{_PHASE} in ['Completed', 'Idle']",
            f"!{_PROBLEM}",
        )
    )


def rollout(plan: Plan) -> list[dict[str, Any]]:
    """Return what the hub is given to convert its fleet."""
    strategy = {
        "type": "Progressive",
        "progressive": {
            "mandatoryDecisionGroups": [{"groupName": CANARY}],
            "maxConcurrency": plan.max_concurrency,
            "maxFailures": 0,
            "minSuccessTime": f"{plan.soak_seconds}s",
            "progressDeadline": f"{plan.deadline_seconds}s",
        },
    }
    finished = done(plan.target)
    failed = f"!({finished}) && ({_PROBLEM} || {_PHASE} == 'Unsupported')"
    rules = [_rule("Progressing", f"!({finished})"), _rule("Degraded", failed)]
    return [_placement(), _replica_set({"desiredTopology": plan.target}, rules, strategy)]


def withdrawal() -> dict[str, Any]:
    """Return the ManifestWorkReplicaSet with which a stopped roll-out ends: no request stays open.

    Server-side apply takes the field away that this manager owns, and the operator ends what has not changed yet.
    """
    rules = [
        _rule("Progressing", f"object.?spec.?desiredTopology.hasValue() || !({_PHASE} in ['', 'Idle', 'Completed'])")
    ]
    return _replica_set({}, rules, _ALL)


def _placement() -> dict[str, Any]:
    canaries = {"labelSelector": {"matchLabels": {WAVE: "0"}}}
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "predicates": [
                {
                    "requiredClusterSelector": {
                        "labelSelector": {"matchExpressions": [{"key": WAVE, "operator": "Exists"}]}
                    }
                }
            ],
            "tolerations": [{"key": key, "operator": "Exists"} for key in (_UNREACHABLE, _UNAVAILABLE)],
            "decisionStrategy": {
                "groupStrategy": {"decisionGroups": [{"groupName": CANARY, "groupClusterSelector": canaries}]}
            },
        },
    }


def _replica_set(spec: dict[str, Any], rules: list[dict[str, Any]], strategy: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "placementRefs": [{"name": NAME, "rolloutStrategy": strategy}],
            "manifestWorkTemplate": work_spec(spec, rules),
        },
    }


def work_spec(spec: dict[str, Any], rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the spec of a ManifestWork that gives Infrastructure these fields."""
    infrastructure = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "spec": copy.deepcopy(spec),
    }
    phase = {"name": "phase", "path": ".status.topologyTransition.phase"}
    return {
        "deleteOption": {"propagationPolicy": "Orphan"},
        "workload": {"manifests": [infrastructure]},
        "manifestConfigs": [
            {
                "resourceIdentifier": {"group": _GROUP, "resource": "infrastructures", "name": "cluster"},
                "updateStrategy": {
                    "type": "ServerSideApply",
                    "serverSideApply": {"force": False, "fieldManager": FIELD_MANAGER},
                },
                "feedbackScrapeType": "Watch",
                "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [phase]}],
                "conditionRules": rules,
            }
        ],
    }


def _rule(condition: str, expression: str) -> dict[str, Any]:
    return {"condition": condition, "type": "CEL", "celExpressions": [expression]}


def policy(target: str, action: str) -> dict[str, Any]:
    """Return the spec of a ConfigurationPolicy that is compliant where the target is there, and asks for it there.

    `action` is inform or enforce. A field of status is never written; while it differs, the policy is not compliant.
    """
    wanted = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "spec": {"desiredTopology": target},
        "status": {
            "controlPlaneTopology": target,
            "infrastructureTopology": target,
            "topologyTransition": {"phase": "Completed"},
        },
    }
    return {
        "remediationAction": action,
        "severity": "low",
        "evaluationInterval": {"compliant": "watch", "noncompliant": "watch"},
        "pruneObjectBehavior": "None",
        "object-templates": [{"complianceType": "musthave", "recreateOption": "None", "objectDefinition": wanted}],
    }


def policy_rights() -> list[dict[str, Any]]:
    """Return what config-policy-controller may do to Infrastructure, in place of everything that it has by default.

    It replaces objects, and asks for that in a dry run when it only informs: `update` and no `patch`. That no other
    field changes is seen to by our admission policy, because the marker for all else is missing.
    """
    infrastructures = [
        _grant(_GROUP, "infrastructures", "list", "watch"),
        _grant(_GROUP, "infrastructures", "get", "update", name="cluster"),
        _grant("topology.openshift.io", "infrastructures/desiredtopology", "set", name="cluster"),
    ]
    return _bound("topology-fleet-policy-controller", infrastructures, POLICY_AGENT_NAMESPACE, POLICY_AGENT_ACCOUNT)


def rights(*, marker: bool = True) -> list[dict[str, Any]]:
    """Return what the work agent may do on a cluster besides its own; `marker` is the right to make a request.

    OCM aggregates the role by its label, which takes kube-controller-manager; the binding stands in for that here.
    """
    rules = [
        _grant(_GROUP, "infrastructures", "list", "watch"),
        _grant(_GROUP, "infrastructures", "get", "patch", name="cluster"),
    ]
    if marker:
        rules.append(_grant("topology.openshift.io", "infrastructures/desiredtopology", "set", name="cluster"))
    role, binding = _bound("topology-fleet-work-agent", rules, AGENT_NAMESPACE, AGENT_ACCOUNT)
    role["metadata"]["labels"] = {"open-cluster-management.io/aggregate-to-work": "true"}
    return [role, binding]


def _grant(group: str, resource: str, *verbs: str, name: str = "") -> dict[str, Any]:
    named = {"resourceNames": [name]} if name else {}
    return {"apiGroups": [group], "resources": [resource], **named, "verbs": list(verbs)}


def _bound(name: str, rules: list[dict[str, Any]], namespace: str, account: str) -> list[dict[str, Any]]:
    group = "rbac.authorization.k8s.io"
    role: dict[str, Any] = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}],
    }
    return [role, binding]
