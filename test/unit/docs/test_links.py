"""Every link of every page leads to a file or heading that is there; each test and sentence that a page names exists.

docs/development/security.md claims no defence without such a test, and says so where there is none.
"""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING

import pytest
from test.unit.docs import pages

if TYPE_CHECKING:
    import pathlib

TESTS = re.compile(r"`(test/[a-z_/]+\.py)::(test_\w+)`")
SENTENCES = re.compile(r"`([A-Z][a-z]*(?: [A-Za-z']+){3,})`")
CONTROLLER = "".join(file.read_text(encoding="utf-8") for file in (pages.ROOT / "controller").rglob("*.py"))
SECURITY = (pages.ROOT / "docs" / "development" / "security.md").read_text(encoding="utf-8")
HOSTS = {"docs.openshift.com", "docs.redhat.com", "kubernetes.io", "prometheus.io", "github.com"}


@pytest.mark.parametrize("page", pages.every(), ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_every_link_and_every_named_test_is_there(page):
    wrong = []
    for link in pages.links(page):
        parts = urllib.parse.urlsplit(link)
        if parts.scheme:
            if parts.hostname not in HOSTS:
                wrong.append(f"{link}: another host")
            continue
        target = (page.parent / parts.path).resolve() if parts.path else page
        if not target.exists():
            wrong.append(f"{link}: no such file")
        elif parts.fragment and target.suffix == ".md" and parts.fragment not in pages.anchors(target):
            wrong.append(f"{link}: no such heading; there are {sorted(pages.anchors(target))}")
    text = page.read_text(encoding="utf-8")
    if page.name != "log.md":
        wrong += [f"{words}: not in the sources" for words in SENTENCES.findall(text) if words not in CONTROLLER]
    for file, name in TESTS.findall(text):
        if not (pages.ROOT / file).is_file() or not pages.defines(pages.ROOT / file, name):
            wrong.append(f"{file}::{name}: no such test")
    assert not wrong, "\n".join(wrong)


def test_every_page_of_docs_is_reached_from_its_index():
    docs = pages.ROOT / "docs"
    index = docs / "README.md"
    reached: set[pathlib.Path] = set()
    todo = [index]
    while todo:
        page = todo.pop()
        # What only the front page or the changelog links to is missing in the index.
        if page in reached or not page.is_file() or page.suffix != ".md" or not page.is_relative_to(docs):
            continue
        reached.add(page)
        todo += [(page.parent / link.partition("#")[0]).resolve() for link in pages.links(page) if "://" not in link]
    lost = [str(page.relative_to(docs)) for page in docs.rglob("*.md") if page not in reached]
    assert not lost, f"no link leads there from {index.relative_to(pages.ROOT)}: {lost}"


def test_every_threat_names_a_test_or_says_that_it_is_not_defended():
    threats = SECURITY.partition("\n## What an attacker could do\n")[2].partition("\n## ")[0]
    rows = [row for row in threats.splitlines() if row.startswith("| ") and not row.endswith("| shown by |")]
    assert len(rows) >= 30
    for row in rows:
        shown = row.strip().strip("|").split("|")[-1].strip()
        assert "::test_" in shown or shown in {"see below", "not defended"}, row
