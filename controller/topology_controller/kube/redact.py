"""What this package may write to a log: nothing that is a credential.

A server may put the headers of a request into its error, a proxy its address with a password. So shapes that only
credentials have (bearer tokens, JWTs, keys, Authorization and cookie headers, passwords in URLs) are removed wherever
they appear, and what we send as a credential ourselves is remembered and removed too.

`errors` cleans every message with this, and the formatters of the process (`topology_controller.logs`) once more.
`REQUESTS` is the level of the lines about single requests, below logging.DEBUG.
"""

from __future__ import annotations

import re

REQUESTS = 5
_REMOVED = "(removed)"
# Shorter values are no secrets, and might be words of our own.
_SHORTEST = 16
_REMEMBERED = 16
_OPENING = r"\\*[\"']?\s*[:=]\s*\[?\\*[\"']?"
# Each with words of which one must be there: looking for those costs a hundredth of looking for the shape.
_SHAPES = (
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


def remember(secret: str) -> None:
    """Remove a credential, as it is sent, from whatever is logged from now on; the newest few are kept."""
    value = secret.rpartition(" ")[2]
    if len(value) < _SHORTEST or value in _known:
        return
    _known[value] = None
    if len(_known) > _REMEMBERED:
        del _known[next(iter(_known))]


def redacted(text: str) -> str:
    """Return the text without anything that is, or looks like, a credential."""
    for value in _known:
        if value in text:
            text = text.replace(value, _REMOVED)
    lower = text.lower()
    for words, shape in _SHAPES:
        if any(word in lower for word in words):
            text = shape.sub(_replacement, text)
    return text


def _replacement(match: re.Match[str]) -> str:
    name = match.groupdict().get("name")
    return f"{name}: {_REMOVED}" if name else _REMOVED
