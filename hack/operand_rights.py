"""Makes the roles that it takes to read what the operand matrix names: one file of `bindata/manifests`, and its table.

The last role in it is for people: what they read with `oc topology` and OpenShift's `cluster-reader` lacks. What the
operator reads besides operands, and what it writes, is granted in the files beside it, by hand, and not again here.
Unit tests hold every rule against the sources of `observe.catalog`; docs/development/rights.md says what each is
for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from kubectl_topology import cluster
from topology_api import vocabulary
from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.definitions import operands as matrices
from topology_controller.observe import catalog
from topology_deploy import manifests

FILE = "0000_30_topology-operator_04_roles_operands.yaml"
"""The one file of `bindata/manifests` that is generated."""
NAME = f"{vocabulary.OPERATOR_NAME}-operands"
"""Of every role and binding here: their namespaces may have a role that was written by hand."""
AGGREGATED = f"rbac.authorization.k8s.io/aggregate-to-{cluster.READER}"
"""The label by which Kubernetes adds a role to `cluster-reader`."""
PROFILES = ("self-managed-high-availability", "single-node-developer")
"""The cluster profiles of a release payload that have this operator: a hosted control plane has no use for it."""
_RBAC = "rbac.authorization.k8s.io"
_WATCH = ("list", "watch")
_WATCH_AND_READ = ("get", *_WATCH)


@dataclass(frozen=True, slots=True)
class Read:
    """One object, or with an empty `name` all of a kind, that is read; `namespace` is empty for the whole cluster."""

    namespace: str
    group: str
    plural: str
    name: str
    why: str
    verbs: tuple[str, ...] = _WATCH


def current() -> tuple[matrices.Matrix, *tuple[dict[str, Any], ...]]:
    """Return what `render` and `table` are made of. Raises load.DefinitionError when a definition is damaged."""
    transitions = load.load(bindata.root() / "transitions")
    # What no definition asks about is not read either.
    groups = tuple(group for group in transitions.matrix.groups if transitions.asks(group.check))
    texts = [place.read_text(encoding="utf-8") for place in manifests.files("manifests") if place.name != FILE]
    objects = [obj for text in texts for obj in yaml.safe_load_all(text)]
    by_hand = [obj for obj in objects if obj["kind"] in {"Role", "ClusterRole"}]
    return transitions.matrix.model_copy(update={"groups": groups}), *by_hand


def reads(matrix: matrices.Matrix) -> Iterator[Read]:
    """Return everything that the matrix, or a check alone, has the operator read; the same object may come twice."""
    for group in matrix.groups:
        why = group.check.value
        for operand in group.operands:
            plural, _, api_group = operand.plural.partition(".")
            # Without the capability there is no namespace, so no place for a role; and a list that is refused does
            # not tell that there is nothing. So these names may be read wherever they are.
            namespace = "" if group.capability else operand.namespace or ""
            yield Read(namespace, api_group, plural, operand.name, why)
        if group.managed_by is not None:
            plural, _, api_group = group.managed_by.resource.partition(".")
            # An advisory about it stays after the transition is completed, until it is seen to be done.
            again = group.check is vocabulary.CheckName.IMAGE_REGISTRY_REPLICAS
            yield Read("", api_group, plural, group.managed_by.name, why, _WATCH_AND_READ if again else _WATCH)
    for source in catalog.ALL:
        if source.operand and source.asked_by is not None:
            place, kind = source.selection, source.selection.resource
            verbs = _WATCH_AND_READ if place.name else _WATCH
            yield Read(place.namespace or "", kind.group, kind.plural, place.name or "", source.asked_by.value, verbs)
    for operator in matrix.optional_operators:
        if operator.keeps is not None:
            yield Read("", "apps", "deployments", operator.keeps.partition("/")[2], "TopologyReadAtStart", ("get",))
    for setting in matrix.single_node_settings:
        name, why = setting.name or "", f"SingleNodeSettings: {setting.field}"
        yield Read("", setting.group, setting.resource, name, why, ("get",) if name else ("list",))


def render(matrix: matrices.Matrix, *others: dict[str, Any]) -> str:
    """Return the roles and bindings as YAML; `others` are the roles that are granted besides."""
    documents = [text for namespace, wanted in _places(matrix, others) for text in _documents(namespace, wanted)]
    return _HEAD + "---\n".join([*documents, *_added_to_reader(matrix, others)])


def table(matrix: matrices.Matrix, *others: dict[str, Any]) -> str:
    """Return the same as a table of Markdown: where, resource, name, verbs, what for; and how many rights that is."""
    lines = ["| where | resource | name | verbs | what for |", "|---|---|---|---|---|"]
    count = 0
    for namespace, wanted in _places(matrix, others):
        for rule in _rules(wanted):
            resource = f"{rule.plural}.{rule.group}" if rule.group else rule.plural
            names = ", ".join(f"`{name}`" for name in rule.names) or "any"
            count += len(rule.verbs) * max(1, len(rule.names))
            lines.append(f"| {namespace or 'cluster'} | `{resource}` | {names} | {' '.join(rule.verbs)} | {rule.why} |")
    return "\n".join([*lines, "", f"{count} single rights, one verb on one resource each.", ""])


_HEAD = """\
# Generated by `make generate` from bindata: operands, optional-operators.yaml, single-node-settings.yaml. Do not edit.
# What convergence and advisories look at, and nothing else. A namespace of a capability or of an optional operator may
# not be there, and no role in it: what is looked at there is granted by its name, or its kind, in the whole cluster.
"""


_READER = f"""\
# For people, not for this operator, and not bound here: `oc topology` reads this too, and OpenShift's {cluster.READER}
# lacks it. Kubernetes adds it to that role by the label.
"""


def _granted(roles: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Return what these roles let the operator list: namespace, group, plural, name."""
    for role in roles:
        namespace = role["metadata"].get("namespace", "")
        for rule in role["rules"]:
            if set(_WATCH) <= set(rule["verbs"]):
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for name in rule.get("resourceNames", [""]):
                            yield namespace, group, resource, name


