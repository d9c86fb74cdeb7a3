"""What is applied where the operator runs in another cluster than the one it acts on: two sets, one for each.

Both are made from what is applied to one cluster (`manifests`), so a right that is added there is here as well. The
target gets the account that the stored kubeconfig is of, its rights, and what users and other clients meet: admission
policies, accepted checks, ClusterOperator. The management cluster gets the Deployment, and the rights for the lease and
for asking who scrapes. Only the rights that both need are written here: to tell the clusters apart, and to see the
target's own operator. `bindata/elsewhere` has the alert of the management cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from topology_api import vocabulary
from topology_controller import bindata

from . import manifests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Raw = dict[str, Any]
SECRET, KEY = "topology-target", "kubeconfig"
"""Where the Deployment expects the kubeconfig of the target."""
_FOLDER = "/etc/topology-target"
_PAYLOAD = ("include.release.openshift.io/", "release.openshift.io/")
_HEADS = {
    "target": "# For the cluster that is acted on. No operator runs there; docs/elsewhere.md has the commands.\n",
    "management": f"# For the cluster where the operator runs. It mounts key {KEY} of Secret {SECRET}: the way to\n"
    "# the cluster that is acted on. docs/elsewhere.md has the commands.\n",
}
_SERVING = frozenset({"tokenreviews", "subjectaccessreviews", "apiservers"})
"""What is asked where the operator serves."""
_IDENTITY: Raw = {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"]}
"""Are the two clusters two, and is each still the same?"""
_HERE_ONLY = frozenset({"Deployment", "Service", "NetworkPolicy", "ServiceMonitor"})
"""Kinds of the management cluster."""
_HERE_TOO = frozenset({"Namespace", "ServiceAccount"})
_VIEWERS = frozenset({"topology-status-viewer", f"{vocabulary.OPERATOR_NAME}-metrics", "prometheus-k8s"})
"""Roles for those who look at the pod."""


def render(
    part: str, image: str | None, namespace: str, *, monitoring: bool, without: frozenset[str] = frozenset()
) -> str:
    """Return what goes to `target` or to `management`, ending with a line break.

    `namespace` is that of the Deployment, one for each target; in the target it is always the default one.
    `without` are rights that are not printed, of manifests.OPTIONAL. Raises manifests.ManifestsError as
    `manifests.render` does, and for a namespace that does not fit the part.
    """
    own = namespace != vocabulary.DEFAULT_NAMESPACE
    if part == "target" and own:
        there = f"in the target it is {vocabulary.DEFAULT_NAMESPACE}"
        raise manifests.ManifestsError(f"--namespace goes with --elsewhere management: {there}")
    if part == "management" and not own:
        rule = f"one for each target, and not {namespace}"
        why = "which is that of an operator for the management cluster itself"
        raise manifests.ManifestsError(f"--elsewhere management goes with --namespace: {rule}, {why}")
    monitoring = monitoring and part == "management"
    text = manifests.render(manifests.Kind.OPERATOR, image, namespace, monitoring=monitoring, without=without)
    documents = [_without_payload(document) for document in yaml.safe_load_all(text) if document]
    documents = list(_target(documents) if part == "target" else _management(documents, namespace))
    if monitoring:
        rule = (bindata.root() / "elsewhere" / "prometheusrule.yaml").read_text(encoding="utf-8")
        documents.append(yaml.safe_load(rule.replace(vocabulary.DEFAULT_NAMESPACE, namespace)))
    return _HEADS[part] + yaml.safe_dump_all(documents, sort_keys=False, width=120, allow_unicode=True)


def _target(documents: Iterable[Raw]) -> Iterable[Raw]:
    for document in documents:
        kind, name, namespace = _identity(document)
        if kind in _HERE_ONLY or name in {*_VIEWERS, vocabulary.CONFIGURATION} or namespace == "kube-system":
            continue
        if kind == "ClusterRole" and name == vocabulary.OPERATOR_NAME:
            document["rules"] = [*_rules(document, lambda plural: plural not in _SERVING), _IDENTITY]
        elif kind == "Role" and (name, namespace) == (vocabulary.OPERATOR_NAME, vocabulary.DEFAULT_NAMESPACE):
            # The lease of an operator that runs in the target is looked at, and never written.
            leases = next(
                rule for rule in _rules(document, lambda plural: plural == "leases") if "get" in rule["verbs"]
            )
            document["rules"] = [{**leases, "verbs": ["get"]}, *_rules(document, lambda plural: plural != "leases")]
        elif kind == "ClusterOperator":
            document["metadata"]["annotations"] = {vocabulary.ELSEWHERE_ANNOTATION: "true"}
        yield document


def _management(documents: Iterable[Raw], namespace: str) -> Iterable[Raw]:
    # What is not in its namespace has a name of its own for each target.
    named = f"{vocabulary.OPERATOR_NAME}-{namespace}"
    for document in documents:
        kind, name, place = _identity(document)
        metadata, is_role = document["metadata"], kind.endswith(("Role", "RoleBinding"))
        own_role = is_role and name == vocabulary.OPERATOR_NAME and place in {"", namespace, "kube-system"}
        if not (own_role or kind in _HERE_ONLY | _HERE_TOO or name in {*_VIEWERS, vocabulary.CONFIGURATION}):
            continue
        if kind == "ClusterRole" and own_role:
            document["rules"] = [*_rules(document, lambda plural: plural in _SERVING), _IDENTITY]
        elif kind == "Role" and own_role and place == namespace:
            document["rules"] = _rules(document, lambda plural: plural == "leases")
        elif kind == "Namespace":
            metadata["annotations"]["openshift.io/description"] = (
                "Moves the topology of another cluster when an administrator asks for it there."
            )
        elif kind == "Deployment":
            _place(document["spec"]["template"]["spec"])
        if own_role and place != namespace:
            metadata["name"] = named
            if "roleRef" in document:
                document["roleRef"]["name"] = named
        yield document


def _place(pod: Raw) -> None:
    """Let a pod act on another cluster than its own, by a kubeconfig that is mounted."""
    # To its own cluster it is a workload as any other.
    del pod["priorityClassName"]
    (container,) = pod["containers"]
    container["args"] = [
        "run",
        f"--kubeconfig={_FOLDER}/{KEY}",
        "--lease-kubeconfig=in-cluster",
        "--lease-namespace=$(POD_NAMESPACE)",
        *(flag for flag in container["args"] if flag != "run" and not flag.startswith("--namespace=")),
    ]
    container["volumeMounts"].append({"name": "target", "mountPath": _FOLDER, "readOnly": True})
    pod["volumes"].append({"name": "target", "secret": {"secretName": SECRET}})


def _rules(role: Raw, wanted: Callable[[str], bool]) -> list[Raw]:
    return [rule for rule in role["rules"] if all(wanted(plural) for plural in rule.get("resources", ("",)))]


def _identity(document: Raw) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata["name"], metadata.get("namespace", "")


def _without_payload(document: Raw) -> Raw:
    """Leave out what a release payload goes by."""
    metadata = document["metadata"]
    kept = {key: value for key, value in (metadata.get("annotations") or {}).items() if not key.startswith(_PAYLOAD)}
    metadata.pop("annotations", None)
    if kept:
        metadata["annotations"] = kept
    return document
