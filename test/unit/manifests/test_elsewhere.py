"""Two sets, one for each cluster: together the rights of one installation, and those of telling clusters apart."""

import shlex
from collections.abc import Iterable
from typing import Any

import pytest
import yaml

from topology_api import vocabulary
from topology_controller import cli
from topology_deploy import cli as deploy
from topology_deploy import manifests

RUN = "run --bind-address 127.0.0.1:0"
EDGE, OURS = "topology-edge-1", vocabulary.DEFAULT_NAMESPACE


def printed(part: str, namespace: str) -> list[dict[str, Any]]:
    text = manifests.elsewhere(part, "registry/topology:1", namespace, monitoring=True)
    return list(yaml.load_all(text, yaml.CSafeLoader))


TARGET, MANAGEMENT = printed("target", OURS), printed("management", EDGE)
HOME = list(yaml.load_all(manifests.render(), yaml.CSafeLoader))


def rights(objects: Iterable[dict[str, Any]], account: str) -> set[tuple[str, ...]]:
    """Verb, group, resource, name and namespace of all that is bound to the account; its own namespace is `own`."""
    found: set[tuple[str, ...]] = set()
    objects = list(objects)
    subject = {"kind": "ServiceAccount", "name": vocabulary.OPERATOR_NAME, "namespace": account}
    for binding in (one for one in objects if one["kind"].endswith("Binding") and one.get("subjects") == [subject]):
        namespace = binding["metadata"].get("namespace", "")
        (role,) = (
            one
            for one in objects
            if (one["kind"], one["metadata"]["name"]) == (binding["roleRef"]["kind"], binding["roleRef"]["name"])
            and one["metadata"].get("namespace", "") == namespace
        )
        for rule in role["rules"]:
            for verb in rule["verbs"]:
                for resource in rule["resources"]:
                    for name in rule.get("resourceNames", [""]):
                        found.add(
                            (verb, *rule["apiGroups"], resource, name, "own" if namespace == account else namespace)
                        )
    return found


def test_both_together_have_the_rights_of_one_installation_and_of_telling_clusters_apart() -> None:
    there, here, home = rights(TARGET, OURS), rights(MANAGEMENT, EDGE), rights(HOME, OURS)
    identity = ("get", "", "namespaces", "kube-system", "")
    lease = ("get", "coordination.k8s.io", "leases", vocabulary.LEASE, "own")
    assert there | here == home | {identity}
    assert there & here == {identity, lease}
    assert {one[2] for one in here} == {
        "leases", "namespaces", "tokenreviews", "subjectaccessreviews", "apiservers", "configmaps",
    }  # fmt: skip
    assert {one for one in there if one[2] == "leases" and one[0] != "get" and one[4] == "own"} == set()
    assert not {one for one in there | here if one[2] == "secrets"}


def test_nothing_runs_in_the_target_and_all_else_of_an_installation_is_there() -> None:
    kinds = {one["kind"] for one in TARGET}
    assert not kinds & {"Deployment", "Service", "NetworkPolicy", "Secret"}
    assert kinds >= {"Namespace", "ServiceAccount", "ValidatingAdmissionPolicy", "ClusterOperator"}
    (report,) = (one for one in TARGET if one["kind"] == "ClusterOperator")
    assert report["metadata"]["annotations"] == {vocabulary.ELSEWHERE_ANNOTATION: "true"}
    policies = {one["metadata"]["name"] for one in HOME if one["kind"] == "ValidatingAdmissionPolicy"}
    assert policies == {one["metadata"]["name"] for one in TARGET if one["kind"] == "ValidatingAdmissionPolicy"}


def test_the_pod_acts_on_the_cluster_of_the_secret_and_holds_its_lease_at_home() -> None:
    (deployment,) = (one for one in MANAGEMENT if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (volume,) = (one for one in pod["volumes"] if "secret" in one and one["name"] == "target")
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "target")
    assert volume["secret"] == {"secretName": manifests.SECRET}
    assert mount["readOnly"] is True
    assert "subPath" not in mount, "a file by subPath would never change"
    options = cli.parser(cli.COMMANDS).parse_args(container["args"])
    assert options.kubeconfig == f"{mount['mountPath']}/{manifests.KEY}"
    assert (options.lease_kubeconfig, options.lease_namespace) == ("in-cluster", "$(POD_NAMESPACE)")
    assert options.namespace == OURS, "that of the target"
    assert container["image"] == "registry/topology:1"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("manifests --elsewhere management", "goes with --namespace"),
        ("manifests --elsewhere target --namespace edge", "in the target it is openshift-topology-operator"),
        ("manifests --elsewhere management --namespace Edge", "cannot be the name of a namespace"),
        ("manifests --elsewhere target --console https://a", "does not go with"),
        ("manifests --elsewhere management --namespace mine --bare-metal-host-reader", "--bare-metal-host-reader"),
        ("manifests --crd-patch --bare-metal-host-reader", "--bare-metal-host-reader"),
        ("manifests --crd-patch --without-machine-api", "--without-machine-api"),
        ("manifests --crd-only --without-monitoring", "--without-monitoring"),
        (f"{RUN} --kubeconfig a --lease-kubeconfig b", "goes with --lease-namespace"),
        (f"{RUN} --kubeconfig a --lease-namespace b", "goes with --lease-kubeconfig"),
        (f"{RUN} --kubeconfig a --lease-kubeconfig b --lease-namespace c --no-leader-elect", "--no-leader-elect"),
        (f"{RUN} --lease-kubeconfig b --lease-namespace c", "goes with --kubeconfig"),
    ],
)
def test_bad_usage_says_what_goes_with_what(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert deploy.main(shlex.split(line)) == cli.USAGE
    printed, complaint = capsys.readouterr()
    assert said in complaint
    assert not printed
