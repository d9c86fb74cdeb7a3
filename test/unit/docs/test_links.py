"""Every link of every page leads to a file, or a heading, that is there; and to no host but those of documentation."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING

import pytest
from test.unit.docs import pages

if TYPE_CHECKING:
    import pathlib

WORDS = 32_000
"""What README and all pages of docs may have together; never raise it for a page that repeats another."""
_GENERATED_PAGE = "; do not edit -->"
_GENERATED = re.compile(r"<!-- made by `make generate`: [\w ]+ -->\n.*?<!-- until here -->\n", re.DOTALL)
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


def test_the_index_has_a_line_for_each_page_but_for_the_transcripts():
    """Who looks for a page finds it there at once, not by following links."""
    docs = pages.ROOT / "docs"
    linked = {(docs / link.partition("#")[0]).resolve() for link in pages.links(docs / "README.md")}
    wanted = {page for page in docs.rglob("*.md") if page.parent.name != "sessions"} - {docs / "README.md"}
    assert wanted <= linked, sorted(str(page.relative_to(docs)) for page in wanted - linked)


def test_the_pages_stay_short_enough_to_be_read():
    """Words as `wc -w` counts them of what is written by hand, without the transcripts of docs/sessions."""
    folder = pages.ROOT / "docs"
    written = [page for page in folder.rglob("*.md") if page.parent.name != "sessions"]
    counts = {str(page.relative_to(pages.ROOT)): _by_hand(page) for page in (pages.ROOT / "README.md", *written)}
    longest = sorted(counts.items(), key=lambda item: -item[1])[:8]
    assert sum(counts.values()) <= WORDS, (
        f"README and docs have {sum(counts.values())} words, {WORDS} are allowed. Say each fact on one page, link to "
        f"it elsewhere. Longest: {', '.join(f'{name} {count}' for name, count in longest)}"
    )


def _by_hand(page: pathlib.Path) -> int:
    text = page.read_text(encoding="utf-8")
    return 0 if _GENERATED_PAGE in text else len(_GENERATED.sub("", text).split())
