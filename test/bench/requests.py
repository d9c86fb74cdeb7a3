"""What was asked of a server: one form for both audit logs, and what is counted in it.

The critical path of a transition ends with the second write of Infrastructure, which is the change; the report after it
is on nobody's path. The operator's own lease and its events are not on it either, and opening the watches of a request
(one list and one watch a kind) is counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topology_api import vocabulary

from . import figures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from topology_simulator.envtest import audit

WRITES = frozenset({"create", "update", "patch", "delete"})
_HEARTBEATS = "kubelet"
Window = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `time` is its arrival at the server in UNIX seconds, `code` 0 when it was never answered."""

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    agent: str
    code: int
    time: float

    @property
    def what(self) -> str:
        """What it was about, as in `infrastructures/cluster/status`."""
        return "/".join(part for part in (self.resource, self.name, self.subresource) if part)


def from_embedded(raw: dict[str, Any]) -> Request:
    """One record of the embedded server."""
    return Request(
        verb="watch" if raw["watch"] else raw["verb"],
        resource=raw["resource"],
        subresource=raw["subresource"],
        namespace=raw["namespace"],
        name=raw["name"],
        agent=raw["user_agent"],
        code=raw["code"],
        time=raw["time"],
    )


def from_audit(events: Iterable[audit.Event]) -> list[Request]:
    """Records of the real server, without heartbeats; a watch is told when it begins, or when it was refused."""
    return [
        Request(
            verb=one.verb,
            resource=one.resource,
            subresource=one.subresource,
            namespace=one.namespace,
            name=one.name,
            agent=one.agent,
            code=one.code,
            time=one.time,
        )
        for one in events
        if not one.agent.startswith(_HEARTBEATS)
        and (one.verb != "watch" or one.stage == "ResponseStarted" or one.code != 200)
    ]


def of_operator(found: Iterable[Request]) -> list[Request]:
    """What the operator asked, without its own lease and its events, which are on no critical path."""
    ours = [one for one in found if one.agent.startswith(vocabulary.OPERATOR_NAME)]
    own_lease = ("leases", vocabulary.DEFAULT_NAMESPACE)
    return [one for one in ours if (one.resource, one.namespace) != own_lease and one.resource != "events"]


def until_change(found: Iterable[Request], window: Window) -> list[Request]:
    """What the operator asked within a trial, up to the change."""
    began, ended = window
    asked = [one for one in of_operator(found) if began <= one.time <= ended]
    moves = [n for n, one in enumerate(asked) if one.verb == "patch" and one.resource == "infrastructures"]
    return asked[: moves[1] + 1] if len(moves) > 1 else asked


def opening(asked: list[Request]) -> list[Request]:
    """Those among them that open watches: for each kind one list and one watch."""
    watches = [one for one in asked if one.verb == "watch"]
    lists = [one for one in asked if one.verb == "list" and one.code != 404]
    # A kind that the server does not have cannot be watched. One that is read live is listed again, later.
    unserved = [one for one in asked if one.verb == "list" and one.code == 404]
    return [*watches, *unserved, *lists[: len(watches)]]


def on_the_path(found: list[Request], window: Window) -> tuple[int, int]:
    """Requests of the operator within a trial: (on the critical path, to open watches)."""
    asked = until_change(found, window)
    opened = len(opening(asked))
    return len(asked) - opened, opened


def transition(found: list[Request], window: Window) -> str:
    """The requests of one trial, one a line, with a count."""
    asked = until_change(found, window)
    opened = {id(one) for one in opening(asked)}
    rows, number = [], 0
    for one in asked:
        number += id(one) not in opened
        place = "" if id(one) in opened else str(number)
        where = f" in {one.namespace}" if one.namespace else ""
        since = (one.time - window[0]) * 1000
        rows.append(f"{since:7.1f} ms  {place:>3}  {one.verb:<6} {one.code}  {one.what}{where}".rstrip())
    count = f"{number} requests on the critical path, and {len(opened)} that open watches (no number)"
    return "\n".join((*rows, count))


def stages(found: list[Request], windows: list[Window], agent: str) -> dict[str, float]:
    """Median milliseconds after the beginning at which each stage of a trial reached the server."""
    times: dict[str, list[float]] = {}
    for began, ended in windows:
        asked = [one for one in found if began <= one.time <= ended]
        mine = [one for one in asked if one.agent.startswith(agent)]
        reads = [one for one in mine if one.verb == "get" and one.resource == "infrastructures"]
        writes = [one for one in mine if one.verb == "patch"]
        moments = {
            "watches": [one for one in mine if one.verb == "list"][:1],
            "echo": [one for one in asked if (one.verb, one.resource) == ("patch", "clusterversions")],
            "record": writes[:1],
            "report": writes[1:2],
            "reads": [one for one in mine if one.verb == "get"][:1],
            "infrastructure": reads[-1:],
            "change": writes[2:3],
        }
        for stage, entries in moments.items():
            if entries:
                times.setdefault(stage, []).append((entries[0].time - began) * 1000)
        times.setdefault("seen", []).append((ended - began) * 1000)
    medians = {stage: figures.median(values) for stage, values in times.items()}
    return dict(sorted(medians.items(), key=lambda item: item[1]))
