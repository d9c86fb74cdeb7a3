"""The operator, the fields and the override for many clusters, and how they go again: two Policies, one label.

A cluster is in one of the two by the value of its label. What `manifests` printed is put into policies here, beside our
part of the definition of Infrastructure.

Facts of the engine (open-cluster-management.io/config-policy-controller v0.18.0
controllers/configurationpolicy_controller.go): `musthave` merges items of a list by their names, and so adds to
`versions` what no apply can. Only `mustonlyhave` takes an item out of a list: it writes a whole `spec`, here the one
that the template has just read. `mustnothave` deletes objects, so for an override it would delete ClusterVersion.
What has `extraDependencies` is kept from a cluster until these are compliant (governance-policy-framework-addon).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from topology_api import crd, vocabulary
from topology_controller import shell

from .. import manifests
from . import engines, plan
from .engines import HUB, File

if TYPE_CHECKING:
    from topology_api.crd import Edge

Raw = dict[str, Any]
LABEL = "topology.openshift.io/operator"
"""Label of a managed cluster: which of the two policies it gets."""
INSTALL, REMOVE = "install", "remove"
_WHY = """\
# For policies of Red Hat Advanced Cluster Management. ManifestWorks and Argo CD cannot add the fields, because to an
# apply the versions of a definition are one field, and cannot take the override away.
"""


def read(text: str) -> list[Raw]:
    """The objects that `manifests` printed. Raises ManifestsError."""
    wanted = f"wanted is what `{vocabulary.OPERATOR_NAME} manifests --image REF` prints"
    try:
        items = [item for item in yaml.safe_load_all(text) if item is not None]
    except yaml.YAMLError as error:
        raise manifests.ManifestsError(f"not YAML: {error}; {wanted}") from error
    if not all(isinstance(item, dict) and isinstance(item.get("metadata"), dict) for item in items):
        raise manifests.ManifestsError(f"found something without metadata; {wanted}")
    names = [item["metadata"].get("name") for item in items if item.get("kind") == "Deployment"]
    if vocabulary.OPERATOR_NAME not in names:
        without = f"{len(items)} objects without Deployment {vocabulary.OPERATOR_NAME}"
        raise manifests.ManifestsError(f"found {without}; {wanted}")
    return items


def fields(edges: tuple[Edge, ...]) -> Raw:
    """Our part of the definition of Infrastructure, to be merged with what a cluster serves."""
    definition = crd.infrastructure(edges)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    properties = {
        part: {"properties": {name: schema["properties"][part]["properties"][name]}}
        for part, name in (("spec", crd.DESIRED), ("status", crd.RECORD))
    }
    ours = {"openAPIV3Schema": {"properties": properties, crd.RULES: schema[crd.RULES]}}
    version = {"name": crd.VERSION, "additionalPrinterColumns": crd.columns(), "schema": ours}
    head = {key: definition[key] for key in ("apiVersion", "kind")}
    return {**head, "metadata": {"name": crd.NAME}, "spec": {"versions": [version]}}


def install(namespace: str, cluster_set: str, operator: list[Raw]) -> tuple[File, ...]:
    """What brings all to the clusters with the label: first override and fields, then rights and the operator."""
    version = _filled("override.tmpl", OVERRIDE=json.dumps(manifests.OVERRIDE))
    # The status of ClusterOperator is the operator's own.
    kept = [{key: part for key, part in item.items() if key != "status"} for item in operator]
    steps = {
        "fields": _templates("musthave", [version, fields(manifests.edges())]),
        "operator": _templates("musthave", [*yaml.safe_load_all(engines.rights()), *kept]),
    }
    what = "brings the override, the fields, the rights of the engines' agents, the operator"
    return _files(namespace, cluster_set, INSTALL, what, steps)


def remove(namespace: str, cluster_set: str, operator: list[Raw]) -> tuple[File, ...]:
    """What takes it from the clusters whose label is changed: the request, the operator, then the override.

    The version operator then puts its own definition back. While a transition is Admitting or Converging nothing is
    removed and the policy is not compliant. The rights stay: they belong to the engines.
    """
    names: list[Raw] = []
    for item in operator:
        metadata = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
        names.append({"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata})
    # Who is not there writes nothing: the operator goes before what it would write again.
    names.sort(key=lambda item: item["kind"] != "Deployment")
    steps = {
        "request": {"object-templates-raw": manifests.filled("fleet/templates/remove-request.gotmpl")},
        "operator": _templates("mustnothave", names),
        "override": {"object-templates-raw": manifests.filled("fleet/templates/remove-override.gotmpl")},
    }
    return _files(namespace, cluster_set, REMOVE, "takes the request, the operator and the override away", steps)


def _templates(compliance: str, items: list[Raw]) -> Raw:
    return {"object-templates": [{"complianceType": compliance, "objectDefinition": item} for item in items]}


def _filled(template: str, **marks: str) -> Raw:
    document: Raw = yaml.safe_load(manifests.filled(f"fleet/templates/{template}", **marks))
    return document


def _policy(namespace: str, name: str, steps: dict[str, Raw]) -> str:
    document, before = _filled("install-policy.tmpl", NAME=name, NAMESPACE=namespace), list[Raw]()
    for step, spec in steps.items():
        policy = _filled("install-step.tmpl", NAME=f"{name}-{step}")
        policy["spec"] |= spec
        if "object-templates" in spec:
            # Alerts and dashboards have templates of their own.
            policy["metadata"]["annotations"] = {"policy.open-cluster-management.io/disable-templates": "true"}
        awaited = {"extraDependencies": before} if before else {}
        document["spec"]["policy-templates"].append({"objectDefinition": policy, **awaited})
        head = {key: policy[key] for key in ("apiVersion", "kind")}
        before = [{**head, "name": policy["metadata"]["name"], "compliance": "Compliant"}]
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, which people read."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature of yaml
        return True


_Dumper.add_representer(str, _Dumper.represent_str)


def _files(namespace: str, cluster_set: str, name: str, what: str, steps: dict[str, Raw]) -> tuple[File, ...]:
    labelled = shell.command("oc label managedcluster CLUSTER {}={} --overwrite", LABEL, name)
    bound, text = engines.binding(namespace, f"topology-{name}", f"topology-{name}"), _policy(namespace, name, steps)
    size = len(json.dumps(yaml.load(text, manifests.LOADER))) // 1024  # noqa: S506 - a safe one
    head = f"""\
# It begins on the clusters with the label. The hub keeps a copy of {size} KiB for each, so label those of one wave:
#     {labelled}
# Apply it by `oc apply --server-side`.
"""
    place = File(HUB, "1-namespace.yaml", "namespace and ManagedClusterSetBinding", "administrator of the hub",
                 _WHY + engines.place(namespace, cluster_set))  # fmt: skip
    placed = engines.placement(namespace, f"topology-{name}", plan.flow({"matchLabels": {LABEL: name}}))
    return place, File(HUB, f"2-{name}.yaml", what, "owner of the roll-out", f"{head}{text}---\n{placed}---\n{bound}")
