"""One reader per kind: a raw object in, a fact out. `nodes` and `operands` have those of their subjects.

Only the fields that a check or a decision uses are read, so that what changes with every pod that comes and goes
(times, messages) makes no other fact. A field of the wrong type raises `fields.Malformed`. What cannot be used of an
annotation or of the load balancer spoils nothing of the object that it stands in.
"""

from __future__ import annotations

import contextlib
import json
import re
import urllib.parse
from typing import Any

from topology_api import served, types, vocabulary

from . import facts, fields, operands, record

Raw = dict[str, Any]

_TOPOLOGIES = frozenset({"f:controlPlaneTopology", "f:infrastructureTopology"})
_NATIVE_CONDITION = "TopologyTransitionController"
_GATE = "MutableTopology"
_CHECKS = frozenset(vocabulary.CheckName)
_LONGEST_WORD = 64
_ETCD = "etcds.operator.openshift.io/cluster"
# Where `status.platformStatus` has the load balancer of a platform that may manage one itself: openshift/api
# config/v1/types_infrastructure.go (release-4.20 to main).
_PLATFORMS = {"BareMetal": "baremetal", "Nutanix": "nutanix", "OpenStack": "openstack", "VSphere": "vsphere"}
_HOST = re.compile(r"[-.:0-9A-Za-z]{1,253}\Z")


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
        load_balancer=_load_balancer(raw),
    )


def _topology_writer(raw: Raw) -> str | None:
    """The field manager that wrote the topology last; of those within one second not this operator."""
    writer, latest = None, ("", False)
    for entry in fields.items(raw, "metadata.managedFields"):
        status = fields.mapping(entry, "fieldsV1").get("f:status")
        manager = fields.text(entry, "manager")
        rank = fields.text(entry, "time") or "", manager != vocabulary.OPERATOR_NAME
        if isinstance(status, dict) and not _TOPOLOGIES.isdisjoint(status) and rank >= latest:
            writer, latest = manager, rank
    return writer


def _load_balancer(raw: Raw) -> facts.Fact[facts.LoadBalancer]:
    status = fields.mapping(raw, "status")
    try:
        type_, addresses = _managed(raw)
    except fields.Malformed as error:
        return fields.malformed(record.WHAT, error)
    return facts.LoadBalancer(
        type_, addresses, _host(status.get("apiServerURL")), _host(status.get("apiServerInternalURI"))
    )


def _managed(raw: Raw) -> tuple[str | None, tuple[str, ...]]:
    platform = fields.text(raw, "status.platformStatus.type") or fields.text(raw, "status.platform")
    if platform not in _PLATFORMS:
        return None, ()
    path = f"status.platformStatus.{_PLATFORMS[platform]}"
    type_ = fields.text(raw, f"{path}.loadBalancer.type")
    values = fields.items(raw, f"{path}.apiServerInternalIPs", str)
    if not values and (older := fields.text(raw, f"{path}.apiServerInternalIP")) is not None:
        values = [older]
    addresses = []
    for value in filter(None, values[:8]):
        address = fields.address(value)
        if address is None:
            raise fields.Malformed(f"{path}.apiServerInternalIPs[]", "an IP address", value)
        addresses.append(address)
    return type_[:_LONGEST_WORD] if type_ else None, tuple(addresses)


def _host(url: object) -> str | None:
    """The host of a URL. Only words depend on it, so one that cannot be read is none."""
    host = ""
    if isinstance(url, str) and len(url) <= 1024:
        with contextlib.suppress(ValueError):
            host = urllib.parse.urlsplit(url).hostname or ""
    return fields.address(host) or host if _HOST.match(host) else None


def own_operator(raw: Raw) -> facts.OwnOperator:
    """ClusterOperator `topology` (config.openshift.io/v1)."""
    annotations = fields.mapping(raw, "metadata.annotations")
    return facts.OwnOperator(
        resource_version=fields.text(raw, "metadata.resourceVersion") or "",
        paused=annotations.get(vocabulary.PAUSED_ANNOTATION, "false") != "false",
        status=fields.mapping(raw, "status"),
        copy=record.copy(fields.at(raw, "status.extension")),
        backup_time=fields.time_or_none(annotations.get(vocabulary.ETCD_BACKUP_ANNOTATION)),
        backends=_backends(annotations.get(vocabulary.LOAD_BALANCER_BACKENDS_ANNOTATION)),
        router_drain_accepted=annotations.get(vocabulary.ROUTER_DRAIN_ANNOTATION, "false") != "false",
        elsewhere=annotations.get(vocabulary.ELSEWHERE_ANNOTATION, "false") != "false",
    )


