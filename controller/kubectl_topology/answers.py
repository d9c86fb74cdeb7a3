"""The shapes of `-o json` and `-o yaml`: what a script may rely on. docs/schemas/ is made of them.

Plain dictionaries, JSON as they stand. What both verbs share is taken from the status page's `/state`
(`report.state`), so that who reads one can read the other. Times are RFC 3339 in UTC with whole seconds. A field is
always there; None where there is nothing to say. `apiVersion` changes when a field goes or changes its meaning; new
fields may come.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired, TypeAlias, TypedDict

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyPair
    from topology_api.vocabulary import CheckStatus, Phase, Stage
    from topology_controller.report import state

    from .arguments import FLEET_STATES

API_VERSION: Final = "cli.topology.openshift.io/v1"

Verdict = Literal["Possible", "Fulfilled", "UnderWay", "NothingToDo", "Blocked", "Unsupported", "CannotTell"]
Running = Literal["Running", "NotRunning", "NotInstalled", "Unknown"]
Result = Literal["WouldWrite", "Written", "Unchanged", "Refused"]
Consistency = Literal["Consistent", "Inconsistent", "CannotTell"]
Ownership = Literal["Consistent", "Inconsistent", "CannotTell", "NothingToLookAt"]
Probed = Literal["API", "InternalAPI", "Ingress", "Node", "MachineConfigServer"]
Reached = Literal["Ready", "NotReady", "Refused", "TimedOut", "BadCertificate", "Unresolved"]
Finding = Literal["APINameOnOneNode", "IngressNameOnOneNode"]
Goes = Literal["Restart", "ReadAtStart", "OneNodeOnly", "NotKnown", "Follows", "DoesNotRead"]
Expected: TypeAlias = "state.Advisory"
"""What to expect, to do beforehand, or to do next; `command` may be empty."""


class Answer(TypedDict):
    """`evaluated` is when the cluster was read. Every answer about one cluster begins like this."""

    apiVersion: str
    kind: str
    evaluated: state.Time
    cluster: state.Cluster


class Operator(TypedDict):
    """Whether the operator runs, as its Lease says."""

    state: Running
    message: str


class Unread(TypedDict):
    """An object that could not be read. `right` is what lacks: a verb and a resource; None for any other reason."""

    what: str
    why: str
    right: str | None


class Judged(Answer):
    """`desired` is spec.desiredTopology as it was read, None when nothing is requested.

    `phase` is None when the operator has recorded nothing. Every answer about the request has both.
    """

    desired: str | None
    phase: Annotated[str, Phase] | None
    operator: Operator


class Check(TypedDict):
    """One check as it would be answered now."""

    name: str
    status: Annotated[str, CheckStatus]
    message: str


class Change(TypedDict):
    """A field of Infrastructure's status, and what the change would make of it."""

    field: str
    now: str
    then: str


class Transition(TypedDict):
    """The transition that a request would lead to."""

    name: str
    summary: str
    source: state.Pair
    target: state.Pair


class Place(TypedDict):
    """A line of a file."""

    file: str
    line: int


class Skipped(TypedDict):
    """Something in the folder that was not looked at, and why."""

    file: str
    why: str


class Manifest(TypedDict):
    """What the manifests of Infrastructure `cluster` in `folder` ask for, a file as it was given; - is standard input.

    `desiredTopology` is None when they have none. `files` is where they are, several only when they agree; `skipped`
    are other objects of that kind.
    """

    folder: str
    desiredTopology: str | None
    files: list[Place]
    skipped: list[Skipped]


class Left(TypedDict):
    """What a person has to do before the convergence check can be met; `advisory` names one of `advisories`."""

    check: str
    advisory: str
    command: str


class Machine(TypedDict):
    """A Machine of the control plane, and a node that it belongs to: by its address, or only by its nodeRef.

    The etcd operator goes by the address. One that belongs to two nodes is listed twice. `authority` is
    status.authoritativeAPI, `phase` is empty while there is none, `leaving`: it, or the BareMetalHost `host` below it,
    is on its way out. `hostState` is None where it could not be read too. `voter`: etcd has one there.
    """

    node: str | None
    machine: str
    phase: str
    authority: str | None
    boundBy: Literal["Address", "NodeRef"] | None
    leaving: bool
    host: str | None
    hostState: str | None
    voter: bool


