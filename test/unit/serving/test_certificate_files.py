"""The serving certificate and the client CA as they change under our hands, or turn out to be no good."""

from __future__ import annotations

import logging
import os

import pytest

from topology_controller.serve import tls

from . import ground

CA = ground.CLIENTS.certificate.decode()


@pytest.fixture
def folder(tmp_path):
    return ground.serving_pair(tmp_path / "serving")


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO, logger="topology_controller")
    return lambda: [record.getMessage() for record in caplog.records]


def put(folder, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)


def test_each_of_the_three_makes_a_new_context_and_never_changes_the_old(folder, said):
    contexts = tls.Contexts(folder)
    seen = [contexts.current]
    for change in (
        lambda: contexts.renew("", tls.INTERMEDIATE),
        lambda: contexts.renew(CA, tls.INTERMEDIATE),
        lambda: (ground.serving_pair(folder), contexts.renew(CA, tls.INTERMEDIATE))[1],
    ):
        versions = [(one.minimum_version, one.verify_mode) for one in seen]
        assert change()
        assert contexts.current not in seen
        assert [(one.minimum_version, one.verify_mode) for one in seen] == versions
        seen.append(contexts.current)
    assert said() == [f"the serving certificate in {folder} was replaced"]


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
@pytest.mark.parametrize("content", [None, b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\n!\n", b"x" * 2_000_000])
def test_what_is_no_pair_is_refused_at_the_start_and_survived_later(folder, name, content, said):
    good = tls.Contexts(folder)
    before = good.current
    if content is None:
        (folder / name).unlink()
    else:
        put(folder, name, content)
    with pytest.raises(tls.CertificateError, match=name.replace(".", r"\.")) as raised:
        tls.Contexts(folder)
    assert "BEGIN" not in str(raised.value)
    assert good.renew("", tls.MODERN) is False
    assert good.current is before
    assert name in said()[0]


def test_an_encrypted_key_does_not_ask_at_the_terminal(folder):
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - for this one only

    key = serialization.load_pem_private_key((folder / "tls.key").read_bytes(), None)
    sealed = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    put(folder, "tls.key", sealed)
    with pytest.raises(tls.CertificateError, match=r"tls\.key cannot be used"):
        tls.Contexts(folder)


def test_a_client_ca_that_is_none_leaves_the_one_before(folder, said):
    contexts = tls.Contexts(folder)
    contexts.renew(CA, tls.INTERMEDIATE)
    contexts.renew("nonsense", tls.INTERMEDIATE)
    assert contexts.current.get_ca_certs(), "the one before still counts"
    assert len(said()) == 1
    assert "the client CA cannot be used" in said()[0]
    contexts.renew(CA + ground.STRANGERS.certificate.decode(), tls.INTERMEDIATE)
    assert len(contexts.current.get_ca_certs()) == 2


def test_ciphers_that_nobody_knows_leave_tls_13(folder, said):
    contexts = tls.Contexts(folder)
    contexts.renew("", tls.Profile("Custom", tls.INTERMEDIATE.minimum, ("NOT-A-CIPHER",)))
    assert contexts.current.minimum_version == tls.MODERN.minimum
    assert "TLS profile Custom cannot be used, so TLS 1.3 it is" in said()[0]


def test_nothing_of_a_key_stays_on_a_disk(folder, monkeypatch):
    """OpenSSL reads from memory where the system has that."""
    monkeypatch.setattr("tempfile.NamedTemporaryFile", lambda: pytest.fail("a file was made"))
    tls.Contexts(folder)


def test_without_memory_files_a_temporary_one_does(folder, monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    assert tls.Contexts(folder).current is not None
