"""Nothing that others see of the operator changes unless it is meant: the transcripts stand in `recorded_files`."""

from __future__ import annotations

import pytest
from test import recorded

from . import stories


@pytest.mark.looptime
@pytest.mark.parametrize("name", stories.TOLD)
async def test_a_story_is_told_as_it_is_recorded(name: str) -> None:
    recorded.compare(f"story-{name}.txt", await stories.tell(name))


@pytest.mark.looptime
async def test_the_objects_that_engines_judge_are_what_the_operator_writes() -> None:
    recorded.compare(recorded.INFRASTRUCTURES, await stories.keep())
