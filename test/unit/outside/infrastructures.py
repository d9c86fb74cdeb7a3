"""Infrastructure `cluster` as the operator leaves it, in each phase and with each problem, for whatever judges it.

The operator itself writes these, on the cluster in memory and in virtual time; they stand in one file, which
`make record` writes anew. test/unit/fleet/verdicts.yaml has what each means to an engine.
"""

from __future__ import annotations

import asyncio
import copy
import random
from typing import TYPE_CHECKING, Any

import yaml

from ..core import clusters, worlds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Raw = dict[str, Any]
Recorded = dict[str, Raw]
SCHEDULER: clusters.Key = ("schedulers", None, "cluster")
MINUTE = 60.0


class Camera:
    """A cluster, and the objects that were kept of it so far."""

    def __init__(self) -> None:
        self.cluster = clusters.Cluster()
        self.recorded: Recorded = {}

    def keep(self, name: str) -> None:
        """Record Infrastructure as it is now."""
        raw = copy.deepcopy(self.cluster.objects[clusters.INFRASTRUCTURE])
        self.recorded[name] = {"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", **raw}

    async def after(self, seconds: float, name: str) -> None:
        """Record it so much later."""
        await asyncio.sleep(seconds)
        self.keep(name)

    def status(self, **values: Any) -> None:
        """Change its status, as another client."""
        self.cluster.change(clusters.INFRASTRUCTURE, {"status": values})

    def pause(self) -> None:
        """Pause the operator."""
        paused = {"topology.openshift.io/paused": "maintenance until Monday"}
        self.cluster.change(clusters.OPERATOR, {"metadata": {"annotations": paused}})


async def grows(camera: Camera) -> None:
    """A single-node cluster from no record to Completed, and on to the removal of the request."""
    camera.keep("no-record")
    camera.cluster.echo = False
    await camera.after(1, "idle")
    camera.cluster.ask_for("HighlyAvailable")
    camera.keep("requested")
    await camera.after(1, "admitting")
    camera.cluster.echo = True
    camera.cluster._echo()
    await camera.after(1, "converging")
    camera.cluster.follow()
    await camera.after(2 * MINUTE, "completed")
    camera.cluster.ask_for(None)
    camera.keep("completed-request-removed")
    await camera.after(1, "idle-after-completed")


async def waits(camera: Camera) -> None:
    """A preflight check stays unmet until the request is cancelled."""
    camera.cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
    camera.cluster.ask_for("HighlyAvailable")
    await camera.after(1, "pending")
    await camera.after(61 * MINUTE, "blocked")
    camera.cluster.ask_for(None)
    camera.keep("cancelled")
    await camera.after(1, "idle-after-cancel")


async def unsupported(camera: Camera) -> None:
    """No definition leads there."""
    camera.cluster.ask_for("DualReplica")
    await camera.after(1, "unsupported")


async def stuck(camera: Camera) -> None:
    """No operator follows until long past the deadline."""
    camera.cluster.ask_for("HighlyAvailable")
    await camera.after(181 * MINUTE, "stuck")


async def unreadable(camera: Camera) -> None:
    """An object that a check needs makes no sense."""
    camera.cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": "perhaps"}})
    camera.cluster.ask_for("HighlyAvailable")
    await camera.after(6 * MINUTE, "evidence-unreadable")


async def two_voters(camera: Camera) -> None:
    """etcd loses a member after the change, and does not get it back."""
    camera.cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(1)
    endpoints: clusters.Key = ("configmaps", "openshift-etcd", "etcd-endpoints")
    member = next(iter(camera.cluster.objects[endpoints]["data"]))
    camera.cluster.change(endpoints, {"data": {member: None}})
    await camera.after(1, "redundancy-lost")
    await camera.after(17 * MINUTE - 1, "two-voters")


async def overwritten(camera: Camera) -> None:
    """Another client sets the topology back, and later the spec is edited elsewhere."""
    camera.cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(1)
    camera.status(controlPlaneTopology="SingleReplica")
    camera.keep("just-overwritten")
    await camera.after(2 * MINUTE, "topology-overwritten")
    edited = {"metadata": {"generation": 3}, "spec": {"cloudConfig": {"name": "other"}}}
    camera.cluster.change(clusters.INFRASTRUCTURE, edited)
    await camera.after(2 * MINUTE, "topology-overwritten-spec-edited")


async def paused(camera: Camera) -> None:
    """The administrator has paused the operator before the request."""
    await asyncio.sleep(1)
    camera.pause()
    camera.cluster.ask_for("HighlyAvailable")
    await camera.after(1, "paused")


async def request_lost(camera: Camera) -> None:
    """A definition without the field takes the request along after the change."""
    camera.cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(1)
    camera.cluster.ask_for(None)
    await camera.after(2 * MINUTE, "request-lost")


async def hosted(camera: Camera) -> None:
    """The control plane runs elsewhere."""
    camera.status(controlPlaneTopology="External", infrastructureTopology="SingleReplica")
    await camera.after(1, "hosted")
    camera.cluster.ask_for("HighlyAvailable")
    await camera.after(1, "hosted-with-request")


async def at_home(camera: Camera) -> None:
    """A cluster that had the desired topology before it was asked for."""
    camera.status(controlPlaneTopology="HighlyAvailable", infrastructureTopology="HighlyAvailable")
    camera.cluster.ask_for("HighlyAvailable")
    await camera.after(1, "fulfilled-from-the-start")


async def image_based(camera: Camera) -> None:
    """While a request waits, the cluster is marked as installed from an image."""
    camera.cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
    camera.cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(1)
    label = {"topology.openshift.io/image-based-install": ""}
    camera.cluster.change(clusters.INFRASTRUCTURE, {"metadata": {"labels": label}})
    await camera.after(1, "image-based-install")


STORIES: tuple[Callable[[Camera], Awaitable[None]], ...] = (
    grows, waits, unsupported, stuck, unreadable, two_voters, overwritten, paused, request_lost, hosted, at_home,
    image_based,
)  # fmt: skip


async def play(story: Callable[[Camera], Awaitable[None]]) -> Recorded:
    """Play a story with the operator at work; return what was kept, by name."""
    random.seed(story.__name__)
    camera = Camera()
    playing = asyncio.ensure_future(story(camera))
    await asyncio.sleep(0)  # what is changed before the first wait stands there when the operator starts
    async with clusters.running(camera.cluster, transitions=worlds.ONLY_COMPACT):
        await playing
    return camera.recorded


def text(recorded: Recorded) -> str:
    """The file of the recorded objects."""
    judged = {name: _judged(raw) for name, raw in sorted(recorded.items())}
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
