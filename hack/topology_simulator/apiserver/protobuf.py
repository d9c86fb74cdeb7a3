"""Bodies in protobuf, as kubectl sends those of built-in kinds that it makes itself: `create configmap`, `auth can-i`.

Only reading: answers are JSON, which every client takes that sends protobuf. A body is an envelope that says which kind
is in it, and the object, whose fields have numbers instead of names (`go_types`). What comes out is what the same
client would have sent as JSON. A number that the table does not have belongs to a newer release; as in the real server
it is left out.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from typing import TYPE_CHECKING, Any, TypeVar

from . import go_types

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"k8s\x00"
_TYPE_META, _RAW = 1, 2
_QUOTED = 30
"""How much of a body the real server's decoder quotes."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
Wire = TypeVar("Wire", int, bytes)


class ProtobufError(ValueError):
    """Bytes that are no object of the kind."""


def decode(data: bytes, name: str) -> dict[str, Any]:
    """Return the object in a body, which is of a type of `go_types`. Raises ProtobufError."""
    if not data.startswith(_MAGIC):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix "
            f"[{' '.join(map(str, _MAGIC))}] ({data[:_QUOTED].hex()})"
        )
    try:
        parts = dict(_parts(data[len(_MAGIC) :]))
        about = dict(_parts(_taken(parts.get(_TYPE_META, b""), bytes)))
        version, kind = (_taken(about.get(number, b""), bytes).decode() for number in (1, 2))
        body = _message(_taken(parts.get(_RAW, b""), bytes), go_types.of(name))
    except (IndexError, UnicodeDecodeError, OverflowError) as error:
        raise ProtobufError(f"the body is cut off or damaged: {error}") from None
    return {**({"apiVersion": version} if version else {}), **({"kind": kind} if kind else {}), **body}


def _parts(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of every field, in their order. Raises IndexError where the data is cut off."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire, 0)
        if wire == _BYTES:
            length, position = _varint(data, position)
        elif not length:
            raise ProtobufError(f"field {number} has wire type {wire}")
        if position + length > len(data):
            raise IndexError(f"field {number} is longer than the body")
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def _message(data: bytes, kind: go_types.Type) -> dict[str, Any]:
    """Return a message as an object of JSON; empty fields that JSON leaves out are left out."""
    result: dict[str, Any] = {}
    for number, raw in _parts(data):
        field = kind.numbers.get(number)
        if field is None:
            continue
        if not field.name:
            result |= _message(_taken(raw, bytes), go_types.of(field.type))
        elif field.is_map:
            entry = dict(_parts(_taken(raw, bytes)))
            key = _taken(entry.get(1, b""), bytes).decode()
            result.setdefault(field.name, {})[key] = _entry(entry.get(2, b""), field)
        elif field.is_list:
            result.setdefault(field.name, []).append(_value(raw, field.type))
        else:
            value = _value(raw, field.type)
            empty = value is None or value in ("", 0, {}) or value is False
            if not empty or field.pointer or (field.required and value is not None):
                result[field.name] = value
    return result


def _entry(raw: int | bytes, field: go_types.Field) -> Any:
    """Return the value of one entry of a map; a list in it is a message with nothing but that list."""
    if not field.type.startswith("[]"):
        return _value(raw, field.type)
    return [_value(item, field.type.removeprefix("[]")) for _, item in _parts(_taken(raw, bytes))]


def _value(raw: int | bytes, kind: str) -> Any:
    match kind:
        case "bool":
            return bool(_taken(raw, int))
        case "int32" | "int64":
            number = _taken(raw, int)
            return number - (1 << 64) if number >> 63 else number
        case "string":
            return _taken(raw, bytes).decode()
        case "bytes":
            return base64.b64encode(_taken(raw, bytes)).decode()
    if "." in kind:
        return _message(_taken(raw, bytes), go_types.of(kind))
    return _special(dict(_parts(_taken(raw, bytes))), kind)


def _special(parts: dict[int, int | bytes], kind: str) -> Any:
    """Return a value that is a message on the wire and none in JSON."""
    match kind:
        case "time" | "microtime":
            if not parts:
                return None
            seconds, nanos = (_value(parts.get(number, 0), "int64") for number in (1, 2))
            when = dt.datetime.fromtimestamp(seconds, dt.UTC).replace(microsecond=nanos // 1000)
            return when.strftime("%Y-%m-%dT%H:%M:%SZ" if kind == "time" else "%Y-%m-%dT%H:%M:%S.%fZ")
        case "quantity":
            return _value(parts.get(1, b""), "string")
        case "intorstring":
            return _value(parts.get(3, b""), "string") if parts.get(1) else _value(parts.get(2, 0), "int32")
        case "raw":
            try:
                return json.loads(_taken(parts.get(1, b"null"), bytes))
            except ValueError as error:
                raise ProtobufError(f"a part in JSON is malformed: {error}") from None
    raise ProtobufError(f"a value of type {kind} is not known")


def _taken(raw: int | bytes, wire: type[Wire]) -> Wire:
    if not isinstance(raw, wire):
        raise ProtobufError(f"{raw!r} is no {wire.__name__}")
    return raw
