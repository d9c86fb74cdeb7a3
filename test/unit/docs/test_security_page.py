"""docs/security.md: every defence that it claims is shown by a test that exists, and what has none says so."""

from __future__ import annotations

import re

import pytest
from test.unit.docs import pages

TEXT = (pages.ROOT / "docs" / "security.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`(test/[a-z_/]+\.py)::(test_\w+)`", TEXT)))
THREATS = TEXT.partition("\n## What an attacker could do\n")[2].partition("\n## ")[0]
ROWS = [line for line in THREATS.splitlines() if line.startswith("| ") and not line.endswith("| shown by |")]


@pytest.mark.parametrize(("file", "name"), TESTS, ids=lambda one: one)
def test_every_test_that_is_named_exists(file, name):
    place = pages.ROOT / file
    assert place.is_file(), f"no file {file}"
    assert pages.defines(place, name), f"{file} has no {name}"


def test_every_threat_names_a_test_or_says_that_it_is_not_defended():
    assert len(ROWS) >= 30
    for row in ROWS:
        shown = row.strip().strip("|").split("|")[-1].strip()
        assert "::test_" in shown or shown in {"see below", "not defended"}, row


def test_the_standing_of_every_attacker_comes_first():
    """One row each; all but the cluster administrator name what shows it."""
    first, _, rest = TEXT.partition("\n## ")[2].partition("\n")
    rows = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("| ")][1:]
    assert first == "Who can reach what"
    for who in ("requester", "status", "monitoring namespace", "worker", "control-plane", "network", "etcd", "token"):
        assert any(who in row.split("|")[1] and "::test_" in row for row in rows), who
    assert "cluster administrator" in rows[-1]
    assert all("::test_" in row for row in rows[:-1])
