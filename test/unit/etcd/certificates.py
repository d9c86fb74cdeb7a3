"""An authority of a test's own, and what it signs: as PEM bytes, and as a folder that the operator can be given."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    import pathlib

NOW = datetime.now(UTC)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def pem_of(key: ec.EllipticCurvePrivateKey, password: bytes | None = None) -> bytes:
    """A private key as PEM, encrypted if there is a password."""
    how = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


class Authority:
    """Signs certificates. `pem` is its own."""

    def __init__(self, name: str = "etcd-signer") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        made = self._begin(self._name, self._key, NOW - timedelta(days=1), NOW + timedelta(days=10))
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.pem = made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def _begin(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, begin: datetime, end: datetime
    ) -> x509.CertificateBuilder:
        made = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        return made.not_valid_before(begin).not_valid_after(end)

    def issue(
        self,
        name: str,
        *,
        host: str = "127.0.0.1",
        begin: datetime = NOW - timedelta(days=1),
        end: datetime = NOW + timedelta(days=5),
    ) -> tuple[bytes, bytes]:
        """A certificate and its key, both as PEM; good for servers at `host` and for clients."""
        key = ec.generate_private_key(ec.SECP256R1())
        found = [x509.IPAddress(ipaddress.ip_address(host))] if host[0].isdigit() else [x509.DNSName(host)]
        made = self._begin(_named(name), key, begin, end)
        made = made.add_extension(x509.SubjectAlternativeName(found), critical=False)
        return made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), pem_of(key)


def fill(folder: pathlib.Path, authority: bytes, pair: tuple[bytes, bytes]) -> pathlib.Path:
    """Write a certificate folder."""
    folder.mkdir(exist_ok=True)
    for name, content in zip(("ca.crt", "tls.crt", "tls.key"), (authority, *pair), strict=True):
        (folder / name).write_bytes(content)
    return folder


def swap(folder: pathlib.Path, version: str, authority: bytes, pair: tuple[bytes, bytes]) -> pathlib.Path:
    """Fill a folder as the kubelet does: a whole set beside the old one, then one link is turned."""
    folder.mkdir(exist_ok=True)
    fill(folder / version, authority, pair)
    link = folder / "..data_tmp"
    link.symlink_to(version)
    link.rename(folder / "..data")
    for name in ("ca.crt", "tls.crt", "tls.key"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    return folder
