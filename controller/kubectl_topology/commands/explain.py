"""`explain`: what a name means, what to look at and what to do, and how it is with this cluster.

A name that several kinds have (Blocked, Stuck) is explained for each. Without a name it lists all of them. The text is
in one file, which `make generate` writes from the docstrings of the words, the metrics, the alerts, the definitions and
hack/explanations: where the cluster cannot be read it is printed anyway, with the reason.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import json
import operator
import os
import re
from typing import TYPE_CHECKING, Final, TypedDict

from topology_api import vocabulary
from topology_controller import bindata, shell

from .. import answers, document, errors
from . import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from topology_controller.definitions import load

    from .. import cluster

FILE: Final = "explanations.json"
_COMMAND: Final = re.compile(r"`(oc [^`]{40,})`\.?")


class Look(TypedDict):
    """A command that shows the present state, and what to look for; `why` may be empty.

    Words in capitals, such as NODE, are to be replaced.
    """

    command: str
    why: str


class Explanation(TypedDict):
    """One name of one kind. `detail` is what kind of a kind it is; `runbooks` are names of alerts."""

    kind: str
    name: str
    detail: str
    meaning: str
    look: list[Look]
    do: list[str]
    avoid: list[str]
    call: list[str]
    source: str
    runbooks: list[str]


class Here(TypedDict):
    """What this cluster says of the name: a check's status or a condition's type, the whole message, a command."""

    status: str
    message: str
    command: str


class Explanations(TypedDict):
    """The answer: the explanations of one name, or of all.

    `here` is None where the cluster was not read, and `unread` says why; both are None for names that no cluster says.
    """

    apiVersion: str
    kind: str
    items: list[Explanation]
    here: list[Here] | None
    unread: str | None


@functools.cache
def every() -> tuple[Explanation, ...]:
    """Every explanation, by kind. Raises BindataMissingError, or PluginError, when the installation is damaged."""
    try:
        return tuple(json.loads((bindata.root() / FILE).read_text(encoding="utf-8")))
    except OSError as error:
        raise errors.PluginError(str(error)) from error


def matching(name: str) -> list[Explanation]:
    """The explanations of a name in all kinds that have it, whatever its case."""
    return [explanation for explanation in every() if explanation["name"].lower() == name.lower()]


def nearest(name: str) -> list[str]:
    """The names that it is part of, then those that are spelled alike; a few, each once."""
    by_lower, text = {explanation["name"].lower(): explanation["name"] for explanation in every()}, name.lower()
    alike = difflib.get_close_matches(text, by_lower, n=5, cutoff=0.6)
    parts = [lower for lower in by_lower if len(text) > 2 and text in lower]
    order = dict.fromkeys((*alike[:1], *parts, *alike))
    return [by_lower[lower] for lower in order][:5]


def concerns_a_cluster(options: argparse.Namespace) -> bool:
    """May a cluster have a message for this name?"""
    kinds = {"check", "advisory", "problem", "reason"}
    return options.name is not None and any(item["kind"] in kinds for item in matching(options.name))


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Print the explanation, and what this cluster says of the name. Raises PluginError when it cannot be read."""
    from .. import cluster  # noqa: PLC0415 - most names are explained without a cluster
    from . import status  # noqa: PLC0415 - as above

    snapshot = await cluster.present(connection, transitions)
    return alone(options, _here(status.answer(snapshot, transitions), options.name.lower()))


def _here(answer: answers.Status, name: str) -> list[Here]:
    every = [(check["name"], check["status"], check["message"], "") for check in answer["checks"]]
    every += [(step["name"], "", step["message"], step["command"]) for step in answer["advisories"]]
    every += [(item["reason"], item["type"], item["message"], "") for item in answer["conditions"]]
    if (problem := answer["problem"]) is not None:
        every.append((problem["reason"], "", problem["message"], ""))
    return [
        {"status": status, "message": message, "command": command}
        for known, status, message, command in dict.fromkeys(every)
        if known.lower() == name
    ]


def alone(options: argparse.Namespace, here: list[Here] | None = None, unread: str | None = None) -> int:
    """Print what was asked for; a name that does not exist is bad usage."""
    items = list(every()) if options.name is None else matching(options.name)
    if not items:
        near = ", ".join(nearest(options.name))
        meant = f"did you mean {near}?" if near else "no name is like it."
        errors.complain(f"unknown name {options.name!r}; {meant} Without a name, explain lists all")
        return errors.ExitCode.USAGE
    head = {"apiVersion": answers.API_VERSION, "kind": "TopologyExplanationList"}
    show(options, {**head, "items": items, "here": here, "unread": unread}, _explained if options.name else _listed)
    return errors.ExitCode.DONE


def _listed(sheet: document.Document, answer: Explanations) -> None:
    for kind, items in itertools.groupby(answer["items"], operator.itemgetter("kind")):
        sheet.add(kind, [", ".join(item["name"] for item in items)])


def _explained(sheet: document.Document, answer: Explanations) -> None:
    rows: list[document.Row | str] = [] if answer["here"] != [] else ["This cluster says nothing of it at the moment."]
    rows = rows if answer["unread"] is None else [f"The cluster was not read: {answer['unread']}"]
    for here in answer["here"] or ():
        rows.append(document.Row(tuple(filter(None, (here["status"], here["message"])))))
        rows += [document.command(here["command"], 4)] if here["command"] else []
    sheet.add("On this cluster", rows)
    for item in answer["items"]:
        detail = f", {item['detail']}" if item["detail"] else ""
        sheet.add(f"{item['name']} ({item['kind']}{detail})", [item["meaning"]])
        looks = [(document.command(look["command"]), document.Row((look["why"],), indent=6)) for look in item["look"]]
        sheet.add("Look at", [row for pair in looks for row in pair if row.cells[0]])
        for title, sentences in (("Do", item["do"]), ("Avoid", item["avoid"]), ("Call", item["call"])):
            sheet.add(title, [row for sentence in sentences for row in _sentence(sentence)])
        where, folder = [("Source", item["source"])], os.environ.get(vocabulary.RUNBOOKS_VARIABLE, "").rstrip("/")
        for name in item["runbooks"]:
            # An alert's own runbook is what stands above.
            place = "" if item["kind"] == "alert" else shell.command("oc topology explain {}", name)
            where.append(("Runbook", f"{folder}/{name}.md" if folder else place))
        sheet.add("", [document.Row(pair, indent=0) for pair in where if pair[1]])


def _sentence(sentence: str) -> Iterator[document.Row]:
    """A sentence; a long command in it gets a line of its own, without what a shell would take for its own."""
    first = True
    for number, part in enumerate(_COMMAND.split(sentence)):
        if number % 2:
            yield document.command(part, indent=5)
        elif text := part.strip():
            yield document.Row(("-", text)) if first else document.Row((text,), indent=5)
            first = False
