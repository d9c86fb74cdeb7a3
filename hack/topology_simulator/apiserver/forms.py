"""The built-in kinds that this project writes and reads, as the real server's types decode and encode them.

A small description of each type (`Struct`, `Map`, `List` and leaves) says which fields there are. `bring_into_form`
does what decoding into those types and encoding them again does to a body: unknown fields go with a warning, empty
values vanish unless the type always shows them, times get their one form. Kinds without a description here are stored
as they come.

`builtins` puts a description beside each kind; the rules about values are there and in `events`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import statuses, structural, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .resources import Resource


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without parts, and how it is brought into form."""

    shape: Callable[[Any], Any] | None = None
    zero: Any = None


@dataclass(frozen=True, slots=True)
class Map:
    """Names to values of one type."""

    of: Leaf | Struct
    zero: Any = None


@dataclass(frozen=True, slots=True)
class List:
    """Values of one type."""

    of: Leaf | Struct
    zero: Any = None


@dataclass(frozen=True, slots=True)
class Struct:
    """Known fields. `always` are those that are shown when they are empty, with what is shown then."""

    fields: Mapping[str, Type]
    always: Mapping[str, Any] = field(default_factory=dict)
    pointers: frozenset[str] = frozenset()
    """Fields whose empty value is different from none at all."""
    zero: Any = None


Type = Leaf | Map | List | Struct


STRING = Leaf(zero="")
BOOL = Leaf(zero=False)
INT32 = Leaf(int, zero=0)
TIME = Leaf(times.seconds)
MICRO_TIME = Leaf(times.micros)
_ANYTHING = Leaf()
STRINGS = Map(STRING)
_ANYTHINGS = Map(_ANYTHING)


def _texts(*names: str) -> dict[str, Type]:
    return dict.fromkeys(names, STRING)


_ABOUT = Struct(_texts("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"))
_SOURCE = Struct(_texts("component", "host"))
_SERIES = Struct({"count": INT32, "lastObservedTime": MICRO_TIME}, {"count": 0, "lastObservedTime": None})