def _places(matrix: matrices.Matrix, others: Iterable[dict[str, Any]]) -> Iterator[tuple[str, list[Read]]]:
    """Return what is to be granted in each namespace, the whole cluster first."""
    granted = set(_granted(others))
    wanted = [read for read in reads(matrix) if (read.namespace, read.group, read.plural, read.name) not in granted]
    for namespace in sorted({read.namespace for read in wanted}):
        yield namespace, [read for read in wanted if read.namespace == namespace]


def _documents(namespace: str, wanted: list[Read]) -> tuple[str, str]:
    kind = "Role" if namespace else "ClusterRole"
    head = _head(NAME, *([f"namespace: {namespace}"] if namespace else []))
    return (
        f"{head.format(kind=kind)}\nrules:\n{''.join(map(str, _rules(wanted)))}",
        f"""\
{head.format(kind=f"{kind}Binding")}
roleRef:
  apiGroup: {_RBAC}
  kind: {kind}
  name: {NAME}
subjects:
  - kind: ServiceAccount
    name: {vocabulary.OPERATOR_NAME}
    namespace: {vocabulary.DEFAULT_NAMESPACE}
""",
    )


def _head(name: str, *meta: str) -> str:
    lines = [f"name: {name}", *meta, "annotations:"]
    lines += [f'  include.release.openshift.io/{profile}: "true"' for profile in PROFILES]
    return f"apiVersion: {_RBAC}/v1\nkind: {{kind}}\nmetadata:\n" + "\n".join(f"  {line}" for line in lines)


def _added_to_reader(matrix: matrices.Matrix, others: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the role that Kubernetes adds to `cluster-reader`: what the operator may read and that role may not.

    By name in the whole cluster: a role in one namespace cannot be added. `get` is for a single answer about an object
    by its name, the rest for kinds that are listed and for `status --watch`.
    """
    granted = [(group, plural, name) for _, group, plural, name in _granted(others)]
    granted += [(read.group, read.plural, read.name) for read in reads(matrix)]
    added = [
        Read("", group, plural, name, "", _WATCH_AND_READ if name else _WATCH)
        for group, plural, name in sorted(set(granted))
        if any(kind in f"{plural}.{group}" for kind in cluster.ADDED)
    ]
    head = _head(cluster.ADDED_TO_READER, "labels:", f'  {AGGREGATED}: "true"').format(kind="ClusterRole")
    if added:
        yield f"{_READER}{head}\nrules:\n{''.join(map(str, _rules(added)))}"


@dataclass(frozen=True, slots=True)
class _Rule:
    """One rule of a role; without names it is about all objects of the kind."""

    group: str
    plural: str
    names: tuple[str, ...]
    verbs: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        group = self.group or '""'
        why = f"  # {self.why}\n" if self.why else ""
        limited = f"    resourceNames: [{', '.join(self.names)}]\n" if self.names else ""
        return (
            f"{why}  - apiGroups: [{group}]\n    resources: [{self.plural}]\n"
            f"{limited}    verbs: [{', '.join(self.verbs)}]\n"
        )


def _rules(wanted: list[Read]) -> Iterator[_Rule]:
    for group, plural, verbs in dict.fromkeys((read.group, read.plural, read.verbs) for read in wanted):
        alike = [read for read in wanted if (read.group, read.plural, read.verbs) == (group, plural, verbs)]
        names = tuple(dict.fromkeys(read.name for read in alike))
        why = ", ".join(dict.fromkeys(read.why for read in alike))
        yield _Rule(group, plural, () if "" in names else names, verbs, why)
