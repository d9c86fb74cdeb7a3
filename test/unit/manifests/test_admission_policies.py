"""Policies, their bindings, the markers they ask for, the roles that grant those and the page about it belong together.

What the policies let through and refuse is tested on a real API server (test/component/admission).
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from topology_api import vocabulary
from topology_deploy import manifests

OBJECTS: list[dict[str, Any]] = list(yaml.load_all(manifests.render(monitoring=False), yaml.CSafeLoader))
OURS = vocabulary.DEFAULT_NAMESPACE
MARKER_GROUP = "topology.openshift.io"
_ASKED = re.compile(
    r"authorizer\.group\('([^']+)'\)\.resource\('([^']+)'\)\.subresource\('([^']+)'\)"
    r"\s*\.name\('([^']+)'\)\.check\('([^']+)'\)"
)
_WORDS = re.compile(r"set (infrastructures/\w+) in group (\S+?)[,)]? |as ClusterRole (\S+) has it")


def of(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in OBJECTS if one["kind"] == kind}


POLICIES = of("ValidatingAdmissionPolicy")


def asked() -> set[tuple[str, ...]]:
    """Every marker that an expression asks for: group, resource, subresource, name, verb."""
    variables = [one["expression"] for policy in POLICIES.values() for one in policy["spec"]["variables"]]
    return {found for text in variables for found in _ASKED.findall(text)}


def granted(role: str) -> set[tuple[str, ...]]:
    """The same, of what a role grants."""
    return {
        (group, *resource.split("/"), name, verb)
        for rule in of("ClusterRole")[role]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule["resourceNames"]
        for verb in rule["verbs"]
        if group == MARKER_GROUP
    }


def test_each_policy_is_bound_refuses_and_judges_one_object():
    bindings = {one["spec"]["policyName"]: one for one in of("ValidatingAdmissionPolicyBinding").values()}
    assert set(bindings) == set(POLICIES)
    assert len(POLICIES) == 3
    for name, policy in POLICIES.items():
        assert bindings[name]["spec"]["validationActions"] == ["Deny"]
        assert policy["spec"]["failurePolicy"] == "Fail"
        (updated, *created) = policy["spec"]["matchConstraints"]["resourceRules"]
        assert updated["operations"] == ["UPDATE"]
        assert (updated["apiGroups"], updated["resourceNames"]) in (
            (["config.openshift.io"], ["cluster"]),
            (["config.openshift.io"], ["topology"]),
        )
        # The name of what is being created is no part of the request that RBAC judges, so it is judged here.
        assert [(rule["operations"], rule["resources"]) for rule in created] == (
            [(["CREATE"], ["clusteroperators"])] if name.endswith("-report") else []
        )
        for validation in policy["spec"]["validations"]:
            assert validation["reason"] == "Forbidden", validation
            assert {"message", "messageExpression"} <= set(validation), "the second can fail"


def test_who_changes_the_topology_and_the_copy_is_the_account_of_the_deployment():
    (deployment,) = of("Deployment").values()
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    ours = f"system:serviceaccount:{deployment['metadata']['namespace']}:{account}"
    for part in ("status", "report"):
        text = str(POLICIES[f"{vocabulary.OPERATOR_NAME}-{part}"]["spec"]["variables"])
        assert set(re.findall(r"system:serviceaccount:[a-z:-]+", text)) == {ours}, part
    elsewhere = manifests.render(namespace="elsewhere", monitoring=False)
    assert set(re.findall(r"system:serviceaccount:[a-z:-]+", elsewhere)) == {ours.replace(OURS, "elsewhere")}


def test_the_roles_grant_the_markers_that_are_asked_for_but_the_one_for_status():
    requester, administrator = granted("topology-requester"), granted("topology-administrator")
    assert requester < administrator < asked()
    assert {one[2] for one in asked() - administrator} == {"observedtopology"}
    assert {one[2] for one in administrator - requester} == {"everything", "confirmations"}
    assert len(asked()) == 4
    assert {(group, resource, name, verb) for group, resource, _, name, verb in asked()} == {
        (MARKER_GROUP, "infrastructures", "cluster", "set")
    }


def test_a_refusal_names_markers_and_roles_that_there_are():
    said = [one["messageExpression"] for policy in POLICIES.values() for one in policy["spec"]["validations"]]
    texts = [re.sub(r"' \+ '", "", re.sub(r"\s+", " ", text)) for text in said]
    markers = {(group, *resource.split("/")) for text in texts for resource, group, _ in _WORDS.findall(text) if group}
    assert markers == {one[:3] for one in asked()}
    roles = {role for text in texts for *_, role in _WORDS.findall(text) if role}
    assert roles == {"topology-requester", "topology-administrator"}
