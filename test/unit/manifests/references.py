"""What each object that we ask people to apply refers to, and whether that is there: one function for each kind.

A kind without a function is itself a fault, so whoever adds an object of a new kind says here what it needs. What a
cluster has by itself (namespaces of others, the account of its Prometheus, the priority classes of every API server) is
listed below, with the simulated cluster as the source for namespaces.
"""

from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING, Any

from topology_controller import bindata
from topology_controller.report import clusteroperator
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Object = dict[str, Any]

OURS = "openshift-topology-operator"
THERE = {one["metadata"]["name"] for one in simulated.objects(simulated.Shape()) if kinds.of(one) is kinds.NAMESPACES}
OTHERS = THERE | {"default", "kube-system", "openshift-config-managed", "openshift-dns", "openshift-monitoring"}
ACCOUNTS = {("openshift-monitoring", "prometheus-k8s")}
GROUPS = {"system:authenticated", "system:masters"}
PRIORITIES = {"system-cluster-critical", "system-node-critical"}
"""Kubernetes makes these itself, wherever it runs."""
EGRESS = {6443: "API server", 5353: "DNS of OpenShift"}
ROOT = pathlib.Path(__file__).parents[3]
_SERVING = "service.beta.openshift.io/serving-cert-secret-name"


class Set:
    """The objects that are applied together."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.objects = list(objects)

    def of(self, *wanted: str) -> list[Object]:
        """Return those of some kinds."""
        return [one for one in self.objects if one["kind"] in wanted]

    def has(self, kind: str, name: str, namespace: str = "") -> bool:
        """Is there such an object?"""
        return any((space(one), one["metadata"]["name"]) == (namespace, name) for one in self.of(kind))

    def namespaces(self) -> set[str]:
        """Return those that we make."""
        return {one["metadata"]["name"] for one in self.of("Namespace")}

    def pods(self) -> Iterator[Object]:
        """Return what runs, with its template's labels."""
        for one in self.of("Deployment"):
            yield one["spec"]["template"]

    def ports(self) -> dict[str, int]:
        """Return the ports of all containers by name."""
        containers = [container for pod in self.pods() for container in pod["spec"]["containers"]]
        return {port["name"]: port["containerPort"] for one in containers for port in one["ports"]}

    def issued(self) -> set[str]:
        """Return the Secrets that the service CA operator makes for our Services."""
        found = {one["metadata"].get("annotations", {}).get(_SERVING) for one in self.of("Service")}
        return {name for name in found if name}

    def faults(self) -> list[str]:
        """Return what refers to nothing, each with the object that does."""
        return [f"{named(one)}: {fault}" for one in self.objects for fault in self._of(one)]

    def _of(self, one: Object) -> Iterator[str]:
        namespace = space(one)
        if namespace and namespace not in self.namespaces() | OTHERS:
            yield f"there is no namespace {namespace}"
        if (kind := one["kind"]) in REFERENCES:
            yield from REFERENCES[kind](one, self)
        else:
            yield f"nobody has said what a {kind} refers to"


def space(one: Object) -> str:
    """Return an object's namespace, or nothing."""
    return str(one["metadata"].get("namespace", ""))


def named(one: Object) -> str:
    """Return what a failing test calls it."""
    return "/".join(part for part in (one["kind"], space(one), one["metadata"]["name"]) if part)


def _nothing(_: Object, __: Set) -> Iterator[str]:
    yield from ()


def _binding(one: Object, among: Set) -> Iterator[str]:
    reference = one["roleRef"]
    where = space(one) if reference["kind"] == "Role" else ""
    if not among.has(reference["kind"], reference["name"], where):
        yield f"there is no {reference['kind']} {reference['name']}"
    for subject in one["subjects"]:
        name = subject["name"]
        if subject["kind"] == "Group":
            known = name in GROUPS
        else:
            known = (subject.get("namespace"), name) in ACCOUNTS or among.has(
                "ServiceAccount", name, subject.get("namespace", "")
            )
        if not known:
            yield f"there is no {subject['kind']} {name}"


def _deployment(one: Object, among: Set) -> Iterator[str]:
    pod = one["spec"]["template"]
    spec, labels = pod["spec"], pod["metadata"]["labels"]
    if not one["spec"]["selector"]["matchLabels"].items() <= labels.items():
        yield "its selector does not match its pods"
    if not among.has("ServiceAccount", spec["serviceAccountName"], space(one)):
        yield f"there is no ServiceAccount {spec['serviceAccountName']}"
    if spec["priorityClassName"] not in PRIORITIES:
        yield f"there is no PriorityClass {spec['priorityClassName']}"
    volumes = {volume["name"]: volume for volume in spec.get("volumes", ())}
    for volume in volumes.values():
        yield from _volume(volume, space(one), among)
    mounted = {mount["name"] for container in spec["containers"] for mount in container.get("volumeMounts", ())}
    yield from (f"nothing mounts volume {name}" for name in volumes.keys() - mounted)
    yield from (f"there is no volume {name}" for name in mounted - volumes.keys())
    for container in spec["containers"]:
        yield from _container(container)


def _volume(volume: Object, namespace: str, among: Set) -> Iterator[str]:
    match volume:
        case {"secret": {"secretName": name}}:
            if name not in among.issued():
                yield f"no Service has Secret {name} made"
        case {"configMap": {"name": name}}:
            if not among.has("ConfigMap", name, namespace):
                yield f"there is no ConfigMap {name}"
        case {"emptyDir": _}:
            pass
        case _:
            yield f"volume {volume['name']} is of a kind that nobody knows here"


