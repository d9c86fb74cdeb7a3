"""One reader per kind: a raw object in, a fact out.

Only the fields that a check or a decision uses are read; everything else is dropped here, so that a node of 16 KB
becomes a few words, and what changes with every pod that comes and goes (times, messages) makes no other fact. A field
of the wrong type raises `fields.Malformed`; the caller turns it into `Unobserved`.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from topology_api import quantities, served, types, vocabulary

from . import facts, fields, load_balancer, record

if TYPE_CHECKING:
    from datetime import datetime

Raw = dict[str, Any]

_ROLE = "node-role.kubernetes.io/"
# One object for each word, however many nodes say it.
_PRESSURES = {word: word for word in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")}
_STATUSES = {word: word for word in ("True", "False", "Unknown")}
_TROUBLES = frozenset({"Degraded", "RenderDegraded"})
_TOPOLOGIES = frozenset({"f:controlPlaneTopology", "f:infrastructureTopology"})
_FAILING = "TemplateControllerFailing"
_NATIVE_CONDITION = "TopologyTransitionController"
_GATE = "MutableTopology"
_OBSERVED_TOPOLOGY = "machineconfiguration.openshift.io/controlPlaneTopology"
_CHECKS = frozenset(vocabulary.CheckName)
_LONGEST_WORD = 64
"""Of a node: longer than any version, address or value that means something. What is longer is cut or refused."""
_LONGEST_LABEL = 400
"""A key (prefix 253, name 63) and its value (63), as the API server lets them be."""
_LONGEST_ATTEMPT = 64
_MOST_UNKNOWN_CHECKS = 16
"""Entries of the ConfigMap of accepted checks that name no check are reported, but only so many of them are kept."""


def conditions(raw: Raw) -> facts.Conditions:
    """status.conditions of any object; an absent list is empty."""
    kept = []
    for item in fields.items(raw, "status.conditions"):
        type_, status, reason, message = fields.texts(item, "type", "status", "reason", "message")
        kept.append(facts.Condition(type_ or "", status or "Unknown", reason or "", message or ""))
    return facts.Conditions(tuple(kept))


def _observed(raw: Raw) -> bool:
    """Is the status about this generation?"""
    return fields.optional_whole(raw, "status.observedGeneration") == fields.whole(raw, "metadata.generation")


def infrastructure(raw: Raw) -> facts.Infrastructure:
    """Infrastructure `cluster` (config.openshift.io/v1)."""
    labels = fields.mapping(raw, "metadata.labels")
    raw_record = fields.at(raw, "status.topologyTransition")
    return facts.Infrastructure(
        uid=fields.text(raw, "metadata.uid") or "",
        resource_version=fields.text(raw, "metadata.resourceVersion") or "",
        generation=fields.whole(raw, "metadata.generation"),
        desired=fields.text(raw, "spec.desiredTopology"),
        native_desired=fields.text(raw, "spec.controlPlaneTopology"),
        control_plane=fields.text(raw, "status.controlPlaneTopology"),
        infrastructure=fields.text(raw, "status.infrastructureTopology"),
        platform=fields.text(raw, "status.platformStatus.type") or fields.text(raw, "status.platform"),
        image_based_install=labels.get(vocabulary.IMAGE_BASED_INSTALL_LABEL, "false") != "false",
        record=record.record(raw_record),
        raw_record=raw_record if isinstance(raw_record, dict) else None,
        topology_writer=_topology_writer(raw),
        cluster_name=fields.text(raw, "status.infrastructureName"),
        load_balancer=load_balancer.load_balancer(raw),
    )


def _topology_writer(raw: Raw) -> str | None:
    """The field manager that wrote the topology last; of those within one second, by whole seconds, not this operator.

    It is asked when the topology differs from what this operator wrote: then another client was the later one.
    """
    writer, latest = None, ("", False)
    for entry in fields.items(raw, "metadata.managedFields"):
        status = fields.mapping(entry, "fieldsV1").get("f:status")
        manager = fields.text(entry, "manager")
        rank = fields.text(entry, "time") or "", manager != vocabulary.OPERATOR_NAME
        if isinstance(status, dict) and not _TOPOLOGIES.isdisjoint(status) and rank >= latest:
            writer, latest = manager, rank
    return writer


def own_operator(raw: Raw) -> facts.OwnOperator:
    """ClusterOperator `topology` (config.openshift.io/v1)."""
    annotations = fields.mapping(raw, "metadata.annotations")
    return facts.OwnOperator(
        resource_version=fields.text(raw, "metadata.resourceVersion") or "",
        paused=annotations.get(vocabulary.PAUSED_ANNOTATION, "false") != "false",
        status=fields.mapping(raw, "status"),
        copy=record.copy(fields.at(raw, "status.extension")),
        backup_time=_time_or_none(annotations.get(vocabulary.ETCD_BACKUP_ANNOTATION)),
        backends=load_balancer.backends(annotations.get(vocabulary.LOAD_BALANCER_BACKENDS_ANNOTATION)),
        router_drain_accepted=annotations.get(vocabulary.ROUTER_DRAIN_ANNOTATION, "false") != "false",
        elsewhere=annotations.get(vocabulary.ELSEWHERE_ANNOTATION, "false") != "false",
    )


def _time_or_none(value: object) -> datetime | None:
    """A time that proves nothing: what is none makes no trouble either."""
    try:
        return fields.time(value)
    except fields.Malformed:
        return None


def cluster_operator(raw: Raw) -> facts.ClusterOperator:
    """ClusterOperator (config.openshift.io/v1): the three conditions that stability is judged by, and two times."""
    # Messages change with every pod that restarts; the verdict does not depend on them. It depends on the reason
    # of one condition alone (`checks.operators`).
    kept = tuple(
        [
            facts.Condition(
                item.type, item.status, item.reason if (item.type, item.status) == ("Progressing", "True") else ""
            )
            for item in conditions(raw).items
            if item.type in {"Available", "Progressing", "Degraded"}
        ]
    )
    # A type stands there once: the API keeps conditions as a map.
    entries = {item.get("type"): item for item in fields.items(raw, "status.conditions")}
    backup = entries.get("RecentBackup", {})
    return facts.ClusterOperator(
        name=fields.text(raw, "metadata.name") or "",
        conditions=facts.Conditions(kept),
        settled_time=fields.time(entries.get("Progressing", {}).get("lastTransitionTime"), "lastTransitionTime"),
        backup_time=_time_or_none(backup.get("lastTransitionTime")) if backup.get("status") == "True" else None,
    )


def cluster_version(raw: Raw) -> facts.ClusterVersion:
    """ClusterVersion `version` (config.openshift.io/v1)."""
    return facts.ClusterVersion(
        version=fields.text(raw, "status.desired.version"),
        conditions=facts.Conditions(
            tuple(item for item in conditions(raw) if item.type in {"Progressing", "Upgradeable"})
        ),
        # The version operator puts the newest in front.
        newest=next((fields.text(entry, "version") for entry in fields.items(raw, "status.history")), None),
        known_capabilities=frozenset(fields.items(raw, "status.capabilities.knownCapabilities", str)),
        enabled_capabilities=frozenset(fields.items(raw, "status.capabilities.enabledCapabilities", str)),
    )


def scheduler(raw: Raw) -> facts.Scheduler:
    """Scheduler `cluster` (config.openshift.io/v1)."""
    return facts.Scheduler(masters_schedulable=fields.flag(raw, "spec.mastersSchedulable"))


def feature_gates(raw: Raw) -> facts.FeatureGates:
    """FeatureGate `cluster` (config.openshift.io/v1): one entry for each payload version that is in play."""
    return facts.FeatureGates(
        tuple(
            (
                fields.text(entry, "version") or "",
                any(gate.get("name") == _GATE for gate in fields.items(entry, "enabled")),
            )
            for entry in fields.items(raw, "status.featureGates")
        )
    )


def native_controller(raw: Raw) -> facts.NativeController:
    """configs.operator.openshift.io/cluster: the native controller writes its conditions there."""
    kept = tuple(item for item in conditions(raw) if item.type.startswith(_NATIVE_CONDITION))
    times = [
        _time_or_none(item.get("lastTransitionTime"))
        for item in fields.items(raw, "status.conditions")
        if (item.get("type"), item.get("status")) == (f"{_NATIVE_CONDITION}Progressing", "True")
    ]
    moving_since = times[0] if times else None
    return facts.NativeController(bool(kept), facts.Conditions(kept), moving_since)


def installed(raw: Raw) -> facts.Installed:
    """CustomResourceDefinition infrastructures.config.openshift.io: does it have our fields?"""
    answer = served.serves_our_fields(raw)
    return facts.Installed(None if answer.ok else answer.reason, native=served.serves_native_field(raw))


def acceptances(raw: Raw) -> facts.Acceptances:
    """ConfigMap topology-accepted-checks (v1). An entry that cannot be used spoils no other."""
    data = fields.mapping(raw, "data")
    known = [key for key in sorted(data) if key in _CHECKS]
    unknown = [key for key in sorted(data) if key not in _CHECKS][:_MOST_UNKNOWN_CHECKS]
    return facts.Acceptances(tuple(_acceptance(key, data[key]) for key in (*known, *unknown)))


def _acceptance(check: str, value: object) -> facts.Acceptance:
    try:
        entry = json.loads(value) if isinstance(value, str) else None
        attempt, reason = fields.text(entry, "attempt"), fields.text(entry, "reason")
    except (ValueError, RecursionError):
        attempt, reason = None, None
    if attempt is None:
        return facts.Acceptance(check, wrong='its value is not {"attempt": ..., "reason": ...} as JSON')
    # JSON can hold characters that no text can be encoded with.
    words = " ".join((reason or "").encode(errors="replace").decode().split())
    return facts.Acceptance(check, attempt[:_LONGEST_ATTEMPT], types.fit(words, vocabulary.ACCEPTED_REASON_LIMIT))


# -- nodes: there may be thousands, each with a heartbeat


def node(raw: Raw) -> facts.Node:
    """Node (v1) of the control plane."""
    labels = fields.mapping(raw, "metadata.labels")
    capacity = fields.mapping(raw, "status.capacity")
    memory = quantities.parse(capacity.get("memory"))
    ready, pressure = _states(raw)
    is_worker = f"{_ROLE}worker" in labels
    taints = _taints(raw)
    master, master_has_value = _master(labels)
    return facts.Node(
        name=fields.name(raw),
        master=master,
        worker=is_worker,
        ready=ready,
        cordoned=fields.flag(raw, "spec.unschedulable"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        kubelet_version=(fields.text(raw, "status.nodeInfo.kubeletVersion") or "")[:_LONGEST_WORD] or None,
        cpus=quantities.parse(capacity.get("cpu")),
        memory_bytes=None if memory is None else int(memory),
        addresses=fields.internal_addresses(raw),
        taints=taints,
        observed_topology=_annotation(raw, _OBSERVED_TOPOLOGY),
        pressure=pressure,
        labels=_labels(labels) if is_worker and taints else (),
        master_has_value=master_has_value,
    )


def worker(raw: Raw) -> facts.Node:
    """Node (v1) that carries workloads only: whether it could carry more, and nothing else, which costs time."""
    ready, pressure = _states(raw)
    taints = _taints(raw)
    return facts.Node(
        name=fields.name(raw),
        master=False,
        worker=True,
        ready=ready,
        cordoned=fields.flag(raw, "spec.unschedulable"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        taints=taints,
        pressure=pressure,
        labels=_labels(fields.mapping(raw, "metadata.labels")) if taints else (),
    )


def _states(raw: Raw) -> tuple[str, tuple[str, ...]]:
    """Status of condition Ready, and the conditions of lack that are True.

    Heartbeats and reasons are not kept, nor a lack that is False or Unknown: no answer depends on them.
    """
    ready, pressure = "absent", []
    for item in fields.items(raw, "status.conditions"):
        type_ = item.get("type")
        if type_ == "Ready" and ready == "absent":
            ready = _STATUSES.get(fields.text(item, "status") or "", "Unknown")
        elif isinstance(type_, str) and type_ in _PRESSURES and item.get("status") == "True":
            pressure.append(_PRESSURES[type_])
    return ready, tuple(sorted(pressure))


def _master(labels: Raw) -> tuple[bool, bool]:
    """Is a node labelled master as operators select it, with an empty value? Is it labelled so with another value?"""
    label = f"{_ROLE}master"
    return label in labels and not labels[label], bool(labels.get(label))


def _labels(labels: Raw) -> tuple[str, ...]:
    pairs = (f"{key}={value}" for key, value in labels.items())
    return tuple(sorted(_shared(pair) for pair in pairs if len(pair) <= _LONGEST_LABEL))


@functools.lru_cache(maxsize=1024)
def _shared(text: str) -> str:
    """One object for equal texts: thousands of nodes have the same labels. Bounded, unlike `sys.intern`."""
    return text


_taint = functools.lru_cache(maxsize=64)(facts.Taint)
"""Thousands of nodes may have the same one."""


def _taints(raw: Raw) -> tuple[facts.Taint, ...]:
    taints = (
        _taint(*((fields.text(item, part) or "")[:_LONGEST_LABEL] for part in ("key", "value", "effect")))
        for item in fields.items(raw, "spec.taints")
        if fields.text(item, "effect") in {"NoSchedule", "NoExecute"}
    )
    return tuple(sorted(taints, key=str))


def _annotation(raw: Raw, name: str) -> str | None:
    value = fields.mapping(raw, "metadata.annotations").get(name)
    if value is not None and not isinstance(value, str):
        raise fields.Malformed(f"metadata.annotations[{name}]", "a string", value)
    return value[:_LONGEST_WORD] if value else None


def other_node(raw: Raw) -> facts.OtherNode:
    """Node (v1) without the label control-plane, from its metadata alone."""
    labels = fields.mapping(raw, "metadata.labels")
    master, master_has_value = _master(labels)
    return facts.OtherNode(
        name=fields.text(raw, "metadata.name") or "",
        master=master,
        arbiter=f"{_ROLE}arbiter" in labels,
        master_has_value=master_has_value,
    )


# -- etcd

_ETCD = "etcds.operator.openshift.io/cluster"


def etcd_endpoints(raw: Raw) -> facts.EtcdEndpoints:
    """ConfigMap openshift-etcd/etcd-endpoints (v1)."""
    data = fields.mapping(raw, "data")
    # A key may hold dots (a node name), so the values are not read by path.
    return facts.EtcdEndpoints(
        tuple(sorted((key, value if isinstance(value, str) else "") for key, value in data.items()))
    )


def etcd(raw: Raw) -> facts.Etcd:
    """Etcd `cluster` (operator.openshift.io/v1): the conditions about members, and the revisions of their pods."""
    revisions: facts.Fact[facts.StaticPods]
    try:
        revisions = static_pods(raw)
    except fields.Malformed as error:
        # The conditions are worth as much as before.
        revisions = facts.Unobserved(_ETCD, f"malformed: {error}", facts.Kind.MALFORMED)
    kept = (
        facts.Condition(item.type, item.status, item.reason)
        for item in conditions(raw)
        if item.type.startswith("EtcdMembers")
    )
    return facts.Etcd(facts.Conditions(tuple(kept)), revisions, _unsafe_scaling(raw), _desired_replicas(raw))


_GO_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""What Go's strconv.ParseBool accepts."""


