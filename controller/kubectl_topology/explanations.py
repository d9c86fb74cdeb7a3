"""What each name that a user can see means, what to look at and what to do: the file behind `oc topology explain`.

`make generate` writes it, from the docstrings of the words, the metrics, the alerts, the definitions and
hack/explanations, which docs/api.md and docs/runbooks are made of too. Only the plugin reads it; the operator never
does, so it costs no memory there.
"""

from __future__ import annotations

import difflib
import functools
import json
import os
from typing import TYPE_CHECKING, Final, TypedDict

from topology_api import vocabulary
from topology_controller import bindata

from . import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = "explanations.json"
_NEAREST = 5


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
    by_lower = {explanation["name"].lower(): explanation["name"] for explanation in every()}
    text = name.lower()
    alike = difflib.get_close_matches(text, by_lower, n=_NEAREST, cutoff=0.6)
    parts = [lower for lower in by_lower if len(text) > 2 and text in lower]
    order = dict.fromkeys((*alike[:1], *parts, *alike))
    return [by_lower[lower] for lower in order][:_NEAREST]


def address(runbook: str, environ: Mapping[str, str] = os.environ) -> str:
    """Where a runbook is, as the environment says; empty when it says nothing."""
    folder = environ.get(vocabulary.RUNBOOKS_VARIABLE, "").rstrip("/")
    return f"{folder}/{runbook}.md" if folder else ""
