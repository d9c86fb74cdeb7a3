"""What operators write in a story, in the order of its events: recorded of real ones, and compared with actors.

fields.yaml lists the fields that this operator or a check of it reads. A `Course` keeps the values that each takes
after an event of the story, each value once and in order: how often one comes back depends on other work. Blurred are
rendered configurations (numbered as they appear after it) and revisions (counted from the newest at the event). A
recording has a line for each field, in the order of the first: event, operator, verb, object, field, values.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import yaml

from topology_simulator import probes

from . import operators, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from topology_simulator.envtest import audit

_FOLDER = operators.HERE / "recorded"
_KEPT = yaml.safe_load((_FOLDER / "fields.yaml").read_text(encoding="utf-8"))
FIELDS: Mapping[str, list[str]] = _KEPT["fields"]
"""By resource."""
_NEWEST = "status.latestAvailableRevision"
Line = tuple[str, str, str]
"""The event, the object and the field."""


class Course:
    """How fields change; `take` every state of every object in order, with who wrote it and how."""

    def __init__(self) -> None:
        self.values: dict[str, dict[Line, list[str]]] = collections.defaultdict(dict)
        """By writer."""
        self.how: dict[Line, str] = {}
        """By which verb it was written first."""
        self._events, self._event = iter(_KEPT["events"]), "start"
        self._next = next(self._events)
        self._present: dict[str, dict[str, Any]] = {}
        self._rendered: dict[str, str] = {}
        self._newest: dict[str, int] = {}

    def take(self, resource: str, obj: dict[str, Any], who: str = "", how: str = "") -> None:
        """Take up an object as it is now."""
        name = f"{resource}/{obj['metadata']['name']}"
        before, fields = self._present.get(name, {}), dict(_fields(resource, obj))
        self._present[name] = fields
        for field, value in fields.items():
            if before.get(field) != value:
                line = self._event, name, field
                self.how.setdefault(line, how)
                values = self.values[who].setdefault(line, [])
                if (text := self._blurred(name, field, value)) not in values:
                    values.append(text)
        if name == self._next["object"] and probes.pick(obj, self._next["field"]) == self._next["is"]:
            self._event, self._next, self._rendered = self._next["event"], next(self._events), {}
            self._newest = {name: fields.get(_NEWEST) or 0 for name, fields in self._present.items()}

    def _blurred(self, name: str, field: str, value: Any) -> str:
        if value is None:
            return "none"
        if "Revision" in field:
            return f"{value - self._newest.get(name, 0):+}"
        if "configuration.name" in field or "desiredConfig" in field:
            of_pool = value.rpartition("-")[0]
            same = [known for known in self._rendered if known.startswith(of_pool)]
            return self._rendered.setdefault(value, f"{of_pool} {len(same) + 1}")
        return str(value) or "there"


def _fields(resource: str, obj: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    nodes = [each["nodeName"] for each in (obj.get("status") or {}).get("nodeStatuses") or ()]
    for path in FIELDS.get(resource, ()):
        for node in nodes if "{node}" in path else ("",):
            value = probes.pick(obj, field := path.replace("{node}", node))
            # A node without a revision has 0, or nothing.
            yield field, len(value or ()) if resource == "configmaps" else (value or None) if nodes else value


def of(events: Iterable[audit.Event]) -> Course:
    """Return what an audit log shows whose events have what was answered, in the order of the store."""
    answered = [event for event in events if verdict.is_write(event) and event.answer.get("metadata")]
    course = Course()
    for event in sorted(answered, key=lambda event: int(event.answer["metadata"]["resourceVersion"])):
        how = " ".join(part for part in (event.verb, event.subresource) if part)
        course.take(event.resource, event.answer, verdict.client_of(event), how)
    return course


def write(course: Course, programs: Iterable[operators.Program], story: str) -> None:
    """Renew the recording of a story: what real operators wrote since its first event."""
    lines = [f"# {program.name}: {program.commit}" for program in programs]
    for line, how in course.how.items():
        for values, name in ((course.values[program.name].get(line), program.name) for program in programs):
            if values and line[0] != "start":
                lines.append(" | ".join((line[0], name, how, *line[1:], ", ".join(values))))
    (_FOLDER / f"{story}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(story: str) -> dict[Line, list[str]]:
    """Return a recording."""
    lines = (_FOLDER / f"{story}.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.split(" | ") for line in lines if not line.startswith("#")]
    return {(event, name, field): values.split(", ") for event, _, _, name, field, values in parts}
