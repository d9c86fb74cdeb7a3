"""What other operators run and configure, as facts, and how each is read; `definitions.operands` says which.

Only what a check or a decision uses is kept. A field of the wrong type raises `fields.Malformed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import fields, nodes

if TYPE_CHECKING:
    from datetime import datetime

Raw = dict[str, Any]

_TROUBLES = frozenset({"Degraded", "RenderDegraded"})
_FAILING = "TemplateControllerFailing"


@dataclass(frozen=True, slots=True)
class MachineConfigPool:
    """A machine config pool. `observed`: its status is about its newest generation; `troubles` are conditions."""

    name: str
    wanted_configuration: str
    configuration: str
    machines: int
    updated: int
    ready: int
    degraded: int
    observed: bool
    paused: bool = False
    troubles: tuple[str, ...] = ()


def machine_config_pool(raw: Raw) -> MachineConfigPool:
    """MachineConfigPool (machineconfiguration.openshift.io/v1)."""
    true = {item.type for item in fields.conditions(raw) if item.status == "True"}
    return MachineConfigPool(
        name=fields.text(raw, "metadata.name") or "",
        wanted_configuration=fields.text(raw, "spec.configuration.name") or "",
        configuration=fields.text(raw, "status.configuration.name") or "",
        machines=fields.whole(raw, "status.machineCount"),
        updated=fields.whole(raw, "status.updatedMachineCount"),
        ready=fields.whole(raw, "status.readyMachineCount"),
        degraded=fields.whole(raw, "status.degradedMachineCount"),
        observed=fields.observed(raw),
        paused=fields.flag(raw, "spec.paused"),
        troubles=tuple(sorted(_TROUBLES & true)),
    )


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """ControllerConfig machine-config-controller: the topology that machine configs are made for."""

    control_plane: str | None
    failing: str
    """Status of condition TemplateControllerFailing, or "absent"."""
    failing_since: datetime | None = None  # only while that is True


def controller_config(raw: Raw) -> ControllerConfig:
    """ControllerConfig machine-config-controller (machineconfiguration.openshift.io/v1)."""
    failing = fields.Conditions(fields.conditions(raw)).status(_FAILING)
    since = fields.condition(raw, _FAILING).get("lastTransitionTime") if failing == "True" else None
    control_plane = fields.text(raw, "spec.infra.status.controlPlaneTopology")
    return ControllerConfig(control_plane, failing, fields.time(since, "lastTransitionTime"))


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment or StatefulSet. `observed`: its status is about its newest generation."""

    generation: int
    observed: bool
    wanted: int
    updated: int
    ready: int
    available: int


def workload(raw: Raw) -> Workload:
    """Deployment or StatefulSet (apps/v1)."""
    generation, observed = fields.whole(raw, "metadata.generation"), fields.observed(raw)
    wanted = fields.whole(raw, "spec.replicas", 1)  # as the API server defaults it
    counts = [fields.whole(raw, f"status.{which}Replicas") for which in ("updated", "ready", "available")]
    return Workload(generation, observed, wanted, *counts)


@dataclass(frozen=True, slots=True)
class NodeRevision:
    """Static pods of one node."""

    node: str
    current: int
    target: int
    last_failed: int


@dataclass(frozen=True, slots=True)
class StaticPods:
    """Revisions of the static pods that an operator installs on every control-plane node, sorted by node."""

    latest: int
    nodes: tuple[NodeRevision, ...]
    observed_time: datetime | None = None  # when spec.observedConfig was last written; None: with the object, not known
    observed_single: bool | None = None  # does that belong to a single node (kube-apiserver)? None: not known


def static_pods(raw: Raw) -> StaticPods:
    """KubeAPIServer, KubeControllerManager, KubeScheduler or Etcd `cluster` (operator.openshift.io/v1)."""
    revisions = (
        NodeRevision(
            node=fields.text(entry, "nodeName") or "",
            current=fields.whole(entry, "currentRevision"),
            target=fields.whole(entry, "targetRevision"),
            last_failed=fields.whole(entry, "lastFailedRevision"),
        )
        for entry in fields.items(raw, "status.nodeStatuses")
    )
    latest = fields.whole(raw, "status.latestAvailableRevision")
    by_node = tuple(sorted(revisions, key=lambda revision: revision.node))
    return StaticPods(latest, by_node, _observed_time(raw), _observed_single(raw))


