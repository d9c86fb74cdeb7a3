"""The locked files leave nothing open, what is installed is what they say, and each licence is one that is allowed."""

from __future__ import annotations

import pathlib
from importlib import metadata

import pytest
from packaging import markers, utils

from topology_image import licences, locks

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


LOCKED = locks.read(ROOT / "requirements.lock")
PAGE = (ROOT / "docs" / "image.md").read_text()


@pytest.mark.parametrize("name", LOCKED)
def test_a_package_is_under_licences_that_are_allowed(name):
    assert licences.faults(licences.of(name).expression) == []


def test_the_page_lists_them_as_they_are():
    assert licences.table(LOCKED.values()) in PAGE, (
        "docs/image.md: put in what `python -m topology_image licences` prints"
    )


@pytest.mark.parametrize(
    ("expression", "refused"),
    [
        ("MIT AND Apache-2.0", []),
        ("GPL-3.0-only", ["GPL-3.0-only"]),
        ("GPL-3.0-only OR MIT", []),
        ("MIT AND (GPL-2.0-only OR AGPL-3.0-only)", ["GPL-2.0-only", "AGPL-3.0-only"]),
        ("Apache-2.0 WITH LLVM-exception", ["Apache-2.0 WITH LLVM-exception"]),
    ],
)
def test_what_nobody_agreed_to_is_refused(expression, refused):
    assert licences.faults(expression) == refused
