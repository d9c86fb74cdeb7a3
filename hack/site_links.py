"""What `make site` changes in a page before mkdocs reads it; the pages themselves are written for Git's own view.

A link to a file outside docs/, or to a folder, has no page in the site: its text is kept. Text below an item of a list
is indented as Python-Markdown wants it, which needs four spaces where others go by the width of the mark.
"""

import posixpath
import re

from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(?:#[^)\s]*)?\)")
_ITEM = re.compile(r"(\* |\d+\. )\S")
_WIDTH = 4


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: object) -> str:
    """Return the text of a page for the site."""
    folder = posixpath.dirname(page.file.src_uri)

    def kept(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        return link[0] if files.get_file_from_path(target) else link[1]

    return "\n".join(_indented(_LINK.sub(kept, markdown)))


def _indented(text: str) -> list[str]:
    lines, more = [], ""
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item or line[:1].strip():
            more = " " * (_WIDTH - len(item[1])) if item else ""
        lines.append(more + line if line.startswith(" ") else line)
    return lines
