"""What happens to clusters, step by step, on the cluster in memory and in virtual time, for what is recorded of it.

Of some stories the transcript is recorded: requests, writes, events, and the page and the metrics where they say most.
Of the others it is Infrastructure `cluster` as the operator leaves it, for whatever judges it:
test/unit/fleet/verdicts.yaml has what each means to an engine. `make record` writes all of it anew.
"""

import asyncio
import contextlib
import copy
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import yaml

from ..core import clusters, raw_operands
from . import transcript

Raw = dict[str, Any]
MINUTE = 60.0
LOOK = None
"""The page and a scrape are noted."""
_MET = re.compile(r"(status=Met), message=.*(?=, (?:lastTransitionTime|since)=)")
"""What a check says that is met stands in the story in which all are."""


class Change(NamedTuple):
    """What somebody does to the cluster, and how it is told."""

    said: str
    make: Callable[[clusters.Cluster], object]


Step = float | str | Change | None
"""Seconds that pass, the name under which Infrastructure is kept, a change, or LOOK."""


def asks(topology: str | None) -> Change:
    """Request a topology, or cancel."""
    return Change(f"spec.desiredTopology: {topology or '(removed)'}", lambda cluster: cluster.ask_for(topology))


def changes(key: clusters.Key, patch: Raw) -> Change:
    """Change an object as somebody else."""
    return Change(f"{key[0]}/{key[2]}: {patch}", lambda cluster: cluster.change(key, patch))


def status(**values: Any) -> Change:
    """Change the status of Infrastructure as another client."""
    return changes(clusters.INFRASTRUCTURE, {"status": values})


def echoes(cluster: clusters.Cluster) -> None:
    """Let watches tell of writes again, and of those that they kept."""
    cluster.echo = True
    cluster._echo()


def loses_a_member(cluster: clusters.Cluster) -> None:
    """Take an address from what etcd publishes."""
    endpoints: clusters.Key = ("configmaps", "openshift-etcd", "etcd-endpoints")
    cluster.change(endpoints, {"data": {next(iter(cluster.objects[endpoints]["data"])): None}})


ASKED, CANCELLED = asks("HighlyAvailable"), asks(None)
FOLLOWED = Change("all operators follow", lambda cluster: cluster.follow())
SCHEDULER: clusters.Key = ("schedulers", None, "cluster")
UNMET = changes(SCHEDULER, {"spec": {"mastersSchedulable": False}})
GATES = {"featureGates": [{"version": "4.20.1", "enabled": [{"name": "MutableTopology"}]}]}
NATIVE = raw_operands.conditions(
    TopologyTransitionControllerProgressing="False", TopologyTransitionControllerDegraded="False"
)
PAUSED = {"metadata": {"annotations": {"topology.openshift.io/paused": "maintenance until Monday"}}}
IMAGE_BASED = {"metadata": {"labels": {"topology.openshift.io/image-based-install": ""}}}
EDITED = {"metadata": {"generation": 3}, "spec": {"cloudConfig": {"name": "other"}}}

