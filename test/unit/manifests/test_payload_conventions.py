"""The files are what a release payload takes: named, ordered, annotated, and each name in them leads to something.

The rules are those of the version operator (order and waiting), of `oc adm release new` (image and version) and of the
conventions for operators of OpenShift (pods). Where ours differ, the test says why.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

import operand_rights
from topology_controller import bindata
from topology_controller.report import clusteroperator
from topology_deploy import manifests
from topology_simulator import cluster as simulated

ROOT = bindata.root()
PLACES = [place for folder in ("manifests", "monitoring") for place in sorted((ROOT / folder).glob("*.yaml"))]
FILES = {place.name: list(yaml.load_all(place.read_text(encoding="utf-8"), yaml.CSafeLoader)) for place in PLACES}
EVERY: list[dict[str, Any]] = [one for found in FILES.values() for one in found]
BY_VERSION_OPERATOR = re.compile(r"0000_(\d\d)_([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*?)_[a-z0-9_-]+\.yaml")
"""Files that share number and component are applied one after the other, in the order of their names."""
INCLUDED = {f"include.release.openshift.io/{profile}": "true" for profile in operand_rights.PROFILES}
CAPABILITY = "capability.openshift.io/name"
STANDING = "0.0.1-snapshot"


OBJECTS: list[dict[str, Any]] = list(yaml.load_all(manifests.render(), yaml.CSafeLoader))
DOCS = pathlib.Path(__file__).parents[3] / "docs"
THERE = {one["metadata"]["name"] for one in simulated.objects(simulated.Shape()) if one["kind"] == "Namespace"}
OTHERS = THERE | {"default", "kube-system", "openshift-config-managed", "openshift-dns", "openshift-monitoring"}
PRIORITIES = {"system-cluster-critical", "system-node-critical"}
EGRESS = {6443: "API server", 5353: "DNS of OpenShift"}
"""What every cluster has by itself; the simulated one is the source for namespaces."""


def of(kind: str) -> list[dict[str, Any]]:
    return [one for one in OBJECTS if one["kind"] == kind]


def kind(wanted: str) -> dict[str, Any]:
    (found,) = [one for one in EVERY if one["kind"] == wanted]
    return found


def names(kind: str) -> set[tuple[str, str]]:
    """Namespace and name of those of a kind."""
    return {(one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in of(kind)}


NAMESPACE = kind("Namespace")["metadata"]["name"]
DEPLOYMENT, SERVICE = kind("Deployment"), kind("Service")
POD = DEPLOYMENT["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]
PORTS = {port["name"]: port["containerPort"] for port in CONTAINER["ports"]}


def test_each_file_is_named_as_the_version_operator_reads_names():
    matches = {name: BY_VERSION_OPERATOR.fullmatch(name) for name in FILES}
    assert all(matches.values()), [name for name, match in matches.items() if not match]
    assert {match[2] for match in matches.values() if match} == {"topology-operator"}
    levels = {(place.parent.name, int(place.name[5:7])) for place in PLACES}
    assert levels == {("manifests", 30), ("monitoring", 90)}, "what monitoring defines comes at 50"


def test_each_object_is_in_every_payload_of_a_cluster_that_runs_its_own_control_plane():
    """Not ibm-cloud-managed nor hypershift: there the control plane is hosted, and this operator may not act."""
    for one in EVERY:
        found = one["metadata"].get("annotations", {})
        included = {key: value for key, value in found.items() if key.startswith("include.release")}
        assert included == INCLUDED, one["metadata"]


def test_no_object_waits_for_a_feature_set_and_few_for_a_capability():
    """Feature sets with MutableTopology are no reason: there the native controller acts, and this one says so."""
    found = {key for one in EVERY for key in one["metadata"].get("annotations", {})}
    assert not {key for key in found if key.startswith(("release.openshift.io/feature", "exclude."))}
    bound = {
        (one["kind"], one["metadata"].get("namespace"), annotations[CAPABILITY])
        for one in EVERY
        if CAPABILITY in (annotations := one["metadata"].get("annotations", {}))
    }
    assert bound == {
        ("ConfigMap", "openshift-config-managed", "Console"),
        ("ClusterRole", None, "MachineAPI"),
        ("ClusterRoleBinding", None, "MachineAPI"),
    }


def test_what_an_object_needs_comes_before_it():
    order = [(one["kind"], one["metadata"]["name"]) for one in EVERY]
    kinds = [name for name, _ in order]
    assert kinds[0] == "Namespace"
    deployed = kinds.index("Deployment")
    for needed in ("ServiceAccount", "Service", "NetworkPolicy"):
        assert kinds.index(needed) < deployed, needed
    account = POD["spec"]["serviceAccountName"]
    granted = [
        place
        for place, one in enumerate(EVERY)
        if one["kind"] in {"RoleBinding", "ClusterRoleBinding"} and one["subjects"][0]["name"] == account
    ]
    assert granted
    assert max(granted) < deployed, "it is not started before it may read"
    mounted = {volume["configMap"]["name"] for volume in POD["spec"]["volumes"] if "configMap" in volume}
    assert {name for kind, name in order[:deployed] if kind == "ConfigMap"} >= mounted


def test_the_version_operator_waits_for_the_deployment_and_then_for_its_word():
    """A ClusterOperator before the Deployment would be waited for in vain: whoever writes it does not run yet."""
    kinds = [one["kind"] for name, found in FILES.items() if name.startswith("0000_30") for one in found]
    assert kinds[-1] == "ClusterOperator"
    assert kind("ClusterOperator")["status"]["versions"] == [{"name": "operator", "version": STANDING}]


def test_a_release_finds_the_image_to_replace():
    found = yaml.load((ROOT / "manifests" / "image-references").read_text(encoding="utf-8"), yaml.CSafeLoader)
    assert (found["kind"], found["apiVersion"]) == ("ImageStream", "image.openshift.io/v1")
    (tag,) = found["spec"]["tags"]
    assert tag == {"name": DEPLOYMENT["metadata"]["name"], "from": {"kind": "DockerImage", "name": CONTAINER["image"]}}
    texts = "".join(place.read_text(encoding="utf-8") for place in PLACES)
    images = re.findall(r"(?m)^\s*(?:- )?image: (\S+)$", texts)
    assert set(images) == {tag["from"]["name"]}


def test_the_namespace_is_for_management_and_restricted_and_scraped():
    meta = kind("Namespace")["metadata"]
    assert meta["annotations"]["workload.openshift.io/allowed"] == "management"
    assert meta["annotations"]["openshift.io/node-selector"] == ""
    levels = {key: value for key, value in meta["labels"].items() if key.startswith("pod-security")}
    assert levels == {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    assert meta["labels"]["openshift.io/cluster-monitoring"] == "true"
    assert "openshift.io/run-level" not in meta["labels"], "with it no security context constraint holds"


def test_the_pod_goes_where_the_control_plane_is_and_bears_no_other_taint():
    assert POD["spec"]["tolerations"] == [
        {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert "node-role.kubernetes.io/control-plane" in POD["spec"]["nodeSelector"], "an API server warns of master"


def test_the_pod_alone_gets_the_token_and_has_time_to_leave():
    assert kind("ServiceAccount")["automountServiceAccountToken"] is False
    assert POD["spec"]["automountServiceAccountToken"] is True
    told = {one["name"]: one["valueFrom"]["fieldRef"]["fieldPath"] for one in CONTAINER["env"] if "valueFrom" in one}
    assert told == {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}
    assert POD["spec"]["terminationGracePeriodSeconds"] == 30
    assert CONTAINER["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_the_network_is_closed_but_for_three_ways():
    policies = {one["metadata"]["name"]: one["spec"] for one in EVERY if one["kind"] == "NetworkPolicy"}
    assert policies.pop("default-deny") == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    ways = {"allow-to-api-server": ["Egress"], "allow-to-dns": ["Egress"], "allow-metrics": ["Ingress"]}
    assert {name: one["policyTypes"] for name, one in policies.items()} == ways
    page = (DOCS / "etcd-direct.md").read_text(encoding="utf-8")
    assert "name: allow-to-etcd" in page, "who needs a fourth is shown it"


# Every name leads to something: an object beside it, or one that every cluster has. Roles, and what policies ask for,
# are in `test_rights` and `test_admission_policies`.


def test_every_namespace_is_there() -> None:
    assert {one["metadata"].get("namespace", NAMESPACE) for one in OBJECTS} <= {NAMESPACE, *OTHERS}


def test_the_pod_has_its_account_its_priority_and_its_volumes() -> None:
    spec = POD["spec"]
    assert DEPLOYMENT["spec"]["selector"]["matchLabels"].items() <= POD["metadata"]["labels"].items()
    assert (NAMESPACE, spec["serviceAccountName"]) in names("ServiceAccount")
    assert spec["priorityClassName"] in PRIORITIES
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes.keys() == {mount["name"] for mount in CONTAINER["volumeMounts"]}
    issued = SERVICE["metadata"]["annotations"]["service.beta.openshift.io/serving-cert-secret-name"]
    page = (DOCS / "etcd-direct.md").read_text(encoding="utf-8")
    for volume in volumes.values():
        match volume:
            case {"secret": {"secretName": name, "optional": True}}:
                assert f"oc create secret generic {name} -n {NAMESPACE} " in page, "an administrator makes it"
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
    linked = manifests.linked(manifests.render(), "https://docs.example.org")
    (rules,) = [one for one in yaml.safe_load_all(linked) if one["kind"] == "PrometheusRule"]
    alerts = [rule for group in rules["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert alerts
    for alert in alerts:
        assert alert["labels"]["namespace"] == NAMESPACE, alert
        folder, _, page = alert["annotations"]["runbook_url"].rpartition("/")
        assert (folder, page) == ("https://docs.example.org", f"{alert['alert']}.md")
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
    pages = "".join(page.read_text() for page in DOCS.rglob("*.md"))
    assert not {name for *_, name in there - bound if name not in pages}, "a role that no page speaks of"
