"""The stories whose transcripts are recorded: each reason, condition, event and phase is in one of them.

A story is given its cluster before the operator starts, changes it while virtual time passes, and has the page and the
metrics noted where they say most (`look`).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING

from ..core import clusters, raw_operands
from . import transcript

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from topology_controller.kube import errors

NODE = ("nodes", None, "node-1")
SCHEDULER = ("schedulers", None, "cluster")
MINUTE = 60.0


class Story:
    """One operator at work, and the transcript of it. `does` notes what happens to the cluster."""

    def __init__(self) -> None:
        self.cluster = transcript.Transcript()
        self.running: clusters.Running | None = None

    def does(self, what: str) -> None:
        """Note what the story does next."""
        self.cluster.note(f"\n== {what}")

    def asks(self, topology: str | None) -> None:
        """Request a topology, or cancel."""
        self.does(f"spec.desiredTopology: {topology or '(removed)'}")
        self.cluster.ask_for(topology)

    def changes(self, key: clusters.Key, patch: clusters.Raw) -> None:
        """Change an object as somebody else."""
        self.does(f"{key[0]}/{key[2]}: {patch}")
        self.cluster.change(key, patch)

    def look(self) -> None:
        """Note what the page and a scrape show now."""
        assert self.running is not None
        for name, lines in (("page", transcript.page(self.running)), ("metrics", transcript.series(self.running))):
            self.cluster.note(f"{name}:")
            for line in lines:
                self.cluster.note(f"    {line}")


async def happy(story: Story) -> None:
    """A single-node cluster that has everything grows."""
    await asyncio.sleep(1)
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    story.look()
    story.does("all operators follow")
    story.cluster.follow()
    await asyncio.sleep(70)
    story.look()
    story.asks(None)
    await asyncio.sleep(1)


async def cancelled(story: Story) -> None:
    """A preflight check is not met, and the request is taken back."""
    story.changes(SCHEDULER, {"spec": {"mastersSchedulable": False}})
    story.changes(NODE, {"spec": {"unschedulable": True}})
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    story.look()
    story.changes(NODE, {"spec": {"unschedulable": None}})
    await asyncio.sleep(2 * MINUTE)
    await asyncio.sleep(60 * MINUTE)
    story.look()
    story.asks(None)
    await asyncio.sleep(1)


async def unsupported(story: Story) -> None:
    """No definition leads there; then one does."""
    story.asks("DualReplica")
    await asyncio.sleep(1)
    story.look()
    story.changes(clusters.INFRASTRUCTURE, {"status": {"platformStatus": {"type": "AWS"}}})
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)


async def without_an_echo(story: Story) -> None:
    """The version operator says nothing for longer than an admission waits."""
    story.cluster.echo = False
    story.asks("HighlyAvailable")
    await asyncio.sleep(9 * MINUTE)
    story.look()
    story.does("the version operator answers")
    story.cluster.echo = True
    story.cluster._echo()
    await asyncio.sleep(10 * MINUTE)


async def stuck(story: Story) -> None:
    """Nobody follows until long past the deadline."""
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    await asyncio.sleep(180 * MINUTE)
    story.look()
    story.does("all operators follow")
    story.cluster.follow()
    await asyncio.sleep(2 * MINUTE)


async def overwritten(story: Story) -> None:
    """Somebody else sets the topology back."""
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    story.changes(clusters.INFRASTRUCTURE, {"status": {"controlPlaneTopology": "SingleReplica"}})
    await asyncio.sleep(2 * MINUTE)
    story.look()


async def paused(story: Story) -> None:
    """The administrator holds the operator."""
    await asyncio.sleep(1)
    story.changes(
        clusters.OPERATOR, {"metadata": {"annotations": {"topology.openshift.io/paused": "maintenance until Monday"}}}
    )
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    story.look()
    story.changes(clusters.OPERATOR, {"metadata": {"annotations": {"topology.openshift.io/paused": None}}})
    await asyncio.sleep(1)


async def hosted(story: Story) -> None:
    """The control plane runs elsewhere."""
    status = {"controlPlaneTopology": "External", "infrastructureTopology": "SingleReplica"}
    story.changes(clusters.INFRASTRUCTURE, {"status": status})
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    story.look()


async def native(story: Story) -> None:
    """OpenShift's own controller comes, with a request of its own."""
    story.changes(SCHEDULER, {"spec": {"mastersSchedulable": False}})
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    gates = {"featureGates": [{"version": "4.20.1", "enabled": [{"name": "MutableTopology"}]}]}
    story.changes(("featuregates", None, "cluster"), {"status": gates})
    await asyncio.sleep(1)
    conditions = raw_operands.conditions(
        TopologyTransitionControllerProgressing="False", TopologyTransitionControllerDegraded="False"
    )
    story.changes(("configs", None, "cluster"), {"status": {"conditions": conditions}})
    await asyncio.sleep(5 * MINUTE)
    story.look()


async def unreadable(story: Story) -> None:
    """An object that a check needs makes no sense."""
    story.changes(SCHEDULER, {"spec": {"mastersSchedulable": "perhaps"}})
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    await asyncio.sleep(6 * MINUTE)
    story.look()


async def two_voters(story: Story) -> None:
    """A member of etcd is lost after the change."""
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    endpoints = ("configmaps", "openshift-etcd", "etcd-endpoints")
    story.changes(endpoints, {"data": {next(iter(story.cluster.objects[endpoints]["data"])): None}})
    await asyncio.sleep(2 * MINUTE)
    story.look()


async def refused(story: Story) -> None:
    """An admission webhook denies the status write."""
    from topology_controller.kube import errors as kube  # noqa: PLC0415 - the story's own

    def deny(where: str, _body: clusters.Raw) -> None:
        if where == "infrastructures/cluster":
            raise _denied(story, kube.Forbidden)

    story.cluster.fault = deny
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    story.does("the webhook is gone")
    story.cluster.fault = clusters.accept
    await asyncio.sleep(MINUTE)


def _denied(story: Story, kind: type[errors.KubeError]) -> errors.KubeError:
    return story.cluster.error(kind, 403)


async def lost(story: Story) -> None:
    """The record is dropped by a typed writer, and rebuilt from its copy."""
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    story.changes(clusters.INFRASTRUCTURE, {"status": {"topologyTransition": None}})
    await asyncio.sleep(2 * MINUTE)


async def at_home(story: Story) -> None:
    """A cluster that is highly available already."""
    status = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
    story.changes(clusters.INFRASTRUCTURE, {"status": status})
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    story.look()


STORIES: dict[str, Callable[[Story], Awaitable[None]]] = {
    told.__name__.replace("_", "-"): told
    for told in (
        happy, cancelled, unsupported, without_an_echo, stuck, overwritten, paused, hosted, native, unreadable,
        two_voters, refused, lost, at_home,
    )
}  # fmt: skip


async def tell(name: str) -> str:
    """Play one and return its transcript."""
    random.seed(name)  # how long a failure is waited for
    story, told = Story(), STORIES[name]
    story.cluster.note(f"# {name}: {told.__doc__}")
    # What is changed before the first wait stands there when the operator starts.
    playing = asyncio.ensure_future(told(story))
    await asyncio.sleep(0)
    story.does("the operator starts")
    async with clusters.running(story.cluster, told=transcript.Events(story.cluster)) as running:
        story.running = running
        try:
            await playing
        finally:
            playing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await playing
    return story.cluster.text()
