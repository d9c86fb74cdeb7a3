"""The built-in kinds that this project writes and reads, as the real server's types decode and encode them.

A small description of each type (`Struct`, `Map`, `List` and leaves) says which fields there are. `bring_into_form`
does what decoding into those types and encoding them again does to a body: unknown fields go with a warning, values of
the wrong type are refused, empty values vanish unless the type always shows them, times and quantities get their one
form. Kinds without a description here are stored as they come.

`builtins` puts a description beside each kind; the rules about values are there and in `events`.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import metadata, quantities, statuses, structural, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .resources import Resource


class FormError(ValueError):
    """A value that does not fit its type, in the words of the real server's decoder."""


class _NotOfTheTypeError(ValueError):
    """A number of which the type has none."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without parts: its Go type, the JSON types that it takes, and how it is brought into form."""

    go: str
    takes: tuple[type, ...]
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

    name: str
    fields: Mapping[str, Type]
    always: Mapping[str, Any] = field(default_factory=dict)
    pointers: frozenset[str] = frozenset()
    """Fields whose empty value is different from none at all."""
    zero: Any = None


Type = Leaf | Map | List | Struct


def _int32(value: Any) -> Any:
    if (isinstance(value, float) and not value.is_integer()) or not -(2**31) <= value < 2**31:
        raise _NotOfTheTypeError
    return int(value)


