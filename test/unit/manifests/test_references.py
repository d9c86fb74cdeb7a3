"""Every name in what is applied leads to something: an object beside it, or one that every cluster has.

`references` says of each kind what it refers to. Every rule there is shown to fail, by spoiling the one place.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from test.unit.manifests import references

from topology_controller import manifests

OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(manifests.render(manifests.Kind.OPERATOR)))
POD = "spec.template.spec"
CONTAINER = f"{POD}.containers.0"


def test_every_reference_leads_somewhere():
    found = references.Set(OBJECTS).faults()
    assert not found, "\n".join(found)


def test_a_role_that_is_bound_to_nobody_is_offered_to_somebody():
    among = references.Set(OBJECTS)
    bindings = among.of("RoleBinding", "ClusterRoleBinding")
    bound = {(references.space(one), one["roleRef"]["kind"], one["roleRef"]["name"]) for one in bindings}
    unbound = {
        one["metadata"]["name"]
        for one in among.of("Role", "ClusterRole")
        if (references.space(one), one["kind"], one["metadata"]["name"]) not in bound
    }
    pages = "".join(page.read_text() for page in (references.ROOT / "docs").glob("*.md"))
    assert not {name for name in unbound if name not in pages}, "a role that no page speaks of"


def spoilt(kind: str, path: str, value: object, name: str = "") -> list[str]:
    """The faults after one value has been changed; `value` None takes it away."""
    objects = copy.deepcopy(OBJECTS)
    one: Any = next(one for one in objects if one["kind"] == kind and name in ("", one["metadata"]["name"]))
    *way, last = (int(part) if part.isdecimal() else part.replace("~", ".") for part in path.split("."))
    for part in way:
        one = one[part]
    if value is None:
        del one[last]
    else:
        one[last] = value
    return references.Set(objects).faults()


@pytest.mark.parametrize(
    ("kind", "path", "value", "fault"),
    [
        ("Deployment", "spec.selector.matchLabels.app", "other", "its selector does not match its pods"),
        ("Deployment", f"{POD}.serviceAccountName", "other", "there is no ServiceAccount other"),
        ("Deployment", f"{POD}.priorityClassName", "other", "there is no PriorityClass other"),
        ("Deployment", f"{POD}.volumes.0.secret.secretName", "other", "no Service has Secret other made"),
        ("Deployment", f"{POD}.volumes.0", {"name": "a", "configMap": {"name": "b"}}, "there is no ConfigMap b"),
        ("Deployment", f"{POD}.volumes.0", {"name": "a", "hostPath": {"path": "/"}}, "a kind that nobody knows here"),
        ("Deployment", f"{POD}.volumes.0.name", "other", "nothing mounts volume other"),
        ("Deployment", f"{CONTAINER}.volumeMounts.0.name", "other", "there is no volume other"),
        ("Deployment", f"{CONTAINER}.volumeMounts.0.mountPath", "/other", "nothing is mounted at /var/run/secrets"),
        ("Deployment", f"{CONTAINER}.livenessProbe.httpGet.port", "other", "livenessProbe asks a port"),
        ("Deployment", f"{CONTAINER}.readinessProbe.httpGet.port", "other", "readinessProbe asks a port"),
        ("Deployment", f"{CONTAINER}.ports.0.containerPort", 1, "it binds to a port that the container does not have"),
        ("Deployment", f"{CONTAINER}.env.1.name", "OTHER", "there is no variable POD_NAMESPACE"),
        ("Deployment", "metadata.namespace", "other", "there is no namespace other"),
        ("Service", "spec.selector.app", "other", "its selector matches no pod"),
        ("Service", "spec.ports.0.targetPort", "other", "no container has port other"),
        ("Service", "spec.ports.0.name", "other", "has no port https"),
        ("Service", "metadata.labels.app", "other", "its selector matches no Service"),
        ("ServiceMonitor", "spec.endpoints.0.tlsConfig.serverName", "other", "serverName is not that"),
        ("RoleBinding", "roleRef.name", "other", "there is no Role other"),
        ("ClusterRoleBinding", "roleRef.name", "other", "there is no ClusterRole other"),
        ("RoleBinding", "subjects.0.name", "other", "there is no ServiceAccount other"),
        ("ClusterOperator", "status.relatedObjects.0", {}, "relatedObjects are not what the operator writes"),
        ("ValidatingAdmissionPolicy", "metadata.name", "other", "relatedObjects and policies differ in other"),
        ("ValidatingAdmissionPolicyBinding", "spec.policyName", "other", "there is no ValidatingAdmissionPolicy other"),
        ("ValidatingAdmissionPolicyBinding", "spec.policyName", "other", "no binding puts it in force"),
        ("ServiceAccount", "kind", "Widget", "nobody has said what a Widget refers to"),
    ],
)  # fmt: skip
def test_each_reference_that_leads_nowhere_is_found(kind, path, value, fault):
    assert any(fault in one for one in spoilt(kind, path, value)), spoilt(kind, path, value)
