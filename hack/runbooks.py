"""Makes docs/runbooks: one page for each alert, from what `explained` has collected.

The first thing on a page is the command to run. `oc topology explain ALERT` says the same offline, so a page adds only
what reads better there: the sections, and a table of the checks and problems that lead to it.
"""

import re
import textwrap
from collections.abc import Iterable

import explained
from kubectl_topology.commands.explain import Explanation
from topology_controller.definitions import load

_WIDTH = 120
_SPAN = re.compile(r"`[^`]+`|\[[^\]]+\]")
"""A command, which is there to be copied, and the text of a link. They are not broken."""
_KEPT = "\x00"
_LEADING = ("problem", "check")
"""Kinds whose names stand in the message that brings a person here."""


def pages(transitions: load.Transitions) -> dict[str, str]:
    """Return every page by the name of its alert. Raises explained.UndescribedError."""
    every = explained.explanations(transitions)
    return {item["name"]: _page(item, every) for item in every if item["kind"] == "alert"}


def _page(alert: Explanation, every: list[Explanation]) -> str:
    first, *rest = alert["look"]
    advice = explained.advice()["alert"].names[alert["name"]]
    severity = alert["detail"][0].upper() + alert["detail"][1:]
    parts = [
        f"# {alert['name']}",
        "<!-- made by `make generate` from hack/explanations/alerts.yaml; do not edit -->",
        f"Run this first. It shows {first['why']}:",
        f"    {first['command']}",
        f"{severity}. `oc topology explain {alert['name']}` has this page offline.",
        f"## Meaning\n\n{_filled(advice.meaning)}",
        f"## Impact\n\n{_filled(advice.impact)}",
        "## Look at",
        *(f"{_item(look['why'])}\n\n      {look['command']}" for look in rest),
        "## What to do\n\n" + _list(advice.do) + f"\n\n{_filled('The alert ends ' + advice.ends)}",
        _table(
            item for kind in _LEADING for item in every if item["kind"] == kind and alert["name"] in item["runbooks"]
        ),
        "## What not to do\n\n" + _list(advice.avoid),
        "## When to call whom\n\n" + _list(advice.call),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(items: Iterable[Explanation]) -> str:
    """The first thing to do for each, names with the same in one row; `explain` has the rest."""
    rows: dict[str, list[str]] = {}
    for item in items:
        if not item["do"][0].startswith("Open the runbook"):
            rows.setdefault(item["do"][0], []).append(f"`{item['name']}`")
    lines = [f"| {', '.join(names)} | {sentence} |" for sentence, names in rows.items()]
    heads = ("| what the message names | what to do first |", "| --- | --- |")
    return "\n".join((*heads, *lines)) if len(lines) > 1 else ""


def _item(why: str) -> str:
    return _filled(why[0].upper() + why[1:] + ("" if why.endswith(("?", ".")) else ":"), "* ", "  ")


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(_filled(sentence, "* ", "  ") for sentence in sentences)


def _filled(text: str, first: str = "", following: str = "") -> str:
    lines = textwrap.wrap(
        _SPAN.sub(lambda span: span[0].replace(" ", _KEPT), text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace(_KEPT, " ")
