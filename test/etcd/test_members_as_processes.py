"""What can be done to members, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import stat
import sys

import pytest

from test import polling
from topology_simulator.etcd import cluster, keeping

HOLDER = """
import asyncio, json
from topology_simulator.etcd import cluster

async def main():
    async with cluster.Cluster(strict=False) as etcd:
        await etcd.grow("a", "b")
        await etcd.members["b"].pause()
        told = [str(etcd.client_folder().parent), *(one.pid for one in etcd.members.values())]
        print(json.dumps(told), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def alive(pid: int) -> bool:
    """Whether there is such a process; one that has ended and that nobody has taken note of yet is none."""
    try:
        os.kill(pid, 0)
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:
        return True


async def gone(*pids: int, folder: pathlib.Path, seconds: float = 5.0) -> None:
    async def left() -> bool:
        return not any(alive(pid) for pid in pids) and not await asyncio.to_thread(folder.exists)

    await polling.until(f"processes {pids} and {folder} are gone", left, seconds)


async def test_nothing_is_left_when_whoever_started_them_is_killed():
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert holder.stdout is not None
    async with asyncio.timeout(20):
        folder, *pids = json.loads(await holder.stdout.readline())
    assert [alive(pid) for pid in pids] == [True, True]
    holder.kill()
    await holder.wait()
    await gone(*pids, folder=pathlib.Path(folder))


async def test_nothing_is_left_after_an_orderly_end_not_even_of_one_that_holds_still():
    async with cluster.Cluster(strict=False) as etcd:
        await etcd.grow("a", "b")
        await etcd.members["a"].pause()
        pids = [one.pid for one in etcd.members.values() if one.pid is not None]
        assert len(pids) == 2
        folder = etcd.client_folder().parent
        keys = list(folder.rglob("*.key"))
        assert len(keys) == 6
        assert {stat.S_IMODE(path.stat().st_mode) for path in keys} == {0o600}
    await gone(*pids, folder=folder, seconds=1.0)


async def test_a_keeper_that_is_killed_takes_the_processes_with_it():
    async with keeping.Keeping() as processes:
        await processes.start("a", ["sleep", "60"])
        pid = processes.pid("a")
        assert pid is not None
        assert processes._keeper is not None
        processes._keeper.kill()
        await gone(pid, folder=processes.folder / "no such folder")
        with pytest.raises(keeping.KeepingError, match="keeper is gone"):
            await processes.start("b", ["sleep", "60"])
