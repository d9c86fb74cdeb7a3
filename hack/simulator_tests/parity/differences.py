"""Where the two servers may differ, and why: the whole list, held both ways.

`rows` names, for each row of the table, the places (shell patterns) where the answers differ. A deviation that is not
listed fails its row; a listed place where nothing differs any more fails it too. docs/development/embedded-server.md
shows the same list to people, and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Difference:
    """One known difference: what it is, why it stays, and where it shows."""

    title: str
    reason: str
    rows: Mapping[str, tuple[str, ...]]


ALL: tuple[Difference, ...] = (
    Difference(
        "no server-side apply",
        "Refused with 415: it needs the owner of every field. `kubectl apply` without --server-side works.",
        {
            "an apply creates and owns": ("0",),
            "kubectl apply on the server": ("0",),
        },
    ),
    Difference(
        "everybody may do everything",
        "No credentials, rights or admission. Reviews say yes; those about oneself warn.",
        {
            "without credentials": ("0", "1", "2"),
            "an access review answers": ("1.warnings", "2"),
        },
    ),
    Difference(
        "no deletion of a whole collection",
        "kubectl deletes one object after the other.",
        {"the kinds of a custom group": ("0.body.resources.*.verbs.*",)},
    ),
    Difference(
        "a namespace is gone at once",
        "The real server has no namespace controller beside it.",
        {"a namespace is emptied before it goes": ("0.*", "1")},
    ),
    Difference(
        "the decoder has its own words for what is malformed",
        "Code and reason are the same.",
        {
            "malformed JSON": ("*.body.message",),
        },
    ),
    Difference(
        "a status of the wrong type is named by its whole path",
        "The real server leaves the word status out of the sentence.",
        {"a patch to an invalid value is refused": ("2.body.message", "2.body.details.causes.0.message")},
    ),
)


def as_lines() -> list[str]:
    """Return the list as docs/development/embedded-server.md has it: one line of a table for each difference."""
    return [f"| {one.title} | {one.reason} | {len(one.rows)} |" for one in ALL]
