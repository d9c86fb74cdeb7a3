"""Mutants of the pack: each edits one safeguard out of the text that users get, and one story must then not hold.

A story that holds anyway would prove nothing about that safeguard.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import pack
from .pack import Edit


@dataclass(frozen=True, slots=True)
class Mutant:
    """A safeguard that is missing, and the story that shows it."""

    what: str
    story: str
    edit: Edit


_GUARD = r"^ *!object\.\?status\.\?topologyTransition\.hasValue\(\).*\? (true|false) :\n"
_VALUE = re.compile(r"object((?:\.\?\w+)+)\.orValue\([^)]*\)")


def _unguarded(text: str) -> str:
    """Read every value as if it were there, and leave out the rules for a record that is missing.

    One of the two alone is harmless: CEL's && and || take either side's answer beside an error.
    """
    return _VALUE.sub(lambda value: f"object{value[1].replace('?', '')}", pack.replaced(_GUARD)(text))


MUTANTS = {
    "no-canary": Mutant("no group goes first", "spoke-unreachable", pack.replaced(r"^ *mandatoryDecisionGroups:.*\n")),
    "no-apply": Mutant(
        "the whole object is replaced", "canary-then-wave", pack.replaced(r"^ *updateStrategy: \{type: ServerSide.*\n")
    ),
    "no-orphan": Mutant("the object goes with its work", "canary-then-wave", pack.replaced(r"^ *deleteOption: .*\n")),
    "no-failure": Mutant(
        "no rule says that a cluster has failed",
        "canary-stuck",
        pack.replaced(r"^ {10}- type: CEL\n {12}condition: Degraded\n(?: {12}.*\n)+"),
    ),
    "no-toleration": Mutant(
        "a cluster that is unreachable is no longer placed",
        "canary-lost",
        pack.replaced(r"^ *- \{key: cluster\.open-cluster-management\.io/unreachable, .*\n"),
    ),
    "unguarded": Mutant("rules ask a record that may be missing", "operator-missing", _unguarded),
    "force": Mutant(
        "conflicts are won by force",
        "bad-manifest",
        pack.replaced("serverSideApply: {", "serverSideApply: {force: true, "),
    ),
    "update": Mutant(
        "the work agent may replace the object",
        "bad-manifest",
        pack.replaced(r"verbs: \[patch\]", "verbs: [patch, update]"),
    ),
    "no-gate": Mutant(
        "the policy asks a cluster that is not ready",
        "policy",
        pack.replaced(r"\{\{- if or \(eq \$state \"Ready\"\).*\}\}", "{{- if true }}"),
    ),
    "enforce": Mutant(
        "the policy enforces by itself",
        "policy",
        pack.replaced("remediationAction: inform", "remediationAction: enforce"),
    ),
}
