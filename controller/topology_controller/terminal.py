"""Every line that a program of ours prints or logs is made fit here, and nowhere else: for a terminal, and for a log.

A name, a tag or a message may hold escape sequences, line breaks, or letters that turn the direction of a line; an
error may repeat headers or a password. So shapes that only credentials have are removed wherever they appear, and what
we send as a credential ourselves is removed too.
"""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

REQUESTS = 5  # level of the lines about single requests, below logging.DEBUG
_REMOVED = "(removed)"
_OPENING = r"\\*[\"']?\s*[:=]\s*\[?\\*[\"']?"
_SHAPES = (  # Each with words of which one must be there: looking for those costs a hundredth of looking for the shape
    (("-----begin",), re.compile(r"-----BEGIN [A-Z ]+-----.*?(-----END [A-Z ]+-----|\Z)", re.DOTALL)),
    # A whole header: whatever its scheme is, to the end of its line or of its quotes.
    (
        ("authorization", "cookie"),
        re.compile(
            rf"(?P<name>\b(?:proxy-)?authorization|\b(?:set-)?cookie){_OPENING}(?!\(removed\))[^\r\n\"'\\<>]+",
            re.IGNORECASE,
        ),
    ),
    (("bearer", "basic"), re.compile(r"\b(bearer|basic)\s+[^\s\"'<>,;\\]+", re.IGNORECASE)),
    (("eyj",), re.compile(r"\beyJ[\w-]{8,}(\.[\w-]*){0,2}")),
    (("sha256~",), re.compile(r"sha256~[\w-]+")),
    # "-----BEGIN" in base64: the certificates and keys of a kubeconfig.
    (("ls0tls1",), re.compile(r"\bLS0tLS1[\w+/=]{8,}")),
    (("://",), re.compile(r"(?<=://)[^\s/?#\"'<>]+(?=@)")),
    (
        ("token", "pass", "secret", "key", "session"),
        re.compile(
            r"(?P<name>\b(?:(?:access|id|refresh|bearer)[-_]?)?token|\bpass(?:word|wd)|\bclient[-_]?secret"
            rf"|\bclient-key-data|\bapi[-_]?key|\b\w*_session){_OPENING}(?!\(removed\))[^\s\"'\\&,;<>()]{{6,}}",
            re.IGNORECASE,
        ),
    ),
)
_known: dict[str, None] = {}


def plain(text: str) -> str:
    """Return one line without anything that a terminal would obey: a space for each letter that is not printed."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def folded(text: str, longest: int) -> str:
    """Return one plain line with single spaces, of at most that many letters."""
    text = " ".join(plain(text).split())
    return text if len(text) <= longest else text[: longest - 3].rstrip() + "..."


def clean(text: str, longest: int = 1000) -> str:
    """Return foreign text folded, and without credentials."""
    return folded(redacted(text[: 20 * longest]), longest)


def remember(secret: str) -> None:
    """Remove a credential, as it is sent, from whatever is logged from now on; the newest few are kept."""
    value = secret.rpartition(" ")[2]
    # Shorter values are no secrets, and might be words of our own.
    if len(value) < 16 or value in _known:
        return
    _known[value] = None
    if len(_known) > 16:
        del _known[next(iter(_known))]


def redacted(text: str) -> str:
    """Return the text without anything that is, or looks like, a credential."""
    for value in _known:
        if value in text:
            text = text.replace(value, _REMOVED)
    lower = text.lower()
    for words, shape in _SHAPES:
        if [word for word in words if word in lower]:
            replacement = rf"\g<name>: {_REMOVED}" if "name" in shape.groupindex else _REMOVED
            text = shape.sub(replacement, text)
    return text


class Parser(argparse.ArgumentParser):
    """Repeats words of the command line, where a shell may have put names of files, as plain text."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and end with exit code 2."""
        super().error(plain(message))


def add(where: argparse._ActionsContainer, words: str, text: str | dict[str, Any], **options: Any) -> None:
    """Add a flag, `-f --flag VALUE`, `--flag DEFAULT|OTHER` or `--flag [ONE|OTHER]`, or a word, `WORD` or `[WORD]`.

    `text` is its help, or a table of that and of further arguments of argparse.
    """
    options = {**({"help": text} if isinstance(text, str) else text), **options}
    *names, last = words.split(" ")
    word = last.strip("[]")
    if last.startswith("-"):
        where.add_argument(*names, last, **{"action": "store_true", **options})
    elif not names:
        where.add_argument(word.lower(), nargs="?" if word != last else None, metavar=word, **options)
    elif "|" in last:
        choice = {"choices": word.split("|"), "default": last.partition("|")[0] if word == last else None}
        where.add_argument(*names, **{**choice, **options})
    else:
        where.add_argument(*names, metavar=last, **options)
