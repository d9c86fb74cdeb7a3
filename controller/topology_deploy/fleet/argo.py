"""For Argo CD and Flux, which apply what stands in Git: the health of Infrastructure, and waves of Applications.

Both engines judge by the request that the object carries (`meaning.of_any_request`). What differs from a roll-out of
one target is the message, which a person reads in the engine's own page, and that a pause is no failure there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from . import languages, meaning, objects
from . import plan as plans
from .meaning import State

if TYPE_CHECKING:
    from .meaning import Rule

_HEALTH = """
local function part(value, name)
  if type(value) == "table" and value[name] ~= nil then return tostring(value[name]) end
  return nil
end

local found = state()
local status, message = "Progressing", nil
local asked = tostring(desiredTopology) .. " is requested"

if found == "NotForUs" then
  if desiredTopology == nil then
    status, message = "Healthy", "The topology of this cluster is decided elsewhere"
  else
    status, message = "Degraded", asked .. ", and no operator acts on it: "
      .. (part(topologyTransition, "message") or "the control plane is hosted, or an image decides")
  end
elseif found == "Silent" or found == "Ready" then
  status, message = "Healthy", "No topology is requested"
elseif found == "Done" then
  status, message = "Healthy", "The cluster has the requested topology " .. desiredTopology
elseif topologyTransition == nil then
  message = asked .. "; the cluster topology operator has not answered yet"
elseif (observedGeneration or 0) < (generation or 0) then
  message = "The cluster topology operator has not answered the newest request yet"
elseif problem ~= nil then
  message = (part(problem, "reason") or "Problem") .. ": " .. (part(problem, "message") or "")
else
  message = tostring(phase or "Unknown phase") .. ": " .. (part(topologyTransition, "message") or "")
end

if found == "NeedsAPerson" then
  if part(problem, "reason") == "Paused" then status = "Suspended" else status = "Degraded" end
end

return {status = status, message = message}
"""


def health() -> str:
    """The health check of Argo CD, in Lua with the basic library only."""
    return (
        "-- Health of Infrastructure `cluster` in Argo CD: has the cluster the topology that Git requests?\n"
        "-- Made by `make generate`; controller/topology_deploy/fleet/meaning.py says what it means.\n\n"
        f"{languages.lua_state(meaning.of_any_request())}{_HEALTH}"
    )


def flux() -> dict[str, str]:
    """The two expressions of Flux' healthCheckExprs: what is neither is in progress."""
    rules = meaning.of_any_request()
    return {
        "failed": _flux(rules, {State.NEEDS_A_PERSON: f"!({languages.cel(meaning.PAUSED, '')})"}, requested="true"),
        "current": _flux(
            rules, dict.fromkeys((State.SILENT, State.READY, State.NOT_READY, State.DONE), "true"), requested="false"
        ),
    }


def flux_checks() -> str:
    """The entries of a Kustomization's healthCheckExprs."""
    expressions = flux()
    return f"""\
    # Made by `make generate`, as ../argocd/health.lua is, which answers the same. What neither fails nor is current is
    # in progress.
    - apiVersion: config.openshift.io/v1
      kind: Infrastructure
      # The record answers this request, and an administrator has to act.
      failed: |-
        {objects.block(expressions["failed"], 8)}
      # Nothing is requested and nothing goes on, or the record answers this request and it is fulfilled.
      current: |-
        {objects.block(expressions["current"], 8)}
"""


def _flux(rules: tuple[Rule, ...], values: dict[State, str], *, requested: str) -> str:
    """Return an expression; a cluster that is not for us has failed where a request stands, and else is current."""
    asked = languages.cel(meaning.REQUESTED, "")
    values = {**values, State.NOT_FOR_US: asked if requested == "true" else f"!{asked}"}
    return languages.cel_choice(rules, {state: values.get(state, "false") for state in State}, "")


def pack(plan: plans.Plan, repository: str | None, path: str) -> str:
    """The health check for all of Argo CD, and the waves of an ApplicationSet where a repository is named."""
    return "---\n".join((settings(), *([] if repository is None else [waves(plan, repository, path)]))) + _cancel(plan)


def settings() -> str:
    """ConfigMap argocd-cm; server-side apply leaves its other keys alone."""
    return f"""\
# On the cluster of Argo CD, by `kubectl apply --server-side`: how healthy Infrastructure is. OpenShift GitOps takes it
# in its ArgoCD object instead, see docs/examples/gitops/openshift-gitops.
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  namespace: argocd
  labels: {{app.kubernetes.io/name: argocd-cm, app.kubernetes.io/part-of: argocd}}
data:
  resource.customizations.health.config.openshift.io_Infrastructure: |
    {objects.block(health(), 4)}
  # A Policy that informs is NonCompliant for as long as the roll-out takes; that is no failure of its Application.
  resource.customizations.health.policy.open-cluster-management.io_Policy: |
    return {{status = "Healthy", message = "Compliance is shown by the hub"}}
"""


def waves(plan: plans.Plan, repository: str, path: str) -> str:
    """One Application for each cluster, the canaries first."""
    wanted = plan.wanted
    later = [wanted.wave] if wanted.wave is not None else None
    others = (
        {"key": "wave", "operator": "In", "values": later}
        if later
        else {"key": "wave", "operator": "NotIn", "values": [plans.CANARY_WAVE]}
    )
    return f"""\
# Label the secrets of the clusters in Argo CD: {wanted.wave_label}={plans.CANARY_WAVE} for those that go first. A step
# begins when all Applications of the one before are Healthy, so give the request an Application of its own.
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: {wanted.name}, namespace: argocd}}
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  generators:
    - clusters:
        selector: {objects.flow(objects.selector(plan))}
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions: [{{key: wave, operator: In, values: ["{plans.CANARY_WAVE}"]}}]
          maxUpdate: 1
        - matchExpressions: [{objects.flow(others)}]
          maxUpdate: {wanted.max_concurrency}
  template:
    metadata:
      name: '{wanted.name}-{{{{.name}}}}'
      labels: {{wave: '{{{{index .metadata.labels "{wanted.wave_label}"}}}}'}}
    spec:
      project: default
      source: {{repoURL: {json.dumps(repository)}, targetRevision: HEAD, path: {json.dumps(path)}}}
      destination: {{server: '{{{{.server}}}}'}}
      syncPolicy:
        syncOptions: [ServerSideApply=true, Prune=false, Delete=false]
"""


def _cancel(plan: plans.Plan) -> str:
    return f"""\
# CANCEL what is left. A roll-out that was stopped leaves requests behind, and each is fulfilled as soon as its
# cluster can.
# Set spec.desiredTopology to {plan.source} in the files of the clusters that wait, and sync them. A cluster whose
# topology has changed refuses, and goes on.
"""
