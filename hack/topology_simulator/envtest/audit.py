"""The audit log of the real server, read back: who asked what, what was answered, and which rule allowed it.

The server writes one line per request when it was answered, and one more when a watch begins
(https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/). Lines are complete when they end with a newline;
the last one may still be on its way.
"""

import datetime as dt
import json
import pathlib
from dataclasses import dataclass, field
from typing import Any

POLICY = pathlib.Path(__file__).with_name("audit-policy.yaml")


@dataclass(frozen=True, slots=True)
class Event:
    """One request. `time` is its arrival in UNIX seconds, `code` 0 when it was never answered.

    `stage` is ResponseComplete, ResponseStarted (a watch that began) or Panic. `allowed_by` is the authorizer's
    reason, which names the binding and the role. `notes` are the names of all annotations, those of policies included.
    `body` is what was sent to Infrastructure, where its specification may change; empty for everything else.
    """

    verb: str
    user: str
    agent: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    uri: str
    code: int
    time: float
    stage: str
    allowed: bool
    allowed_by: str
    notes: frozenset[str] = frozenset()
    body: dict[str, Any] = field(default_factory=dict, hash=False)
    answer: dict[str, Any] = field(default_factory=dict, hash=False)
    """The object that was answered, where the policy of the log says so."""


class Log:
    """Reads on from where it last was; use one for each question."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._offset = 0

    def skip(self) -> None:
        """Forget what was written until now."""
        self._offset = self._path.stat().st_size if self._path.exists() else 0

    def read(self) -> list[Event]:
        """Return what was written since the last time, in the order of the log."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            fresh = file.read()
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [_event(json.loads(line)) for line in whole.splitlines()]


def _event(raw: dict[str, Any]) -> Event:
    target = raw.get("objectRef") or {}
    notes = raw.get("annotations") or {}
    return Event(
        verb=raw["verb"],
        user=raw["user"].get("username", ""),
        agent=raw.get("userAgent", ""),
        group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        uri=raw["requestURI"],
        code=(raw.get("responseStatus") or {}).get("code", 0),
        time=dt.datetime.fromisoformat(raw["requestReceivedTimestamp"]).timestamp(),
        stage=raw["stage"],
        allowed=notes.get("authorization.k8s.io/decision") == "allow",
        allowed_by=notes.get("authorization.k8s.io/reason", ""),
        notes=frozenset(notes),
        body=raw.get("requestObject") or {},
        answer=raw.get("responseObject") or {},
    )
