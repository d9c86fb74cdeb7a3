"""Which etcd is taken: the administrator's, the one that was built, and always the one of the test dependencies."""

from __future__ import annotations

import importlib.util
import subprocess
from typing import TYPE_CHECKING

import pytest

from topology_simulator.envtest import binaries as assets
from topology_simulator.etcd import binaries

if TYPE_CHECKING:
    import pathlib


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    binaries.installed.cache_clear()
    yield
    binaries.installed.cache_clear()


@pytest.fixture
def nothing_built(monkeypatch):
    def missing():
        raise assets.MissingError("nothing is built")

    monkeypatch.setattr(assets, "folder", missing)


def etcd(folder: pathlib.Path, version: str) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "etcd"
    path.write_text(f"#!/bin/sh\necho etcd Version: {version}\n")
    path.chmod(0o755)
    return path


def test_there_is_always_the_one_of_the_test_dependencies(nothing_built):
    (only,) = binaries.installed()
    assert only.version == "3.5.1"
    assert only.path.read_bytes()[:2] != b"#!", "a script would stand between us and the process"


def test_the_administrators_comes_first_then_the_built_one(tmp_path, monkeypatch):
    own, built = etcd(tmp_path / "own", "9.9.9"), etcd(tmp_path / "built", "8.8.8")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(own.parent))
    monkeypatch.setattr(assets, "folder", lambda: built.parent)
    assert [(one.version, str(one)) for one in binaries.installed()] == [
        ("9.9.9", "etcd-9.9.9"),
        ("8.8.8", "etcd-8.8.8"),
        ("3.5.1", "etcd-3.5.1"),
    ]
    assert binaries.best().path == own


def test_a_version_that_is_there_twice_is_taken_once(tmp_path, monkeypatch):
    own, built = etcd(tmp_path / "own", "9.9.9"), etcd(tmp_path / "built", "9.9.9")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(own.parent))
    monkeypatch.setattr(assets, "folder", lambda: built.parent)
    assert next(one.path for one in binaries.installed()) == own
    assert len(binaries.installed()) == 2


@pytest.mark.usefixtures("nothing_built")
def test_what_cannot_be_run_here_is_passed_over(tmp_path, monkeypatch):
    broken = etcd(tmp_path, "9.9.9")
    broken.write_bytes(b"\x7fELF of another machine")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert [one.version for one in binaries.installed()] == ["3.5.1"]


@pytest.mark.usefixtures("nothing_built")
def test_without_any_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(binaries.MissingError, match="install the test dependencies"):
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


def test_every_etcd_here_takes_the_flag():
    for one in binaries.installed():
        flag = binaries.progress_flag(one.version, 5)
        done = subprocess.run([one.path, flag, "--version"], check=False)  # noqa: S603 - the binary that is tested
        assert done.returncode == 0, one
