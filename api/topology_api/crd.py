"""The CustomResourceDefinition of Infrastructure, as a value made from the types and the transitions.

Three things have to agree: what the operator writes (`types`), what the API server accepts (the schema), and which
requests are legal (the transition definitions). Written by hand they would drift, so the second is generated from the
other two. `infrastructure` is the whole definition for a cluster that has none (demo, tests); `crd_patch` adds the same
fields, rules and columns to the definition that a real cluster serves. Both are pure: edges come in as values.
The rest of Infrastructure is kept to the fields that matter here; spec and status keep what they do not know.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from dataclasses import dataclass
from typing import Any, Final

from pydantic.alias_generators import to_camel

from . import served, types
from .vocabulary import EXTERNAL, NEVER_A_SOURCE, Phase, Topology

GROUP: Final = served.GROUP
VERSION: Final = served.VERSION
KIND, PLURAL = "Infrastructure", "infrastructures"
NAME: Final = served.NAME
"""Name of the CustomResourceDefinition."""

DESIRED: Final = served.DESIRED
RECORD: Final = served.RECORD
DESIRED_PATH: Final = f".spec.{DESIRED}"
"""Every rule of ours points here, which is also how an older rule of ours is recognised."""

RULES: Final = "x-kubernetes-validations"
OPEN: Final = "x-kubernetes-preserve-unknown-fields"

NEVER_A_TARGET: Final = {
    Topology.DUAL_REPLICA: "two nodes with fencing run etcd under pacemaker, which only the installer sets up",
    Topology.SINGLE_REPLICA: "making a control plane smaller is not supported",
}
"""Why no transition leads there, whatever the source; shown where the request is refused."""

_LIST_KEYS: Final = {
    "accepted": ("name",),
    "checks": ("stage", "name"),
    "advisories": ("name",),
    "available": ("name",),
    "available.blockers": ("name",),
    "lastTransition.accepted": ("name",),
    "baseline.machineConfigPools": ("name",),
    "baseline.operands": ("name",),
    "baseline.clusterOperators": ("name",),
}
"""What tells the items of a list in the record apart; a list of objects that is not here is refused."""

_KEPT: Final = frozenset(
    {"type", "format", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"}
)
_DROPPED: Final = frozenset({"title", "default", "$defs", "description", "properties", "required", "items"})

_PLATFORMS: Final = (
    "", "AWS", "Azure", "BareMetal", "GCP", "Libvirt", "OpenStack", "None", "VSphere", "oVirt", "IBMCloud", "KubeVirt",
    "EquinixMetal", "PowerVS", "AlibabaCloud", "Nutanix", "External",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edge:
    """One transition as the schema needs it: where it starts and where it leads."""

    name: str
    source_control_plane: str
    source_infrastructures: tuple[str, ...]
    target: types.TopologyPair


def structural(schema: dict[str, Any], list_keys: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Turn the JSON schema of a pydantic model into a structural schema, without references, titles and defaults.

    A field that may be None and need not be there is optional; one that must be there becomes nullable. `list_keys` has
    for the path of each list of objects the fields that tell its items apart. Raises TypeError for other forms.
    """
    return _convert(schema, schema.get("$defs", {}), list_keys, "", required=True)


def _convert(
    schema: dict[str, Any], named: dict[str, Any], list_keys: dict[str, tuple[str, ...]], path: str, *, required: bool
) -> dict[str, Any]:
    schema, nullable = _resolve(schema, named, path)
    if odd := set(schema) - _KEPT - _DROPPED:
        raise TypeError(f"{path or 'the model'}: {', '.join(sorted(odd))} has no structural form here")
    if "type" not in schema:
        raise TypeError(f"{path or 'the model'}: no type")
    converted: dict[str, Any] = {}
    if "description" in schema:
        converted["description"] = " ".join(str(schema["description"]).split())
    converted.update({key: value for key, value in schema.items() if key in _KEPT})
    if nullable and required:
        converted["nullable"] = True
    if schema["type"] == "object":
        if not schema.get("properties"):
            raise TypeError(f"{path or 'the model'}: an object without properties has no structural form here")
        wanted = list(schema.get("required", ()))
        if wanted:
            converted["required"] = wanted
        converted["properties"] = {
            name: _convert(child, named, list_keys, f"{path}.{name}".lstrip("."), required=name in wanted)
            for name, child in schema["properties"].items()
        }
    if schema["type"] == "array":
        converted["items"] = _convert(schema["items"], named, list_keys, path, required=True)
        converted.update(_list_type(converted["items"], list_keys, path))
    return converted