class OptionalOperator(TypedDict):
    """A ClusterServiceVersion, and whether it goes by the topology. `command` is empty where there is nothing to do.

    Restart: it holds a Lease of 270 s, so it was started on a single node. ReadAtStart, OneNodeOnly: by
    bindata/optional-operators.yaml. NotKnown: it may read Infrastructure, and nothing shows when it does. Follows: its
    pods were started after the change. DoesNotRead: its ServiceAccounts may not.
    """

    name: str
    namespace: str
    verdict: Goes
    message: str
    command: str


class Probe(TypedDict):
    """What one address answered, asked from here. `address` is the name where that leads to no address (Unresolved).

    API and InternalAPI: /readyz where the host of apiServerURL or apiServerInternalURI leads. Node: /readyz on port
    6443 of a control-plane node. Ingress: TLS on port 443 where *.apps leads. MachineConfigServer: TLS on port 22623 of
    a control-plane node. Refused: no connection. NotReady: connected, but /readyz or TLS is not as it should be. `node`
    is the control-plane node that has this InternalIP.
    """

    what: Probed
    address: str
    node: str | None
    result: Reached
    message: str


class Plan(Judged):
    """`plan TARGET`: what would come of the request `target` if it were made now.

    `manifest` is there only when manifests took the place of TARGET; `target` is empty when they ask for nothing.
    `next` is there only on a hosted cluster: what can be done on the management cluster instead.
    `notCompleteUntil` is there only when it is Possible and would wait for a person once the topology has changed.
    `recorded` is when the operator evaluated what this goes by, where the caller may not read that; else None.
    `probes`, `findings` and `probeNotes` are there only with --probe, `optionalOperators` where OLM is.
    `checks` are all preflight checks, in the order of the definition; `onlyOperator` those that only the operator can
    ask, as it has recorded them; `checklist` is what no check can see. `command` makes the request; None where that
    leads nowhere, or it is made already. CannotTell: something that decides it could not be read; exit code 1.
    `required` names the advisories that a check waits for, before the change or after it.
    """

    target: str
    verdict: Verdict
    message: str
    transition: Transition | None
    checks: list[Check]
    progress: state.Progress | None
    onlyOperator: list[Check]
    advisories: list[state.Advisory]
    required: list[str]
    machines: list[Machine]
    changes: list[Change]
    expected: list[Expected]
    checklist: list[Expected]
    command: str | None
    recorded: state.Time | None
    unread: list[Unread]
    optionalOperators: NotRequired[list[OptionalOperator]]
    manifest: NotRequired[Manifest]
    next: NotRequired[list[Expected]]
    notCompleteUntil: NotRequired[list[Left]]
    probes: NotRequired[list[Probe]]
    findings: NotRequired[list[Expected]]
    probeNotes: NotRequired[list[str]]


class Way(TypedDict):
    """A transition that leads away from here. It is blocked by `blockers`, or `elsewhere` says why it is not for us.

    `evaluated` is when that was found out: now, or earlier by the operator where the caller may not read it.
    """

    name: str
    summary: str
    target: state.Pair
    verdict: Annotated[Verdict, ("Possible", "Blocked", "Unsupported", "CannotTell")]
    blockers: list[state.Blocker]
    evaluated: state.Time | None
    elsewhere: str
    command: str


class Overview(Judged):
    """`plan`: what can be requested from here. On a hosted cluster alone, what is required and can be done instead.

    `verdict` is the best of all; NothingToDo: no transition leads on, and the cluster has its topology.
    """

    verdict: Verdict
    message: str
    transitions: list[Way]
    unread: list[Unread]
    advisories: NotRequired[list[state.Advisory]]
    required: NotRequired[list[str]]
    next: NotRequired[list[Expected]]


class Awaited(TypedDict):
    """A check that is not met, and how far it is now; both numbers are None where there is nothing to count.

    `seen` is what is found now, without what is wanted and what to do; None where that is not read, or met by now.
    """

    name: str
    have: int | None
    wanted: int | None
    seen: str | None


