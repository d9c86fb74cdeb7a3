"""The locked files leave nothing open, what is installed here is what they say, and an open end is seen."""

from __future__ import annotations

import pathlib
from importlib import metadata

import pytest
from packaging import markers, utils

from topology_image import locks

ROOT = pathlib.Path(__file__).resolve().parents[3]
HASH = "--hash=sha256:" + "a" * 64


@pytest.mark.parametrize("name", locks.FILES)
def test_a_locked_file_leaves_nothing_open(name):
    assert locks.faults((ROOT / name).read_text()) == []


def test_what_is_installed_is_what_is_locked():
    locked = locks.read(ROOT / "requirements-dev.lock")
    wanted = {
        one.name: one.version for one in locked.values() if not one.marker or markers.Marker(one.marker).evaluate()
    }
    installed = {str(utils.canonicalize_name(one.metadata["Name"])): one.version for one in metadata.distributions()}
    assert {name: installed.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-build.lock"])
def test_the_image_gets_what_the_tests_ran_with(name):
    developed = locks.read(ROOT / "requirements-dev.lock")
    for one in locks.read(ROOT / name).values():
        assert one == developed[one.name]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a==1.0\n", "a: no hash"),
        (f"a>=1.0 {HASH}\n", "a: >=1.0 is not one version"),
        (f"a==1.* {HASH}\n", "a: ==1.* is not one version"),
        (f"a {HASH}\n", "a: any version is not one version"),
        (f"a==1.0rc1 {HASH}\n", "a: 1.0rc1 is not a release"),
        (f"a==1.0.dev3 {HASH}\n", "a: 1.0.dev3 is not a release"),
        (f"a @ git+https://example.com/a@main {HASH}\n", "a: comes from git+https://example.com/a@main"),
        ("a==1.0 --hash=md5:abc\n", "a: hash md5:abc: not a whole sha256"),
        ("--index-url https://example.com/simple\n", "--index-url https://example.com/simple: an option"),
        ("-e .\n", "-e .: an option"),
        ("./a.whl\n", "./a.whl: "),
    ],
)
def test_an_open_end_is_seen(text, fault):
    [found] = locks.faults(text)
    assert found.startswith(fault)


def test_a_requirement_is_read_whole(tmp_path):
    place = tmp_path / "x.lock"
    place.write_text(f"# made\nA_b==1.2 ; python_version < '3.13' \\\n    {HASH} \\\n    {HASH[:-1]}b\n    # via c\n")
    assert locks.read(place) == {
        "a-b": locks.Locked("a-b", "1.2", 'python_version < "3.13"', frozenset({"a" * 64, "a" * 63 + "b"}))
    }
