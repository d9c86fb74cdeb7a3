"""The recorded objects that GitOps engines are held to are what the operator writes today."""

from __future__ import annotations

import pytest
from test import recorded
from test.unit.gitops import recording


@pytest.mark.looptime
async def test_the_objects_are_recorded_as_the_operator_writes_them() -> None:
    found: recording.Recorded = {}
    for story in recording.STORIES:
        found |= await recording.play(story)
    recorded.compare(recorded.INFRASTRUCTURES, recording.text(found))