def _bytes(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        position = next(
            (index for index, sign in enumerate(value) if not (sign.isalnum() or sign in "+/=")), len(value)
        )
        raise FormError(f"illegal base64 data at input byte {position}") from None
    return value


def _time(parse: Callable[[str], str]) -> Callable[[Any], Any]:
    def shape(value: str) -> str:
        try:
            return parse(value)
        except ValueError as error:
            raise FormError(str(error)) from None

    return shape


def _quantity(value: Any) -> str:
    try:
        return quantities.canonical(str(value))
    except ValueError as error:
        raise FormError(str(error)) from None


STRING = Leaf("string", (str,), zero="")
BOOL = Leaf("bool", (bool,), zero=False)
INT32 = Leaf("int32", (int, float), _int32, zero=0)
TIME = Leaf("Time", (str,), _time(times.seconds))
MICRO_TIME = Leaf("MicroTime", (str,), _time(times.micros))
BYTES = Leaf("[]uint8", (str,), _bytes)
QUANTITY = Leaf("Quantity", (str, int, float), _quantity)
STRINGS = Map(STRING)
_ANYTHING = Leaf("interface {}", (object,))


def _texts(*names: str) -> dict[str, Type]:
    return dict.fromkeys(names, STRING)


_ABOUT = Struct(
    "ObjectReference", _texts("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
)
_SOURCE = Struct("EventSource", _texts("component", "host"))
_SERIES = Struct(
    "EventSeries", {"count": INT32, "lastObservedTime": MICRO_TIME}, {"count": 0, "lastObservedTime": None}
)

CONFIG_MAP = Struct(
    "ConfigMap", {"data": STRINGS, "binaryData": Map(BYTES), "immutable": BOOL}, pointers=frozenset({"immutable"})
)
SECRET = Struct(
    "Secret",
    {"data": Map(BYTES), "stringData": STRINGS, "type": STRING, "immutable": BOOL},
    pointers=frozenset({"immutable"}),
)
_LEASE_SPEC: dict[str, Type] = {
    **_texts("holderIdentity", "strategy", "preferredHolder"),
    **dict.fromkeys(("leaseDurationSeconds", "leaseTransitions"), INT32),
    **dict.fromkeys(("acquireTime", "renewTime"), MICRO_TIME),
}
LEASE = Struct("Lease", {"spec": Struct("LeaseSpec", _LEASE_SPEC, pointers=frozenset(_LEASE_SPEC))}, {"spec": {}})
_BOTH_EVENTS: dict[str, Type] = {
    **_texts("reportingInstance", "action", "reason", "type"),
    "eventTime": MICRO_TIME,
    "related": _ABOUT,
    "series": _SERIES,
}
EVENT = Struct(
    "Event",
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
    "Event",
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
_NAMESPACE_CONDITION = Struct("NamespaceCondition", _CONDITION, _EMPTY_CONDITION)
_NAMESPACE_STATUS = Struct("NamespaceStatus", {"phase": STRING, "conditions": List(_NAMESPACE_CONDITION)})
NAMESPACE = Struct(
    "Namespace",
    {"spec": Struct("NamespaceSpec", {"finalizers": List(STRING)}), "status": _NAMESPACE_STATUS},
    {"spec": {}, "status": {}},
)
_TAINT = Struct("Taint", {**_texts("key", "value", "effect"), "timeAdded": TIME}, {"key": "", "effect": ""})
_NODE_INFO = _texts(
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
_EMPTY_INFO = dict.fromkeys(_NODE_INFO, "")
_NODE_CONDITION = Struct(
    "NodeCondition", {**_CONDITION, "lastHeartbeatTime": TIME}, {**_EMPTY_CONDITION, "lastHeartbeatTime": None}
)
_ADDRESS = Struct("NodeAddress", _texts("type", "address"), {"type": "", "address": ""})
_NO_PORT = {"kubeletEndpoint": {"Port": 0}}
_ENDPOINTS = Struct(
    "NodeDaemonEndpoints", {"kubeletEndpoint": Struct("DaemonEndpoint", {"Port": INT32}, {"Port": 0})}, _NO_PORT
)
_NODE_SPEC = Struct(
    "NodeSpec",
    {
        **_texts("podCIDR", "providerID", "externalID"),
        "podCIDRs": List(STRING),
        "unschedulable": BOOL,
        "taints": List(_TAINT),
        "configSource": _ANYTHING,
    },
)
_NODE_STATUS = Struct(
    "NodeStatus",
    {
        "capacity": Map(QUANTITY),
        "allocatable": Map(QUANTITY),
        "phase": STRING,
        "conditions": List(_NODE_CONDITION),
        "addresses": List(_ADDRESS),
        "daemonEndpoints": _ENDPOINTS,
        "nodeInfo": Struct("NodeSystemInfo", {**_NODE_INFO, "swap": _ANYTHING}, _EMPTY_INFO),
        **dict.fromkeys(
            ("images", "volumesInUse", "volumesAttached", "config", "runtimeHandlers", "features"), _ANYTHING
        ),
        "declaredFeatures": List(STRING),
    },
    {"daemonEndpoints": _NO_PORT, "nodeInfo": _EMPTY_INFO},
)
NODE = Struct("Node", {"spec": _NODE_SPEC, "status": _NODE_STATUS}, {"spec": {}, "status": _NODE_STATUS.always})


def of(kind: Struct) -> Callable[[Resource, dict[str, Any]], tuple[dict[str, Any], list[str]]]:
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
        except FormError as error:
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
        shaped = _value(below, part, where, kind.name, unknown)
        empty = shaped in ({}, []) or (
            key not in kind.pointers and shaped == below.zero and type(shaped) is type(below.zero)
        )
        if not empty or key in kind.always:
            result[key] = shaped
    return {**{key: part for key, part in kind.always.items() if key not in result}, **result}


def _value(kind: Type, value: Any, path: str, owner: str, unknown: list[str]) -> Any:
    match kind:
        case Struct():
            if not isinstance(value, dict):
                raise _wrong(value, owner, path, f"v1.{kind.name}")
            return _struct(kind, value, path, unknown)
        case Map():
            if not isinstance(value, dict):
                shown = kind.of.go if isinstance(kind.of, Leaf) else kind.of.name
                raise _wrong(value, owner, path, f"map[string]{shown}")
            return {
                key: kind.of.zero if part is None else _value(kind.of, part, path, owner, unknown)
                for key, part in value.items()
            }
        case List():
            if not isinstance(value, list):
                shown = kind.of.go if isinstance(kind.of, Leaf) else f"v1.{kind.of.name}"
                raise _wrong(value, owner, path, f"[]{shown}")
            return [_value(kind.of, part, f"{path}[{index}]", owner, unknown) for index, part in enumerate(value)]
    if not isinstance(value, kind.takes) or (
        isinstance(value, bool) and bool not in kind.takes and object not in kind.takes
    ):
        raise _wrong(value, owner, path, kind.go)
    try:
        return value if kind.shape is None else kind.shape(value)
    except _NotOfTheTypeError:
        raise _wrong(value, owner, path, kind.go, str(value)) from None


def _wrong(value: Any, owner: str, path: str, go: str, shown: str = "") -> FormError:
    json_type = f"{metadata.json_type(value)} {shown}".rstrip()
    return FormError(f"json: cannot unmarshal {json_type} into Go struct field {owner}.{path} of type {go}")