def _resolve(schema: dict[str, Any], named: dict[str, Any], path: str) -> tuple[dict[str, Any], bool]:
    """Follow a reference and take `or None` apart; what stands beside them (a description) wins."""
    nullable = False
    while "$ref" in schema or "anyOf" in schema:
        beside = {key: value for key, value in schema.items() if key not in {"$ref", "anyOf"}}
        if "$ref" in schema:
            inner = named[schema["$ref"].removeprefix("#/$defs/")]
        else:
            real = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
            nullable = nullable or len(real) < len(schema["anyOf"])
            if len(real) != 1:
                raise TypeError(f"{path}: a union has no structural form here")
            inner = real[0]
        schema = {**inner, **beside}
    return schema, nullable


def _list_type(items: dict[str, Any], list_keys: dict[str, tuple[str, ...]], path: str) -> dict[str, Any]:
    if items["type"] != "object":
        return {"x-kubernetes-list-type": "atomic"}
    keys = list_keys.get(path)
    if keys is None:
        raise TypeError(f"{path}: nothing says which fields tell the items of this list apart")
    if optional := set(keys) - set(items.get("required", ())):
        raise TypeError(f"{path}: {', '.join(sorted(optional))} tells items apart and must be required")
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def desired_schema() -> dict[str, Any]:
    """Schema of `spec.desiredTopology`."""
    return {
        "description": (
            "The topology that this cluster should have as a whole. Without a value nothing is requested. The cluster "
            "topology operator proves from evidence that the control plane can carry it, then changes status to it; "
            "status.topologyTransition says how far it is. Once the topology has changed there is no way back."
        ),
        "type": "string",
        "enum": [topology.value for topology in Topology],
    }


