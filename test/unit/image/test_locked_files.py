"""The locked files leave nothing open, what is installed here is what they say, and an open end is seen."""

from __future__ import annotations

import pathlib
from importlib import metadata

import pytest
from packaging import markers, utils

from topology_image import locks

ROOT = pathlib.Path(__file__).resolve().parents[3]


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
