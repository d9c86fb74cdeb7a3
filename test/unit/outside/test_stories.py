"""Nothing that others see of the operator changes unless it is meant: the transcripts stand in `recorded_files`."""

from __future__ import annotations

import pytest
from test import recorded

from . import stories


@pytest.mark.looptime
@pytest.mark.parametrize("name", stories.STORIES)
async def test_a_story_is_told_as_it_is_recorded(name: str) -> None:
    recorded.compare(f"story-{name}.txt", await stories.tell(name))
