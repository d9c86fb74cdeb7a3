"""What other operators run, as facts: one function per kind, as in `parse`.

Convergence asks these objects whether they have followed. Their conditions, times and messages change with every pod
that comes and goes and are not read: a fact changes when a number does, and nobody is woken by anything else. A field
of the wrong type raises `fields.Malformed`.
"""

from __future__ import annotations

from typing import Any

from . import facts, fields

Raw = dict[str, Any]
_TROUBLES = frozenset({"Degraded", "RenderDegraded"})


def machine_config_pool(raw: Raw) -> facts.MachineConfigPool:
    """MachineConfigPool (machineconfiguration.openshift.io/v1)."""
    return facts.MachineConfigPool(
        name=fields.text(raw, "metadata.name") or "",
        wanted_configuration=fields.text(raw, "spec.configuration.name") or "",
        configuration=fields.text(raw, "status.configuration.name") or "",
        machines=fields.whole(raw, "status.machineCount"),
        updated=fields.whole(raw, "status.updatedMachineCount"),
        ready=fields.whole(raw, "status.readyMachineCount"),
        degraded=fields.whole(raw, "status.degradedMachineCount"),
        observed=_observed(raw),
        paused=fields.flag(raw, "spec.paused"),
        troubles=tuple(
            sorted(type_ for type_, status in _said(raw).items() if status == "True" and type_ in _TROUBLES)
        ),
    )


def ingress_controller(raw: Raw) -> facts.IngressController:
    """IngressController openshift-ingress-operator/default (operator.openshift.io/v1)."""
    return facts.IngressController(
        wanted_replicas=fields.optional_whole(raw, "spec.replicas"),
        available_replicas=fields.whole(raw, "status.availableReplicas"),
        tolerations=tuple(
            facts.Toleration(
                key=fields.text(item, "key") or "",
                operator=fields.text(item, "operator") or "Equal",
                value=fields.text(item, "value") or "",
                effect=fields.text(item, "effect") or "",
            )
            for item in fields.items(raw, "spec.nodePlacement.tolerations")
            if fields.at(item, "tolerationSeconds") is None
        ),
        node_labels=_node_labels(raw, "spec.nodePlacement.nodeSelector"),
    )


def _node_labels(raw: Raw, path: str) -> frozenset[str]:
    """Read a label selector as the labels of a pod's nodeSelector: equality, and In with one value.

    Source: apimachinery pkg/apis/meta/v1/helpers.go LabelSelectorAsMap (master), which the ingress operator uses.
    """
    labels = {f"{key}={value}" for key, value in fields.mapping(raw, f"{path}.matchLabels").items()}
    for item in fields.items(raw, f"{path}.matchExpressions"):
        key, operator = fields.text(item, "key") or "", fields.text(item, "operator") or ""
        values = fields.words(item, "values")
        usable = operator == "In" and len(values) == 1
        labels.add(f"{key}={values[0]}" if usable else f"{key} {operator} ({', '.join(values)})")
    return frozenset(labels)


def controller_config(raw: Raw) -> facts.ControllerConfig:
    """ControllerConfig machine-config-controller (machineconfiguration.openshift.io/v1)."""
    conditions = fields.items(raw, "status.conditions")
    failing = next((item for item in conditions if item.get("type") == "TemplateControllerFailing"), {})
    status = _said(raw).get("TemplateControllerFailing", "absent")
    return facts.ControllerConfig(
        control_plane=fields.text(raw, "spec.infra.status.controlPlaneTopology"),
        failing=status,
        failing_since=fields.moment(failing, "lastTransitionTime") if status == "True" else None,
    )


def workload(raw: Raw) -> facts.Workload:
    """Deployment or StatefulSet (apps/v1)."""
    return facts.Workload(
        generation=fields.whole(raw, "metadata.generation"),
        observed=_observed(raw),
        wanted=fields.whole(raw, "spec.replicas", 1),
        updated=fields.whole(raw, "status.updatedReplicas"),
        ready=fields.whole(raw, "status.readyReplicas"),
        available=fields.whole(raw, "status.availableReplicas"),
    )


def static_pods(raw: Raw) -> facts.StaticPods:
    """KubeAPIServer, KubeControllerManager, KubeScheduler or Etcd `cluster` (operator.openshift.io/v1)."""
    nodes = (
        facts.NodeRevision(
            node=fields.text(entry, "nodeName") or "",
            current=fields.whole(entry, "currentRevision"),
            target=fields.whole(entry, "targetRevision"),
            last_failed=fields.whole(entry, "lastFailedRevision"),
        )
        for entry in fields.items(raw, "status.nodeStatuses")
    )
    return facts.StaticPods(
        latest=fields.whole(raw, "status.latestAvailableRevision"),
        nodes=tuple(sorted(nodes, key=lambda one: one.node)),
    )


def disruption_budget(raw: Raw) -> facts.DisruptionBudget:
    """PodDisruptionBudget (policy/v1). A share in per cent is no number of pods."""
    value = fields.at(raw, "spec.minAvailable")
    number = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not number and not isinstance(value, str):
        raise fields.Malformed("spec.minAvailable", "a number or a percentage", value)
    return facts.DisruptionBudget(min_available=value if number else None)


def managed(raw: Raw) -> facts.Managed:
    """Configuration of an operator with `spec.managementState` (operator.openshift.io/v1 and those made like it)."""
    return facts.Managed(
        state=fields.text(raw, "spec.managementState") or "Managed",
        replicas=fields.optional_whole(raw, "spec.replicas"),
    )


def pod(raw: Raw) -> facts.Pod:
    """Pod (v1), from its metadata alone."""
    created = fields.moment(raw, "metadata.creationTimestamp")
    if created is None:
        raise fields.Malformed("metadata.creationTimestamp", "a time", None)
    return facts.Pod(
        name=fields.text(raw, "metadata.name") or "",
        created=created,
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
    )


def present(raw: Raw) -> facts.Present:
    """Any object of which only the existence matters."""
    fields.mapping(raw, "metadata")
    return facts.Present()


def _said(raw: Raw) -> dict[str, str]:
    """Status of each condition by its type."""
    return {
        fields.text(item, "type") or "": fields.text(item, "status") or "Unknown"
        for item in fields.items(raw, "status.conditions")
    }


def _observed(raw: Raw) -> bool:
    return fields.whole(raw, "status.observedGeneration", -1) == fields.whole(raw, "metadata.generation")