def _container(container: Object) -> Iterator[str]:
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for probe in ("livenessProbe", "readinessProbe"):
        if container[probe]["httpGet"]["port"] not in ports:
            yield f"{probe} asks a port that the container does not have"
    given = dict(argument.removeprefix("--").partition("=")[::2] for argument in container["args"])
    if int(given["bind-address"].rpartition(":")[2]) not in ports.values():
        yield "it binds to a port that the container does not have"
    paths = [mount["mountPath"] for mount in container.get("volumeMounts", ())]
    for path in (value for value in given.values() if value.startswith("/")):
        if not any(pathlib.PurePath(path).is_relative_to(one) for one in paths):
            yield f"nothing is mounted at {path}"
    variables = {one["name"] for one in container["env"]}
    for name in re.findall(r"\$\((\w+)\)", " ".join(container["args"])):
        if name not in variables:
            yield f"there is no variable {name}"


def _service(one: Object, among: Set) -> Iterator[str]:
    if not any(one["spec"]["selector"].items() <= pod["metadata"]["labels"].items() for pod in among.pods()):
        yield "its selector matches no pod"
    for port in one["spec"]["ports"]:
        if port["targetPort"] not in among.ports():
            yield f"no container has port {port['targetPort']}"


def _network_policy(one: Object, among: Set) -> Iterator[str]:
    spec = one["spec"]
    wanted = spec["podSelector"].get("matchLabels", {})
    if not any(wanted.items() <= pod["metadata"]["labels"].items() for pod in among.pods()):
        yield "its selector matches no pod"
    incoming, outgoing = spec.get("ingress", []), spec.get("egress", [])
    for port in _ports(incoming) - set(among.ports().values()):
        yield f"no container listens on {port}"
    for port in _ports(outgoing) - EGRESS.keys():
        yield f"nobody has said who listens on {port}"
    for peer in [peer for rule in incoming + outgoing for peer in (*rule.get("from", ()), *rule.get("to", ()))]:
        name = peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
        if name not in OTHERS:
            yield f"there is no namespace {name}"


def _ports(rules: list[Object]) -> set[int]:
    return {one["port"] for rule in rules for one in rule["ports"]}


def _service_monitor(one: Object, among: Set) -> Iterator[str]:
    wanted = one["spec"]["selector"]["matchLabels"]
    services = [
        found
        for found in among.of("Service")
        if space(found) == space(one) and wanted.items() <= found["metadata"]["labels"].items()
    ]
    if not services:
        yield "its selector matches no Service"
    for endpoint in one["spec"]["endpoints"]:
        for service in services:
            if endpoint["port"] not in {port["name"] for port in service["spec"]["ports"]}:
                yield f"Service {service['metadata']['name']} has no port {endpoint['port']}"
            if endpoint["tlsConfig"]["serverName"] != f"{service['metadata']['name']}.{space(service)}.svc":
                yield "serverName is not that of the Service's certificate"


def _prometheus_rule(one: Object, among: Set) -> Iterator[str]:
    alerts = [rule for group in one["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    for alert in alerts:
        if alert["labels"]["namespace"] not in among.namespaces():
            yield f"{alert['alert']} is said of another namespace"
        address = alert["annotations"]["runbook_url"]
        folder, _, page = address.rpartition("/")
        if folder != bindata.RUNBOOKS or not (ROOT / "docs" / "runbooks" / page).is_file():
            yield f"there is no page {address}"


def _cluster_operator(one: Object, among: Set) -> Iterator[str]:
    (namespace,) = among.namespaces()
    if one["status"]["relatedObjects"] != clusteroperator.related_objects(namespace):
        yield "relatedObjects are not what the operator writes"
    policies = {
        found["name"]
        for found in one["status"]["relatedObjects"]
        if found.get("resource") == "validatingadmissionpolicies"
    }
    for policy in {found["metadata"]["name"] for found in among.of("ValidatingAdmissionPolicy")} ^ policies:
        yield f"relatedObjects and policies differ in {policy}"


def _policy_binding(one: Object, among: Set) -> Iterator[str]:
    spec = one["spec"]
    if not among.has("ValidatingAdmissionPolicy", spec["policyName"]):
        yield f"there is no ValidatingAdmissionPolicy {spec['policyName']}"
    given = spec.get("paramRef")
    if given and not among.has("ConfigMap", given["name"], given.get("namespace", "")):
        yield f"there is no ConfigMap {given['name']}"


def _policy(one: Object, among: Set) -> Iterator[str]:
    name = one["metadata"]["name"]
    if not [found for found in among.of("ValidatingAdmissionPolicyBinding") if found["spec"]["policyName"] == name]:
        yield "no binding puts it in force"


REFERENCES: dict[str, Callable[[Object, Set], Iterator[str]]] = {
    "Namespace": _nothing,
    "ServiceAccount": _nothing,
    "Role": _nothing,
    "ClusterRole": _nothing,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "ConfigMap": _nothing,
    "Service": _service,
    "Deployment": _deployment,
    "NetworkPolicy": _network_policy,
    "ServiceMonitor": _service_monitor,
    "PrometheusRule": _prometheus_rule,
    "ClusterOperator": _cluster_operator,
    "ValidatingAdmissionPolicy": _policy,
    "ValidatingAdmissionPolicyBinding": _policy_binding,
}
