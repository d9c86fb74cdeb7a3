"""A line in the operand matrix is a right: whoever adds an operand never writes a rule."""

from __future__ import annotations

from typing import Any

import yaml

import operand_rights as rights
from topology_controller import bindata, manifests
from topology_controller.definitions import operands as matrices
from topology_controller.plugin import cluster

Rule = tuple[str, str, str, str, str]
DEPLOYMENT = {
    "kind": "Deployment",
    "namespace": "openshift-console",
    "name": "console",
    "replicas": {"HighlyAvailable": 2},
}
CONSOLE = {"check": "ConsoleReplicas", "operator": "console", "follows": "controlPlane", "operands": [DEPLOYMENT]}
ETCD = {
    "check": "EtcdRevision",
    "operator": "etcd",
    "follows": "controlPlane",
    "operands": [{"kind": "StaticPods", "resource": "Etcd", "name": "cluster"}],
}


def matrix(*groups: dict[str, Any], readers: tuple[dict[str, Any], ...] = ()) -> matrices.Matrix:
    return matrices.Matrix.model_validate({"groups": groups, "startupReaders": readers})


def console(*operands: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**CONSOLE, "operands": [DEPLOYMENT, *operands], **more}


def made(given: matrices.Matrix, *others: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(rights.render(given, *others)) if one]


def rules(given: matrices.Matrix, *others: dict[str, Any], of: str = rights.NAME) -> set[Rule]:
    """Namespace, group, resource, name and verbs of every rule of the roles of that name, one name each."""
    return {
        (role["metadata"].get("namespace", ""), group, resource, name, " ".join(rule["verbs"]))
        for role in made(given, *others)
        if role["metadata"]["name"] == of
        for rule in role.get("rules", ())
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }


ONE = ("openshift-console", "apps", "deployments", "console", "list watch")


def test_an_operand_in_another_namespace_is_a_role_and_a_binding_more():
    before, after = matrix(CONSOLE), matrix(console({**DEPLOYMENT, "namespace": "elsewhere"}))
    assert rules(after) - rules(before) == {("elsewhere", *ONE[1:])}
    added = [one for one in made(after) if one not in made(before)]
    assert [(one["kind"], one["metadata"]["namespace"]) for one in added] == [
        ("Role", "elsewhere"),
        ("RoleBinding", "elsewhere"),
    ]


def test_every_kind_of_operand_has_its_resource():
    others: list[dict[str, Any]] = [
        {**DEPLOYMENT, "kind": "StatefulSet"},
        {**DEPLOYMENT, "kind": "IngressController"},
        {"kind": "PodDisruptionBudget", "namespace": "openshift-console", "name": "console"},
        {"kind": "StaticPods", "resource": "KubeScheduler", "name": "cluster"},
    ]
    found = rules(
        matrix(console(*others, managedBy={"kind": "Console", "group": "operator.openshift.io", "name": "cluster"}))
    )
    assert {one[:4] for one in found} == {
        ("openshift-console", "apps", "deployments", "console"),
        ("openshift-console", "apps", "statefulsets", "console"),
        ("openshift-console", "operator.openshift.io", "ingresscontrollers", "console"),
        ("openshift-console", "policy", "poddisruptionbudgets", "console"),
        ("", "operator.openshift.io", "kubeschedulers", "cluster"),
        ("", "operator.openshift.io", "consoles", "cluster"),
    }


def test_what_is_granted_by_hand_is_not_granted_again():
    by_hand: dict[str, Any] = {
        "metadata": {"name": "by-hand"},
        "rules": [
            {
                "apiGroups": ["operator.openshift.io"],
                "resources": ["etcds"],
                "resourceNames": ["cluster"],
                "verbs": ["get", "list", "watch"],
            }
        ],
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
        "rules": [
            {
                "apiGroups": ["lca.openshift.io"],
                "resources": ["imagebasedupgrades"],
                "resourceNames": ["upgrade"],
                "verbs": ["list", "watch"],
            }
        ],
    }
    (found,) = rules(matrix(CONSOLE), by_hand, of=cluster.ADDED_TO_READER)
    assert found == ("", "lca.openshift.io", "imagebasedupgrades", "upgrade", "get list watch")


def test_the_committed_roles_are_current():
    committed = (bindata.root() / "manifests" / rights.FILE).read_text(encoding="utf-8")
    assert committed == rights.current_roles(), "run make generate"


def test_everything_that_the_matrix_reads_is_granted():
    granted = {
        (role["metadata"].get("namespace", ""), group, resource, name)
        for role in yaml.safe_load_all(manifests.render(manifests.Kind.OPERATOR))
        if role["kind"] in {"Role", "ClusterRole"}
        for rule in role["rules"]
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        if {"list", "watch"} <= set(rule["verbs"])
    }
    wanted = {(one.namespace, one.group, one.plural, one.name) for one in rights.reads(matrices.load(bindata.root()))}
    assert len(wanted) >= 20
    assert wanted <= granted, wanted - granted
