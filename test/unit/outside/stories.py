"""The stories whose transcripts are recorded: one that succeeds, one that gets stuck, one beside another controller.

A story is given its cluster before the operator starts, changes it while virtual time passes, and has the page and the
metrics noted where they say most (`look`).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from typing import TYPE_CHECKING

from ..core import clusters, raw_operands
from . import transcript

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SCHEDULER = ("schedulers", None, "cluster")
MINUTE = 60.0
_MET = re.compile(r"(status=Met), message=.*(?=, (?:lastTransitionTime|since)=)")
"""What a check says that is met stands in the story in which all are."""


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


async def stuck(story: Story) -> None:
    """Nobody follows until long past the deadline."""
    story.asks("HighlyAvailable")
    await asyncio.sleep(1)
    await asyncio.sleep(180 * MINUTE)
    story.look()
    story.does("all operators follow")
    story.cluster.follow()
    await asyncio.sleep(2 * MINUTE)


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


STORIES: dict[str, Callable[[Story], Awaitable[None]]] = {told.__name__: told for told in (happy, stuck, native)}


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
    text = story.cluster.text()
    return text if name == "happy" else _MET.sub(r"\1", text)
