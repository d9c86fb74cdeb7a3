"""Every package of the image is under a licence that somebody has agreed to, and the page lists it."""

from __future__ import annotations

import pathlib

import pytest

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
