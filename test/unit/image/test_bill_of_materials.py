"""The list of what is in the layer: true to what was installed, complete, valid, and the same each time."""

from __future__ import annotations

import json
import pathlib
import sys
import venv

import pytest

from topology_image import bom, locks

ROOT = pathlib.Path(__file__).resolve().parents[3]
EPOCH = 1767225600
DIGESTS = {"one": "1" * 64, "two-more": "2" * 64}
LOCKED = {name: locks.Locked(name, "1.0", "", frozenset({digest, "f" * 64})) for name, digest in DIGESTS.items()}


FOUND = {
    "metadata": {"component": {"name": "cluster-topology-operator", "version": "0"}},
    "components": [{"name": name, "version": "1.0", "bom-ref": f"{name}==1.0"} for name in ("one", "two_more")],
}
"""What is found in an environment of two packages, as far as it is looked at."""


@pytest.fixture
def listed(tmp_path):
    """Make an environment of two packages, one of which needs the other; return what is found in it, twice."""
    venv.create(tmp_path, symlinks=True)
    packages = tmp_path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for name, more in (
        ("one", "Requires-Dist: two_more\nLicense-Expression: MIT\n"),
        ("two_more", "License: Apache-2.0\n"),
    ):
        folder = packages / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n{more}")
        (folder / "RECORD").write_text("")
        (folder / "INSTALLER").write_text("pip\n")
    found = [bom.environment(tmp_path / "bin" / "python", ROOT / "pyproject.toml", EPOCH) for _ in range(2)]
    assert found[0] == found[1]
    return found[0]


def completed(listed, **differently):
    said = {"version": "0.1.0+gabc", "wheel": "3" * 64, "installed": DIGESTS, "locked": LOCKED} | differently
    return bom.completed(listed, **said)


@pytest.mark.nightly
def test_it_has_versions_hashes_licences_and_who_needs_whom(listed):
    written = bom.text(completed(listed))
    said = json.loads(written)
    assert (said["bomFormat"], said["specVersion"]) == ("CycloneDX", "1.6")
    root = said["metadata"]["component"]
    assert (root["name"], root["version"]) == ("cluster-topology-operator", "0.1.0+gabc")
    assert root["hashes"] == [{"alg": "SHA-256", "content": "3" * 64}]
    parts = {one["name"]: one for one in said["components"]}
    assert {name: one["hashes"][0]["content"] for name, one in parts.items()} == {"one": "1" * 64, "two_more": "2" * 64}
    assert parts["two_more"]["purl"] == "pkg:pypi/two-more@1.0"
    assert parts["one"]["licenses"][0]["license"]["id"] == "MIT"
    needs = {one["ref"]: one.get("dependsOn", []) for one in said["dependencies"]}
    assert needs[parts["one"]["bom-ref"]] == [parts["two_more"]["bom-ref"]]


@pytest.mark.parametrize(
    ("differently", "complaint"),
    [
        ({"locked": {"one": LOCKED["one"]}}, "two_more is in the layer and in no locked file"),
        ({"installed": {"one": "1" * 64}}, "two-more 1.0 with hash None is not what is locked"),
        ({"installed": DIGESTS | {"one": "9" * 64}}, "one 1.0 with hash 9+ is not what is locked"),
        (
            {"locked": LOCKED | {"one": locks.Locked("one", "1.1", "", frozenset({"1" * 64}))}},
            "is not what is locked: 1.1",
        ),
        ({"installed": DIGESTS | {"three": "4" * 64}}, r"installed, and not in the list: \['three'\]"),
    ],
)
def test_a_list_that_would_not_be_true_is_refused(differently, complaint):
    assert len(completed(FOUND)["components"]) == len(DIGESTS)
    with pytest.raises(bom.BomError, match=complaint):
        completed(FOUND, **differently)