def _backends(value: object) -> facts.Backends | None:
    if not isinstance(value, str):
        return None
    if len(value) > facts.Backends.LONGEST or len(value.encode(errors="replace")) > facts.Backends.LONGEST:
        return facts.Backends(too_long=True)
    addresses: dict[str, bool] = {}
    wrong = []
    for position, entry in enumerate(filter(None, re.split(r"[,\s]+", value)), start=1):
        address = fields.address(entry)
        if address is None:
            wrong.append((position, entry))
        else:
            addresses[address] = address in addresses
    repeated = tuple(address for address, again in addresses.items() if again)
    return facts.Backends(tuple(addresses), tuple(wrong), repeated)


def cluster_operator(raw: Raw) -> facts.ClusterOperator:
    """ClusterOperator (config.openshift.io/v1): the three conditions that stability is judged by, and since when."""
    # Messages change with every pod that restarts; the verdict depends on the reason of one condition alone.
    kept = [
        facts.Condition(type_, status, reason if (type_, status) == ("Progressing", "True") else "")
        for type_, status, reason, _ in fields.conditions(raw)
        if type_ in {"Available", "Progressing", "Degraded"}
    ]
    progressing = fields.condition(raw, "Progressing")
    return facts.ClusterOperator(
        name=fields.text(raw, "metadata.name") or "",
        conditions=facts.Conditions(kept),
        settled_time=fields.time(progressing.get("lastTransitionTime"), "lastTransitionTime"),
    )


def cluster_version(raw: Raw) -> facts.ClusterVersion:
    """ClusterVersion `version` (config.openshift.io/v1)."""
    kept = [item for item in fields.conditions(raw) if item.type in {"Progressing", "Upgradeable"}]
    return facts.ClusterVersion(
        version=fields.text(raw, "status.desired.version"),
        conditions=facts.Conditions(kept),
        # The version operator puts the newest in front.
        newest=next((fields.text(entry, "version") for entry in fields.items(raw, "status.history")), None),
        lacks=frozenset(fields.items(raw, "status.capabilities.knownCapabilities", str)).difference(
            fields.items(raw, "status.capabilities.enabledCapabilities", str)
        ),
    )


def scheduler(raw: Raw) -> bool:
    """Scheduler `cluster` (config.openshift.io/v1): are masters schedulable?"""
    return fields.flag(raw, "spec.mastersSchedulable")


def feature_gates(raw: Raw) -> facts.FeatureGates:
    """FeatureGate `cluster` (config.openshift.io/v1): one entry for each payload version that is in play."""
    return tuple(
        (fields.text(entry, "version") or "", any(gate.get("name") == _GATE for gate in fields.items(entry, "enabled")))
        for entry in fields.items(raw, "status.featureGates")
    )


def native_controller(raw: Raw) -> facts.NativeController:
    """configs.operator.openshift.io/cluster: the native controller writes its conditions there."""
    kept = facts.Conditions(item for item in fields.conditions(raw) if item.type.startswith(_NATIVE_CONDITION))
    moving = fields.condition(raw, f"{_NATIVE_CONDITION}Progressing")
    since = fields.time_or_none(moving.get("lastTransitionTime")) if moving.get("status") == "True" else None
    return facts.NativeController(bool(kept), kept, since)


def installed(raw: Raw) -> facts.Installed:
    """CustomResourceDefinition infrastructures.config.openshift.io: does it have our fields?"""
    return facts.Installed(served.lacking(raw) or None, native=served.serves_native_field(raw))


