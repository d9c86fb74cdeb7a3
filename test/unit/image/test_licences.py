"""Every package of the image is under a licence that somebody has agreed to, and the page lists it."""

from __future__ import annotations

import pathlib

import pytest
from test.unit.docs import pages

from topology_image import licences, locks

ROOT = pathlib.Path(__file__).resolve().parents[3]
LOCKED = locks.read(ROOT / "requirements.lock")
PAGE = (ROOT / "docs" / "image.md").read_text()


@pytest.mark.parametrize("name", LOCKED)
def test_a_package_is_under_licences_that_are_allowed(name):
    assert licences.faults(licences.of(name).expression) == []


def test_the_page_lists_them_as_they_are():
    assert licences.table(LOCKED.values()) in PAGE, (
        "docs/image.md: put in what `python -m topology_image licences` prints"
    )


def test_the_page_says_what_each_licence_asks():
    told = {row[0].strip("`"): row[1] for row in pages.table(PAGE, "Licences")}
    assert told == dict(licences.ALLOWED)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("MIT", "MIT"),
        ("Apache 2.0", "Apache-2.0"),
        ("Apache-2.0 OR MIT", "Apache-2.0 OR MIT"),
        ("License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)", "MPL-2.0"),
        ("License :: OSI Approved :: BSD License", None),
        ("BSD License", None),
        ("see LICENSE", None),
        ("", None),
    ],
)
def test_only_what_is_certain_is_understood(said, meant):
    assert licences.expressed(said) == meant


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
