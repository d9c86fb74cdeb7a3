"""`set`, `cancel` and `accept`: what is written or would be, and what follows from it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import CheckName
from topology_controller.definitions import registry

from ..document import command
from . import plans, sections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topology_api.types import Check, TopologyTransition

    from .. import answers
    from ..document import Document, Row

_REFUSED: Final = "Nothing was written"
_FINAL: Final = (
    "The transition completes without it, once every other check is met and stable. Then minor upgrades are allowed.",
    "It is final for this attempt: recorded with your reason and the time, and shown wherever this transition is.",
    "The component can still be repaired later. That needs no further command.",
)


def request(document: Document, answer: answers.Set) -> None:
    """`set`: without --confirm a plan that ends with what would be sent; one that was refused is shown again."""
    result, patch, operator = answer["result"], answer["patch"], answer["plan"]["operator"]
    # The command of the plan knows no version; what is really sent stands below.
    basis: answers.Plan = {**answer["plan"], "command": None}
    if answer["dryRun"]:
        plans.plan(document, basis)
    elif result == "Refused":
        # Why not, and not again all that it would have meant.
        plans.plan(document, {**basis, "advisories": [], "changes": [], "expected": [], "checklist": []})
    else:
        before = answer["desired"] or "none"
        # What keeps an operator from running is the warning that follows.
        leads = sections.running(operator) if operator["state"] == "Running" else operator["state"]
        sections.fields(
            document,
            [
                *sections.place(answer["plan"]["cluster"]),
                ("Request", f"{answer['target']}, before: {before}" if result == "Written" else before),
                ("Operator", leads),
            ],
        )
    document.add("Warning", _warnings(answer))
    if result == "WouldWrite":
        document.add("", [f"{sections.sentence(answer['message'])} {_REFUSED}, because --confirm was not given."])
        if patch is not None:
            version = patch["body"]["metadata"]["resourceVersion"]
            title = f"What would be sent; it is refused when Infrastructure is no longer at version {version}"
            document.add(title, [command(patch["command"])])
    elif result == "Refused":
        # The verdict of the plan stands above.
        why = "" if answer["message"] == answer["plan"]["message"] else f"{sections.sentence(answer['message'])} "
        document.add("", [(result, f"{why}{_REFUSED}.")])
    else:
        operator_says = [("Operator", answer["operatorSays"])] if answer["operatorSays"] else []
        document.add("", [(result, sections.sentence(answer["message"])), *operator_says])
    sections.following(document, answer["next"])


def _warnings(answer: answers.Set) -> Iterator[Row | str]:
    """Each as a sentence; a command at its end stands on a line of its own, without a full stop."""
    expected = {f"{item['message']}: {item['command']}": item for item in answer["plan"]["expected"]}
    for warning in answer["warnings"]:
        item = expected.get(warning)
        if item is None or not item["command"]:
            yield sections.sentence(warning)
        else:
            yield f"{item['message']}:"
            yield command(item["command"], 4)


def cancel(document: Document, answer: answers.Cancel) -> None:
    """`cancel`."""
    request = ", made by ".join(filter(None, (answer["desired"], answer["requestedBy"])))
    if answer["result"] == "Written":
        # Everything here is as it is after that.
        request = f"none; before: {request}"
    sections.head(document, answer, [("Phase", answer["phase"] or "")], request=request)
    document.add("Warning", map(sections.sentence, answer["warnings"]))
    refused = f" {_REFUSED}." if answer["result"] == "Refused" else ""
    document.add("", [(answer["result"], f"{sections.sentence(answer['message'])}{refused}")])
    sections.following(document, answer["next"])


def offer(document: Document, record: TopologyTransition, check: Check, operator: str) -> None:
    """`accept`, before the consent: what was found, what is given up, and that it is final. `operator`: who leads."""
    sections.fields(
        document,
        [
            ("Check", f"{check.status.value}  {check.name}"),
            ("Message", check.message),
            ("Transition", f"{record.name} to {record.target}, attempt {record.attempt}"),
            ("Operator", operator),
        ],
    )
    given_up = f"It is not repaired: {registry.TRAITS[CheckName(check.name)].acceptable}."
    document.add(
        f"If you accept that {check.name} will not be met", [("*", sentence) for sentence in (given_up, *_FINAL)]
    )
