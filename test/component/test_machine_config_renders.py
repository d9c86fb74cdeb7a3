"""Our own writes of Infrastructure make the machine config operator render everything again; it ends nevertheless.

The operator beside the actor that behaves as the real one was measured: each write of Infrastructure comes back as a
new generation of ControllerConfig and a while of TemplateControllerCompleted=False, before the settle time is over.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from typing import TYPE_CHECKING, Any

from test import polling
from topology_simulator import box, client, kinds, pace, scenario
from topology_simulator.actors import kubelets

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.component import backend

# Everything at the fast pace but what the machine config operator makes of a write: with `scale` 1 a box settles 3 s.
_PACE = dataclasses.replace(
    pace.FAST, scale=1.0, copy=0.5, operator_sync=1.0, templates=0.4, render=0.6, pool_sync=0.3, lease_renew=10.0
)
_WRITES = 6
"""Of Infrastructure by the operator, for a whole transition: its phases, and two more.

Newer answers are written besides, at most once per settle time: a slow cluster gives them for longer.
"""
_SECONDS = 12.0


class _Seen:
    """Every state of Infrastructure and ControllerConfig that a watch shows."""

    def __init__(self, api: client.Client) -> None:
        self._api = api
        self.record: dict[str, Any] = {}
        self.versions: list[str] = []
        self.phases: list[str] = []
        self.topologies: list[str] = []
        self.generations: list[int] = []
        self.copied = ""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(kinds.INFRASTRUCTURES, self._infrastructure))
            group.create_task(self._follow(kinds.CONTROLLER_CONFIGS, self._controller))

    async def _follow(self, kind: kinds.Kind, take: Callable[[dict[str, Any]], None]) -> None:
        async for event in self._api.follow(kind, retry_seconds=0.1):
            for obj in event.objects if isinstance(event, client.Listed) else (event.obj,):
                take(obj)

    def _infrastructure(self, obj: dict[str, Any]) -> None:
        self.versions.append(obj["metadata"]["resourceVersion"])
        self.record = obj["status"].get("topologyTransition") or {}
        self.phases.append(self.record.get("phase", ""))
        self.topologies.append(obj["status"]["controlPlaneTopology"])

    def _controller(self, obj: dict[str, Any]) -> None:
        generation = obj["metadata"]["generation"]
        self.copied = obj["spec"]["infra"]["metadata"].get("resourceVersion", "")
        if self.generations[-1:] != [generation]:
            self.generations.append(generation)


async def test_a_transition_completes_although_every_write_is_rendered(
    apiserver: backend.Place, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    story = scenario.load("happy-path")
    async with apiserver.served() as served, box.opened(story, _PACE, tmp_path, served=served) as opened:
        assert opened.settle_seconds > _PACE.copy + _PACE.templates
        for name in ("master-1", "master-2"):
            await kubelets.join(opened.api, name)

        async def ready() -> bool:
            pool = await opened.api.get(kinds.MACHINE_CONFIG_POOLS, "master")
            said = await opened.api.find(kinds.CLUSTER_OPERATORS, "topology")
            return bool(pool["status"]["updatedMachineCount"] == 3 and said)

        await polling.until("three nodes, and an operator", ready, 20.0)
        seen = _Seen(opened.api)
        watching = asyncio.create_task(seen.run())
        try:
            await polling.until("both are watched", lambda: _true(seen.versions and seen.generations))
            before, began = len(seen.versions), time.monotonic()
            await opened.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": "HighlyAvailable"}})
            try:
                await polling.until("Completed", lambda: _true("Completed" in seen.phases), _SECONDS)
            except AssertionError as error:
                words = f"{error}: {_figures(seen, before)}; {seen.record.get('message')}"
                raise AssertionError(words) from None
            writes = len(seen.versions) - before - 1
            newer = (time.monotonic() - began) / opened.settle_seconds
            figure(_figures(seen, before))
            assert seen.topologies[-1] == "HighlyAvailable"
            assert writes <= _WRITES + newer, _figures(seen, before)
            assert len(seen.generations) <= writes + 2, _figures(seen, before)
            await polling.until("the last write is copied", lambda: _true(seen.copied == seen.versions[-1]), 10.0)
            settled = len(seen.versions), len(seen.generations)
            await polling.steadily(
                "neither writes any more",
                lambda: _true((len(seen.versions), len(seen.generations)) == settled),
                2 * (_PACE.operator_sync + _PACE.copy),
            )
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def _true(value: object) -> bool:
    return bool(value)


def _figures(seen: _Seen, before: int) -> str:
    return (
        f"{len(seen.versions) - before - 1} writes of Infrastructure by the operator, "
        f"{len(seen.generations) - 1} renders, in phase {seen.phases[-1] or 'none'}, topology {seen.topologies[-1]}"
    )
