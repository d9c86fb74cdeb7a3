"""Every story that comes with the simulator ends as its file says, told by the real operator process.

While its wish is open, or nobody may act on it, `plan` and the operator say the same (`agreeing`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from test.component import agreeing, telling
from topology_simulator import box, pace, play, scenario

if TYPE_CHECKING:
    import pathlib

    from test.component import backend

_PATIENCE = 60.0 + 2 * agreeing.PATIENCE

ON_REAL = {"learner-stuck"}
"""Where `plan` and the operator are compared on the real server too: what they are told there is the same story."""
AGREED = {
    "hosted": {"HostedControlPlane"},
    "native-downgrade": {"NativeControllerActive"},
    "native-takes-over": {"Pending", "NativeControllerActive"},
}
"""About what `plan` and the operator agree in a story; in all others that the wish is blocked, and by what."""


@pytest.mark.parametrize("name", scenario.names())
async def test_a_scenario_ends_as_its_file_expects(apiserver: backend.Place, name: str, tmp_path: pathlib.Path) -> None:
    story = scenario.load(name)
    told: list[str] = []
    log = tmp_path / "operator.log"
    async with (
        asyncio.timeout(_PATIENCE + 60.0 * (story.deadline_minutes or 0)),
        apiserver.served() as served,
        box.opened(story, pace.FAST, tmp_path, served=served) as opened,
    ):
        player = play.Player(opened.api, opened.actors, pace.FAST, told.append, operator=opened.operator)
        witness = agreeing.Witness(opened, story) if not apiserver.is_real or name in ON_REAL else None
        playing = asyncio.create_task(player.play(story, before=witness.before if witness is not None else None))
        watching = asyncio.create_task(opened.watch_operator())
        try:
            await asyncio.wait({playing, watching}, return_when=asyncio.FIRST_COMPLETED)
            for one in (watching, playing):
                if one.done():
                    one.result()
        finally:
            for one in (playing, watching):
                one.cancel()
            await asyncio.gather(playing, watching, return_exceptions=True)
        operator = opened.operator
        await telling.assert_told_once(opened.api, wishes=sum(step.said[0] == "wish" for step in story.steps))
    if witness is not None:
        assert set(witness.agreed) == AGREED.get(name, {"Pending"})
    words = log.read_text()
    assert operator is not None
    assert operator.returncode == 0, words
    for fault in ("Traceback", "Task was destroyed", "never retrieved", "never awaited"):
        assert fault not in words, words


def test_the_scenarios_of_the_issue_are_there() -> None:
    assert {"happy-path", "learner-stuck", "node-flaps", "hosted", "upgrade-starts"} <= set(scenario.names())
