"""The demonstration with a real etcd behind it: the operator asks its members, and every story ends the same."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest


@pytest.mark.parametrize("name", ["happy-path", "learner-stuck"])
async def test_a_story_ends_as_it_does_with_pretended_members(tmp_path, name):
    made = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "topology_simulator",
        *("demo", "--scenario", name, "--pace", "fast", "--etcd", "real"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(tmp_path)},
    )
    try:
        async with asyncio.timeout(60):
            output = (await made.communicate())[0].decode()
    finally:
        if made.returncode is None:
            made.kill()
            await made.wait()
    assert made.returncode == 0, output
    assert "✓ EtcdMembersDirect Met" in output
    assert list(tmp_path.iterdir()) == [], "members and files are gone"
