"""A line in the operand matrix is a right: whoever adds an operand never writes a rule."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

import operand_rights as rights
from kubectl_topology import cluster
from topology_controller import bindata
from topology_controller.definitions import operands as matrices
from topology_controller.observe import catalog

Rule = tuple[str, str, str, str, str]
OF_CHECKS = {source.selection.resource.plural for source in catalog.ALL if source.operand}
PLACE = {"namespace": "openshift-console", "name": "console"}
DEPLOYMENT: dict[str, Any] = {**PLACE, "kind": "Deployment", "replicas": {"HighlyAvailable": 2}}
CONSOLE = {"check": "ConsoleReplicas", "operator": "console", "follows": "controlPlane", "operands": [DEPLOYMENT]}
STATIC_PODS = {"kind": "StaticPods", "resource": "Etcd", "name": "cluster"}
ETCD = {"check": "EtcdRevision", "operator": "etcd", "follows": "controlPlane", "operands": [STATIC_PODS]}


def matrix(*groups: dict[str, Any]) -> matrices.Matrix:
    return matrices.Matrix.model_validate({"groups": groups})


def console(*operands: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**CONSOLE, "operands": [DEPLOYMENT, *operands], **more}


def made(given: matrices.Matrix, *others: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in yaml.load_all(rights.render(given, *others), yaml.CSafeLoader) if one]


def rules(given: matrices.Matrix, *others: dict[str, Any], of: str = rights.NAME) -> set[Rule]:
    """Namespace, group, resource, name and verbs of every rule of the roles of that name, one name each."""
    return {
        (role["metadata"].get("namespace", ""), group, resource, name, " ".join(rule["verbs"]))
        for role in made(given, *others)
        if role["metadata"]["name"] == of
        for rule in role.get("rules", ())
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
        if resource not in OF_CHECKS
        for name in rule.get("resourceNames", [""])
    }


def rule(group: str, resource: str, name: str, *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": [*verbs]}


ONE = ("openshift-console", "apps", "deployments", "console", "list watch")
MANAGED = {"managedBy": {"kind": "Console", "group": "operator.openshift.io", "name": "cluster"}}
KINDS = (
    {**DEPLOYMENT, "kind": "StatefulSet"},
    {**DEPLOYMENT, "kind": "IngressController"},
    {**PLACE, "kind": "PodDisruptionBudget"},
    {"kind": "StaticPods", "resource": "KubeScheduler", "name": "cluster"},
)
OF_KINDS = {
    ONE,
    ("openshift-console", "apps", "statefulsets", "console", "list watch"),
    ("openshift-console", "operator.openshift.io", "ingresscontrollers", "console", "list watch"),
    ("openshift-console", "policy", "poddisruptionbudgets", "console", "list watch"),
    ("", "operator.openshift.io", "kubeschedulers", "cluster", "list watch"),
    ("", "operator.openshift.io", "consoles", "cluster", "list watch"),
}


@pytest.mark.parametrize(
    ("given", "granted"),
    [
        (matrix(), set()),
        (matrix(CONSOLE), {ONE}),
        (matrix(console({**DEPLOYMENT, "name": "downloads"})), {ONE, (*ONE[:3], "downloads", ONE[4])}),
        (matrix(console({**DEPLOYMENT, "namespace": "elsewhere"})), {ONE, ("elsewhere", *ONE[1:])}),
        # Without the capability there is no namespace and no role in it; a refused list would look like trouble.
        (matrix(console(capability="Console")), {("", *ONE[1:])}),
        # Pods have no names that are known before.
        (matrix(console(*KINDS, **MANAGED)), OF_KINDS),
    ],
    ids=["nothing", "an operand", "a second one", "elsewhere", "of a capability", "every kind"],
)
def test_a_line_of_the_matrix_is_a_right_to_list_and_watch_it(given, granted):
    assert rules(given) == granted
    spaces = [one["metadata"].get("namespace") for one in made(given) if one["kind"] == "Role"]
    assert [one["metadata"]["namespace"] for one in made(given) if one["kind"] == "RoleBinding"] == spaces


def test_what_is_granted_by_hand_is_not_granted_again():
    by_hand: dict[str, Any] = {
        "metadata": {"name": "by-hand"},
        "rules": [rule("operator.openshift.io", "etcds", "cluster", "get", "list", "watch")],
    }
    assert rules(matrix(ETCD, CONSOLE), by_hand) == {ONE}
    by_hand["rules"][0]["verbs"] = ["get"]
    assert len(rules(matrix(ETCD, CONSOLE), by_hand)) == 2, "reading it once is not watching it"


def test_what_cluster_reader_lacks_is_added_to_it_by_its_name_whoever_grants_it_to_the_operator():
    router = {**DEPLOYMENT, "kind": "IngressController"}
    assert rules(matrix(ETCD, console(router)), of=cluster.ADDED_TO_READER) == {
        ("", "operator.openshift.io", "etcds", "cluster", "get list watch"),
        ("", "operator.openshift.io", "ingresscontrollers", "console", "get list watch"),
    }
    by_hand: dict[str, Any] = {
        "metadata": {"name": "by-hand", "namespace": "somewhere"},
        "rules": [rule("lca.openshift.io", "imagebasedupgrades", "upgrade", "list", "watch")],
    }
    (found,) = rules(matrix(CONSOLE), by_hand, of=cluster.ADDED_TO_READER)
    assert found == ("", "lca.openshift.io", "imagebasedupgrades", "upgrade", "get list watch")


def test_the_committed_roles_are_current():
    committed = (bindata.root() / "manifests" / rights.FILE).read_text(encoding="utf-8")
    assert committed == rights.render(*rights.current()), "run make generate"
