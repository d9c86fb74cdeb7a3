"""For Red Hat Advanced Cluster Management: a policy that asks, and a ClusterGroupUpgrade that says when.

The policy informs. TALM makes it enforce, a batch at a time; a policy that enforces by itself would ask all clusters at
once. TALM takes everything between braces out of object-templates-raw and reads what is left as YAML, so no key stands
in two branches (openshift-kni/cluster-group-upgrades-operator, StripObjectTemplatesRaw).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_controller import shell

from .. import manifests
from . import meaning, objects
from .objects import HUB, File

if TYPE_CHECKING:
    from . import plan as plans

_OWNER = "owner of the roll-out"
_SOON = 30
"""Minutes for taking requests back: one write for each cluster."""


def pack(plan: plans.Plan) -> tuple[File, ...]:
    """All objects, in the order in which they are applied; the way back stands last."""
    return (
        *objects.shared(plan),
        File(HUB, "3-request.yaml", "the policy, which informs, and its clusters", _OWNER, request(plan)),
        File(HUB, "4-roll-out.yaml", "when: a ClusterGroupUpgrade, not enabled", _OWNER, group_upgrade(plan)),
        File(HUB, "5-cancel.yaml", "cancels what is left, not enabled", _OWNER, withdraw(plan)),
    )


def request(plan: plans.Plan) -> str:
    """The policy, and where it applies: to the same clusters as the ClusterGroupUpgrade."""
    wanted = plan.wanted
    states = meaning.template(plan.pair, wanted.transition)
    target = {"CONTROL_PLANE": plan.pair.control_plane, "INFRASTRUCTURE": plan.pair.infrastructure}
    raw = manifests.filled("fleet/templates/request.gotmpl", STATES=states, TARGET=wanted.target, **target)
    return f"""\
# The request. A cluster is asked only where it is ready, and nothing but its own record makes it compliant.
{_policy(wanted.namespace, wanted.name, raw, wanted.soak)}\
---
{objects.placement(plan, canaries_first=False)}\
---
{binding(wanted.namespace, wanted.name, (wanted.name, f"{wanted.name}-withdraw"))}"""


def _policy(namespace: str, name: str, raw: str, soak: int) -> str:
    # A message has no `lookup`; where the policy watches, it has the whole object (open-cluster-management.io/
    # config-policy-controller v0.18.0 controllers/configurationpolicy_controller.go, doCustomMessage).
    indented, seconds = objects.block(raw, 12), f"{soak * 60}"
    file = "fleet/templates/policy.tmpl"
    return manifests.filled(file, NAME=name, NAMESPACE=namespace, SOAK_SECONDS=seconds, RAW=indented)


def binding(namespace: str, name: str, policies: tuple[str, ...]) -> str:
    """Which policies the clusters of the Placement of this name get."""
    subjects = "".join(
        f"  - {{apiGroup: policy.open-cluster-management.io, kind: Policy, name: {policy}}}\n" for policy in policies
    )
    return f"""\
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {{name: {name}, namespace: {namespace}}}
placementRef: {{apiGroup: cluster.open-cluster-management.io, kind: Placement, name: {name}}}
subjects:
{subjects}"""


def group_upgrade(plan: plans.Plan) -> str:
    """When which cluster is asked."""
    wanted = plan.wanted
    return f"""\
# When. Begin with:
#     {_enabled(wanted.namespace, wanted.name)}
# {plan.arithmetic()}
{_upgrade(plan, wanted.name, plan.timeout, wanted.max_concurrency)}"""


def _enabled(namespace: str, name: str, value: str = "true") -> str:
    body = f'{{"spec":{{"enable":{value}}}}}'
    return shell.command("oc -n {} patch clustergroupupgrade {} --type merge -p {}", namespace, name, body)


def _upgrade(plan: plans.Plan, name: str, timeout: int, at_once: int) -> str:
    wanted = plan.wanted
    canaries = f"    canaries: {objects.flow(list(wanted.canaries))}\n" if name == wanted.name else ""
    return f"""\
apiVersion: ran.openshift.io/v1alpha1
kind: ClusterGroupUpgrade
metadata: {{name: {name}, namespace: {wanted.namespace}}}
spec:
  enable: false
  clusterLabelSelectors: [{objects.flow(objects.selector(plan))}]
  managedPolicies: [{name}]
  remediationStrategy:
{canaries}    maxConcurrency: {at_once}
    timeout: {timeout}
  batchTimeoutAction: Abort # the default would go on to the next batch
"""


def withdraw(plan: plans.Plan) -> str:
    """The last step of a roll-out that was stopped: cancels what was not fulfilled yet."""
    wanted = plan.wanted
    name = f"{wanted.name}-withdraw"
    raw = manifests.filled("fleet/templates/withdraw.gotmpl", TARGET=wanted.target, SOURCE=plan.source)
    return f"""\
# CANCEL what is left. A roll-out that was stopped leaves requests behind, and each is fulfilled as soon as its
# cluster can.
# So it ends with this step, which sets those of clusters whose topology has not changed to {plan.source}:
#     {_enabled(wanted.namespace, wanted.name, "false")}
#     {_enabled(wanted.namespace, name)}
# It has done its work when `oc topology fleet` counts none under way.
{_policy(wanted.namespace, name, raw, 0)}\
---
{_upgrade(plan, name, _SOON, wanted.clusters)}"""
