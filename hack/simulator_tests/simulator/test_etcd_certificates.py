"""Certificates of etcd's members and clients: what they are good for, and what the spoilt ones lack."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
import stat

import pytest
from cryptography import exceptions, x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from topology_simulator.etcd import certificates

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH


@pytest.fixture(scope="module")
def authority():
    return certificates.Authority()


def read(pair):
    return x509.load_pem_x509_certificate(pair.certificate)


def uses(pair):
    return list(read(pair).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_a_member_serves_and_dials_at_its_addresses(authority):
    pair = authority.member("master-0", ("127.0.0.1", "::1", "localhost"))
    assert uses(pair) == [SERVER, CLIENT]
    names = read(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]


def test_a_client_dials_and_has_no_address(authority):
    pair = authority.client("operator")
    assert uses(pair) == [CLIENT]
    assert read(pair).subject.rfc4514_string() == "CN=operator"
    with pytest.raises(x509.ExtensionNotFound):
        read(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName)


@pytest.mark.parametrize("kind", ["member", "client"])
def test_an_expired_one_was_valid_once(authority, kind):
    now = dt.datetime.now(dt.UTC)
    good, bad = (read(getattr(authority, kind)("x", expired=expired)) for expired in (False, True))
    assert good.not_valid_before_utc < now < good.not_valid_after_utc
    assert bad.not_valid_before_utc < bad.not_valid_after_utc < now


def test_only_its_own_authority_has_signed_it(authority):
    pair = authority.member("master-0")
    read(pair).verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate))
    stranger = x509.load_pem_x509_certificate(certificates.Authority().certificate)
    with pytest.raises(exceptions.InvalidSignature):
        read(pair).verify_directly_issued_by(stranger)


def test_a_folder_can_be_loaded_and_only_its_owner_reads_the_key(authority, tmp_path):
    folder = certificates.write(tmp_path / "new", authority.certificate, authority.client())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(modes) == {"ca.crt", "tls.crt", "tls.key"}
    assert modes["tls.key"] == 0o600
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    assert [one["subject"] for one in context.get_ca_certs()] == [((("commonName", "etcd-signer"),),)]


def test_files_are_replaced_and_nothing_else_is_left(authority, tmp_path):
    certificates.write(tmp_path, authority.certificate, authority.client())
    before = (tmp_path / "tls.crt").read_bytes()
    fresh = authority.client()
    certificates.write(tmp_path, authority.certificate, fresh)
    assert before != (tmp_path / "tls.crt").read_bytes() == fresh.certificate
    assert (tmp_path / "tls.key").read_bytes() == fresh.key
    assert len(list(tmp_path.iterdir())) == 3
    assert stat.S_IMODE((tmp_path / "tls.key").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("made", "holds"),
    [
        (lambda ours: ours.member("m"), True),
        (lambda ours: ours.member("m", ("192.0.2.1", "etcd.example")), False),
        (lambda ours: ours.member("m", expired=True), False),
        (lambda ours: ours.client("m"), False),
        (lambda _: certificates.Authority().member("m"), False),
    ],
    ids=["good", "other host", "expired", "of a client", "other authority"],
)
def test_a_handshake_holds_with_a_good_one_only(authority, tmp_path, made, holds):
    """In memory, as strict as can be."""
    folder = certificates.write(tmp_path, authority.certificate, made(authority))
    ours = ssl.create_default_context(cafile=folder / "ca.crt")
    ours.verify_flags |= ssl.VERIFY_X509_STRICT
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    to_them, to_us = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ours.wrap_bio(to_us, to_them, server_hostname="127.0.0.1")
    server = theirs.wrap_bio(to_them, to_us, server_side=True)

    def shake():
        for end in (client, server, client, server):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue

    if holds:
        shake()
        assert client.version() == "TLSv1.3"
    else:
        with pytest.raises(ssl.SSLCertVerificationError):
            shake()
