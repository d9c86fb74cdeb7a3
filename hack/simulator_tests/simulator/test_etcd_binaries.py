"""Which etcd is taken: the administrator's, else the one that was built for this machine."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from topology_simulator.envtest import binaries as assets
from topology_simulator.etcd import binaries

if TYPE_CHECKING:
    import pathlib


@pytest.fixture(autouse=True)
def fresh():
    """Each test asks anew, and so do those after it."""
    for asked in (assets.etcd, binaries.installed):
        asked.cache_clear()
    yield
    for asked in (assets.etcd, binaries.installed):
        asked.cache_clear()


def etcd(folder: pathlib.Path, version: str) -> pathlib.Path:
    path = folder / "etcd"
    path.write_text(f"#!/bin/sh\necho etcd Version: {version}\n")
    path.chmod(0o755)
    return path


def test_the_administrators_is_taken(tmp_path, monkeypatch):
    own = etcd(tmp_path, "9.9.9")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert binaries.installed() == binaries.Binary(own, "9.9.9")


def test_what_cannot_be_run_here_is_an_error_that_names_it(tmp_path, monkeypatch):
    etcd(tmp_path, "9.9.9").write_bytes(b"\x7fELF of another machine")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(binaries.MissingError, match=f"{tmp_path}/etcd does not report a version"):
        binaries.installed()


def test_without_any_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(binaries.MissingError, match=f'no etcd in {tmp_path}/.*; run "make envtest"'):
        binaries.installed()


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        ("3.5.1", "--experimental-watch-progress-notify-interval=5s"),
        ("3.6.8", "--watch-progress-notify-interval=5s"),
        ("3.7.0-alpha.0", "--watch-progress-notify-interval=5s"),
        ("4.0.0", "--watch-progress-notify-interval=5s"),
    ],
)
def test_progress_is_asked_for_by_the_name_that_the_version_knows(version, flag):
    assert binaries.progress_flag(version, 5) == flag


def test_the_etcd_of_this_machine_takes_the_flag():
    binary = binaries.installed()
    flag = binaries.progress_flag(binary.version, 5)
    done = subprocess.run([binary.path, flag, "--version"], check=False)  # noqa: S603 - the binary that is tested
    assert done.returncode == 0, binary
