"""What `kubectl get` shows of the built-in kinds that a simulated cluster has, as the real server computes it.

Read by `builtins`; the columns of custom resources come from their definitions (`crds`).
"""

from __future__ import annotations

from typing import Any

from . import times
from .resources import Column


def _meta(obj: dict[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = obj["metadata"]
    return meta


def created(obj: dict[str, Any]) -> str:
    """Return the age of an object."""
    return times.age(_meta(obj).get("creationTimestamp"))


def _at(*path: str, default: Any = "<none>") -> Any:
    def cell(obj: dict[str, Any]) -> Any:
        value: Any = obj
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return default if value is None or value == "" else value

    return cell


NAME = Column("Name", "string", lambda obj: _meta(obj)["name"], "Name must be unique within a namespace.", 0, "name")
AGE = Column("Age", "string", created, "How long ago the object was created.")
CREATED_AT = Column("Created At", "date", lambda obj: _meta(obj).get("creationTimestamp"), "When it was created.")
DEFAULT = (NAME, AGE)
CUSTOM = (NAME, Column("Age", "date", created, AGE.description))


def _node_status(obj: dict[str, Any]) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or []
    words = ["Unknown"]
    for condition in conditions:
        if condition.get("type") == "Ready":
            words = ["Ready" if condition.get("status") == "True" else "NotReady"]
    if (obj.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(obj: dict[str, Any]) -> str:
    roles = set()
    for label, value in (_meta(obj).get("labels") or {}).items():
        if label.startswith("node-role.kubernetes.io/"):
            roles.add(label.removeprefix("node-role.kubernetes.io/"))
        elif label == "kubernetes.io/role" and value:
            roles.add(value)
    return ",".join(sorted(role for role in roles if role)) or "<none>"


def _address(kind: str) -> Any:
    def cell(obj: dict[str, Any]) -> str:
        for address in (obj.get("status") or {}).get("addresses") or []:
            if address.get("type") == kind:
                return str(address.get("address"))
        return "<none>"

    return cell


def _info(name: str) -> Any:
    return _at("status", "nodeInfo", name, default="<unknown>")


def _kernel(obj: dict[str, Any]) -> str:
    info = (obj.get("status") or {}).get("nodeInfo") or {}
    version, machine = info.get("kernelVersion"), info.get("architecture")
    return f"{version} ({machine})" if version and machine else version or "<unknown>"


NODES = (
    NAME,
    Column("Status", "string", _node_status, "The status of the node"),
    Column("Roles", "string", _node_roles, "The roles of the node"),
    AGE,
    Column("Version", "string", _at("status", "nodeInfo", "kubeletVersion", default=""), "Kubelet version"),
    Column("Internal-IP", "string", _address("InternalIP"), "", 1),
    Column("External-IP", "string", _address("ExternalIP"), "", 1),
    Column("OS-Image", "string", _info("osImage"), "", 1),
    Column("Kernel-Version", "string", _kernel, "", 1),
    Column("Container-Runtime", "string", _info("containerRuntimeVersion"), "", 1),
)
NAMESPACES = (NAME, Column("Status", "string", _at("status", "phase", default=""), "The status"), AGE)


def _data(obj: dict[str, Any]) -> int:
    return len(obj.get("data") or {}) + len(obj.get("binaryData") or {})


CONFIGMAPS = (NAME, Column("Data", "string", _data, "Number of entries"), AGE)
SECRETS = (
    NAME,
    Column("Type", "string", _at("type", default="Opaque"), "Type of the secret"),
    Column("Data", "string", _data, "Number of entries"),
    AGE,
)
LEASES = (NAME, Column("Holder", "string", _at("spec", "holderIdentity", default=""), "Who holds it"), AGE)


def _event_seen(obj: dict[str, Any]) -> str:
    series = obj.get("series") or {}
    return times.age(series.get("lastObservedTime") or obj.get("lastTimestamp") or obj.get("eventTime"))


def _event_first(obj: dict[str, Any]) -> str:
    return times.age(obj.get("firstTimestamp") or obj.get("eventTime"))


def _event_object(obj: dict[str, Any]) -> str:
    about = obj.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_source(obj: dict[str, Any]) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance")
    return f"{component}, {host}" if host else str(component)


def _event_count(obj: dict[str, Any]) -> int:
    return int((obj.get("series") or {}).get("count") or obj.get("count") or 1)


EVENTS = (
    Column("Last Seen", "string", _event_seen, "When it was last seen"),
    Column("Type", "string", _at("type", default=""), "Normal or Warning"),
    Column("Reason", "string", _at("reason", default=""), "Why"),
    Column("Object", "string", _event_object, "What it is about"),
    Column("Subobject", "string", _at("involvedObject", "fieldPath", default=""), "", 1),
    Column("Source", "string", _event_source, "", 1),
    Column("Message", "string", lambda obj: str(obj.get("message") or "").strip(), "What happened"),
    Column("First Seen", "string", _event_first, "", 1),
    Column("Count", "string", lambda obj: str(_event_count(obj)), "", 1),
    Column("Name", "string", NAME.cell, "", 1, "name"),
)


def _containers(obj: dict[str, Any]) -> list[dict[str, Any]]:
    return (obj.get("status") or {}).get("containerStatuses") or []


def _pod_ready(obj: dict[str, Any]) -> str:
    ready = sum(1 for container in _containers(obj) if container.get("ready"))
    return f"{ready}/{len((obj.get('spec') or {}).get('containers') or [])}"


def _pod_status(obj: dict[str, Any]) -> str:
    if _meta(obj).get("deletionTimestamp"):
        return "Terminating"
    status = obj.get("status") or {}
    return str(status.get("reason") or status.get("phase") or "")


PODS = (
    NAME,
    Column("Ready", "string", _pod_ready, "Containers that are ready"),
    Column("Status", "string", _pod_status, "The phase, or the reason"),
    Column(
        "Restarts", "string", lambda obj: str(sum(container.get("restartCount", 0) for container in _containers(obj)))
    ),
    AGE,
    Column("IP", "string", _at("status", "podIP"), "", 1),
    Column("Node", "string", _at("spec", "nodeName"), "", 1),
    Column("Nominated Node", "string", _at("status", "nominatedNodeName"), "", 1),
    Column("Readiness Gates", "string", lambda _: "<none>", "", 1),
)


def _replicas(obj: dict[str, Any]) -> str:
    wanted = (obj.get("spec") or {}).get("replicas", 1)
    return f"{(obj.get('status') or {}).get('readyReplicas') or 0}/{wanted}"


def _template(field: str) -> Any:
    def cell(obj: dict[str, Any]) -> str:
        spec = (((obj.get("spec") or {}).get("template") or {}).get("spec")) or {}
        return ",".join(str(container.get(field, "")) for container in spec.get("containers") or ())

    return cell


def _selector(name: str) -> Any:
    def cell(obj: dict[str, Any]) -> str:
        labels = ((obj.get("spec") or {}).get(name) or {}).get("matchLabels") or {}
        return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "<none>"

    return cell


_CONTAINERS = (
    Column("Containers", "string", _template("name"), "", 1),
    Column("Images", "string", _template("image"), "", 1),
)
DEPLOYMENTS = (
    NAME,
    Column("Ready", "string", _replicas, "Replicas that are ready"),
    Column("Up-to-date", "string", _at("status", "updatedReplicas", default=0), "Replicas of the present spec"),
    Column("Available", "string", _at("status", "availableReplicas", default=0), "Replicas that are available"),
    AGE,
    *_CONTAINERS,
    Column("Selector", "string", _selector("selector"), "", 1),
)
STATEFUL_SETS = (NAME, Column("Ready", "string", _replicas, "Replicas that are ready"), AGE, *_CONTAINERS)


def _budget(name: str) -> Any:
    def cell(obj: dict[str, Any]) -> str:
        value = (obj.get("spec") or {}).get(name)
        return "N/A" if value is None else str(value)

    return cell


DISRUPTION_BUDGETS = (
    NAME,
    Column("Min Available", "string", _budget("minAvailable"), "What must stay"),
    Column("Max Unavailable", "string", _budget("maxUnavailable"), "What may go"),
    Column("Allowed Disruptions", "integer", _at("status", "disruptionsAllowed", default=0), "How many may go now"),
    AGE,
)


def _approval(obj: dict[str, Any]) -> str:
    status = obj.get("status") or {}
    types = {condition.get("type") for condition in status.get("conditions") or []}
    word = next((type_ for type_ in ("Denied", "Approved") if type_ in types), "Pending")
    return word + ",Failed" * ("Failed" in types) + ",Issued" * bool(status.get("certificate"))


SIGNING_REQUESTS = (
    NAME,
    AGE,
    Column("SignerName", "string", _at("spec", "signerName"), "Who is asked to sign"),
    Column("Requestor", "string", _at("spec", "username"), "Who asks"),
    Column("RequestedDuration", "string", lambda _: "<none>", "How long it is to last"),
    Column("Condition", "string", _approval, "How far it is"),
)
WITH_CREATION = (NAME, CREATED_AT)