def acceptances(raw: Raw) -> tuple[facts.Acceptance, ...]:
    """ConfigMap topology-accepted-checks (v1). An entry that cannot be used spoils no other."""
    data = fields.mapping(raw, "data")
    known = [key for key in sorted(data) if key in _CHECKS]
    # Entries that name no check are reported, but only so many of them are kept.
    unknown = [key for key in sorted(data) if key not in _CHECKS][:16]
    return tuple(_acceptance(key, data[key]) for key in (*known, *unknown))


def _acceptance(check: str, value: object) -> facts.Acceptance:
    attempt, reason = None, None
    with contextlib.suppress(ValueError, RecursionError):
        entry = json.loads(value) if isinstance(value, str) else None
        attempt, reason = fields.text(entry, "attempt"), fields.text(entry, "reason")
    if attempt is None:
        return facts.Acceptance(check, wrong='its value is not {"attempt": ..., "reason": ...} as JSON')
    # JSON can hold characters that no text can be encoded with.
    words = " ".join((reason or "").encode(errors="replace").decode().split())
    return facts.Acceptance(check, attempt[:_LONGEST_WORD], types.fit(words, vocabulary.ACCEPTED_REASON_LIMIT))


def etcd_endpoints(raw: Raw) -> facts.EtcdEndpoints:
    """ConfigMap openshift-etcd/etcd-endpoints (v1)."""
    data = fields.mapping(raw, "data")
    # A key may hold dots (a node name), so the values are not read by path.
    return tuple(sorted((key, value if isinstance(value, str) else "") for key, value in data.items()))


def etcd(raw: Raw) -> facts.Etcd:
    """Etcd `cluster` (operator.openshift.io/v1): the conditions about members, and the revisions of their pods."""
    revisions: facts.Fact[facts.StaticPods]
    try:
        revisions = operands.static_pods(raw)
    except fields.Malformed as error:
        # The conditions are worth as much as before.
        revisions = fields.malformed(_ETCD, error)
    members = [item._replace(message="") for item in fields.conditions(raw) if item.type.startswith("EtcdMembers")]
    return facts.Etcd(facts.Conditions(members), revisions, _unsafe_scaling(raw), _desired_replicas(raw))


_GO_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _unsafe_scaling(raw: Raw) -> facts.Fact[bool]:
    """A boolean, or a string that Go reads as one; any other type counts as unset."""
    # Source: cluster-etcd-operator pkg/operator/ceohelpers/unsupported_override.go, isUnsupportedUnsafeEtcd (main).
    try:
        value = fields.mapping(raw, "spec.unsupportedConfigOverrides").get(facts.UNSAFE_SCALING)
    except fields.Malformed as error:
        return fields.malformed(_ETCD, error)
    if isinstance(value, str) and value not in _GO_BOOLEANS:
        why = f"spec.unsupportedConfigOverrides.{facts.UNSAFE_SCALING} is neither true nor false: remove it"
        return facts.Unobserved(_ETCD, why, facts.Kind.MALFORMED)
    return _GO_BOOLEANS[value] if isinstance(value, str) else value is True


def _desired_replicas(raw: Raw) -> int | None:
    """Source: cluster-etcd-operator pkg/operator/ceohelpers/common.go, ReadDesiredControlPlaneReplicasCount (main)."""
    # An advisory alone is made of it: where it is malformed, the conditions are worth as much as before.
    with contextlib.suppress(fields.Malformed):
        for config in ("unsupportedConfigOverrides", "observedConfig"):
            if (count := fields.optional_whole(raw, f"spec.{config}.controlPlane.replicas")) is not None:
                return count
    return None


def lease(raw: Raw) -> facts.Lease:
    """Lease (coordination.k8s.io/v1)."""
    seconds = fields.optional_whole(raw, "spec.leaseDurationSeconds")
    if seconds is not None and not 0 < seconds < 2**31:
        raise fields.Malformed("spec.leaseDurationSeconds", "a positive number of 31 bits", seconds)
    renewed = fields.time(fields.at(raw, "spec.renewTime"), "spec.renewTime")
    holder, namespace = fields.text(raw, "spec.holderIdentity"), fields.text(raw, "metadata.namespace")
    return facts.Lease(holder or "", renewed, seconds, namespace or "", fields.name(raw))


def present(raw: Raw) -> bool:
    """Any object of which only the existence matters."""
    fields.mapping(raw, "metadata")
    return True
