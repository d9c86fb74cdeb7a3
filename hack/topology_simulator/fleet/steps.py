"""What several stories do, and what they wait for: people, power and networks, and what the engines make of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

from . import chronicle, pack, running, spoke, verdict

READY_SECONDS, CONVERSION_SECONDS = 90.0, 240.0
SOAK_SECONDS = 5
_LOOK_SECONDS = 15.0


def rollout(fleet: running.Fleet, **parts: Any) -> list[dict[str, Any]]:
    """Return a roll-out with the times of a story, or with these."""
    planned = {"soak_seconds": SOAK_SECONDS, "deadline_seconds": 600, "max_concurrency": 1}
    return fleet.pack.roll_out(**(planned | parts))


async def prepared(fleet: running.Fleet, without: Iterable[spoke.Spoke] = ()) -> dict[str, dict[str, Any]]:
    """Let the survey begin, and wait until each cluster but those says that it is ready; return all specifications."""
    await fleet.hub.apply(fleet.pack.survey())
    for each in (each for each in fleet.spokes if each not in without):
        await verdict.until(f"{each.name} says that it is ready", each.ready, READY_SECONDS)
    fleet.chronicle.tell("fleet", "the clusters say that they are ready to be asked")
    return {each.name: (await each.infrastructure())["spec"] for each in fleet.spokes}


async def lost(fleet: running.Fleet, cluster: spoke.Spoke) -> None:
    """Take the power of a cluster, and let the hub see that."""
    await cluster.lose()
    await fleet.hub.report(cluster.name, reachable=False)
    fleet.chronicle.tell("story", f"{cluster.name} has lost its power; the hub calls it unreachable", "yellow")


async def regained(fleet: running.Fleet, cluster: spoke.Spoke) -> None:
    """Give it back, and let the hub see that."""
    await cluster.recover()
    await fleet.hub.report(cluster.name, reachable=True)
    fleet.chronicle.tell("story", f"{cluster.name} has its power back")


async def all_done(fleet: running.Fleet) -> None:
    """Wait until the engine says so."""
    await came(fleet, chronicle.DONE, fleet.spokes, CONVERSION_SECONDS)

    async def complete() -> bool:
        return await rolled_out(fleet) == "Complete"

    await verdict.until("the roll-out is complete", complete, READY_SECONDS)


async def rolled_out(fleet: running.Fleet) -> str:
    """Return where the roll-out is, as the hub calls it: Progressing, Complete and the like."""
    states = (await fleet.hub.replica_set())["status"].get("conditions") or []
    return next((state["reason"] for state in states if state["type"] == "PlacementRolledOut"), "")


async def open_requests(fleet: running.Fleet) -> list[str]:
    """Return the clusters of which a topology is requested."""
    specs = {each.name: (await each.infrastructure())["spec"] for each in fleet.spokes}
    return [name for name, spec in specs.items() if spec.get("desiredTopology")]


async def came(fleet: running.Fleet, event: str, clusters: Iterable[spoke.Spoke], seconds: float) -> None:
    """Wait until each of these clusters came to an event."""
    names = [each.name for each in clusters]

    async def came() -> bool:
        return set(names) <= set(fleet.chronicle.came_to(event))

    await verdict.until(f"{', '.join(names)}: {event}", came, seconds)


async def looked(cluster: spoke.Spoke) -> None:
    """Let an operator see that its cluster is ready: without a request it looks once an hour, and when it starts."""
    for _ in range(6):
        await asyncio.sleep(_LOOK_SECONDS)
        await cluster.stop_operator()
        await cluster.start_operator()
        with contextlib.suppress(verdict.StoryFailedError):
            await verdict.until(f"{cluster.name} says that it is ready", cluster.ready, _LOOK_SECONDS)
            return
    raise verdict.StoryFailedError(f"{cluster.name} is never ready")


async def complies(cluster: spoke.Spoke, compliance: str, name: str = pack.NAME) -> None:
    """Wait until a policy says so."""

    async def agrees() -> bool:
        return (await cluster.compliance(name))[0] == compliance

    await verdict.until(f"the policy {name} of {cluster.name} is {compliance}", agrees, READY_SECONDS)
