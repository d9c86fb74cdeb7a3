"""Certificates of etcd members and of their clients, made on the spot; and spoilt ones, on demand.

As in OpenShift: one CA signs everybody, a member's certificate serves and dials (etcd's JSON gateway dials its own
server with it), clients have a common name and no address. A folder has the names that a mounted Secret has.
"""

import datetime as dt
import functools
import ipaddress
import pathlib
import ssl
import tempfile
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOOPBACK = ("127.0.0.1", "localhost")
CA_FILE, CERTIFICATE_FILE, KEY_FILE = "ca.crt", "tls.crt", "tls.key"
_LIFE = dt.timedelta(days=1)
_SLACK = dt.timedelta(minutes=5)
_NOT_USED = (
    "content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority that lives as long as this object; its key is written nowhere."""

    def __init__(self, name: str = "etcd-signer") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = dt.datetime.now(dt.UTC)
        builder = self._builder(self._name, self._key.public_key(), now - _SLACK, now + _LIFE, signs=True)
        certificate = builder.sign(self._key, hashes.SHA256())
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)
        """The CA's own certificate, in PEM."""

    def member(self, name: str, hosts: tuple[str, ...] = LOOPBACK, *, expired: bool = False) -> Pair:
        """Return a member's certificate, for serving and for dialling its peers. `hosts`: addresses or names."""
        return self._issue(
            name, hosts, (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH), expired=expired
        )

    def server_only(self, name: str, hosts: tuple[str, ...] = LOOPBACK) -> Pair:
        """Return a certificate that may serve and not dial: what is taken for a client's by mistake."""
        return self._issue(name, hosts, (ExtendedKeyUsageOID.SERVER_AUTH,), expired=False)

    def client(self, name: str = "topology-operator", *, expired: bool = False) -> Pair:
        """Return a client's certificate."""
        return self._issue(name, (), (ExtendedKeyUsageOID.CLIENT_AUTH,), expired=expired)

    def _issue(
        self, name: str, hosts: tuple[str, ...], uses: tuple[x509.ObjectIdentifier, ...], *, expired: bool
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        now = dt.datetime.now(dt.UTC)
        ends = now - _SLACK if expired else now + _LIFE
        # OpenShift has names of more than 64 characters, which is all that the standard allows.
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name, _validate=False)])
        builder = self._builder(subject, key.public_key(), ends - _LIFE, ends, signs=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        names: list[x509.GeneralName] = []
        for host in hosts:
            try:
                names.append(x509.IPAddress(ipaddress.ip_address(host)))
            except ValueError:
                names.append(x509.DNSName(host))
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(
            certificate.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, begins: dt.datetime, ends: dt.datetime, *, signs: bool
    ) -> x509.CertificateBuilder:
        others = dict.fromkeys(_NOT_USED, False)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .add_extension(x509.BasicConstraints(ca=signs, path_length=0 if signs else None), critical=True)
            .add_extension(
                x509.KeyUsage(digital_signature=True, key_cert_sign=signs, crl_sign=signs, **others), critical=True
            )
        )


@dataclass(frozen=True, slots=True)
class Served:
    """What a server of this machine listens with, and the CA that its clients trust, in PEM."""

    authority: bytes
    context: ssl.SSLContext


@functools.cache
def served() -> Served:
    """Return the one of this process."""
    authority = Authority("topology-simulator")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as name:
        folder = write(pathlib.Path(name), authority.certificate, authority.member("api"))
        context.load_cert_chain(folder / CERTIFICATE_FILE, folder / KEY_FILE)
    return Served(authority.certificate, context)


def tls(folder: pathlib.Path) -> ssl.SSLContext:
    """Return a client's TLS context from `ca.crt`, `tls.crt` and `tls.key`; without the latter two, no certificate."""
    context = ssl.create_default_context(cafile=folder / CA_FILE)
    if (folder / CERTIFICATE_FILE).exists():
        context.load_cert_chain(folder / CERTIFICATE_FILE, folder / KEY_FILE)
    return context


def write(folder: pathlib.Path, authorities: bytes, pair: Pair | None = None) -> pathlib.Path:
    """Put `ca.crt`, and `tls.crt` and `tls.key` when there is a pair, into a folder and return it.

    Each file is replaced as a whole, the key readable by its owner only: a reader in between sees the old or the new.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(folder / CA_FILE, authorities, 0o644)
    if pair is not None:
        _replace(folder / KEY_FILE, pair.key, 0o600)
        _replace(folder / CERTIFICATE_FILE, pair.certificate, 0o644)
    return folder


def _replace(file: pathlib.Path, content: bytes, mode: int) -> None:
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=mode, exist_ok=False)
    fresh.write_bytes(content)
    fresh.replace(file)
