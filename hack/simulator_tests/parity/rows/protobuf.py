"""Bodies in protobuf, as kubectl sends the objects that it makes itself. The encoder here is the only one there is."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.table import get, post, put, row

MEDIA = "application/vnd.kubernetes.protobuf"


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    septets = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes(part | 0x80 for part in septets[:-1]) + bytes(septets[-1:])


def field(number: int, *parts: Any) -> bytes:
    """Return a field of a message: a number, a text, bytes, or the message that these parts make."""
    if len(parts) == 1 and isinstance(parts[0], int):
        return _varint(number << 3) + _varint(int(parts[0]))
    content = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def body(version: str, kind: str, *parts: bytes) -> bytes:
    """Return a whole body: an envelope with the object that these fields make."""
    return b"k8s\x00" + field(1, field(1, version), field(2, kind)) + field(2, *parts) + field(3, "") + field(4, "")


def _pair(number: int, key: str, value: bytes | str) -> bytes:
    return field(number, field(1, key), field(2, value))


def _meta(name: str = "one", *more: bytes) -> bytes:
    """Return metadata as typed clients send it: with every field that is no pointer, empty ones too."""
    empty = b"".join(field(number, "") for number in (2, 3, 4, 5, 6))
    return field(1, field(1, name), empty, field(7, 0), field(8), *more)


_LABELS = _pair(11, "a", "b") + _pair(12, "note", "ä")


ROWS = (
    row(
        "an object in protobuf is what it would be in JSON",
        post(
            s.CONFIG_MAPS,
            body(
                "v1",
                "ConfigMap",
                _meta("one", _LABELS),
                _pair(2, "a", "1"),
                _pair(3, "b", b"\x00\xff"),
                field(4, 0),
            ),
            media=MEDIA,
        ),
        put(s.CONFIG_MAPS + "/one", body("v1", "ConfigMap", _meta(), _pair(2, "a", "2")), media=MEDIA),
        post(s.CONFIG_MAPS, body("v1", "ConfigMap", _meta(), _pair(2, "a", "1")), media=MEDIA),
        get(s.CONFIG_MAPS + "/one"),
    ),
    row(
        "protobuf of a custom resource",
        post(s.WIDGETS, t.JSON.encode(), media=MEDIA),
    ),
)