def _unsafe_scaling(raw: Raw) -> facts.Fact[bool]:
    """A boolean, or a string that Go reads as one; any other type counts as unset.

    Source: cluster-etcd-operator pkg/operator/ceohelpers/unsupported_override.go, isUnsupportedUnsafeEtcd (main).
    """
    try:
        value = fields.mapping(raw, "spec.unsupportedConfigOverrides").get(facts.UNSAFE_SCALING)
    except fields.Malformed as error:
        return facts.Unobserved(_ETCD, f"malformed: {error}", facts.Kind.MALFORMED)
    if isinstance(value, str) and value not in _GO_BOOLEANS:
        why = f"spec.unsupportedConfigOverrides.{facts.UNSAFE_SCALING} is neither true nor false: remove it"
        return facts.Unobserved(_ETCD, why, facts.Kind.MALFORMED)
    return _GO_BOOLEANS[value] if isinstance(value, str) else value is True


def _desired_replicas(raw: Raw) -> int | None:
    """Source: cluster-etcd-operator pkg/operator/ceohelpers/common.go, ReadDesiredControlPlaneReplicasCount (main)."""
    for config in ("unsupportedConfigOverrides", "observedConfig"):
        try:
            count = fields.optional_whole(raw, f"spec.{config}.controlPlane.replicas")
        except fields.Malformed:
            # An advisory alone is made of it: the conditions are worth as much as before.
            return None
        if count is not None:
            return count
    return None


