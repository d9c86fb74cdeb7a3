"""From when until when a certificate is valid, read from its own bytes.

The standard library tells this of a peer's certificate only, after the handshake. We want to know it of our own before
anything is sent: an expired client certificate is refused with an alert that names neither file nor date. The way to
the two dates in X.509 (RFC 5280, 4.1) leads over five fields that are skipped whole. Used by `folder`.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

_BEGIN = "-----BEGIN CERTIFICATE-----"
_END = "-----END CERTIFICATE-----"
_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME, _VERSION = 0x30, 0x17, 0x18, 0xA0


def validity(pem: str) -> tuple[datetime, datetime]:
    """Return notBefore and notAfter of the first certificate of a PEM text; ValueError when there is none."""
    begin = pem.find(_BEGIN)
    end = pem.find(_END, begin)
    if begin < 0 or end < 0:
        raise ValueError("it holds no certificate")
    body = _Reader(ssl.PEM_cert_to_DER_cert(pem[begin : end + len(_END)])).inside(_SEQUENCE).inside(_SEQUENCE)
    if body.tag == _VERSION:
        body.take()
    for _ in ("serial number", "signature", "issuer"):
        body.take()
    dates = body.inside(_SEQUENCE)
    return _moment(*dates.take()), _moment(*dates.take())


class _Reader:
    """Walks through DER: tag, length, value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def tag(self) -> int:
        """The tag of what comes next."""
        if self._at >= len(self._data):
            raise ValueError("the certificate is cut")
        return self._data[self._at]

    def take(self) -> tuple[int, bytes]:
        """Return tag and value of what comes next, and step over it."""
        tag, data, at = self.tag, self._data, self._at + 2
        if at > len(data):
            raise ValueError("the certificate is cut")
        length = data[at - 1]
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[at : at + size], "big")
            at += size
        self._at = at + length
        if self._at > len(data):
            raise ValueError("the certificate is cut")
        return tag, data[at : self._at]

    def inside(self, wanted: int) -> _Reader:
        """Step into what comes next, which must be of this kind."""
        tag, value = self.take()
        if tag != wanted:
            raise ValueError("it is not a certificate")
        return _Reader(value)


def _moment(tag: int, value: bytes) -> datetime:
    text = value.decode("ascii", "replace")
    if tag == _UTC_TIME:
        # Two digits of the year: 50 to 99 are of the last century (RFC 5280, 4.1.2.5.1).
        text = f"{'19' if text[:2] >= '50' else '20'}{text}"
    elif tag != _GENERALIZED_TIME:
        raise ValueError("the certificate has no dates")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
