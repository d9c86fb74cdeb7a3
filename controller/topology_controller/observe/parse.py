"""One function per kind: a raw object in, a fact out. What other operators run is in `parse_operands`.

Only the fields that somebody asks about are read; everything else is dropped here, so that a node of 16 KB becomes a
few words. A field of the wrong type raises `fields.Malformed`; whoever called turns it into `Unobserved`.
"""

from __future__ import annotations

import functools
import ipaddress
import json
import math
import re
import sys
from typing import TYPE_CHECKING, Any

import pydantic

from topology_api import served, types, vocabulary
from topology_api.types import RecordCopy, TopologyTransition

from . import facts, fields, parse_operands

if TYPE_CHECKING:
    from datetime import datetime

Raw = dict[str, Any]

_ROLE = "node-role.kubernetes.io/"
_PRESSURE = frozenset({"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"})
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e([+-]?[0-9]+)|([KMGTPE]i|[numkMGTPE])?)\Z", re.IGNORECASE)
_SUFFIX = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
_NATIVE_CONDITION = "TopologyTransitionController"
_GATE = "MutableTopology"
_CHECKS = frozenset(vocabulary.CheckName)
_NONSENSE = 16
_LONGEST_ATTEMPT = 64
_STAGES = frozenset(vocabulary.Stage)
_STATUSES = frozenset(vocabulary.CheckStatus)
_WORD = re.compile(r"[A-Z][A-Za-z]{0,63}")
"""What our enumerations' words look like; anything else in their place is no word of a newer version."""
_LONGEST_NAME = 64
_OBSERVED_TOPOLOGY = "machineconfiguration.openshift.io/controlPlaneTopology"


def quantity(value: object) -> float | None:
    """A Kubernetes quantity as a number, None when it is none: "32Gi", "7500m", 8."""
    try:
        number = _number(value)
    except OverflowError:
        return None
    return number if number is not None and math.isfinite(number) else None


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = _QUANTITY.match(value) if isinstance(value, str) else None
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    if exponent is not None:
        return float(f"{number}e{exponent}")
    if not suffix:
        return float(number)
    return float(number) * _SUFFIX[suffix] if suffix in _SUFFIX else None


@functools.lru_cache(maxsize=256)
def address(value: str) -> str | None:
    """An IP address in its shortest form, None when it is none; brackets around IPv6 are accepted."""
    try:
        return str(ipaddress.ip_address(value.strip().removeprefix("[").removesuffix("]")))
    except ValueError:
        return None


def conditions(raw: object, path: str = "status.conditions") -> facts.Conditions:
    """The conditions of an object; an absent list is empty."""
    return facts.Conditions(
        tuple(
            facts.Condition(
                type=fields.text(item, "type") or "",
                status=fields.text(item, "status") or "Unknown",
                reason=fields.text(item, "reason") or "",
                message=fields.text(item, "message") or "",
            )
            for item in fields.items(raw, path)
        )
    )


def infrastructure(raw: Raw) -> facts.Infrastructure:
    """Infrastructure `cluster` (config.openshift.io/v1)."""
    labels = fields.mapping(raw, "metadata.labels")
    found = fields.at(raw, "status.topologyTransition")
    return facts.Infrastructure(
        uid=fields.text(raw, "metadata.uid") or "",
        resource_version=fields.text(raw, "metadata.resourceVersion") or "",
        generation=fields.whole(raw, "metadata.generation"),
        desired=fields.text(raw, "spec.desiredTopology"),
        native_wish=fields.text(raw, "spec.controlPlaneTopology"),
        control_plane=fields.text(raw, "status.controlPlaneTopology"),
        infrastructure=fields.text(raw, "status.infrastructureTopology"),
        platform=fields.text(raw, "status.platformStatus.type") or fields.text(raw, "status.platform"),
        image_based_install=labels.get(vocabulary.IMAGE_BASED_INSTALL_LABEL, "false") != "false",
        record=_record(found),
        raw_record=found if isinstance(found, dict) else None,
        topology_writer=_topology_writer(raw),
        cluster_name=fields.text(raw, "status.infrastructureName"),
    )