def lease(raw: Raw) -> facts.Lease:
    """Lease (coordination.k8s.io/v1)."""
    seconds = fields.optional_whole(raw, "spec.leaseDurationSeconds")
    if seconds is not None and not 0 < seconds < 2**31:
        raise fields.Malformed("spec.leaseDurationSeconds", "a positive number of 31 bits", seconds)
    return facts.Lease(
        holder=fields.text(raw, "spec.holderIdentity") or "",
        renew_time=fields.time(fields.at(raw, "spec.renewTime"), "spec.renewTime"),
        duration_seconds=seconds,
    )


def leader_lease(raw: Raw) -> facts.LeaderLease:
    """Lease (coordination.k8s.io/v1) of any program."""
    held = lease(raw)
    namespace = fields.text(raw, "metadata.namespace") or ""
    return facts.LeaderLease(namespace, fields.name(raw), held.holder, held.duration_seconds, held.renew_time)


# -- what other operators run


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
        troubles=tuple(sorted(_TROUBLES.intersection(item.type for item in conditions(raw) if item.status == "True"))),
    )


def controller_config(raw: Raw) -> facts.ControllerConfig:
    """ControllerConfig machine-config-controller (machineconfiguration.openshift.io/v1)."""
    failing = conditions(raw).status(_FAILING)
    entry: Raw = next((item for item in fields.items(raw, "status.conditions") if item.get("type") == _FAILING), {})
    return facts.ControllerConfig(
        control_plane=fields.text(raw, "spec.infra.status.controlPlaneTopology"),
        failing=failing,
        failing_since=fields.time(entry.get("lastTransitionTime"), "lastTransitionTime") if failing == "True" else None,
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
        nodes=tuple(sorted(nodes, key=lambda revision: revision.node)),
        observed_time=_observed_time(raw),
        observed_single=_observed_single(raw),
    )


