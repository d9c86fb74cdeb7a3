"""Every link of every page leads to a file, or a heading, that is there; and to no host but those of documentation."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING

import pytest
from test.unit.docs import pages

if TYPE_CHECKING:
    import pathlib

HOSTS = {"docs.openshift.com", "docs.redhat.com", "kubernetes.io", "prometheus.io", "github.com"}


@pytest.mark.parametrize("page", pages.every(), ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_every_link_leads_somewhere(page):
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
