"""How often a whole transition writes ClusterOperator `topology`, and whether Infrastructure tells the same.

Each write of a ClusterOperator wakes a dozen processes (library-go, pkg/operator/status/status_controller.go), and
drains change the texts of our report each second. Counted are the operator's requests, as the server has noted them.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import re
import time
from typing import TYPE_CHECKING, Any

from test import polling
from test.component import backend
from topology_simulator import box, kinds, pace, scenario
from topology_simulator import client as clients
from topology_simulator.actors import kubelets

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable

_PACE = dataclasses.replace(pace.FAST, scale=1.0, lease_renew=10.0)
_SETTLE = 12
"""Longer than the pause between two texts, so that this is the one of a real cluster."""
_TEXTS = 10.0
_DRAINS = 25.0
_MOST = 30
_LONGEST = 10.0
"""Seconds for which the two may differ in the last phase."""
_AT_ONCE = 2.0
"""Seconds between the two writes of what is no text, on a busy machine."""
_SLACK = 0.5
_COMPONENTS = re.compile(r"\d+ of (\d+) components updated")
Raw = dict[str, Any]


class Witness:
    """What the two objects say, each state with the second in which it was seen."""

    def __init__(self, api: clients.Client) -> None:
        self._api = api
        self.record: Raw = {}
        self.copy: Raw = {}
        self.conditions: dict[str, Raw] = {}
        self.phases: dict[str, float] = {}
        self.reported: dict[str, float] = {}
        self.differing: list[tuple[float, bool]] = []
        self.totals: set[str] = set()

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Follow both inside this context."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._follow(kinds.INFRASTRUCTURES, "cluster", self._infrastructure)),
                group.create_task(self._follow(kinds.CLUSTER_OPERATORS, "topology", self._operator)),
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def _follow(self, kind: kinds.Kind, name: str, see: Callable[[Raw], None]) -> None:
        async for event in self._api.follow(kind, retry_seconds=0.05):
            for obj in event.objects if isinstance(event, clients.Listed) else (event.obj,):
                if obj["metadata"]["name"] == name:
                    see(obj.get("status") or {})
                    self._compare()

    def _infrastructure(self, status: Raw) -> None:
        self.record = status.get("topologyTransition") or {}
        self.phases.setdefault(self.record.get("phase", ""), time.monotonic())

    def _operator(self, status: Raw) -> None:
        self.copy = status.get("extension") or {}
        self.conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
        self.reported.setdefault(self.copy.get("phase", ""), time.monotonic())
        self.totals |= set(_COMPONENTS.findall(self.conditions.get("Progressing", {}).get("message", "")))

    def _compare(self) -> None:
        """Note since when they differ, and since when not, while one of them says that only quiet is awaited."""
        sides = [_answers(self.record), _answers(self.copy)]
        last = "Converging" in (self.record.get("phase"), self.copy.get("phase")) and any(map(_all_met, sides))
        message = self.conditions.get("Progressing", {}).get("message")
        differ = sides[0] != sides[1] or self.record.get("message") != message
        self.differing.append((time.monotonic(), last and differ))

    def longest(self) -> float:
        """Seconds for which they differed at a stretch."""
        stretches = [0.0]
        for (begin, differ), (end, _) in itertools.pairwise(self.differing):
            stretches.append(stretches[-1] + end - begin if differ else 0.0)
        return max(stretches)

    async def is_in(self, phase: str) -> bool:
        """Whether that phase was seen in both."""
        return phase in self.phases and phase in self.reported

    async def is_all_met(self) -> bool:
        """Whether nothing but quiet is awaited, as the record says."""
        return self.record.get("phase") == "Converging" and _all_met(_answers(self.record))


def _answers(record: Raw) -> dict[str, str]:
    return {check["name"]: check["status"] for check in record.get("checks", ()) if check["stage"] == "Convergence"}


def _all_met(answers: dict[str, str]) -> bool:
    return bool(answers) and set(answers.values()) == {"Met"}


async def _drains(api: clients.Client, seconds: float) -> None:
    """Cordon a node and let it go again, twice a second: what is waited for has another text each time."""
    ends = time.monotonic() + seconds
    for cordoned in itertools.cycle((True, None)):
        if time.monotonic() > ends and cordoned:
            return
        await api.patch(kinds.NODES, "master-1", {"spec": {"unschedulable": cordoned}})
        await asyncio.sleep(0.5)


async def test_a_transition_with_drains_is_few_writes_and_the_last_phase_is_one_story(
    tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    story = scenario.load("happy-path")
    async with backend.Place().opened() as server:
        mine = server.kubeconfig()
        served = box.Served(administrator=mine, operator=mine)
        async with box.opened(story, _PACE, tmp_path, served=served, settle_seconds=_SETTLE) as opened:
            witness = Witness(opened.api)
            async with witness.watching():
                await polling.until("it reports", lambda: witness.is_in("Idle"))
                opened.actors.hold("machine-config")
                for name in ("master-1", "master-2"):
                    await kubelets.join(opened.api, name)
                since = server.mark()
                request = {"spec": {"desiredTopology": "HighlyAvailable"}}
                await opened.api.patch(kinds.INFRASTRUCTURES, "cluster", request)
                await polling.until("the topology changes", lambda: witness.is_in("Converging"), 30)
                began = time.time()
                await _drains(opened.api, _DRAINS)
                ended = time.time()
                opened.actors.release("machine-config")
                await polling.until("all is Met", witness.is_all_met, 30)
                # What is taken back for a moment is no reason to write; for longer it is, in both.
                for seconds in (1.0, 11.5):
                    await opened.api.patch(kinds.NODES, "master-1", {"spec": {"unschedulable": True}})
                    await asyncio.sleep(seconds)
                    await opened.api.patch(kinds.NODES, "master-1", {"spec": {"unschedulable": None}})
                    await asyncio.sleep(1)
                await polling.until("the end is reported", lambda: witness.is_in("Completed"), 60)
        asked = [one for one in server.asked(since) if one.verb == "patch" and one.code == 200]
    reports = [one.time for one in asked if (one.resource, one.name) == ("clusteroperators", "topology")]
    records = [one.time for one in asked if (one.resource, one.name) == ("infrastructures", "cluster")]
    figure(
        f"{len(reports)} writes of ClusterOperator topology, {len(records)} of Infrastructure; "
        f"they differed for {witness.longest():.1f} s at most in the last phase"
    )
    assert len(reports) <= _MOST
    assert witness.longest() <= _LONGEST + _SLACK
    assert len(witness.totals) == 1, "as many components from the first look to the last"
    for phase in ("Admitting", "Converging", "Completed"):
        assert abs(witness.phases[phase] - witness.reported[phase]) <= _AT_ONCE, phase
    # What is written while nodes are drained has nothing but texts: ten seconds lie between, but for the record's.
    drained = [at for at in reports if began + _AT_ONCE < at < ended]
    alone = [at for at in drained if not any(abs(at - record) < _SLACK for record in records)]
    assert all(later - earlier >= _TEXTS - _SLACK for earlier, later in itertools.pairwise(alone)), alone