CONFIG_MAP = Struct({"data": STRINGS, "binaryData": _ANYTHINGS, "immutable": BOOL}, pointers=frozenset({"immutable"}))
SECRET = Struct(
    {"data": _ANYTHINGS, "stringData": STRINGS, "type": STRING, "immutable": BOOL},
    pointers=frozenset({"immutable"}),
)
_LEASE_SPEC: dict[str, Type] = {
    **_texts("holderIdentity", "strategy", "preferredHolder"),
    **dict.fromkeys(("leaseDurationSeconds", "leaseTransitions"), INT32),
    **dict.fromkeys(("acquireTime", "renewTime"), MICRO_TIME),
}
LEASE = Struct({"spec": Struct(_LEASE_SPEC, pointers=frozenset(_LEASE_SPEC))}, {"spec": {}})
_BOTH_EVENTS: dict[str, Type] = {
    **_texts("reportingInstance", "action", "reason", "type"),
    "eventTime": MICRO_TIME,
    "related": _ABOUT,
    "series": _SERIES,
}
EVENT = Struct(
    {
        **_BOTH_EVENTS,
        **_texts("message", "reportingComponent"),
        "involvedObject": _ABOUT,
        "source": _SOURCE,
        "firstTimestamp": TIME,
        "lastTimestamp": TIME,
        "count": INT32,
    },
    {
        **dict.fromkeys(("firstTimestamp", "lastTimestamp", "eventTime")),
        **dict.fromkeys(("reportingComponent", "reportingInstance"), ""),
        "involvedObject": {},
        "source": {},
    },
)
NEW_EVENT = Struct(
    {
        **_BOTH_EVENTS,
        **_texts("note", "reportingController"),
        "regarding": _ABOUT,
        "deprecatedSource": _SOURCE,
        "deprecatedFirstTimestamp": TIME,
        "deprecatedLastTimestamp": TIME,
        "deprecatedCount": INT32,
    },
    {
        **dict.fromkeys(("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")),
        "regarding": {},
        "deprecatedSource": {},
    },
)
_CONDITION: dict[str, Type] = {**_texts("type", "status", "reason", "message"), "lastTransitionTime": TIME}
_EMPTY_CONDITION = {"type": "", "status": "", "lastTransitionTime": None}
_NAMESPACE_CONDITION = Struct(_CONDITION, _EMPTY_CONDITION)
_NAMESPACE_STATUS = Struct({"phase": STRING, "conditions": List(_NAMESPACE_CONDITION)})
NAMESPACE = Struct(
    {"spec": Struct({"finalizers": List(STRING)}), "status": _NAMESPACE_STATUS},
    {"spec": {}, "status": {}},
)
_TAINT = Struct({**_texts("key", "value", "effect"), "timeAdded": TIME}, {"key": "", "effect": ""})
_NODE_INFO = _texts(
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
_EMPTY_INFO = dict.fromkeys(_NODE_INFO, "")
_NODE_CONDITION = Struct({**_CONDITION, "lastHeartbeatTime": TIME}, {**_EMPTY_CONDITION, "lastHeartbeatTime": None})
_ADDRESS = Struct(_texts("type", "address"), {"type": "", "address": ""})
_NO_PORT = {"kubeletEndpoint": {"Port": 0}}
_ENDPOINTS = Struct({"kubeletEndpoint": Struct({"Port": INT32}, {"Port": 0})}, _NO_PORT)
_NODE_SPEC = Struct(
    {
        **_texts("podCIDR", "providerID", "externalID"),
        "podCIDRs": List(STRING),
        "unschedulable": BOOL,
        "taints": List(_TAINT),
        "configSource": _ANYTHING,
    },
)
_NODE_STATUS = Struct(
    {
        "capacity": _ANYTHINGS,
        "allocatable": _ANYTHINGS,
        "phase": STRING,
        "conditions": List(_NODE_CONDITION),
        "addresses": List(_ADDRESS),
        "daemonEndpoints": _ENDPOINTS,
        "nodeInfo": Struct({**_NODE_INFO, "swap": _ANYTHING}, _EMPTY_INFO),
        **dict.fromkeys(
            ("images", "volumesInUse", "volumesAttached", "config", "runtimeHandlers", "features"), _ANYTHING
        ),
        "declaredFeatures": List(STRING),
    },
    {"daemonEndpoints": _NO_PORT, "nodeInfo": _EMPTY_INFO},
)
NODE = Struct({"spec": _NODE_SPEC, "status": _NODE_STATUS}, {"spec": {}, "status": _NODE_STATUS.always})


def form(kind: Struct) -> Callable[[Resource, dict[str, Any]], tuple[dict[str, Any], list[str]]]:
    """Return the `form` of a kind (`Resource.form`)."""

    def bring_into_form(resource: Resource, body: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        apart: dict[str, Any] = {key: body[key] for key in ("apiVersion", "kind", "metadata") if key in body}
        meta = apart.get("metadata") or {}
        unknown = [f"metadata.{key}" for key in meta if key not in structural.OBJECT_META]
        if unknown:
            apart["metadata"] = {key: part for key, part in meta.items() if key in structural.OBJECT_META}
        rest = {key: part for key, part in body.items() if key not in ("apiVersion", "kind", "metadata")}
        try:
            return {**apart, **_struct(kind, rest, "", unknown)}, unknown
        except (AttributeError, TypeError, ValueError) as error:
            raise statuses.undecodable(resource, str(error)) from None

    return bring_into_form


def _struct(kind: Struct, value: dict[str, Any], path: str, unknown: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, part in value.items():
        where = f"{path}.{key}" if path else key
        below = kind.fields.get(key)
        if below is None:
            unknown.append(where)
            continue
        if part is None:
            continue
        shaped = _value(below, part, where, unknown)
        empty = shaped in ({}, []) or (
            key not in kind.pointers and shaped == below.zero and type(shaped) is type(below.zero)
        )
        if not empty or key in kind.always:
            result[key] = shaped
    return {**{key: part for key, part in kind.always.items() if key not in result}, **result}


def _value(kind: Type, value: Any, path: str, unknown: list[str]) -> Any:
    match kind:
        case Struct():
            return _struct(kind, value, path, unknown)
        case Map():
            return {
                key: kind.of.zero if part is None else _value(kind.of, part, path, unknown)
                for key, part in value.items()
            }
        case List():
            return [_value(kind.of, part, f"{path}[{index}]", unknown) for index, part in enumerate(value)]
    return value if kind.shape is None else kind.shape(value)
