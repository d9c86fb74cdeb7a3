"""Makes a picture small enough for a repository: 96 colours, and the best that zlib can do.

A page has few colours; what is more than those are the edges of letters, which take the nearest that is left.
"""

from __future__ import annotations

import collections
import struct
import zlib
from dataclasses import dataclass

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {2: 3, 6: 4}
_COLOURS = 96
_LIKE = 1500
"""Square of the distance of two colours that look alike."""
Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows of opaque pixels, three bytes each."""

    width: int
    rows: tuple[bytes, ...]

    def colours(self) -> collections.Counter[Colour]:
        """How often each colour is there."""
        found: collections.Counter[Colour] = collections.Counter()
        for row in self.rows:
            found.update(zip(row[0::3], row[1::3], row[2::3], strict=True))
        return found


def read(data: bytes) -> Picture:
    """Read what Chromium writes: eight bits a channel, not interlaced. Raises ValueError for anything else."""
    if not data.startswith(_SIGNATURE):
        raise ValueError("no PNG")
    place, packed, header = len(_SIGNATURE), b"", b""
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + length]
        header = body if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        place += 12 + length
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if depth != 8 or colour not in _CHANNELS or interlaced:
        raise ValueError(f"PNG of depth {depth}, colour type {colour}, interlaced {interlaced}")
    channels = _CHANNELS[colour]
    raw, size, rows = zlib.decompress(packed), width * channels, []
    before = bytearray(size)
    for number in range(height):
        at = number * (size + 1)
        before = _unfiltered(raw[at], bytearray(raw[at + 1 : at + 1 + size]), before, channels)
        rows.append(_opaque(bytes(before), channels))
    return Picture(width, tuple(rows))


def written(picture: Picture) -> bytes:
    """The picture as PNG with a palette."""
    colours = picture.colours()
    palette = _palette([colour for colour, _ in colours.most_common()])
    index = {colour: number for number, colour in enumerate(palette)}
    for colour in colours:
        if colour not in index:
            index[colour] = min(range(len(palette)), key=lambda number: _distance(palette[number], colour))
    lines = b"".join(
        b"\0" + bytes(index[pixel] for pixel in zip(row[0::3], row[1::3], row[2::3], strict=True))
        for row in picture.rows
    )
    header = struct.pack(">IIBBBBB", picture.width, len(picture.rows), 8, 3, 0, 0, 0)
    table = b"".join(bytes(colour) for colour in palette)
    chunks = ((b"IHDR", header), (b"PLTE", table), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, body) for kind, body in chunks)


def _palette(colours: list[Colour]) -> list[Colour]:
    """The most frequent colours, but first each that no other is like: a green dot stays green, however small."""
    apart: list[Colour] = []
    for colour in colours:
        if len(apart) < _COLOURS and all(_distance(colour, other) > _LIKE for other in apart):
            apart.append(colour)
    rest = [colour for colour in colours if colour not in apart]
    return [*apart, *rest[: _COLOURS - len(apart)]]


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _distance(one: Colour, other: Colour) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def _opaque(row: bytes, channels: int) -> bytes:
    if channels == 3:
        return row
    return bytes(value for number, value in enumerate(row) if number % 4 != 3)


def _unfiltered(kind: int, row: bytearray, before: bytearray, channels: int) -> bytearray:
    """Undo one of the five filters of a row (PNG specification, section 9)."""
    for place in range(len(row)):
        left = row[place - channels] if place >= channels else 0
        above = before[place]
        corner = before[place - channels] if place >= channels else 0
        row[place] = (row[place] + (0, left, above, (left + above) // 2, _paeth(left, above, corner))[kind]) & 255
    return row


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))
