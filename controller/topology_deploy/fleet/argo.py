"""For Argo CD and Flux, which apply what stands in Git: the health of Infrastructure, and waves of Applications.

Both engines judge by the request that the object carries. What differs from a roll-out of
one target is the message, which a person reads in the engine's own page, and that a pause is no failure there.
"""

from __future__ import annotations

import dataclasses
import json

from topology_api import vocabulary

from .. import manifests
from . import meaning, objects
from . import plan as plans
from .meaning import State
from .objects import CLUSTERS, HUB, File


def health() -> str:
    """The health check of Argo CD, in Lua with the basic library only: is what the object requests fulfilled?"""
    text = manifests.filled("fleet/health.lua")
    return text.replace("-- controller/", "-- Made by `make generate`; controller/", 1)


def flux_checks() -> str:
    """The entries of a Kustomization's healthCheckExprs: what neither expression holds for is in progress.

    A cluster that is not for us has failed where a request stands, and else is current. A pause is no failure.
    """
    requested = f"{meaning.DESIRED}.hasValue()"
    paused = f'{meaning.RECORD}.?problem.?reason.orValue("") == "Paused"'
    failed = meaning.flux({State.NOT_FOR_US: requested, State.NEEDS_A_PERSON: f"!({paused})"})
    current = meaning.flux(
        {State.NOT_FOR_US: f"!{requested}", **dict.fromkeys((State.SILENT, State.READY, State.DONE), "true")}
    )
    return f"""\
    # Made by `make generate`, as ../argocd/health.lua is, which answers the same. What neither fails nor is current is
    # in progress.
    - apiVersion: config.openshift.io/v1
      kind: Infrastructure
      # The record answers this request, and an administrator has to act.
      failed: |-
        {objects.block(failed, 8)}
      # Nothing is requested and nothing goes on, or the record answers this request and it is fulfilled.
      current: |-
        {objects.block(current, 8)}
"""


def pack(plan: plans.Plan, repository: str | None, path: str) -> tuple[File, ...]:
    """The health check for all of Argo CD, the waves of an ApplicationSet where a repository is named, the request."""
    owner, folder = "administrator of Argo CD", f"Argo CD, from folder `{path}` of each cluster"
    parts = [File(HUB, "1-argocd-cm.yaml", "health checks", owner, settings())]
    if repository is not None:
        parts.append(File(HUB, "2-applicationset.yaml", "the waves", owner, waves(plan, repository, path)))
    parts[-1] = dataclasses.replace(parts[-1], text=parts[-1].text + _cancel(plan))
    return (*parts, File(CLUSTERS, "infrastructure.yaml", "the request", folder, _request(plan), alone=True))


def _request(plan: plans.Plan) -> str:
    return f"""\
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
  annotations: {{argocd.argoproj.io/sync-options: "ServerSideApply=true,Prune=false,Delete=false"}}
spec: {{{vocabulary.DESIRED}: {plan.wanted.target}}}
"""


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
    others = {"key": "wave", "operator": "NotIn", "values": [plans.CANARY_WAVE]}
    if wanted.wave is not None:
        others = {"key": "wave", "operator": "In", "values": [wanted.wave]}
    return manifests.filled(
        "fleet/templates/applicationset.tmpl",
        WAVE_LABEL=wanted.wave_label,
        NAME=wanted.name,
        SELECTOR=objects.flow(objects.selector(plan)),
        OTHERS=objects.flow(others),
        MAX_CONCURRENCY=str(wanted.max_concurrency),
        REPOSITORY=json.dumps(repository),
        PATH=json.dumps(path),
    )


def _cancel(plan: plans.Plan) -> str:
    return f"""\
# CANCEL what is left. A roll-out that was stopped leaves requests behind, and each is fulfilled as soon as its
# cluster can.
# Set spec.desiredTopology to {plan.source} in the files of the clusters that wait, and sync them. A cluster whose
# topology has changed refuses, and goes on.
"""
