"""Serving certificate and client CA as they change under our hands: one whole set at a time, and never waited for."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization

from topology_controller import mounted
from topology_controller.serve import tls

from . import ground

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

CA = ground.CLIENTS.certificate.decode()


@pytest.fixture
def folder(tmp_path):
    return ground.serving_pair(tmp_path / "serving")


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO, logger="topology_controller")
    return lambda: [record.getMessage() for record in caplog.records]


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
@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\n!\n", b"x" * 2_000_000])
def test_what_is_no_pair_is_refused_at_the_start_and_survived_later(folder, name, content, said):
    good = tls.Contexts(folder)
    before = good.current
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(tls.CertificateError, match=name.replace(".", r"\.")) as raised:
        tls.Contexts(folder)
    assert "BEGIN" not in str(raised.value)
    assert good.renew("", tls.MODERN) is False
    assert good.current is before
    assert name in said()[0]


def test_an_encrypted_key_does_not_ask_at_the_terminal(folder):
    key = serialization.load_pem_private_key((folder / "tls.key").read_bytes(), None)
    sealed = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    (folder / "tls.key").write_bytes(sealed)
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


# A mounted volume

NAMES = ("one", "two")


def volume(folder: pathlib.Path, *sets: str) -> None:
    """Make a folder as kubelet does: sets of files, and links that lead to the first one."""
    for name in sets:
        (folder / f"..{name}").mkdir()
        for file in NAMES:
            (folder / f"..{name}" / file).write_text(f"{file} of {name}")
    (folder / "..data").symlink_to(f"..{sets[0]}")
    for file in NAMES:
        (folder / file).symlink_to(f"..data/{file}")


def turn(folder: pathlib.Path, name: str) -> None:
    (folder / "..link").symlink_to(f"..{name}")
    (folder / "..link").rename(folder / "..data")


@pytest.fixture
def opened(monkeypatch):
    """Call something after every file that is opened."""
    calls: list[Callable[[], None]] = []
    real = os.open

    def opening(place, *options):
        number = real(place, *options)
        for call in calls:
            call()
        return number

    monkeypatch.setattr(os, "open", opening)
    return calls


def test_a_volume_that_is_turned_meanwhile_is_read_again_and_never_mixed(tmp_path, opened):
    volume(tmp_path, "old", "new")
    opened.append(lambda: turn(tmp_path, "new"))
    assert mounted.read(tmp_path, *NAMES) == (b"one of new", b"two of new")


def test_a_volume_that_is_turned_all_the_time_is_given_up(tmp_path, opened):
    volume(tmp_path, "old", "new")
    sets = iter(["new", "old"] * 10)
    opened.append(lambda: turn(tmp_path, next(sets)))
    with pytest.raises(mounted.MountedFileError, match="changes while it is being read"):
        mounted.read(tmp_path, "one")


def test_a_file_that_cannot_be_read_is_named_as_it_is_seen(tmp_path):
    volume(tmp_path, "old")
    (tmp_path / "pipe").symlink_to("..data/pipe")
    os.mkfifo(tmp_path / "..old" / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "..old" / "folder").mkdir()
    for name, reason in (
        ("three", "does not exist"),
        ("pipe", "is no regular file"),
        ("folder", "is no regular file"),
        ("two", "is larger than 3 bytes"),
        ("one/two", "cannot be read: Not a directory"),
    ):
        with pytest.raises(mounted.MountedFileError) as raised:
            mounted.read(tmp_path, name, largest=3)
        assert (raised.value.path, raised.value.reason) == (tmp_path / name, reason)
        assert str(raised.value) == f"{tmp_path / name} {reason}"
