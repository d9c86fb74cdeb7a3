"""What is printed can be typed again: the program and the cluster's client are named as this person has called them."""

from __future__ import annotations

import pytest

from topology_controller.plugin import naming

OC, KUBECTL = naming.Caller(), naming.Caller("kubectl topology", "kubectl")
PATCH = """oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{"spec":{"replicas":2}}'"""


@pytest.mark.parametrize(
    ("typed", "parent", "has_oc", "caller"),
    [
        pytest.param("/usr/bin/oc", "bash", False, OC, id="oc-has-become-this-process"),
        pytest.param("/usr/bin/kubectl", "bash", False, KUBECTL, id="kubectl-has"),
        pytest.param("/usr/local/bin/kubectl-1.32.4", "zsh", False, KUBECTL, id="kubectl-with-a-version"),
        pytest.param("/usr/bin/kubectl", "bash", True, naming.Caller("kubectl topology", "oc"), id="oc-is-there-too"),
        pytest.param("", "kubectl", False, KUBECTL, id="kubectl-is-the-parent"),
        pytest.param(
            "/home/me/bin/kubectl-topology", "bash", False, naming.Caller("kubectl-topology", "kubectl"), id="itself"
        ),
        pytest.param("/usr/bin/make", "make", True, naming.Caller("kubectl-topology", "oc"), id="from-something-else"),
    ],
)
def test_names_follow_from_what_was_typed(typed: str, parent: str, has_oc: bool, caller: naming.Caller) -> None:  # noqa: FBT001 - a row of the table
    found = naming.fitting({"_": typed}, parent, lambda name: f"/usr/bin/{name}" if has_oc else None)
    assert found == caller


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("see oc topology status", "see kubectl topology status"),
        ("Look at oc get nodes", "Look at kubectl get nodes"),
        (PATCH, "kubectl" + PATCH.removeprefix("oc")),
        # Only oc can do the first half, so the second half stays with it.
        (
            "oc debug node/a -- true && oc annotate co topology x-",
            "oc debug node/a -- true && oc annotate co topology x-",
        ),
        (
            "oc adm policy add-cluster-role-to-user cluster-reader joe",
            "kubectl create clusterrolebinding cluster-reader-joe --clusterrole=cluster-reader --user=joe",
        ),
        ("the path /usr/bin/oc get, and dioc get", "the path /usr/bin/oc get, and dioc get"),
    ],
)
def test_commands_are_those_of_the_client_that_is_there(text: str, spoken: str) -> None:
    assert KUBECTL.spoken(text) == spoken
    assert OC.spoken(text) == text
