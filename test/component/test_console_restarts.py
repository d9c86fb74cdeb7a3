"""Our own writes of Infrastructure restart the console; nothing that this sets off takes back what was reached.

The cluster lives at such a pace that a restart fits between two looks of the version operator: one is under way while
the echo is waited for, and one after the pause of a pool, when all else that has to follow has followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

from test import polling
from test.component import backend
from topology_simulator import box, kinds, pace, play, scenario
from topology_simulator import client as clients
from topology_simulator.actors import console

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable

_PACE = dataclasses.replace(pace.FAST, scale=3.0, replica=0.3, version_throttle=0.6)
"""A restart of two pods takes 0.6 s and that of one 0.3; the echo comes 0.6 to 1.8 s late. The settle time is 9 s, and
so is the time between two writes of Infrastructure that are not news."""
_MOST_WRITES = 10
_LASTING = ("ClusterOperatorsStable", "ConsoleReplicas")
_PATIENCE = 75.0
_PROBLEM = "status.topologyTransition.problem.reason"
_STORY = {
    "name": "console-restarts",
    "summary": "Nodes join, the request is made, and a pool is paused once the topology has changed",
    "version": {"release": "4.22"},
    "cluster": {"workers": 1, "schedulable": False, "pools": [{"name": "canary", "machines": 1}]},
    "steps": [
        {"wait-for": {"phase": "Idle"}},
        {"hold": "machine-config"},
        {"join": ["master-1", "master-2"]},
        {"request": "HighlyAvailable"},
        {"wait-for": {"phase": "Converging"}},
        {"pause-pool": "canary"},
        {"release": "machine-config"},
        {"wait-for": {"field": {"kind": "infrastructure", "name": "cluster", "path": _PROBLEM, "equals": "Paused"}}},
        {"stays": {"phase": "Converging", "seconds": 0.5}},
        {"unpause-pool": "canary"},
        {"wait-for": {"phase": "Completed"}},
    ],
    "expect": {"phase": "Completed", "topology": "HighlyAvailable/HighlyAvailable", "conditions": {}},
}


class Witness:
    """What happens to three objects.

    `phases` are those of the record, each once in a row. `answers` are those of each check, by stage and name, as the
    copy of the record has them. `restarts` are the phases whose writes made the console restart, each with how many of
    the checks in question were Met then. `ready` are the ready pods of the console since it has asked for two.
    """

    def __init__(self, api: clients.Client) -> None:
        self._api = api
        self.phases: list[str] = []
        self.answers: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self.ready: list[int] = []
        self._written: dict[str, str] = {}
        self._carried: list[tuple[str, int]] = []

    @property
    def restarts(self) -> list[tuple[str, int]]:
        """What the console restarted for."""
        return [(self._written.get(version, ""), met) for version, met in self._carried]

    async def completed(self) -> bool:
        """Whether the end was seen."""
        return self.phases[-1:] == ["Completed"]

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Follow all three inside this context."""
        seen_by = (
            (kinds.INFRASTRUCTURES, self._infrastructure),
            (kinds.CLUSTER_OPERATORS, self._operator),
            (kinds.DEPLOYMENTS, self._deployment),
        )
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._follow(kind, see)) for kind, see in seen_by]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def _follow(self, kind: kinds.Kind, see: Callable[[dict[str, Any]], None]) -> None:
        async for event in self._api.follow(kind, retry_seconds=0.05):
            for obj in event.objects if isinstance(event, clients.Listed) else (event.obj,):
                see(obj)

    def _infrastructure(self, obj: dict[str, Any]) -> None:
        phase = (obj["status"].get("topologyTransition") or {}).get("phase", "")
        self._written[obj["metadata"]["resourceVersion"]] = phase
        if phase and self.phases[-1:] != [phase]:
            self.phases.append(phase)

    def _operator(self, obj: dict[str, Any]) -> None:
        if obj["metadata"]["name"] == "topology":
            for check in ((obj.get("status") or {}).get("extension") or {}).get("checks") or []:
                self.answers.setdefault((check["stage"], check["name"]), []).append((check["status"], check["message"]))

    def _deployment(self, obj: dict[str, Any]) -> None:
        if (obj["metadata"]["namespace"], obj["metadata"]["name"]) != ("openshift-console", "console"):
            return
        version = (obj["metadata"].get("annotations") or {}).get(console.ANNOTATION, "")
        if version and version not in {seen for seen, _ in self._carried}:
            newest = [self.answers.get(("Convergence", name), [("", "")])[-1] for name in _LASTING]
            self._carried.append((version, sum(status == "Met" for status, _ in newest)))
        if obj["spec"]["replicas"] == 2:
            self.ready.append(obj["status"].get("readyReplicas") or 0)


async def test_restarts_of_the_console_take_nothing_back(tmp_path: pathlib.Path, figure: Callable[[str], None]) -> None:
    story = scenario.Scenario.model_validate(_STORY)
    async with backend.Place().opened() as server, _played(server, story, tmp_path) as opened:
        witness = Witness(opened.api)
        player = play.Player(opened.api, opened.actors, _PACE, lambda _: None, operator=opened.operator)
        async with witness.watching():
            # One that does not end says below why.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    await player.play(story)
                    await polling.until("the end was seen", witness.completed)
        writes = [str(one) for one in server.writes if one.resource == "infrastructures"]
    figure(f"restarts of the console: {witness.restarts}; writes of Infrastructure: {writes}")

    assert witness.phases == ["Idle", "Pending", "Admitting", "Converging", "Completed"], writes
    for name in _LASTING:
        # Nodes restart as well, and what lives there with them: that is none of the console's.
        since = itertools.dropwhile(lambda answer: answer[0] != "Met", witness.answers["Convergence", name])
        taken_back = [message for status, message in since if status != "Met" and "console" in message]
        assert not taken_back, (name, taken_back)
    assert len(writes) <= _MOST_WRITES, writes
    # And it was put to the test: the console restarted while something could be taken back, with one pod of two.
    assert ("Admitting", 0) in witness.restarts, witness.restarts
    assert ("Converging", len(_LASTING)) in witness.restarts, witness.restarts
    assert 1 in witness.ready[witness.ready.index(2) :], witness.ready


@contextlib.asynccontextmanager
async def _played(server: backend.Server, story: scenario.Scenario, folder: pathlib.Path) -> AsyncIterator[box.Box]:
    """Open a box on a server that notes what operators write."""
    mine = server.kubeconfig()
    async with box.opened(story, _PACE, folder, served=box.Served(administrator=mine, operator=mine)) as opened:
        yield opened
