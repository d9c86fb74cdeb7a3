"""What a row of the table is made of: a sentence, and requests whose answers two servers are to agree on.

Rows are data. Texts may hold placeholders: `{row}` is a name that only this row uses (its namespace, and the
beginning of its cluster-scoped names), `{kept.path.to.value}` reads the answer of an earlier step that was kept under a
name. A step without `compared` prepares something: it must succeed on both sides, and what it said is not compared. The
neighbours: `asking` performs steps, `rows` writes them down.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request. `body` is a JSON value, or bytes or text that are sent as they are.

    `keep` names the answer for later placeholders. `view` reduces the answer's body to what is compared. `events`
    makes it a watch that ends after so many events (or when the server ends it), during which `meanwhile` happens.
    """

    method: str
    path: str
    body: Any = None
    media: str = JSON
    query: dict[str, str] = field(default_factory=dict)
    accept: str = JSON
    agent: str = "parity/1.0"
    headers: dict[str, str] = field(default_factory=dict)
    keep: str = ""
    compared: bool = True
    view: Callable[[Any], Any] | None = None
    each: Callable[[Any], Any] | None = None
    """The same for every event of a watch."""
    events: int | None = None
    meanwhile: tuple[Step, ...] = ()
    until: Callable[[Any], bool] | None = None
    """The request is repeated until the body is so, or a deadline has passed (for what is not immediate)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One behaviour: a sentence, and how it is asked for. `namespace` makes one for this row alone."""

    name: str
    steps: tuple[Step, ...]
    namespace: bool = True


def row(name: str, *steps: Step, namespace: bool = True) -> Row:
    """Return a row."""
    return Row(name, steps, namespace)


def get(path: str, **more: Any) -> Step:
    """Read."""
    return _step("GET", path, None, more)


def post(path: str, body: Any, **more: Any) -> Step:
    """Create."""
    return _step("POST", path, body, more)


def put(path: str, body: Any, **more: Any) -> Step:
    """Replace."""
    return _step("PUT", path, body, more)


def delete(path: str, body: Any = None, **more: Any) -> Step:
    """Delete."""
    return _step("DELETE", path, body, more)


def patch(path: str, body: Any, media: str = MERGE, **more: Any) -> Step:
    """Patch; a merge patch unless `media` says otherwise."""
    return _step("PATCH", path, body, {"media": media, **more})


def watch(path: str, *meanwhile: Step, events: int = 100, **more: Any) -> Step:
    """Watch until `events` came or the server ended it; `meanwhile` is done once the watch is open."""
    more["query"] = {"watch": "true", **more.get("query", {})}
    return replace(_step("GET", path, None, more), events=events, meanwhile=meanwhile)


def other(method: str, path: str, **more: Any) -> Step:
    """Any other method."""
    return _step(method, path, more.pop("body", None), more)


def kubectl(words: str, given: str = "", *, editor: str = "", view: Callable[[Any], Any] | None = None) -> Step:
    """Run kubectl with these words, as a shell would split them; `given` is its standard input."""
    return Step(method="KUBECTL", path=words, body=given, headers={"KUBE_EDITOR": editor} if editor else {}, view=view)


def compact() -> Step:
    """Let the server's storage forget everything up to now."""
    return Step(method="COMPACT", path="", compared=False)


def first(step: Step, keep: str = "") -> Step:
    """Return a step as preparation: it has to succeed, and what it says is not compared."""
    return replace(step, compared=False, keep=keep or step.keep)


def kept(step: Step, name: str) -> Step:
    """Return a step whose answer later placeholders can read as `{name.path}`."""
    return replace(step, keep=name)


def _step(method: str, path: str, body: Any, more: dict[str, Any]) -> Step:
    """Return a step; keywords that are no field of a step are query parameters."""
    known = Step.__dataclass_fields__
    query = {**more.pop("query", {}), **{name: str(value) for name, value in more.items() if name not in known}}
    fields = {name: value for name, value in more.items() if name in known}
    return Step(method=method, path=path, body=body, query=query, **fields)