class Status(Judged):
    """`status`: what the operator has recorded, and what of nodes, etcd and operands is seen now.

    `assessment` is all of it in one line. `required` names the advisories that a check waits for. `topologyWriter` is
    the field manager that wrote status topology last. `cancel` is the command that cancels the request, None where that
    is not possible any more. `headline` is the message of Progressing. `optionalOperators` are there after the change,
    once machines have restarted, where OLM is.
    """

    assessment: str
    problem: state.Problem | None
    lastTransition: state.LastTransition | None
    awaited: list[Awaited]

    topologyWriter: str | None
    cancel: str | None
    since: state.Time | None
    stuck: bool
    paused: bool
    headline: str
    disabled: state.Said | None
    degraded: state.Said | None
    conditions: list[state.Condition]
    transition: state.Transition | None
    stage: Annotated[str, Stage] | None
    checks: list[state.Check]
    progress: state.Progress | None
    operands: state.Operands
    nodes: state.Nodes
    etcd: state.Members
    machines: list[Machine]
    accepted: list[state.Accepted]
    advisories: list[state.Advisory]
    required: list[str]
    available: list[state.Available]
    optionalOperators: NotRequired[list[OptionalOperator]]
    unread: list[Unread]


class Patch(TypedDict):
    """A merge patch of Infrastructure `cluster` as it is sent; `command` is the `oc patch` that sends the same.

    It is good for one resourceVersion: the API server answers 409 when the object has changed.
    """

    type: Literal["application/merge-patch+json"]
    body: dict[str, Any]
    command: str


class Set(TypedDict):
    """`set`: what became of the request `target`, or would with --confirm (`dryRun`).

    `desired` is what stood there before. `operatorSays` is what the operator made of it in the first seconds, None when
    it did not answer. `plan` is the answer of `plan TARGET` that it was decided by. Unchanged: it is so already.
    Refused: by a check, for want of a transition, or by the API server.
    """

    apiVersion: str
    kind: Literal["TopologySet"]
    evaluated: state.Time
    target: str
    desired: str | None
    dryRun: bool
    result: Result
    message: str
    patch: Patch | None
    operatorSays: str | None
    warnings: list[str]
    next: list[Expected]
    plan: Plan


class Cancel(Judged):
    """`cancel`: what became of the request that stood there, `desired`, and the field manager that had made it.

    Written: it is cancelled, or removed where it was fulfilled. Unchanged: there was none. Refused: the topology has
    changed.
    """

    requestedBy: str | None
    result: Annotated[Result, ("Written", "Unchanged", "Refused")]
    message: str
    patch: Patch | None
    warnings: list[str]
    next: list[Expected]


class Blocking(TypedDict):
    """A check that keeps clusters from being ready, and a few of them."""

    check: str
    clusters: int
    examples: list[str]


class Surveyed(TypedDict):
    """A cluster as the survey has it. `detail` is what it waits for, or what is wrong, in the words of the survey.

    `blockers` are the checks of the transition that least is missing for. `since` is when its
    problem or its phase began, `deadline` when its transition is overdue, both None unless it is under way or needs a
    person. `wave` is the value of its wave label, None where it has none or that cannot be read.
    """

    name: str
    state: Annotated[str, FLEET_STATES]
    detail: str
    blockers: list[str]
    since: str | None
    deadline: str | None
    wave: str | None


class Fleet(TypedDict):
    """`fleet`: how many clusters are in which state, and each of them. `counts` has every state; its sum is `surveyed`.

    `reachabilityUnknown` is why it is not known which clusters the hub reaches, None when it is.
    """

    apiVersion: str
    kind: str
    evaluated: state.Time
    surveyed: int
    counts: dict[Annotated[str, FLEET_STATES], int]
    blockers: list[Blocking]
    reachabilityUnknown: str | None
    clusters: list[Surveyed]


def stamp(moment: datetime) -> str:
    """A time as every answer writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def words(verdict: str) -> str:
    """A verdict as people read it."""
    return {"CannotTell": "Cannot tell", "NothingToDo": "Nothing to do", "UnderWay": "Under way"}.get(verdict, verdict)


def pair(topologies: TopologyPair) -> state.Pair:
    """Both topologies."""
    return {"controlPlane": topologies.control_plane, "infrastructure": topologies.infrastructure}
