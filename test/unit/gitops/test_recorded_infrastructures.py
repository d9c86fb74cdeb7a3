"""The recorded objects that GitOps engines are held to are what the operator writes today."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test import recorded
from test.unit.gitops import recording

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@pytest.mark.looptime
@pytest.mark.parametrize("story", recording.STORIES, ids=lambda story: story.__name__)
async def test_an_object_is_recorded_as_the_operator_writes_it(
    story: Callable[[recording.Camera], Awaitable[None]],
) -> None:
    for name, raw in (await recording.play(story)).items():
        recorded.compare(f"infrastructures/{name}.yaml", recording.text(raw), "test/unit/gitops")