def _record(found: object) -> TopologyTransition | facts.Unobserved | None:
    if not found:
        return None
    what = "infrastructures.config.openshift.io/cluster"
    if (newer := _newer(found)) is not None:
        return newer
    try:
        record = TopologyTransition.from_api(_known(found))
    except pydantic.ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        return facts.Unobserved(what, f"status.topologyTransition.{where}")
    # A time without a zone passes the schema; bounds are reckoned from these, and it could not be compared with now.
    if not _reckonable(record):
        return facts.Unobserved(what, "status.topologyTransition has a time that cannot be reckoned with")
    return record


def _newer(found: object) -> facts.Newer | None:
    """A record in a phase that is a word and none of ours; what else it says is told as far as it can be read.

    Every version writes when the phase was entered: a phase without that is nonsense, and not news from the future.
    """
    if not isinstance(found, dict):
        return None
    phase, since = found.get("phase"), found.get("phaseTransitionTime")
    if not isinstance(phase, str) or not isinstance(since, str) or not _WORD.fullmatch(phase):
        return None
    if phase in set(vocabulary.Phase):
        return None
    target = found.get("target")
    return facts.Newer(
        "infrastructures.config.openshift.io/cluster",
        f"status.topologyTransition.phase is {phase}, which this version does not know",
        phase=phase,
        name=_word(found.get("name")),
        target=_word(target.get("controlPlane")) if isinstance(target, dict) else None,
    )


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else None


def _known(found: object) -> object:
    """The record without checks of a stage or with an answer that a newer version has and this one has not.

    They are answers of then; whoever leads now asks anew. Everything else must be as the schema promises.
    """
    checks = found.get("checks") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(checks, list):
        return found
    kept = [one for one in checks if not (_foreign(one, "stage", _STAGES) or _foreign(one, "status", _STATUSES))]
    return found if len(kept) == len(checks) else {**found, "checks": kept}


def _foreign(check: object, key: str, words: frozenset[str]) -> bool:
    value = check.get(key) if isinstance(check, dict) else None
    return isinstance(value, str) and _WORD.fullmatch(value) is not None and value not in words


def _reckonable(record: TopologyTransition) -> bool:
    times = (
        record.requested_time, record.phase_transition_time, record.admitted_time, record.completed_time,
        *(check.last_transition_time for check in record.checks),
        *(item.evaluated_time for item in record.available),
        *(item.accepted_time for item in record.accepted),
        *(item.settled_time for item in (record.baseline.cluster_operators if record.baseline else ())),
    )  # fmt: skip
    return all(time is None or fields.reckonable(time) for time in times)


_TOPOLOGIES = frozenset({"f:controlPlaneTopology", "f:infrastructureTopology"})


def _topology_writer(raw: Raw) -> str | None:
    writer, latest = None, ""
    for entry in fields.items(raw, "metadata.managedFields"):
        owned = fields.mapping(entry, "fieldsV1")
        status = owned.get("f:status")
        when = fields.text(entry, "time") or ""
        if isinstance(status, dict) and not _TOPOLOGIES.isdisjoint(status) and when >= latest:
            writer, latest = fields.text(entry, "manager"), when
    return writer


def own_operator(raw: Raw) -> facts.OwnOperator:
    """ClusterOperator `topology` (config.openshift.io/v1)."""
    annotations = fields.mapping(raw, "metadata.annotations")
    extension = fields.at(raw, "status.extension")
    return facts.OwnOperator(
        resource_version=fields.text(raw, "metadata.resourceVersion") or "",
        paused=annotations.get(vocabulary.PAUSED_ANNOTATION, "false") != "false",
        status=fields.mapping(raw, "status"),
        copy=_copy(extension),
        newer=_newer(extension),
        backup_time=_said_time(annotations.get(vocabulary.ETCD_BACKUP_ANNOTATION)),
    )


def _said_time(value: object) -> datetime | None:
    """A time that a person wrote, None when it is none: it proves nothing, so it must not make trouble either."""
    try:
        return fields.moment({"time": value}, "time")
    except fields.Malformed:
        return None


def _copy(extension: object) -> RecordCopy | None:
    if not isinstance(extension, dict) or not extension:
        return None
    # Nothing guards the extension by a schema: what a record could not be rebuilt from is no copy.
    if not isinstance(_record(extension), TopologyTransition):
        return None
    return RecordCopy.model_validate(extension)


