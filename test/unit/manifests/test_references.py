"""Every name in what is applied leads to something: an object beside it, or one that every cluster has.

What a cluster has by itself (namespaces of others, the account of its Prometheus, the priority classes of every API
server) is listed below, with the simulated cluster as the source for namespaces. Roles, bindings and the references of
policies to ConfigMaps aside: those are in `test_rights` and `test_admission_policies`.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

from topology_controller import bindata, manifests
from topology_controller.report import clusteroperator
from topology_simulator import cluster as simulated
from topology_simulator import kinds

OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(manifests.render(manifests.Kind.OPERATOR)))
DOCS = pathlib.Path(__file__).parents[3] / "docs"
THERE = {one["metadata"]["name"] for one in simulated.objects(simulated.Shape()) if kinds.of(one) is kinds.NAMESPACES}
OTHERS = THERE | {"default", "kube-system", "openshift-config-managed", "openshift-dns", "openshift-monitoring"}
PRIORITIES = {"system-cluster-critical", "system-node-critical"}
EGRESS = {6443: "API server", 5353: "DNS of OpenShift"}
JUDGED = {
    *("Namespace", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap"),
    *("Service", "Deployment", "NetworkPolicy", "ServiceMonitor", "PrometheusRule", "ClusterOperator"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
}


def of(kind: str) -> list[dict[str, Any]]:
    return [one for one in OBJECTS if one["kind"] == kind]


def names(kind: str) -> set[tuple[str, str]]:
    """Namespace and name of those of a kind."""
    return {(one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in of(kind)}


(NAMESPACE,) = {name for _, name in names("Namespace")}
(DEPLOYMENT,) = of("Deployment")
(SERVICE,) = of("Service")
POD = DEPLOYMENT["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]
PORTS = {port["name"]: port["containerPort"] for port in CONTAINER["ports"]}


def test_every_kind_is_judged_and_every_namespace_is_there() -> None:
    assert {one["kind"] for one in OBJECTS} <= JUDGED, "say here what the new kind refers to"
    assert {one["metadata"].get("namespace", NAMESPACE) for one in OBJECTS} <= {NAMESPACE, *OTHERS}


def test_the_pod_has_its_account_its_priority_and_its_volumes() -> None:
    spec = POD["spec"]
    assert DEPLOYMENT["spec"]["selector"]["matchLabels"].items() <= POD["metadata"]["labels"].items()
    assert (NAMESPACE, spec["serviceAccountName"]) in names("ServiceAccount")
    assert spec["priorityClassName"] in PRIORITIES
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes.keys() == {mount["name"] for mount in CONTAINER["volumeMounts"]}
    issued = SERVICE["metadata"]["annotations"]["service.beta.openshift.io/serving-cert-secret-name"]
    for volume in volumes.values():
        match volume:
            case {"secret": {"secretName": name}}:
                assert name == issued, "nothing else makes a Secret"
            case {"configMap": {"name": name}}:
                assert (NAMESPACE, name) in names("ConfigMap")
            case _:
                assert "emptyDir" in volume


def test_what_the_command_line_names_is_in_the_container() -> None:
    for probe in ("livenessProbe", "readinessProbe"):
        assert CONTAINER[probe]["httpGet"]["port"] in PORTS
    given = dict(argument.removeprefix("--").partition("=")[::2] for argument in CONTAINER["args"])
    assert int(given["bind-address"].rpartition(":")[2]) in PORTS.values()
    mounted = [mount["mountPath"] for mount in CONTAINER["volumeMounts"]]
    for path in (value for value in given.values() if value.startswith("/")):
        assert any(pathlib.PurePath(path).is_relative_to(one) for one in mounted), path
    variables = {one["name"] for one in CONTAINER["env"]}
    assert variables.issuperset(re.findall(r"\$\((\w+)\)", " ".join(CONTAINER["args"])))


def test_service_and_network_policies_lead_to_the_pod_and_its_ports() -> None:
    labels = POD["metadata"]["labels"]
    assert SERVICE["spec"]["selector"].items() <= labels.items()
    assert {port["targetPort"] for port in SERVICE["spec"]["ports"]} <= PORTS.keys()
    for policy in of("NetworkPolicy"):
        spec = policy["spec"]
        assert spec["podSelector"].get("matchLabels", {}).items() <= labels.items(), policy
        incoming, outgoing = spec.get("ingress", []), spec.get("egress", [])
        assert {port["port"] for rule in incoming for port in rule["ports"]} <= set(PORTS.values())
        assert {port["port"] for rule in outgoing for port in rule["ports"]} <= EGRESS.keys()
        for peer in [peer for rule in incoming + outgoing for peer in (*rule.get("from", ()), *rule.get("to", ()))]:
            assert peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] in OTHERS


def test_prometheus_finds_the_service_and_its_certificate() -> None:
    (monitor,) = of("ServiceMonitor")
    assert monitor["metadata"]["namespace"] == SERVICE["metadata"]["namespace"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= SERVICE["metadata"]["labels"].items()
    for endpoint in monitor["spec"]["endpoints"]:
        assert endpoint["port"] in {port["name"] for port in SERVICE["spec"]["ports"]}
        assert endpoint["tlsConfig"]["serverName"] == f"{SERVICE['metadata']['name']}.{NAMESPACE}.svc"


def test_an_alert_is_of_our_namespace_and_has_a_runbook() -> None:
    (rules,) = of("PrometheusRule")
    alerts = [rule for group in rules["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert alerts
    for alert in alerts:
        assert alert["labels"]["namespace"] == NAMESPACE, alert
        folder, _, page = alert["annotations"]["runbook_url"].rpartition("/")
        assert folder == bindata.RUNBOOKS
        assert (DOCS / "runbooks" / page).is_file(), alert


def test_must_gather_is_told_what_the_operator_tells_it() -> None:
    (operator,) = of("ClusterOperator")
    related = operator["status"]["relatedObjects"]
    assert related == clusteroperator.related_objects(NAMESPACE)
    policies = {one["name"] for one in related if one.get("resource") == "validatingadmissionpolicies"}
    assert policies == {name for _, name in names("ValidatingAdmissionPolicy")}


@pytest.mark.parametrize("binding", of("ValidatingAdmissionPolicyBinding"), ids=lambda one: one["metadata"]["name"])
def test_what_a_policy_is_given_is_there(binding: dict[str, Any]) -> None:
    given = binding["spec"].get("paramRef")
    assert given is None or (given.get("namespace", ""), given["name"]) in names("ConfigMap")


def test_a_role_is_bound_to_who_is_there_or_a_page_offers_it() -> None:
    bindings = [*of("RoleBinding"), *of("ClusterRoleBinding")]
    accounts = names("ServiceAccount") | {("openshift-monitoring", "prometheus-k8s")}
    for subject in [subject for binding in bindings for subject in binding["subjects"]]:
        if subject["kind"] == "Group":
            assert subject["name"] in {"system:authenticated", "system:masters"}
        else:
            assert (subject["namespace"], subject["name"]) in accounts
    bound = set()
    for role, place in ((one["roleRef"], one["metadata"].get("namespace", "")) for one in bindings):
        bound.add((role["kind"], place if role["kind"] == "Role" else "", role["name"]))
    there = {(kind, *place) for kind in ("Role", "ClusterRole") for place in names(kind)}
    assert bound <= there
    pages = "".join(page.read_text() for page in DOCS.glob("*.md"))
    assert not {name for *_, name in there - bound if name not in pages}, "a role that no page speaks of"
