"""Label and field selectors: from the text of a query to a predicate.

Labels know `=`, `==`, `!=`, `in`, `notin`, existence and absence; fields know `=`, `==` and `!=` on the few
fields that a kind declares. What cannot be parsed is a 400 with the words of the real server's parser, and
so is an unknown field.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from . import resources, statuses

_PREFIX = r"(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/)?"
_KEY = rf"{_PREFIX}[A-Za-z0-9](?:[-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"
_SET = re.compile(rf"\s*({_KEY})\s+(in|notin)\s*\(\s*({_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)\s*(?:,|$)")
_COMPARE = re.compile(rf"\s*({_KEY})\s*(==|=|!=)\s*({_VALUE})\s*(?:,|$)")
_EXISTS = re.compile(rf"\s*(!?)\s*({_KEY})\s*(?:,|$)")

Labels = dict[str, str]


def _membership(key: str, values: frozenset[str], *, wanted: bool) -> Callable[[Labels], bool]:
    if wanted:
        return lambda labels: key in labels and labels[key] in values
    return lambda labels: key not in labels or labels[key] not in values


def _presence(key: str, *, wanted: bool) -> Callable[[Labels], bool]:
    return lambda labels: (key in labels) is wanted


def parse_labels(text: str) -> Callable[[Labels], bool]:
    """Return the predicate over labels of a label selector; an empty one takes everything. Raises StatusError 400."""
    tests: list[Callable[[Labels], bool]] = []
    position = 0
    while text[position:].strip():
        if match := _SET.match(text, position):
            key, operator, raw = match.groups()
            values = frozenset(part.strip() for part in raw.split(","))
            tests.append(_membership(key, values, wanted=operator == "in"))
        elif match := _COMPARE.match(text, position):
            key, operator, value = match.groups()
            tests.append(_membership(key, frozenset((value,)), wanted=operator != "!="))
        elif match := _EXISTS.match(text, position):
            tests.append(_presence(match[2], wanted=not match[1]))
        else:
            raise statuses.bad_request(
                f"unable to parse requirement: found '{text[position:].strip()}', expected: a label selector"
            )
        position = match.end()
    return lambda labels: all(test(labels) for test in tests)


def split_fields(text: str) -> list[tuple[str, str, str]]:
    r"""Return the terms (field, `=` or `!=`, value) of a field selector.

    `\,`, `\=` and `\\` stand for themselves.
    """
    terms: list[tuple[str, str, str]] = []
    for part in re.split(r"(?<!\\),", text):
        if not part:
            continue
        match = re.match(r"((?:\\.|[^=!\\])*)(==|=|!=)(.*)$", part, re.DOTALL)
        if match is None:
            raise statuses.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        field, operator, value = match.groups()
        terms.append((field, "!=" if operator == "!=" else "=", re.sub(r"\\([\\,=])", r"\1", value)))
    return terms


def _metadata(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda obj: str(obj["metadata"].get(name, ""))


def parse_fields(resource: resources.Resource, text: str) -> Callable[[dict[str, Any]], bool]:
    """Return the predicate over stored objects of a field selector.

    Raises StatusError 400 for a field that is not offered.
    """
    known: Mapping[str, Callable[[dict[str, Any]], str]] = {
        "metadata.name": _metadata("name"),
        "metadata.namespace": _metadata("namespace"),
        **resource.selectable,
    }
    tests: list[tuple[Callable[[dict[str, Any]], str], str, bool]] = []
    for field, operator, value in split_fields(text):
        if field not in known:
            raise statuses.bad_request(f"field label not supported: {field}")
        tests.append((known[field], value, operator == "="))
    return lambda obj: all((read(obj) == value) is wanted for read, value, wanted in tests)