def _observed_time(raw: Raw) -> datetime | None:
    """When a manager of spec.observedConfig last wrote it; one that made the object with it has changed nothing."""
    times = []
    for entry in fields.items(raw, "metadata.managedFields"):
        spec, time = fields.mapping(entry, "fieldsV1").get("f:spec"), _time_or_none(entry.get("time"))
        if isinstance(spec, dict) and "f:observedConfig" in spec and time is not None:
            times.append(time)
    created = _time_or_none(fields.at(raw, "metadata.creationTimestamp"))
    return max((time for time in times if time != created), default=None)


def _observed_single(raw: Raw) -> bool | None:
    """Has the kube-apiserver's operator observed a single node last? On no other platform or topology the chance is 0.

    Source: cluster-kube-apiserver-operator pkg/operator/configobservation/apiserver/observe_goaway_chance.go
    (release-4.20 to 4.22).
    """
    observed = fields.mapping(raw, "spec").get("observedConfig")
    arguments = observed.get("apiServerArguments") if isinstance(observed, dict) else None
    match arguments.get("goaway-chance") if isinstance(arguments, dict) else None:
        case [str(chance)]:
            return chance == "0"
        case _:
            return None


def managed(raw: Raw) -> facts.Managed:
    """Configuration of an operator with `spec.managementState` (operator.openshift.io/v1 and those made like it)."""
    return facts.Managed(
        state=fields.text(raw, "spec.managementState") or "Managed",
        replicas=fields.optional_whole(raw, "spec.replicas"),
    )


