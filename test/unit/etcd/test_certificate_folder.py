"""The certificate folder while somebody changes it: the newest good set, never a mixed or a half-written one."""

from __future__ import annotations

import logging
import ssl
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization

from topology_controller.etcd import folder
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    import pathlib

FILES = ("ca.crt", "tls.crt", "tls.key")


def make(path: pathlib.Path) -> folder.Folder:
    return folder.Folder(path)


def refused(path: pathlib.Path) -> str:
    with pytest.raises(folder.FolderError) as error:
        make(path).context()
    return str(error.value)


def test_tls_is_strict(folder: pathlib.Path):
    context = make(folder).context()
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content", [None, b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n", b"\xff\x00" * 10, b"A" * (2**20 + 1)]
)
def test_a_file_that_is_not_what_it_should_be_is_named(folder: pathlib.Path, name: str, content: bytes | None):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    assert refused(folder).startswith(f"{folder / name}: ")


def locked(key: bytes, password: bytes) -> bytes:
    how = serialization.BestAvailableEncryption(password)
    loaded = serialization.load_pem_private_key(key, None)
    return loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


@pytest.mark.parametrize("damage", ["of another certificate", "secret", " "])
def test_a_key_of_another_or_with_a_password_is_refused_and_nobody_asked(folder, authority, damage):
    place = folder / "tls.key"
    other = authority.client().key if damage.startswith("of") else locked(place.read_bytes(), damage.encode())
    place.write_bytes(other)
    assert "tls.key: it is no unencrypted key that goes with tls.crt" in refused(folder)


def test_no_key_is_told(folder: pathlib.Path, caplog: pytest.LogCaptureFixture):
    kept = make(folder)
    kept.context()
    secret = (folder / "tls.key").read_text().splitlines()[1]
    (folder / "tls.key").write_text(f"broken {secret}")
    kept.context()
    assert caplog.text
    assert secret[:20] not in caplog.text + refused(folder)


@pytest.mark.parametrize("name", FILES)
def test_half_written_files_leave_the_last_good_set_and_it_is_said_once(folder, name, authority, caplog):
    caplog.set_level(logging.INFO)
    kept = make(folder)
    good = kept.context()
    whole = (folder / name).read_bytes()
    for written in (b"", whole[: len(whole) // 2]):
        (folder / name).write_bytes(written)
        for _ in range(3):
            assert kept.context() is good
    said = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(said) == len(set(said)), said
    assert 1 <= len(said) <= 2
    assert all(name in line for line in said), said
    (folder / name).write_bytes(whole)
    assert kept.context() is good
    assert "can be used again" in caplog.records[-1].message
    certificates.write(folder, authority.certificate, authority.client())
    assert kept.context() is not good, "the newest set"