def cluster_operator(raw: Raw) -> facts.ClusterOperator:
    """ClusterOperator (config.openshift.io/v1): the three conditions that stability is judged by, and two times."""
    kept = ("Available", "Progressing", "Degraded")
    found = conditions(raw)
    entries = {item.get("type"): item for item in reversed(fields.items(raw, "status.conditions"))}
    backup = entries.get("RecentBackup", {})
    return facts.ClusterOperator(
        name=fields.text(raw, "metadata.name") or "",
        # Messages change with every pod that restarts; the verdict does not depend on them. It depends on the reason
        # of one condition alone (`checks.operators`).
        conditions=facts.Conditions(
            tuple(
                facts.Condition(item.type, item.status, item.reason if _progresses(item) else "")
                for item in found
                if item.type in kept
            )
        ),
        settled_time=fields.moment(entries.get("Progressing"), "lastTransitionTime"),
        backup_time=_said_time(backup.get("lastTransitionTime")) if backup.get("status") == "True" else None,
    )


def _progresses(item: facts.Condition) -> bool:
    return (item.type, item.status) == ("Progressing", "True")


def cluster_version(raw: Raw) -> facts.ClusterVersion:
    """ClusterVersion `version` (config.openshift.io/v1)."""
    kept = ("Progressing", "Upgradeable")
    return facts.ClusterVersion(
        version=fields.text(raw, "status.desired.version"),
        conditions=facts.Conditions(tuple(item for item in conditions(raw) if item.type in kept)),
        # The version operator puts the newest in front.
        newest=next((fields.text(entry, "version") for entry in fields.items(raw, "status.history")), None),
        known_capabilities=frozenset(fields.words(raw, "status.capabilities.knownCapabilities")),
        enabled_capabilities=frozenset(fields.words(raw, "status.capabilities.enabledCapabilities")),
    )