TOLD: dict[str, tuple[str, tuple[Step, ...]]] = {
    "happy": (
        "A single-node cluster that has everything grows.",
        (1, ASKED, 1, LOOK, FOLLOWED, 70, LOOK, CANCELLED, 1),
    ),
    "stuck": (
        "Nobody follows until long past the deadline.",
        (ASKED, 1, 180 * MINUTE, LOOK, FOLLOWED, 2 * MINUTE),
    ),
    "native": (
        "OpenShift's own controller comes, with a request of its own.",
        (
            UNMET, ASKED, 1, changes(("featuregates", None, "cluster"), {"status": GATES}), 1,
            changes(("configs", None, "cluster"), {"status": {"conditions": NATIVE}}), 5 * MINUTE, LOOK,
        ),
    ),
}  # fmt: skip
KEPT: tuple[tuple[Step, ...], ...] = (
    (
        "no-record", Change("watches lag", lambda cluster: setattr(cluster, "echo", False)), 1, "idle",
        ASKED, "requested", 1, "admitting", Change("watches tell", echoes), 1, "converging",
        FOLLOWED, 2 * MINUTE, "completed", CANCELLED, "completed-request-removed", 1, "idle-after-completed",
    ),
    (UNMET, ASKED, 1, "pending", 61 * MINUTE, "blocked", CANCELLED, "cancelled", 1, "idle-after-cancel"),
    (asks("DualReplica"), 1, "unsupported"),
    (ASKED, 181 * MINUTE, "stuck"),
    (
        changes(SCHEDULER, {"spec": {"mastersSchedulable": "perhaps"}}), ASKED, 6 * MINUTE, "evidence-unreadable",
    ),
    (
        ASKED, 1, Change("etcd loses a member", loses_a_member), 1, "redundancy-lost",
        17 * MINUTE - 1, "two-voters",
    ),
    (
        ASKED, 1, status(controlPlaneTopology="SingleReplica"), "just-overwritten", 2 * MINUTE, "topology-overwritten",
        changes(clusters.INFRASTRUCTURE, EDITED), 2 * MINUTE, "topology-overwritten-spec-edited",
    ),
    (1, changes(clusters.OPERATOR, PAUSED), ASKED, 1, "paused"),
    (ASKED, 1, CANCELLED, 2 * MINUTE, "request-lost"),
    (
        status(controlPlaneTopology="External", infrastructureTopology="SingleReplica"), 1, "hosted",
        ASKED, 1, "hosted-with-request",
    ),
    (
        status(controlPlaneTopology="HighlyAvailable", infrastructureTopology="HighlyAvailable"), ASKED,
        1, "fulfilled-from-the-start",
    ),
    (UNMET, ASKED, 1, changes(clusters.INFRASTRUCTURE, IMAGE_BASED), 1, "image-based-install"),
)  # fmt: skip


class Story:
    """One operator at work, the transcript of it, and what was kept."""

    def __init__(self, name: str, steps: tuple[Step, ...]) -> None:
        self._name = name
        self.cluster = transcript.Transcript()
        self.kept: dict[str, Raw] = {}
        self._steps = steps
        self._running: clusters.Running | None = None

    async def play(self) -> None:
        """Let it happen with the operator at work."""
        random.seed(self._name)  # how long a failure is waited for
        playing = asyncio.ensure_future(self._play())
        await asyncio.sleep(0)  # what is changed before the first wait stands there when the operator starts
        self.cluster.note("\n== the operator starts")
        async with clusters.running(self.cluster, told=transcript.Events(self.cluster)) as self._running:
            try:
                await playing
            finally:
                playing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await playing

    async def _play(self) -> None:
        for step in self._steps:
            match step:
                case Change():
                    self.cluster.note(f"\n== {step.said}")
                    step.make(self.cluster)
                case str():
                    raw = copy.deepcopy(self.cluster.objects[clusters.INFRASTRUCTURE])
                    self.kept[step] = {"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", **raw}
                case None:
                    self._look()
                case seconds:
                    await asyncio.sleep(seconds)

    def _look(self) -> None:
        assert self._running is not None
        for name, lines in (("page", transcript.page(self._running)), ("metrics", transcript.series(self._running))):
            self.cluster.note("\n".join([f"{name}:", *(f"    {line}" for line in lines)]))


async def tell(name: str) -> str:
    """Play a story and return its transcript."""
    what, steps = TOLD[name]
    story = Story(name, steps)
    story.cluster.note(f"# {name}: {what}")
    await story.play()
    text = story.cluster.text()
    return text if name == "happy" else _MET.sub(r"\1", text)


async def keep() -> str:
    """Play all the others and return what was kept, as one file."""
    found: dict[str, Raw] = {}
    for steps in KEPT:
        story = Story("kept", steps)
        await story.play()
        found |= story.kept
    judged = {name: _judged(raw) for name, raw in sorted(found.items())}
    return yaml.safe_dump(judged, width=160, allow_unicode=True, default_flow_style=None)


def _judged(raw: Raw) -> Raw:
    """What an engine may judge by: not how often it was written, nor what convergence is measured against."""
    for name in ("resourceVersion", "uid"):
        raw["metadata"].pop(name, None)
    if record := raw.get("status", {}).get("topologyTransition"):
        for name in ("attempt", "baseline"):
            record.pop(name, None)
        for name, kept in (("checks", ("stage", "name", "status")), ("advisories", ("name",))):
            if name in record:
                record[name] = [{each: one[each] for each in kept} for one in record[name]]
    return raw
