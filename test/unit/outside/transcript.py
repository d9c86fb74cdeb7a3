"""What an operator does to a cluster, as text: requests in their order, every write as what it changed, and events.

Virtual seconds stand in front. Requests of one moment and one verb share a line. What is random is counted: the first
attempt of a story is `attempt-1`.
"""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import prometheus_client

from topology_controller.decide import state
from topology_controller.kube import errors
from topology_controller.report import view

from ..core import clusters, page_state

_ATTEMPT = re.compile(r"\b[0-9a-f]{32}\b")
_OF_THE_PROCESS = ("process_", "python_", "topology_operator_build_info")
_NAMES = ("stage", "name", "type", "group", "kind", "resource")


class Transcript(clusters.Cluster):
    """A cluster that writes down what it is asked. `text` is all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = 50_000
        self._lines: list[str] = []
        self._asked: tuple[str, str] = ("", "")

    def note(self, line: str) -> None:
        """Write a line of one's own down: what the story does."""
        self._lines.append(line)
        self._asked = ("", "")

    def text(self) -> str:
        """All that was written down."""
        found = "\n".join(self._lines) + "\n"
        for number, attempt in enumerate(dict.fromkeys(_ATTEMPT.findall(found)), start=1):
            found = found.replace(attempt, f"attempt-{number}")
        return found

    def _count(self, verb: str, what: str) -> None:
        super()._count(verb, what)
        if verb == "write":
            return
        moment = f"{asyncio.get_running_loop().time():.1f}"
        if self._asked == (moment, verb):
            self._lines[-1] += f", {what}"
        else:
            self._lines.append(f"{moment} {verb} {what}")
        self._asked = (moment, verb)

    async def _write(self, key: clusters.Key, body: clusters.Raw, *, create: bool) -> clusters.Raw:
        where = f"{key[0]}/{key[2]}"
        before = self._status(key)
        self.note(f"{asyncio.get_running_loop().time():.1f} {'create' if create else 'patch'} {where}")
        try:
            made = await super()._write(key, body, create=create)
        except errors.KubeError as error:
            self._lines.append(f"    refused: {error}")
            raise
        now = {path: value for path, value in flat(made.get("status", {})) if not self._copied(path, value)}
        for path in sorted({*now, *before}):
            if now.get(path) != before.get(path):
                self._lines.append(f"    {path}: {now.get(path, '(none)')}")
        return made

    def _status(self, key: clusters.Key) -> dict[str, str]:
        status = self.objects.get(key, {}).get("status", {})
        return {path: value for path, value in flat(status) if not self._copied(path, value)}

    def _copied(self, path: str, value: str) -> bool:
        """Whether it stands in the copy of the record just as in the record: there it has been written down."""
        part, _, rest = path.partition(".")
        status = self.objects.get(clusters.INFRASTRUCTURE, {}).get("status", {})
        return part == "extension" and dict(flat(status.get("topologyTransition", {}))).get(rest) == value


class Events(clusters.Told):
    """Writes each event that would be sent into the transcript, once."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self._transcript = transcript

    def record(self, infrastructure: Any, record: Any, spec: state.EventSpec) -> None:
        before = len(self.reasons)
        super().record(infrastructure, record, spec)
        if len(self.reasons) > before:
            kind = "Warning" if spec.warning else "Normal"
            self._transcript.note(f"event {kind} {spec.reason.value}: {spec.note}")


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every leaf of JSON by its path. An item of a list goes by its name, and is one line where it is flat itself."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from flat(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            named = isinstance(item, dict) and [str(item[part]) for part in _NAMES if item.get(part)]
            where = f"{path}[{'/'.join(named) if named else number}]"
            if isinstance(item, dict) and not any(isinstance(member, dict | list) for member in item.values()):
                yield where, ", ".join(f"{name}={said}" for name, said in item.items() if name not in _NAMES)
            else:
                yield from flat(item, where)
        if not value:
            yield path, "[]"
    else:
        yield path, "(null)" if value is None else str(value)


def series(running: clusters.Running) -> list[str]:
    """Every series that a scrape would bring now, with its value; what depends on the machine is left out."""
    lines = prometheus_client.generate_latest(running.metrics.registry).decode().splitlines()
    return [
        line
        for line in lines
        if not line.startswith(("#", *_OF_THE_PROCESS)) and "_seconds_" not in line and not line.endswith(" 0.0")
    ]


def families(running: clusters.Running) -> list[str]:
    """Name, type and help of every family."""
    lines = prometheus_client.generate_latest(running.metrics.registry).decode().splitlines()
    return sorted(line for line in lines if line.startswith("# "))


def page(running: clusters.Running) -> list[str]:
    """What the status page would show now."""
    shown = view.look(running.latest.snapshot, running.watches.known(), page_state.about())
    return [f"{path}: {value}" for path, value in flat(shown)]
