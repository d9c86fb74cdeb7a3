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


def test_a_broken_link_would_be_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `b` c, d\n\n[x](page.md#a-b-c-d) [y](nowhere.md) `[z](code.md)`\n")
    assert pages.links(page) == ["page.md#a-b-c-d", "nowhere.md"]
    assert pages.anchors(page) == {"a-b-c-d"}


def test_every_page_of_docs_is_reached_from_the_readme():
    reached: set[pathlib.Path] = set()
    todo = [pages.ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        todo += [(page.parent / link.partition("#")[0]).resolve() for link in pages.links(page) if "://" not in link]
    lost = {str(page.relative_to(pages.ROOT)) for page in pages.every()} - {
        str(page.relative_to(pages.ROOT)) for page in reached
    }
    # A runbook is found by the name of its alert, and the folder is linked; the changelog is where one looks for it.
    assert {name for name in lost if not name.startswith(("docs/runbooks/", "CHANGELOG"))} == set()
