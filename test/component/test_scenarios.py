"""Every story that comes with the simulator ends as its file says, told by the real operator process.

The embedded server serves stand-ins, so a status that the actors of a story write there could be one that no cluster
takes: a watch of each kind sees all states of its objects, and OpenShift's own definitions would keep each unchanged.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
from typing import TYPE_CHECKING

import pytest

from simulator_tests.parity import definitions
from test.component import cluster
from topology_simulator import box, kinds, pace, play, scenario
from topology_simulator import client as clients

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import backend

_PATIENCE = 100.0
_RETRY = 0.05
ONLY_THERE = {
    "native-takes-over": {
        "infrastructures.config.openshift.io: .spec.controlPlaneTopology is pruned",
        "controllerconfigs.machineconfiguration.openshift.io: .spec.infra.spec.controlPlaneTopology is pruned",
    },
    "old-sno": {
        f'{place}.{field}: Unsupported value: "": supported values: {values}'
        for place in (
            "infrastructures.config.openshift.io: status",
            "controllerconfigs.machineconfiguration.openshift.io: spec.infra.status",
        )
        for field, values in (
            ("controlPlaneTopology", '"HighlyAvailable", "HighlyAvailableArbiter", "SingleReplica", "External"'),
            ("infrastructureTopology", '"HighlyAvailable", "SingleReplica"'),
        )
    },
}
"""A field that MutableTopology brings to the Default definitions; a value from before they had an enum."""
OPENSHIFT_FAILS_AT = 20
"""Events with the same reason and note, over all namespaces: what OpenShift's tests accept in a cluster."""
_PER_REQUEST = frozenset({"TransitionRequested", "TransitionCancelled", "TransitionBlocked"})


@contextlib.asynccontextmanager
async def refusals(api: clients.Client) -> AsyncIterator[set[str]]:
    """Collect what the real definitions would not keep of any state inside the context."""
    refused: set[str] = set()
    real = definitions.real()

    async def follow(kind: kinds.Kind) -> None:
        async for event in api.follow(kind, retry_seconds=_RETRY):
            for obj in event.objects if isinstance(event, clients.Listed) else (event.obj,):
                refused.update(definitions.refused(obj))

    followed = [kind for kind in kinds.ALL if f"{kind.plural}.{kind.group}" in real]
    assert followed
    tasks = [asyncio.create_task(follow(kind), name=f"states of {kind.plural}") for kind in followed]
    try:
        yield refused
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in ended), f"a watch of states has ended: {ended}"


async def assert_told_once(api: clients.Client, *, requests: int) -> None:
    """Assert that no event of ours was told more often than it can have happened, after so many requests."""
    found = await api.list(cluster.EVENTS, "default")
    ours = [one for one in found if one.get("reportingController") == "cluster-topology-operator"]
    told = collections.Counter((one["reason"], one["note"]) for one in ours)
    for (reason, note), times in told.items():
        allowed = max(1, requests) if reason in _PER_REQUEST else 1
        assert times <= allowed, f"{reason} was told {times} times: {note}"
    assert len(ours) <= OPENSHIFT_FAILS_AT, told


@pytest.mark.nightly(but=("native-takes-over",))
@pytest.mark.parametrize("name", scenario.names())
async def test_a_scenario_ends_as_its_file_expects(apiserver: backend.Place, name: str, tmp_path: pathlib.Path) -> None:
    story = scenario.load(name)
    refused: set[str] = set()
    async with (
        asyncio.timeout(_PATIENCE + 60.0 * (story.deadline_minutes or 0)),
        apiserver.served() as served,
        box.opened(story, pace.FAST, tmp_path, served=served) as opened,
        contextlib.AsyncExitStack() as stack,
    ):
        player = play.Player(
            opened.api, opened.actors, pace.FAST, lambda _: None, operator=opened.operator, store=opened.store
        )
        if not apiserver.is_real:
            refused = await stack.enter_async_context(refusals(opened.api))
        await opened.beside(player.play(story))
        operator = opened.operator
        await assert_told_once(opened.api, requests=sum(step.action[0] == "request" for step in story.steps))
    assert refused == (set() if apiserver.is_real else ONLY_THERE.get(name, set()))
    words = (tmp_path / "operator.log").read_text()
    assert operator is not None
    assert operator.returncode == 0, words
    for fault in ("Traceback", "Task was destroyed", "never retrieved", "never awaited"):
        assert fault not in words, words
