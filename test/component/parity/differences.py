"""Where the two servers may differ, and why: the whole list, held both ways.

`rows` names, for each row of the table, the places (shell patterns) where the answers differ. A deviation that is not
listed fails its row; a listed place where nothing differs any more fails it too. docs/embedded-server.md shows the same
list to people, and a test compares the two.
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
        "no strategic merge patch and no apply",
        "Refused with 415 instead of done nearly right: both need the merge rules of every built-in type. Our "
        "operator, the actors and `kubectl patch --type merge` send merge patches.",
        {
            "a strategic merge patch of a built-in kind merges": ("0",),
            "a strategic merge patch merges conditions by their type": ("0", "1", "2"),
            "a strategic merge patch to a status is owned": ("0",),
            "an apply creates and owns": ("0",),
            "an apply without a field manager is refused": ("0",),
        },
    ),
    Difference(
        "no protobuf and no YAML answers",
        "Bodies in YAML are read, answers are JSON; a client that accepts nothing else gets 406, one that sends "
        "protobuf 415. The real server even drops the connection of a client that sends it protobuf for a custom "
        "resource.",
        {
            "other forms of an answer": ("0", "6.*"),
            "discovery in another form": ("0",),
            "a body in protobuf": ("0", "1"),
        },
    ),
    Difference(
        "everybody may do everything",
        "No credentials, no RBAC, no admission: tests of rights run on the real server. Reviews are answered with yes "
        "without being judged.",
        {"without credentials": ("0", "1", "2"), "an access review answers": ("2",)},
    ),
    Difference(
        "a namespace is gone at once",
        "Beside the real server there is no namespace controller, so there it stays Terminating; the "
        "embedded one plays it, and empties and removes a namespace in one step.",
        {"a namespace is emptied before it goes": ("0.*", "1")},
    ),
    Difference(
        "the decoder has its own words for malformed JSON and YAML",
        "Code and reason are the same. The text comes from the decoder; no client acts on it.",
        {
            "malformed JSON": ("*.body.message",),
            "malformed YAML": ("*.body.message",),
            "a merge patch that is no object is refused": ("2.body.message", "3.body.message", "5.body.message"),
            "a malformed JSON patch is refused": ("5.body.message",),
            "malformed delete options are refused": ("0.body.message", "1.body.message"),
            "a broken continue token is refused": ("*.body.message",),
        },
    ),
    Difference(
        "the selector parser has its own words",
        "Code and reason are the same; the text quotes the part that was not understood.",
        {
            "a bad label selector is refused": ("*.body.message",),
            "a watch with a bad selector is refused": ("0.body.message",),
        },
    ),
    Difference(
        "fields that stand twice in a body are not reported",
        "The last one counts in both; the real server warns, or refuses when asked to be strict. Our clients make "
        "their bodies from dictionaries, which cannot hold a name twice.",
        {"fields that stand twice in a body are told": ("0.warnings", "1")},
    ),
    Difference(
        "a refused patch quotes the object in another order",
        "The real server quotes what the patch would have made with its fields in the order of its own encoder.",
        {
            "fieldValidation holds for replace and patch": ("*.body.message", "*.body.details.causes.0.message"),
            "quantities of a node are normalised": ("1.body.message", "1.body.details.causes.0.message"),
        },
    ),
    Difference(
        "a status of the wrong type is named by its whole path",
        "The real server judges status by itself and leaves the word out of the sentence; the field of the cause is "
        "the same.",
        {"a patch to an invalid value is refused": ("2.body.message", "2.body.details.causes.0.message")},
    ),
    Difference(
        "no warning about fields of another kind",
        "A body of the wrong kind or version is refused by both in the same words; the real server also warns about "
        "the fields that this other kind would not have.",
        {
            "another apiVersion than the path's is refused": ("0.warnings",),
            "identity cannot be patched": ("4.warnings",),
        },
    ),
    Difference(
        "the cost of CEL rules is not estimated",
        "The runtime here has no cost model. Our generated rules are created on the real server by the component "
        "tests, which is where a rule that is too dear is refused.",
        {"a rule that costs too much is refused": ("0",)},
    ),
    Difference(
        "fewer causes for a definition that makes no sense",
        "Both refuse with 422 and name the first thing that is wrong; the real server goes on, and quotes its own "
        "structures.",
        {
            "a schema that is not structural is refused": ("4.body.*",),
            "an incomplete definition is refused": ("0.body.*", "2.body.*", "3.body.*"),
            "a definition has exactly one storage version": ("*.body.*",),
        },
    ),
    Difference(
        "no scale sub-resource",
        "Nothing here is scaled.",
        {"a scale sub-resource": ("0",)},
    ),
    Difference(
        "no old watch paths",
        "Paths below /watch/ have been deprecated since Kubernetes 1.11; no client in reach uses them.",
        {"the old path of watches": ("0",)},
    ),
    Difference(
        "odd paths and methods",
        "The real server takes a GET below a status sub-resource for one of the status, answers any method on the "
        "discovery of a custom group, does not tidy double slashes, and reads an empty namespace as all of them. "
        "No client asks for any of this on purpose.",
        {
            "a sub-resource that is not there": ("3",),
            "discovery is read only": ("1",),
            "a trailing slash": ("3.*",),
            "an empty name": ("0",),
        },
    ),
    Difference(
        "OpenAPI version 2 has the type of JSON",
        "The real server sends it as text/plain; clients look at the body.",
        {"OpenAPI says that the server validates fields": ("*.type",)},
    ),
)


def as_lines() -> list[str]:
    """Return the list as docs/embedded-server.md has it: one line of a table for each difference."""
    return [f"| {one.title} | {one.reason} | {len(one.rows)} |" for one in ALL]
