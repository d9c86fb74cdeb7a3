"""What is applied to a cluster, as text: `cluster-topology-operator manifests`. Nothing is applied here.

`bindata/manifests/` is printed in the order of its file names, with image, namespace and version put in, then
`bindata/monitoring/`; a release payload takes the same files as they are. `elsewhere` makes two sets of these objects,
for an operator that runs in another cluster than the one it acts on.

The definition of Infrastructure belongs to the release payload of a real cluster, so it is asked for by itself: whole
for a cluster that has none, or as a script with `oc` that puts our part into what a cluster serves, and takes it out
(`bindata/crd/patch.sh`, `topology_api.crd_patch`). It relies on cluster-version-operator, release-4.20 to 4.22:
overrides and updates in pkg/payload/precondition/clusterversion/upgradeable.go, owner references in pkg/cvo/cvo.go, and
which override counts in library-go pkg/manifest/manifest.go, getOverrideForManifest.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from topology_api import crd, crd_patch, vocabulary
from topology_api import served as served_fields
from topology_api.vocabulary import Phase
from topology_controller import _version, bindata, shell
from topology_controller.definitions import load

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterable

Raw = dict[str, Any]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C, where PyYAML has it, it takes a tenth of the time

IMAGE = "cluster-topology-operator:unset"
"""What is replaced by the image in the Deployment."""
DOWNLOADS = "https://downloads.example.com/topology"
"""What is replaced by the address below which the archives of kubectl-topology are (`hack/krew.py`)."""
OPTIONAL = {
    "machine_api": "0000_30_topology-operator_04_roles_machines.yaml",
    "leases": "0000_30_topology-operator_04_roles_leases.yaml",
}
"""Files of rights that may be left out."""
RELEASE = "0.0.1-snapshot"
"""What is replaced by the version of a release when its payload is made (`oc adm release new`)."""
SECRET, KEY = "topology-target", "kubeconfig"
"""Where the Deployment expects the kubeconfig of the target."""
_FOLDER = "/etc/topology-target"
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
_VIEWERS = frozenset({"topology-status-viewer", f"{vocabulary.OPERATOR_NAME}-metrics", "prometheus-k8s"})
_ANNOTATIONS = re.compile(r"^ *- alert: (\w+)\n(?:(?! *- ).*\n)*?( *)annotations:\n", re.MULTILINE)
OVERRIDE = {
    "kind": "CustomResourceDefinition", "group": "apiextensions.k8s.io", "namespace": "", "name": crd.NAME,
    "unmanaged": True,
}  # fmt: skip
"""The entry of ClusterVersion's spec.overrides that keeps the version operator away from the definition."""


class ManifestsError(Exception):
    """What was asked for cannot be printed; the text says why."""


def render(
    image: str | None = None,
    namespace: str = vocabulary.DEFAULT_NAMESPACE,
    *,
    monitoring: bool = True,
    without: frozenset[str] = frozenset(),
) -> str:
    """Return what to apply for the operator, ending with a line break. Raises ManifestsError.

    `image` None is the name and version of this operator without a registry. `monitoring`: with what the cluster's
    Prometheus and console need. `without` are rights of OPTIONAL that it does not get.
    """
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", namespace):
        raise ManifestsError(f"{namespace!r} cannot be the name of a namespace: wanted a-z, 0-9 and -, 63 at most")
    if image is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,511}", image):
        raise ManifestsError(f"{image!r} cannot be an image: wanted [registry/]name[:tag][@digest]")
    left_out = {OPTIONAL[right] for right in without}
    places = [*files("manifests"), *(files("monitoring") if monitoring else ())]
    text = _joined(place for place in places if place.name not in left_out)
    text = text.replace(vocabulary.DEFAULT_NAMESPACE, namespace)
    text = text.replace(IMAGE, image or f"{vocabulary.OPERATOR_NAME}:{image_tag()}")
    return text.replace(RELEASE, _version.__version__)


def console(downloads: str) -> str:
    """Return what lets the console offer archives of kubectl-topology below this address. Raises ManifestsError."""
    if not re.fullmatch(r"https://[A-Za-z0-9][A-Za-z0-9._~:/@%+-]{0,1023}", downloads):
        raise ManifestsError(f"{downloads!r} cannot be an address of downloads: wanted https://HOST[/PATH]")
    return _joined(files("console")).replace(DOWNLOADS, downloads.rstrip("/")).replace(RELEASE, image_tag())


def linked(text: str, runbooks: str) -> str:
    """Return manifests whose alerts and page link the runbooks below this https address. Raises ManifestsError."""
    if not re.fullmatch(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~%@+-]+)*/?", runbooks):
        raise ManifestsError(f"{runbooks!r} cannot be the address of the runbooks: wanted https://HOST[:PORT][/PATH]")
    folder = runbooks.rstrip("/")
    text = _ANNOTATIONS.sub(lambda alert: f"{alert[0]}{alert[2]}  runbook_url: {folder}/{alert[1]}.md\n", text)
    variable = f"name: {vocabulary.RUNBOOKS_VARIABLE}"
    return text.replace(f"{{{variable}}}", f'{{{variable}, value: "{folder}"}}')


def edges() -> tuple[crd.Edge, ...]:
    """Return the edges of the transitions that this installation has."""
    return load.load(bindata.root() / "transitions").edges()