def disruption_budget(raw: Raw) -> facts.DisruptionBudget:
    """PodDisruptionBudget (policy/v1). A share in per cent is no number of pods."""
    value = fields.at(raw, "spec.minAvailable")
    number = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not number and not isinstance(value, str):
        raise fields.Malformed("spec.minAvailable", "a number or a percentage", value)
    return facts.DisruptionBudget(min_available=value if number else None)


def _node_labels(raw: Raw) -> frozenset[str]:
    """Read a label selector as the labels of a pod's nodeSelector: equality, and In with one value.

    Source: apimachinery pkg/apis/meta/v1/helpers.go LabelSelectorAsMap (master), which the ingress operator uses.
    """
    path = "spec.nodePlacement.nodeSelector"
    labels = {f"{key}={value}" for key, value in fields.mapping(raw, f"{path}.matchLabels").items()}
    for item in fields.items(raw, f"{path}.matchExpressions"):
        key, operator = fields.text(item, "key") or "", fields.text(item, "operator") or ""
        values = fields.items(item, "values", str)
        usable = operator == "In" and len(values) == 1
        labels.add(f"{key}={values[0]}" if usable else f"{key} {operator} ({', '.join(values)})")
    return frozenset(labels)


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
            if item.get("tolerationSeconds") is None
        ),
        node_labels=_node_labels(raw),
    )


def single_node_setting(raw: Raw, field: str, values: tuple[bool | str, ...]) -> facts.SingleNodeSetting:
    """Any object, by whether this field has one of these values: a number is no boolean."""
    value = fields.at(raw, field)
    return facts.SingleNodeSetting(
        name=fields.name(raw),
        namespace=fields.text(raw, "metadata.namespace"),
        present=any(type(value) is type(wanted) and value == wanted for wanted in values),
    )


def present(raw: Raw) -> facts.Present:
    """Any object of which only the existence matters."""
    fields.mapping(raw, "metadata")
    return facts.Present()