def node(raw: Raw) -> facts.Node:
    """Node (v1), whole."""
    labels = fields.mapping(raw, "metadata.labels")
    capacity = fields.mapping(raw, "status.capacity")
    memory = quantity(capacity.get("memory"))
    addresses = (
        address(fields.text(item, "address") or "")
        for item in fields.items(raw, "status.addresses")
        if item.get("type") == "InternalIP"
    )
    ready, pressure = _states(raw)
    worker_too = f"{_ROLE}worker" in labels
    taints = _taints(raw)
    master, master_has_value = _master(labels)
    return facts.Node(
        name=fields.name(raw),
        master=master,
        worker=worker_too,
        ready=ready,
        cordoned=fields.flag(raw, "spec.unschedulable"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        kubelet_version=fields.text(raw, "status.nodeInfo.kubeletVersion"),
        cpus=quantity(capacity.get("cpu")),
        memory_bytes=None if memory is None else int(memory),
        addresses=tuple(sorted(found for found in addresses if found)),
        taints=taints,
        observed_topology=_annotation(raw, _OBSERVED_TOPOLOGY),
        pressure=pressure,
        labels=_labels(raw) if worker_too and taints else (),
        master_has_value=master_has_value,
    )


def worker(raw: Raw) -> facts.Node:
    """Node (v1) that carries workloads only: nothing but whether it could carry more.

    There may be thousands, each with a heartbeat, so what nobody asks of a worker is not even looked at.
    """
    ready, pressure = _states(raw)
    taints = _taints(raw)
    return facts.Node(
        name=fields.name(raw),
        master=False,
        worker=True,
        ready=ready,
        cordoned=fields.flag(raw, "spec.unschedulable"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        kubelet_version=None,
        cpus=None,
        memory_bytes=None,
        addresses=(),
        taints=taints,
        pressure=pressure,
        labels=_labels(raw) if taints else (),
    )


def _states(raw: Raw) -> tuple[str, tuple[str, ...]]:
    """Status of condition Ready, and the conditions of lack that are True.

    Heartbeats and reasons are not kept, nor a lack that is False or Unknown: they would be news without an answer.
    """
    ready, pressure = "absent", []
    for item in fields.items(raw, "status.conditions"):
        type_ = item.get("type")
        if type_ == "Ready" and ready == "absent":
            # One of three words, and one object for each of them.
            ready = sys.intern(fields.text(item, "status") or "Unknown")
        elif isinstance(type_, str) and type_ in _PRESSURE and item.get("status") == "True":
            pressure.append(sys.intern(type_))
    return ready, tuple(sorted(pressure))


def _master(labels: dict[str, Any]) -> tuple[bool, bool]:
    """Is a node labelled master as operators select it, with an empty value? Is it labelled so with another value?"""
    labelled = f"{_ROLE}master" in labels
    empty = not labels.get(f"{_ROLE}master")
    return labelled and empty, labelled and not empty


def _labels(raw: Raw) -> tuple[str, ...]:
    labels = fields.mapping(raw, "metadata.labels")
    return tuple(sorted(sys.intern(f"{key}={value}") for key, value in labels.items()))


_taint = functools.lru_cache(maxsize=64)(facts.Taint)
"""Thousands of nodes may have the same one."""


def _taints(raw: Raw) -> tuple[facts.Taint, ...]:
    taints = (
        _taint(fields.text(item, "key") or "", fields.text(item, "value") or "", fields.text(item, "effect") or "")
        for item in fields.items(raw, "spec.taints")
        if fields.text(item, "effect") in {"NoSchedule", "NoExecute"}
    )
    return tuple(sorted(taints, key=str))


def _annotation(raw: Raw, name: str) -> str | None:
    value = fields.mapping(raw, "metadata.annotations").get(name)
    if value is not None and not isinstance(value, str):
        raise fields.Malformed(f"metadata.annotations[{name}]", "a string", value)
    return value or None


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


def scheduler(raw: Raw) -> facts.Scheduler:
    """Scheduler `cluster` (config.openshift.io/v1)."""
    return facts.Scheduler(masters_schedulable=fields.flag(raw, "spec.mastersSchedulable"))


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
        revisions = parse_operands.static_pods(raw)
    except fields.Malformed as error:
        # What is said of the members is worth as much as before.
        revisions = facts.Unobserved("etcds.operator.openshift.io/cluster", f"malformed: {error}", malformed=True)
    return facts.Etcd(
        facts.Conditions(
            tuple(
                facts.Condition(item.type, item.status, item.reason)
                for item in conditions(raw)
                if item.type.startswith("EtcdMembers")
            )
        ),
        static_pods=revisions,
    )


def etcd_lease(raw: Raw) -> facts.EtcdLease:
    """Lease (coordination.k8s.io/v1) of the etcd operator."""
    seconds = fields.optional_whole(raw, "spec.leaseDurationSeconds")
    if seconds is not None and not 0 < seconds < 2**31:
        raise fields.Malformed("spec.leaseDurationSeconds", "a positive number of 31 bits", seconds)
    return facts.EtcdLease(
        holder=fields.text(raw, "spec.holderIdentity") or "",
        renew_time=fields.moment(raw, "spec.renewTime"),
        duration_seconds=seconds,
    )


def acceptances(raw: Raw) -> facts.Acceptances:
    """ConfigMap topology-accepted-checks (v1). An entry that makes no sense spoils no other."""
    data = fields.mapping(raw, "data")
    known = [key for key in sorted(data) if key in _CHECKS]
    # Whoever fills it with nonsense is told of some, and costs no more memory than that.
    others = [key for key in sorted(data) if key not in _CHECKS][:_NONSENSE]
    return facts.Acceptances(tuple(_acceptance(key, data[key]) for key in (*known, *others)))


def _acceptance(check: str, value: object) -> facts.Acceptance:
    try:
        said = json.loads(value) if isinstance(value, str) else None
        attempt, reason = fields.text(said, "attempt"), fields.text(said, "reason")
    except (ValueError, RecursionError):
        attempt, reason = None, None
    if attempt is None:
        return facts.Acceptance(check, wrong='its value is not {"attempt": ..., "reason": ...} as JSON')
    # JSON can say characters that no text can be written with.
    words = " ".join((reason or "").encode(errors="replace").decode().split())
    return facts.Acceptance(check, attempt[:_LONGEST_ATTEMPT], types.fit(words, vocabulary.ACCEPTED_REASON_LIMIT))


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
    """configs.operator.openshift.io/cluster: the native controller leaves its conditions there."""
    kept = tuple(item for item in conditions(raw) if item.type.startswith(_NATIVE_CONDITION))
    return facts.NativeController(present=bool(kept), conditions=facts.Conditions(kept))


def installed(raw: Raw) -> facts.Installed:
    """CustomResourceDefinition infrastructures.config.openshift.io: does it have our fields?"""
    found = served.serves_our_fields(raw)
    return facts.Installed(None if found.ok else found.reason)
