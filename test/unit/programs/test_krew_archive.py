"""The archive of kubectl-topology: krew takes its manifest, it is the same each time, and its program starts.

The rules are those of krew itself (internal/index/validation/validate.go). The whole archive, with libraries from the
package index, is built in the nightly run.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from test import processes

import krew

if TYPE_CHECKING:
    import pathlib

BASE = "https://downloads.example.org/topology"
DIGESTS = {name: hashlib.sha256(name.encode()).hexdigest() for name in krew.WHEELS}
HERE = {("Linux", "x86_64"): "linux/amd64", ("Linux", "aarch64"): "linux/arm64", ("Darwin", "arm64"): "darwin/arm64"}


def sound(plugin: dict[str, Any]) -> None:
    """Assert what krew would refuse otherwise of a manifest that is installed as `topology`."""
    assert (plugin["apiVersion"], plugin["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert plugin["metadata"]["name"] == "topology"
    spec = plugin["spec"]
    assert re.fullmatch(r"[^\r\n]+", spec["shortDescription"])
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", spec["version"])
    assert spec["platforms"]
    for entry in spec["platforms"]:
        assert entry["uri"]
        assert entry["bin"]
        assert re.fullmatch("[a-f0-9]{64}", entry["sha256"])
        assert set() < set(entry["selector"]["matchLabels"]) <= {"os", "arch"}
        assert entry.get("files") != []


def test_krew_takes_the_manifest() -> None:
    plugin = yaml.safe_load(yaml.safe_dump(krew.manifest(f"{BASE}/", DIGESTS, "0.1.0")))
    sound(plugin)
    entries = {entry["uri"]: entry["sha256"] for entry in plugin["spec"]["platforms"]}
    assert entries == {f"{BASE}/{krew.archive_name(name, '0.1.0')}": digest for name, digest in DIGESTS.items()}


def test_an_archive_is_the_same_each_time_and_its_program_may_be_run(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "folder"
    (folder / "lib").mkdir(parents=True)
    shutil.copy(krew.LAUNCHER, folder / krew.PROGRAM)
    (folder / "lib" / "module.py").write_text("")
    first = krew.pack(folder, tmp_path / "first.tar.gz")
    os.utime(folder / "lib" / "module.py", (1, 1))
    (folder / krew.PROGRAM).chmod(0o600)
    assert krew.pack(folder, tmp_path / "second.tar.gz") == first
    assert hashlib.sha256((tmp_path / "first.tar.gz").read_bytes()).hexdigest() == first
    with tarfile.open(tmp_path / "first.tar.gz") as tar:
        entries = {entry.name: entry.mode for entry in tar}
    assert entries == {krew.PROGRAM: 0o755, "lib/module.py": 0o644}


def test_a_python_that_the_archive_is_not_for_gets_a_sentence(tmp_path: pathlib.Path) -> None:
    compiled = tmp_path / "lib" / "pydantic_core" / "_pydantic_core.cpython-398-x86_64-linux-gnu.so"
    compiled.parent.mkdir(parents=True)
    compiled.touch()
    shutil.copy(krew.LAUNCHER, tmp_path / krew.PROGRAM)
    ended = processes.python(str(tmp_path / krew.PROGRAM), "--help")
    found = ".".join(map(str, sys.version_info[:3]))
    assert (ended.code, ended.printed) == (1, "")
    assert ended.complaint == f"kubectl-topology: wanted Python 3.98, found {found}\n"


@pytest.mark.nightly
@pytest.mark.slow
def test_the_whole_archive_starts_where_nothing_else_is_installed(tmp_path: pathlib.Path) -> None:
    name = HERE[(platform.system(), platform.machine())]
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert krew.main(["--base", BASE, "--platform", name, "--python", python, "--to", str(tmp_path)]) == 0
    plugin = yaml.safe_load((tmp_path / "topology.yaml").read_text())
    sound(plugin)
    (entry,) = plugin["spec"]["platforms"]
    archive = tmp_path / entry["uri"].removeprefix(f"{BASE}/")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == entry["sha256"]
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "store", filter="data")
    # Isolated, and without the packages of this environment.
    command = [sys.executable, "-I", "-S", str(tmp_path / "store" / entry["bin"]), "graph", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - what was built
    assert (done.returncode, done.stderr) == (0, "")
    assert "graph" in done.stdout