def whole_crd() -> str:
    """Return the whole definition as YAML; bindata/crd/infrastructures.yaml is this text."""
    head = "# Generated by `make generate` from api/topology_api and bindata/transitions. Do not edit.\n"
    return head + yaml.safe_dump(crd.infrastructure(edges()), sort_keys=False, width=120, allow_unicode=True)


def patch(served: object = None) -> str:
    """Return the script for a served definition, which ends with an error for any other; None: how to get that."""
    if served is None:
        return filled("crd/print.sh", COST=filled("crd/cost.txt", NAME=crd.NAME), NAME=crd.NAME)
    if not isinstance(served, dict):
        raise ManifestsError(f"wanted CustomResourceDefinition {crd.NAME}, found no object")
    try:
        operations = crd_patch.add(served, edges())
    except crd_patch.NotPatchableError as error:
        raise ManifestsError(str(error)) from error
    back = crd_patch.remove(crd_patch.apply(served, operations))
    # A rule is appended: a patch that is sent twice would append it twice.
    generation = served_fields.mapping(served.get("metadata")).get("generation")
    read = "oc get crd \"$crd\" -o jsonpath='{.metadata.generation}'"
    unchanged = f'  [ "$({read})" = {shell.command("{}", generation)} ] || fail "$changed"\n'
    return filled(
        "crd/patch.sh",
        COST=filled("crd/cost.txt", NAME=crd.NAME),
        GENERATION=unchanged if operations and generation else "",
        ADD=_patch(operations) if operations else '  echo "$crd has our part at this level"',
        REMOVE=_patch(back),
        OVERRIDE=json.dumps(OVERRIDE, separators=(",", ":")),
        ADMITTING=Phase.ADMITTING.value,
        CONVERGING=Phase.CONVERGING.value,
        NAME=crd.NAME,
        VERSION=crd.VERSION,
        RECORD=crd.RECORD,
        DESIRED=crd.DESIRED,
    )


def _patch(operations: list[dict[str, Any]]) -> str:
    listed = ",\n".join(json.dumps(operation, ensure_ascii=True) for operation in operations)
    return f"""\
  oc patch crd "$crd" --type json --patch-file /dev/stdin <<'PATCH' || unpatched
[{listed}]
PATCH"""


def image_tag() -> str:
    """Return the version as an image's tag and an archive's name have it: without the commit of a build."""
    return _version.__version__.partition("+")[0]


def filled(file: str, **values: str) -> str:
    """Return a file of bindata with these values for its marks, such as @NAME@."""
    text = (bindata.root() / file).read_text(encoding="utf-8")
    return re.sub("@([A-Z_]+)@", lambda mark: values[mark[1]], text)


def files(folder: str) -> list[pathlib.Path]:
    """Return the files of a folder of bindata, in the order in which they are applied."""
    return sorted((bindata.root() / folder).glob("*.yaml"))


def _joined(places: Iterable[pathlib.Path]) -> str:
    return "\n---\n".join(place.read_text(encoding="utf-8").strip() for place in places) + "\n"


def elsewhere(
    part: str, image: str | None, namespace: str, *, monitoring: bool, without: frozenset[str] = frozenset()
) -> str:
    """Return what goes to `target`, or to `management` into this namespace, one for each target. Raises as `render`."""
    own = namespace != vocabulary.DEFAULT_NAMESPACE
    if part == "target" and own:
        there = f"in the target it is {vocabulary.DEFAULT_NAMESPACE}"
        raise ManifestsError(f"--namespace goes with --elsewhere management: {there}")
    if part == "management" and not own:
        why = f"and not {namespace}, which is that of an operator for the management cluster itself"
        raise ManifestsError(f"--elsewhere management goes with --namespace: one for each target, {why}")
    monitoring = monitoring and part == "management"
    text = render(image, namespace, monitoring=monitoring, without=without)
    documents = [_without_payload(document) for document in yaml.load_all(text, LOADER) if document]
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
            leases = [rule for rule in _rules(document, lambda plural: plural == "leases") if "get" in rule["verbs"]]
            document["rules"] = [{**leases[0], "verbs": ["get"]}, *_rules(document, lambda plural: plural != "leases")]
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
        belongs = kind in {*_HERE_ONLY, "Namespace", "ServiceAccount"} or name in {*_VIEWERS, vocabulary.CONFIGURATION}
        if not (own_role or belongs):
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
    kept = [flag for flag in container["args"] if flag != "run" and not flag.startswith("--namespace=")]
    leads = ["--lease-kubeconfig=in-cluster", "--lease-namespace=$(POD_NAMESPACE)"]
    container["args"] = ["run", f"--kubeconfig={_FOLDER}/{KEY}", *leads, *kept]
    container["volumeMounts"].append({"name": "target", "mountPath": _FOLDER, "readOnly": True})
    pod["volumes"].append({"name": "target", "secret": {"secretName": SECRET}})


def _rules(role: Raw, wanted: Callable[[str], bool]) -> list[Raw]:
    return [rule for rule in role["rules"] if all(wanted(plural) for plural in rule.get("resources", ("",)))]


def _identity(document: Raw) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata["name"], metadata.get("namespace", "")


def _without_payload(document: Raw) -> Raw:
    payload = ("include.release.openshift.io/", "release.openshift.io/")
    annotations = document["metadata"].pop("annotations", None) or {}
    if kept := {key: value for key, value in annotations.items() if not key.startswith(payload)}:
        document["metadata"]["annotations"] = kept
    return document
