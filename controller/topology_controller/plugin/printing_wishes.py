"""`set` and `cancel` as text, for a person: what was done stands first or last, never in the middle.

`set` without --confirm is a plan, and ends with what would be sent; with it, a plan that was refused is shown again,
since it says why. Takes the structures that `-o json` prints. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import printing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import answers
    from .paper import Paper

_REFUSED = "Nothing was written"


def wish(paper: Paper, found: answers.Set) -> None:
    """`set`."""
    if found["dryRun"]:
        # The command of the plan knows no version; what is really sent stands below.
        printing.plan(paper, {**found["plan"], "command": None})
    elif found["result"] == "Refused":
        # Who wanted it done is told why not, and not again all that it would have meant.
        short: answers.Plan = {**found["plan"], "advisories": [], "changes": [], "expected": [], "checklist": []}
        printing.plan(paper, {**short, "command": None})
    else:
        _head(paper, found)
    _warnings(paper, found["warnings"])
    if found["result"] == "WouldWrite":
        _would(paper, found)
    elif found["result"] == "Refused":
        # The verdict of the plan stands above.
        why = "" if found["message"] == found["plan"]["message"] else f"{_sentence(found['message'])} "
        _outcome(paper, "Refused", f"{why}{_REFUSED}.")
    else:
        _outcome(paper, found["result"], _sentence(found["message"]), found["operatorSays"])
    _next(paper, found["next"])


def cancel(paper: Paper, found: answers.Cancel) -> None:
    """`cancel`."""
    cluster, operator = found["cluster"], found["operator"]
    by = f", made by {found['wishedBy']}" if found["wishedBy"] else ""
    paper.fields(
        [
            *printing.place(cluster),
            ("Wish", f"{found['wish']}{by}" if found["wish"] else "none"),
            ("Operator", f"{operator['state']}: {operator['message']}"),
            ("Phase", found["phase"] or ""),
        ]
    )
    _warnings(paper, found["warnings"])
    more = f" {_REFUSED}." if found["result"] == "Refused" else ""
    _outcome(paper, found["result"], f"{_sentence(found['message'])}{more}")
    _next(paper, found["next"])


def _outcome(paper: Paper, result: str, said: str, operator: str | None = None) -> None:
    paper.gap()
    paper.table([(result, said), *([("Operator", operator)] if operator else ())], indent=0)


def _head(paper: Paper, found: answers.Set) -> None:
    operator, wish = found["plan"]["operator"], found["wish"] or "none"
    more = f": {operator['message']}" if operator["state"] == "Running" else ""
    paper.fields(
        [
            *printing.place(found["plan"]["cluster"]),
            ("Wish", f"{found['target']}, before: {wish}" if found["result"] == "Written" else wish),
            # What keeps it from running is the warning that follows.
            ("Operator", f"{operator['state']}{more}"),
        ]
    )


def _would(paper: Paper, found: answers.Set) -> None:
    patch = found["patch"]
    paper.gap()
    paper.say(f"{_sentence(found['message'])} Nothing was written, because --confirm was not given.")
    if patch is not None:
        version = patch["body"]["metadata"]["resourceVersion"]
        paper.title(f"What would be sent; it is refused when Infrastructure is no longer at version {version}")
        paper.command(patch["command"])


def _warnings(paper: Paper, found: Sequence[str]) -> None:
    for index, one in enumerate(found):
        if not index:
            paper.title("Warning")
        paper.say(_sentence(one), 2)


def _next(paper: Paper, found: Sequence[answers.Expected]) -> None:
    for one in found:
        if not one["command"]:
            paper.gap()
            paper.say(_sentence(one["message"]))
    commands = [one for one in found if one["command"]]
    if commands:
        paper.title("What can be done now")
    for one in commands:
        paper.say(f"{one['message']}:", 2)
        paper.command(one["command"], 4)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