def record_schema() -> dict[str, Any]:
    """Schema of `status.topologyTransition`; docstrings describe the fields, and nothing else has to look for them."""
    schema = types.TopologyTransition.model_json_schema(mode="validation")
    models = {**schema["$defs"], "TopologyTransition": schema}
    for model in ast.parse(inspect.getsource(types)).body:
        if isinstance(model, ast.ClassDef) and model.name in models:
            for field, text in itertools.pairwise(model.body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    described = models[model.name]["properties"][to_camel(ast.unparse(field.target))]
                    described["description"] = ast.literal_eval(text.value)
    return structural(schema, _LIST_KEYS)


def rules(edges: tuple[Edge, ...]) -> list[dict[str, Any]]:
    """CEL rules of the whole object. Their paths are spec, status and nothing else.

    A request is judged when it is new; an old one stays legal whatever status does, so a status write is never refused
    because of it. An object without spec or status is an ordinary case, not an error.
    """
    return [_status_first(), _legal(edges), _no_way_back()]


_OLD: Final = f"oldSelf.?spec.?{DESIRED}"
_IS_OLD: Final = f"!has(self.spec) || !has(self.spec.{DESIRED}) || {_OLD}.orValue('') == self.spec.{DESIRED}"
_PRESENT: Final = "self.status.controlPlaneTopology"
_EMPTY: Final = "that has no value: condition Disabled of ClusterOperator topology has the command that sets it"


def _status_first() -> dict[str, Any]:
    return {
        "rule": f"{_IS_OLD} || (has(self.status) && has({_PRESENT}))",
        "optionalOldSelf": True,
        "fieldPath": DESIRED_PATH,
        "reason": "FieldValueInvalid",
        "message": (
            "status.controlPlaneTopology is not set, so there is nothing to change from: create the object without "
            "spec.desiredTopology, let its status be set, then ask for a topology"
        ),
    }


def _legal(edges: tuple[Edge, ...]) -> dict[str, Any]:
    targets = _targets(edges)
    steps = [
        f"({_PRESENT} == '{source}' && self.spec.{DESIRED} in [{', '.join(map(repr, reached))}])"
        for source, reached in targets.items()
    ]
    known = f"{_IS_OLD} || !has(self.status) || !has({_PRESENT})"
    described = "; ".join(f"from {source} to {' or '.join(reached)}" for source, reached in targets.items())
    return {
        "rule": " || ".join([known, f"self.spec.{DESIRED} == {_PRESENT}", *steps]),
        "optionalOldSelf": True,
        "fieldPath": DESIRED_PATH,
        "reason": "FieldValueInvalid",
        "messageExpression": (
            f"self.spec.{DESIRED} + ' cannot be reached from status.controlPlaneTopology ' + {_PRESENT} + {_why(edges)}"
            f" + '; ' + {_hint(edges)}"
        ),
        "message": (
            "remove it, make it equal to status.controlPlaneTopology, or ask for a transition that exists: "
            f"{described or 'none is defined'}"
        ),
    }


def _hint(edges: tuple[Edge, ...]) -> str:
    """CEL that says what would be legal instead, by the present topology."""
    targets = _targets(edges)
    # A transition of the infrastructure alone is asked for by the topology that the control plane has already.
    staying = {edge.source_control_plane for edge in edges if edge.target.control_plane == edge.source_control_plane}
    hint = f"({_PRESENT} == '' ? '{_EMPTY}' : 'nothing leads from there, so remove the request')"
    for topology, text in NEVER_A_SOURCE.items():
        hint = f"({_PRESENT} == '{topology}' ? 'nothing leads from there, because {text}: remove the request' : {hint})"
    for source in sorted(targets.keys() | staying, reverse=True):
        ways = [*targets.get(source, ()), f"{source} ({'infrastructure only' if source in staying else 'no change'})"]
        hint = f"({_PRESENT} == '{source}' ? 'allowed: {', '.join(ways)} or unset' : {hint})"
    return hint


def _why(edges: tuple[Edge, ...]) -> str:
    """CEL that says why no transition leads to the request at all, an empty string where one does."""
    reached = {edge.target.control_plane for edge in edges}
    why = "''"
    for topology, text in NEVER_A_TARGET.items():
        if topology not in reached:
            why = f"(self.spec.{DESIRED} == '{topology}' ? ' ({text})' : {why})"
    return why


def _no_way_back() -> dict[str, Any]:
    record, target = f"self.status.{RECORD}", f"self.status.{RECORD}.target"
    changed = " && ".join(
        (
            "has(self.status)",
            f"has({record})",
            f"{record}.phase == '{Phase.CONVERGING.value}'",
            f"has({target})",
            f"has({_PRESENT})",
            "has(self.status.infrastructureTopology)",
            f"{_PRESENT} == {target}.controlPlane",
            f"self.status.infrastructureTopology == {target}.infrastructure",
        )
    )
    requested, desired = f"has(self.spec) && has(self.spec.{DESIRED})", f"self.spec.{DESIRED}"
    # Not shorter: two strings out of orValue have no known bound, and the estimated cost would refuse the definition.
    kept = (
        f"({requested} ? ({desired} == {target}.controlPlane || {_OLD}.orValue('') == {desired}) : !{_OLD}.hasValue())"
    )
    return {
        "rule": f"!({changed}) || {kept}",
        "fieldPath": DESIRED_PATH,
        "reason": "FieldValueForbidden",
        "messageExpression": (
            f"'the topology has changed to ' + {_PRESENT} + ' and the cluster is converging: leave spec.{DESIRED} at ' "
            f"+ {_PRESENT} + ' until status.{RECORD}.phase is {Phase.COMPLETED.value}; there is no way back'"
        ),
        "message": (
            "the topology has changed and the cluster is converging: leave the request as it is until "
            f"status.{RECORD}.phase is {Phase.COMPLETED.value}; there is no way back"
        ),
    }


def _targets(edges: tuple[Edge, ...]) -> dict[str, list[str]]:
    targets: dict[str, set[str]] = {}
    for edge in edges:
        if edge.target.control_plane != edge.source_control_plane:
            targets.setdefault(edge.source_control_plane, set()).add(edge.target.control_plane)
    return {source: sorted(targets[source]) for source in sorted(targets)}


def columns() -> list[dict[str, Any]]:
    """Columns of `kubectl get infrastructures`."""
    return [
        {"name": "DESIRED", "type": "string", "jsonPath": DESIRED_PATH},
        {"name": "CONTROL-PLANE", "type": "string", "jsonPath": ".status.controlPlaneTopology"},
        {"name": "INFRASTRUCTURE", "type": "string", "jsonPath": ".status.infrastructureTopology"},
        {"name": "PHASE", "type": "string", "jsonPath": f".status.{RECORD}.phase"},
        {"name": "PROBLEM", "type": "string", "jsonPath": f".status.{RECORD}.problem.reason"},
        {"name": "PROGRESS", "type": "string", "jsonPath": f".status.{RECORD}.progress.summary"},
        {"name": "MESSAGE", "type": "string", "jsonPath": f".status.{RECORD}.message", "priority": 1},
        {"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]


def infrastructure(edges: tuple[Edge, ...]) -> dict[str, Any]:
    """Whole CustomResourceDefinition, for a cluster that has none."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "names": {"kind": KIND, "listKind": f"{KIND}List", "plural": PLURAL, "singular": "infrastructure"},
            "scope": "Cluster",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns(),
                    "schema": {
                        "openAPIV3Schema": {
                            "description": (
                                "What a cluster runs on: platform, addresses and topology. "
                                "There is one object, `cluster`."
                            ),
                            "type": "object",
                            "properties": {
                                "apiVersion": {"type": "string"},
                                "kind": {"type": "string"},
                                "metadata": {"type": "object"},
                                "spec": _spec(),
                                "status": _status(),
                            },
                            RULES: rules(edges),
                        }
                    },
                }
            ],
        },
    }


def _spec() -> dict[str, Any]:
    reference = {"name": _text("Name of the ConfigMap."), "key": _text("Key in it that holds the configuration.")}
    return {
        "description": "What is wanted; people and GitOps write here.",
        "type": "object",
        OPEN: True,
        "properties": {
            DESIRED: desired_schema(),
            "cloudConfig": {
                "description": "ConfigMap in openshift-config that holds the configuration of the cloud provider.",
                "type": "object",
                "properties": reference,
            },
            "platformSpec": _platform("Settings of the platform that may be changed after installation."),
        },
    }


def _status() -> dict[str, Any]:
    return {
        "description": "What was found or decided; written by the installer and by operators.",
        "type": "object",
        OPEN: True,
        "properties": {
            "infrastructureName": _text("Short unique name of the cluster, used to name and tag what it owns."),
            "platform": {**_text("Deprecated: platformStatus.type says the same."), "enum": list(_PLATFORMS)},
            "platformStatus": _platform("What is known about the platform."),
            "apiServerURL": _text("Address of the API server for clients outside of the cluster."),
            "apiServerInternalURI": _text("Address of the API server for clients inside, such as kubelets."),
            "etcdDiscoveryDomain": _text("Deprecated: domain whose SRV records named the etcd members."),
            "controlPlaneTopology": {
                **_text("How many machines carry the control plane; External means that another cluster carries it."),
                "enum": [
                    Topology.HIGHLY_AVAILABLE.value,
                    Topology.HIGHLY_AVAILABLE_ARBITER.value,
                    Topology.SINGLE_REPLICA.value,
                    Topology.DUAL_REPLICA.value,
                    EXTERNAL,
                ],
                "default": Topology.HIGHLY_AVAILABLE.value,
            },
            "infrastructureTopology": {
                **_text("Whether the machines for infrastructure workloads are one or several."),
                "enum": [Topology.HIGHLY_AVAILABLE.value, Topology.SINGLE_REPLICA.value],
                "default": Topology.HIGHLY_AVAILABLE.value,
            },
            "cpuPartitioning": {
                **_text("Whether CPUs are set apart for the platform's own workloads, decided at installation."),
                "enum": ["None", "AllNodes"],
                "default": "None",
            },
            RECORD: record_schema(),
        },
    }


def _platform(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "type": "object",
        OPEN: True,
        "properties": {"type": {**_text("The platform."), "enum": list(_PLATFORMS)}},
    }


def _text(description: str) -> dict[str, Any]:
    return {"description": description, "type": "string"}
