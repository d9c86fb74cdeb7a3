"""The files are what a release payload takes: named, ordered and annotated so that the version operator applies them.

The rules are those of the version operator (order and waiting), of `oc adm release new` (image and version) and of the
conventions for operators of OpenShift (pods). Where ours differ, the test says why.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

import yaml

import operand_rights
from topology_controller import bindata

ROOT = bindata.root()
PLACES = [place for folder in ("manifests", "monitoring") for place in sorted((ROOT / folder).glob("*.yaml"))]
FILES = {place.name: list(yaml.safe_load_all(place.read_text(encoding="utf-8"))) for place in PLACES}
EVERY: list[dict[str, Any]] = [one for found in FILES.values() for one in found]
BY_VERSION_OPERATOR = re.compile(r"0000_(\d\d)_([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*?)_[a-z0-9_-]+\.yaml")
"""Files that share number and component are applied one after the other, in the order of their names."""
INCLUDED = {f"include.release.openshift.io/{profile}": "true" for profile in operand_rights.PROFILES}
CAPABILITY = "capability.openshift.io/name"
STANDING = "0.0.1-snapshot"


def kind(wanted: str) -> dict[str, Any]:
    (found,) = [one for one in EVERY if one["kind"] == wanted]
    return found


def pod() -> dict[str, Any]:
    found: dict[str, Any] = kind("Deployment")["spec"]["template"]
    return found


def container() -> dict[str, Any]:
    (found,) = pod()["spec"]["containers"]
    return dict(found)


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
        # A namespace that belongs to a capability may not be there.
        ("Role", "openshift-machine-api", "MachineAPI"),
        ("RoleBinding", "openshift-machine-api", "MachineAPI"),
    }


def test_what_an_object_needs_comes_before_it():
    order = [(one["kind"], one["metadata"]["name"]) for one in EVERY]
    kinds = [name for name, _ in order]
    assert kinds[0] == "Namespace"
    deployed = kinds.index("Deployment")
    for needed in ("ServiceAccount", "Service", "NetworkPolicy"):
        assert kinds.index(needed) < deployed, needed
    account = pod()["spec"]["serviceAccountName"]
    granted = [
        place
        for place, one in enumerate(EVERY)
        if one["kind"] in {"RoleBinding", "ClusterRoleBinding"} and one["subjects"][0]["name"] == account
    ]
    assert granted
    assert max(granted) < deployed, "it is not started before it may read"
    mounted = {volume["configMap"]["name"] for volume in pod()["spec"]["volumes"] if "configMap" in volume}
    assert {name for kind, name in order[:deployed] if kind == "ConfigMap"} >= mounted


def test_the_version_operator_waits_for_the_deployment_and_then_for_its_word():
    """A ClusterOperator before the Deployment would be waited for in vain: whoever writes it does not run yet."""
    kinds = [one["kind"] for name, found in FILES.items() if name.startswith("0000_30") for one in found]
    assert kinds[-1] == "ClusterOperator"
    assert kind("ClusterOperator")["status"]["versions"] == [{"name": "operator", "version": STANDING}]


def test_a_release_finds_the_image_to_replace():
    found = yaml.safe_load((ROOT / "manifests" / "image-references").read_text(encoding="utf-8"))
    assert (found["kind"], found["apiVersion"]) == ("ImageStream", "image.openshift.io/v1")
    (tag,) = found["spec"]["tags"]
    assert tag == {
        "name": kind("Deployment")["metadata"]["name"],
        "from": {"kind": "DockerImage", "name": container()["image"]},
    }
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
    assert pod()["spec"]["tolerations"] == [
        {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert "node-role.kubernetes.io/control-plane" in pod()["spec"]["nodeSelector"], "an API server warns of master"


def test_the_pod_alone_gets_the_token_and_has_time_to_leave():
    assert kind("ServiceAccount")["automountServiceAccountToken"] is False
    assert pod()["spec"]["automountServiceAccountToken"] is True
    told = {one["name"]: one["valueFrom"]["fieldRef"]["fieldPath"] for one in container()["env"] if "valueFrom" in one}
    assert told == {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}
    assert pod()["spec"]["terminationGracePeriodSeconds"] == 30
    assert container()["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_the_network_is_closed_but_for_three_ways():
    policies = {one["metadata"]["name"]: one["spec"] for one in EVERY if one["kind"] == "NetworkPolicy"}
    assert policies.pop("default-deny") == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    ways = {"allow-to-api-server": ["Egress"], "allow-to-dns": ["Egress"], "allow-metrics": ["Ingress"]}
    assert {name: one["policyTypes"] for name, one in policies.items()} == ways
    page = (pathlib.Path(__file__).parents[3] / "docs" / "etcd-direct.md").read_text(encoding="utf-8")
    assert "name: allow-to-etcd" in page, "who needs a fourth is shown it"
