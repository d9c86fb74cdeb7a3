"""The certificate folder while somebody changes it: the newest good set, never a mixed or a half-written one."""

from __future__ import annotations

import logging
import shutil
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
@pytest.mark.parametrize("content", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n", b"\xff\x00" * 10])
def test_a_file_that_is_not_what_it_should_be_is_named(folder: pathlib.Path, name: str, content: bytes):
    (folder / name).write_bytes(content)
    assert refused(folder).startswith(f"{folder / name}: ")


def test_a_file_without_end_is_not_read_to_its_end(folder: pathlib.Path):
    (folder / "ca.crt").unlink()
    (folder / "ca.crt").symlink_to("/dev/zero")
    assert refused(folder) == f"{folder / 'ca.crt'}: it is no regular file"
    (folder / "ca.crt").unlink()
    (folder / "ca.crt").write_bytes(b"A" * (1024 * 1024 + 1))
    assert "larger than" in refused(folder)


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
def test_half_written_files_leave_the_last_good_set_and_it_is_said_once(folder, name, caplog):
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


def swap(place: pathlib.Path, version: str, authority: certificates.Authority) -> None:
    """Fill a folder as the kubelet does: a whole set beside the old one, then one link is turned."""
    certificates.write(place / version, authority.certificate, authority.client())
    link = place / "..data_tmp"
    link.symlink_to(version)
    link.rename(place / "..data")


def test_a_link_that_is_turned_while_we_read_gives_the_new_set(tmp_path, authority, monkeypatch, caplog):
    """The kubelet removes the old set right after it has turned the link."""
    swap(tmp_path, "..1", authority)
    for name in FILES:
        (tmp_path / name).symlink_to(f"..data/{name}")
    kept = make(tmp_path)
    first = kept.context()
    swap(tmp_path, "..2", authority)
    real = ssl.SSLContext.load_cert_chain

    def load(self, *files, **options):
        if not (tmp_path / "..3").exists():
            swap(tmp_path, "..3", authority)
            shutil.rmtree(tmp_path / "..2")
        return real(self, *files, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", load)
    assert kept.context() is not first
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