def _observed_time(raw: Raw) -> datetime | None:
    """When a manager of spec.observedConfig last wrote it; one that made the object with it has changed nothing."""
    created = fields.time_or_none(fields.at(raw, "metadata.creationTimestamp"))
    times = []
    for entry in fields.items(raw, "metadata.managedFields"):
        spec, time = fields.mapping(entry, "fieldsV1").get("f:spec"), fields.time_or_none(entry.get("time"))
        if isinstance(spec, dict) and "f:observedConfig" in spec and time not in {None, created}:
            times.append(time)
    return max(filter(None, times), default=None)


def _observed_single(raw: Raw) -> bool | None:
    """Has the kube-apiserver's operator observed a single node last? On nothing else the chance is 0."""
    # cluster-kube-apiserver-operator pkg/operator/configobservation/apiserver/observe_goaway_chance.go (release-4.20).
    match fields.mapping(raw, "spec").get("observedConfig"):
        case {"apiServerArguments": {"goaway-chance": [str(chance)]}}:
            return chance == "0"
        case _:
            return None


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget. `min_available` is None when it is not given as a number."""

    min_available: int | None


def disruption_budget(raw: Raw) -> DisruptionBudget:
    """PodDisruptionBudget (policy/v1). A share in per cent is no number of pods."""
    value = fields.at(raw, "spec.minAvailable")
    if isinstance(value, bool) or not isinstance(value, int | str | None):
        raise fields.Malformed("spec.minAvailable", "a number or a percentage", value)
    return DisruptionBudget(min_available=value if isinstance(value, int) else None)


@dataclass(frozen=True, slots=True)
class Managed:
    """Configuration of an operator: does it manage its operand at all, and an explicit number of replicas."""

    state: str
    replicas: int | None


def managed(raw: Raw) -> Managed:
    """Configuration of an operator with `spec.managementState` (operator.openshift.io/v1 and those made like it)."""
    state = fields.text(raw, "spec.managementState") or "Managed"
    return Managed(state, fields.optional_whole(raw, "spec.replicas"))


@dataclass(frozen=True, slots=True)
class IngressController:
    """IngressController openshift-ingress-operator/default, with the placement of its routers.

    `node_labels` (key=value) are required of a node; one that the ingress operator cannot use is in words no label has.
    """

    wanted_replicas: int | None  # None: the ingress operator decides
    available_replicas: int
    tolerations: tuple[nodes.Toleration, ...] = ()
    node_labels: frozenset[str] = frozenset()


def ingress_controller(raw: Raw) -> IngressController:
    """IngressController openshift-ingress-operator/default (operator.openshift.io/v1)."""
    return IngressController(
        wanted_replicas=fields.optional_whole(raw, "spec.replicas"),
        available_replicas=fields.whole(raw, "status.availableReplicas"),
        tolerations=tuple(
            nodes.Toleration(
                key=fields.text(item, "key") or "",
                operator=fields.text(item, "operator") or "Equal",
                value=fields.text(item, "value") or "",
                effect=fields.text(item, "effect") or "",
            )
            for item in fields.items(raw, "spec.nodePlacement.tolerations")
            if item.get("tolerationSeconds") is None
        ),
        node_labels=_node_labels(raw),
    )


def _node_labels(raw: Raw) -> frozenset[str]:
    """Read a label selector as the labels of a pod's nodeSelector: equality, and In with one value."""
    # Source: apimachinery pkg/apis/meta/v1/helpers.go LabelSelectorAsMap (master), which the ingress operator uses.
    path = "spec.nodePlacement.nodeSelector"
    labels = {f"{key}={value}" for key, value in fields.mapping(raw, f"{path}.matchLabels").items()}
    for item in fields.items(raw, f"{path}.matchExpressions"):
        key, operator = fields.text(item, "key") or "", fields.text(item, "operator") or ""
        values = fields.items(item, "values", str)
        usable = operator == "In" and len(values) == 1
        labels.add(f"{key}={values[0]}" if usable else f"{key} {operator} ({', '.join(values)})")
    return frozenset(labels)


@dataclass(frozen=True, slots=True)
class SingleNodeSetting:
    """One object that may have a setting that is right for one node only; `present`: it has."""

    name: str
    namespace: str | None
    present: bool


def single_node_setting(raw: Raw, field: str, values: tuple[bool | int | str, ...]) -> SingleNodeSetting:
    """Any object, by whether this field has one of these values: a number is no boolean."""
    value = fields.at(raw, field)
    present = any(type(value) is type(wanted) and value == wanted for wanted in values)
    return SingleNodeSetting(fields.name(raw), fields.text(raw, "metadata.namespace"), present)
