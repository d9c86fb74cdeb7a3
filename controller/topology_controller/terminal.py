"""Every line that a program of ours prints or logs is made fit for a terminal here, and nowhere else.

A name, a tag or a message may hold escape sequences, line breaks, or letters that turn the direction of a line. What is
a secret is the matter of `kube.redact`.
"""

from __future__ import annotations

import argparse
from typing import NoReturn


def plain(text: str) -> str:
    """Return one line without anything that a terminal would obey: a space for each letter that is not printed."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def folded(text: str, longest: int) -> str:
    """Return one plain line with single spaces, of at most that many letters."""
    text = " ".join(plain(text).split())
    return text if len(text) <= longest else text[: longest - 3].rstrip() + "..."


class Parser(argparse.ArgumentParser):
    """Repeats words of the command line, where a shell may have put names of files, as plain text."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and end with exit code 2."""
        super().error(plain(message))
