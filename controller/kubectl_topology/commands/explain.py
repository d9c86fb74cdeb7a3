"""`explain`: what a name means, what to look at and what to do. It reads one file and asks no cluster.

A name that several kinds have (Blocked, Stuck) is explained for each. Without a name it lists all of them.
"""

from __future__ import annotations

import itertools
import operator
import re
from typing import TYPE_CHECKING, Final, TypedDict

from topology_controller import shell

from .. import answers, document, errors, explanations
from . import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


_COMMAND: Final = re.compile(r"`(oc [^`]{40,})`\.?")
_INDENT: Final = 5


class Explanations(TypedDict):
    """The answer: the explanations of one name, or of all."""

    apiVersion: str
    kind: str
    items: list[explanations.Explanation]


def run(options: argparse.Namespace) -> int:
    """Print what was asked for; a name that does not exist is bad usage."""
    items = list(explanations.every()) if options.name is None else explanations.matching(options.name)
    if not items:
        near = explanations.nearest(options.name)
        meant = f"did you mean {', '.join(near)}?" if near else "no name is like it."
        errors.complain(f"unknown name {options.name!r}; {meant} Without a name, explain lists all")
        return errors.ExitCode.USAGE
    answer: Explanations = {"apiVersion": answers.API_VERSION, "kind": "TopologyExplanationList", "items": items}
    show(options, answer, _listed if options.name is None else _explained)
    return errors.ExitCode.DONE


def _listed(sheet: document.Document, answer: Explanations) -> None:
    for kind, items in itertools.groupby(answer["items"], operator.itemgetter("kind")):
        sheet.add(kind, [", ".join(item["name"] for item in items)])


def _explained(sheet: document.Document, answer: Explanations) -> None:
    for item in answer["items"]:
        detail = f", {item['detail']}" if item["detail"] else ""
        sheet.add(f"{item['name']} ({item['kind']}{detail})", [item["meaning"]])
        sheet.add("Look at", _commands(item))
        for title, sentences in (("Do", item["do"]), ("Avoid", item["avoid"]), ("Call", item["call"])):
            sheet.add(title, [row for sentence in sentences for row in _sentence(sentence)])
        where = [document.Row(("Source", item["source"]), indent=0)]
        for name in item["runbooks"]:
            # An alert's own runbook is what stands above.
            offline = "" if item["kind"] == "alert" else shell.command("oc topology explain {}", name)
            if place := explanations.address(name) or offline:
                where.append(document.Row(("Runbook", place), indent=0))
        sheet.add("", where)


def _sentence(sentence: str) -> Iterator[document.Row]:
    """A sentence; a long command in it gets a line of its own, without what a shell would take for its own."""
    first = True
    for number, part in enumerate(_COMMAND.split(sentence)):
        if number % 2:
            yield document.command(part, indent=_INDENT)
        elif text := part.strip():
            yield document.Row(("-", text)) if first else document.Row((text,), indent=_INDENT)
            first = False


def _commands(item: explanations.Explanation) -> list[document.Row]:
    rows = []
    for look in item["look"]:
        rows.append(document.command(look["command"]))
        if look["why"]:
            rows.append(document.Row((look["why"],), indent=6))
    return rows
