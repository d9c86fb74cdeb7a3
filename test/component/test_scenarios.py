"""Every story that comes with the simulator ends as its file says, told by the real operator process.

OpenShift's own definitions, where they are to be had, would keep every state of an object on the embedded server
(`states`).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from test.component import event_counts, states
from topology_simulator import box, pace, play, scenario

if TYPE_CHECKING:
    import pathlib

    from test.component import backend

_PATIENCE = 100.0

EACH_TIME = ("evicted-mid-transition", "happy-path", "machine-missing", "native-takes-over", "upgrade-starts")
OF_THE_GATE = {
    "native-takes-over": {
        "infrastructures.config.openshift.io: .spec.controlPlaneTopology is pruned",
        "controllerconfigs.machineconfiguration.openshift.io: .spec.infra.spec.controlPlaneTopology is pruned",
    }
}
"""The story turns MutableTopology on, which brings a field that the Default definitions do not have."""


@pytest.mark.nightly(but=EACH_TIME)
@pytest.mark.on_real("upgrade-starts")
@pytest.mark.parametrize("name", scenario.names())
async def test_a_scenario_ends_as_its_file_expects(apiserver: backend.Place, name: str, tmp_path: pathlib.Path) -> None:
    story = scenario.load(name)
    told: list[str] = []
    log = tmp_path / "operator.log"
    seen: states.Seen | None = None
    async with (
        asyncio.timeout(_PATIENCE + 60.0 * (story.deadline_minutes or 0)),
        apiserver.served() as served,
        box.opened(story, pace.FAST, tmp_path, served=served) as opened,
        contextlib.AsyncExitStack() as stack,
    ):
        player = play.Player(
            opened.api, opened.actors, pace.FAST, told.append, operator=opened.operator, store=opened.store
        )
        if not apiserver.is_real:
            seen = await stack.enter_async_context(states.watching(opened.api))
        await opened.beside(player.play(story))
        operator = opened.operator
        await event_counts.assert_told_once(opened.api, requests=sum(step.said[0] == "request" for step in story.steps))
    if seen is not None:
        assert seen.states
        assert seen.refused == OF_THE_GATE.get(name, set())
    words = log.read_text()
    assert operator is not None
    assert operator.returncode == 0, words
    for fault in ("Traceback", "Task was destroyed", "never retrieved", "never awaited"):
        assert fault not in words, words


def test_the_scenarios_of_the_issue_are_there() -> None:
    assert {"happy-path", "learner-stuck", "node-flaps", "hosted", "upgrade-starts"} <= set(scenario.names())
