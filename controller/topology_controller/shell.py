"""Commands that a person pastes into a shell: every one that holds a value is built here, and nowhere else.

A value may come from a cluster, a kubeconfig or a command line, where it may be anything. It stays one word of the
command and runs nothing. test/unit/gates/test_commands_are_built.py refuses commands that are put together elsewhere.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

from . import terminal

WORD: Final = r"""(?:'[^']*'|"[^"]*"|[^\s'"`])*(?:'[^']*'|"[^"]*"|[^\s'"`.,;:)])"""
"""Pattern of a word of a command within a sentence: a mark that ends the sentence is no part of it."""
_FLAG = re.compile(r"(?:^|\s)-\S*\s\Z")


def command(template: str, *values: object) -> str:
    """Return the template with a value, quoted where that is needed, for each `{}` in it.

    For a letter that a terminal would obey it has a space. One that could be taken for a flag stands behind `--`,
    unless it is what a flag asks for. Raises ValueError when there are more or fewer values than places.
    """
    first, *others = template.split("{}")
    text = first
    for value, following in zip(values, others, strict=True):
        word = terminal.plain(str(value))
        if word.startswith("-") and text.endswith(" ") and _FLAG.search(text) is None:
            text += "-- "
        text += shlex.quote(word) + following
    return text
