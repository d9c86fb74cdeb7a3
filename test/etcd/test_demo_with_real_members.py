"""The demonstration with a real etcd behind it: the operator asks its members, and every story ends the same."""

from __future__ import annotations

import os
import sys

import pytest

from test import processes


@pytest.mark.parametrize("name", ["happy-path", pytest.param("learner-stuck", marks=pytest.mark.nightly)])
@pytest.mark.nightly
async def test_a_story_ends_as_it_does_with_pretended_members(tmp_path, name):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(tmp_path)}
    words = ("demo", "--scenario", name, "--pace", "fast", "--etcd", "real")
    ended = await processes.run(sys.executable, "-m", "topology_simulator", *words, env=environment, cwd=tmp_path)
    assert ended.code == 0, ended
    assert "✓ EtcdMembersDirect Met" in ended.printed
    assert list(tmp_path.iterdir()) == [], "members and files are gone"
