"""The shapes of `-o json` and `-o yaml`: what a script may rely on. docs/schemas/ describes them, and a test compares.

Plain dictionaries, JSON as they stand. What both verbs share is taken from the status page's `/state`
(`report.state`), so that who reads one can read the other. Times are RFC 3339 in UTC with whole seconds. A field is
always there; None where there is nothing to say. `apiVersion` changes when a field goes or changes its meaning; new
fields may come.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Final, Literal, TypedDict

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyPair

    from ..report import state

API_VERSION: Final = "cli.topology.openshift.io/v1"

Verdict = Literal["Possible", "Fulfilled", "UnderWay", "Blocked", "Unsupported"]
Running = Literal["Running", "NotRunning", "NotInstalled", "Unknown"]


class Operator(TypedDict):
    """Is somebody there to act on a wish? By its Lease."""

    state: Running
    message: str


class Unread(TypedDict):
    """An object that could not be read. `right` is what lacks: a verb and a resource; None for any other reason."""

    what: str
    why: str
    right: str | None


class Check(TypedDict):
    """One check as it would be answered now."""

    name: str
    status: str
    message: str


class Change(TypedDict):
    """A field of Infrastructure's status, and what the flip would make of it."""

    field: str
    now: str
    then: str


class Expected(TypedDict):
    """Something to be expected, or to be seen to beforehand; `command` may be empty."""

    name: str
    message: str
    command: str


class Transition(TypedDict):
    """The transition that a wish would lead to."""

    name: str
    summary: str
    source: state.Pair
    target: state.Pair


class Plan(TypedDict):
    """`plan TARGET`: what would come of the wish `target` if it were made now."""

    apiVersion: str
    kind: Literal["TopologyPlan"]
    evaluated: str
    cluster: state.Cluster
    wish: str | None
    phase: str | None
    operator: Operator
    target: str
    verdict: Verdict
    message: str
    transition: Transition | None
    checks: list[Check]
    progress: state.Progress | None
    onlyOperator: list[Check]
    advisories: list[state.Advisory]
    changes: list[Change]
    expected: list[Expected]
    checklist: list[Expected]
    command: str | None
    unread: list[Unread]


class Way(TypedDict):
    """A transition that leads away from here. It is blocked by `blockers`, or `elsewhere` says why it is not for us."""

    name: str
    summary: str
    target: state.Pair
    verdict: Verdict
    blockers: list[state.Blocker]
    elsewhere: str
    command: str


class Overview(TypedDict):
    """`plan`: what could be asked for from here."""

    apiVersion: str
    kind: Literal["TopologyPlanList"]
    evaluated: str
    cluster: state.Cluster
    wish: str | None
    phase: str | None
    operator: Operator
    verdict: Verdict
    message: str
    transitions: list[Way]
    unread: list[Unread]


class Status(TypedDict):
    """`status`: what the operator has recorded, and what of nodes, etcd and operands is seen now.

    `phase` is None when there is no record. `topologyWriter` is the field manager that wrote status topology last.
    """

    apiVersion: str
    kind: Literal["TopologyStatus"]
    evaluated: str
    cluster: state.Cluster
    topologyWriter: str | None
    wish: str | None
    withdraw: str | None
    phase: str | None
    since: str | None
    stuck: bool
    paused: bool
    headline: str
    operator: Operator
    disabled: state.Said | None
    degraded: state.Said | None
    conditions: list[state.Condition]
    transition: state.Transition | None
    stage: str | None
    checks: list[state.Check]
    progress: state.Progress | None
    operands: state.Operands
    nodes: state.Nodes
    etcd: state.Members
    advisories: list[state.Advisory]
    available: list[state.Available]
    unread: list[Unread]


def stamp(moment: datetime) -> str:
    """A time as every answer writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pair(found: TopologyPair) -> state.Pair:
    """Both topologies."""
    return {"controlPlane": found.control_plane, "infrastructure": found.infrastructure}
