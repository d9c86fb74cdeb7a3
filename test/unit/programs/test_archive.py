"""The archive of kubectl-topology: krew takes its manifest, the console offers it, it is the same each time and starts.

The rules are those of krew itself (internal/index/validation/validate.go). The whole archive, with libraries from the
package index, is built in the nightly run.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from typing import Any

import jsonschema
import pytest
import yaml
from test import processes
from test.unit.manifests import test_objects_are_valid as strictly

import krew
from topology_controller import _version, cli
from topology_deploy import cli as deploy
from topology_deploy import manifests
from topology_simulator import binaries

BASE = "https://downloads.example.org/topology"
DIGESTS = {name: hashlib.sha256(name.encode()).hexdigest() for name in krew.WHEELS}
HERE = {("Linux", "x86_64"): "linux/amd64", ("Linux", "aarch64"): "linux/arm64", ("Darwin", "arm64"): "darwin/arm64",
        ("Darwin", "x86_64"): "darwin/amd64"}  # fmt: skip


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


# -- what the console offers

BANNER = pathlib.Path(__file__).parents[3] / "docs" / "examples" / "gitops" / "clusters" / "edge-1" / "banner.yaml"


def printed(*flags: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert deploy.main(["manifests", *flags]) == cli.OK
    return list(yaml.safe_load_all(capsys.readouterr().out))


def schema(plural: str) -> dict[str, Any]:
    """OpenShift's definition of a kind of the console, in which what is not named is not allowed."""
    place = binaries.definitions() / "console" / "v1" / "zz_generated.crd-manifests" / f"00_{plural}.crd.yaml"
    (version,) = yaml.safe_load(place.read_text())["spec"]["versions"]
    return strictly.strict(version["schema"]["openAPIV3Schema"])


def test_the_console_offers_the_archives_of_this_version_last_and_only_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = printed(capsys=capsys)
    assert "ConsoleCLIDownload" not in {obj["kind"] for obj in plain}
    *before, download = printed("--console", f"{BASE}/", capsys=capsys)
    assert before == plain
    version = _version.__version__.partition("+")[0]
    links = [link["href"] for link in download["spec"]["links"]]
    assert links == [f"{BASE}/{krew.archive_name(platform, version)}" for platform in krew.WHEELS]


@pytest.mark.parametrize("bad", ["", "http://x", "https://", "https://a b", "https://x\nkind: Secret", "ftp://x"])
def test_an_address_that_the_console_would_refuse_is_refused(bad: str) -> None:
    with pytest.raises(manifests.ManifestsError, match="cannot be an address of downloads"):
        manifests.console(bad)


@pytest.mark.parametrize(
    ("plural", "text"),
    [("consoleclidownloads", manifests.console(BASE)), ("consolenotifications", BANNER.read_text())],
    ids=["download", "banner"],
)
def test_openshift_takes_it(plural: str, text: str) -> None:
    offered = yaml.safe_load(text)
    jsonschema.validate(offered, schema(plural))
    offered["spec"]["colour"] = "red"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(offered, schema(plural))
