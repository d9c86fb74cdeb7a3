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
from test.etcd import conftest
from topology_simulator.etcd import cluster, gateway, keeping, member

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


async def test_a_member_that_was_killed_comes_back_where_it_was(etcd):
    await etcd.grow(*conftest.THREE)
    leader = await etcd.leader()
    await leader.kill()
    assert not leader.running
    assert (await etcd.leader()).name != leader.name
    await leader.start_again()
    assert (await leader.ready(etcd.client)).id == (await etcd.named(leader.name)).id


async def test_a_member_that_holds_still_accepts_connections_and_answers_nothing(etcd):
    await etcd.bootstrap("a")
    one = etcd.members["a"]
    await one.pause()
    async with gateway.Gateway(gateway.tls(etcd.client_folder()), seconds=0.3) as client:
        with pytest.raises(gateway.GatewayError, match="TimeoutError"):
            await client.status(one.url)
    assert not one.answering
    await one.resume()
    assert (await one.ready(etcd.client)).leader


async def test_without_quorum_only_opinions_are_left(etcd):
    await etcd.grow(*conftest.THREE)
    for name in conftest.THREE[1:]:
        await etcd.members[name].kill()
    left = etcd.members["master-0"]
    async with gateway.Gateway(gateway.tls(etcd.client_folder()), seconds=0.5) as client:
        with pytest.raises(gateway.GatewayError):
            await client.members(left.url)
        assert len(await client.members(left.url, linearizable=False)) == 3

        async def leaderless() -> bool:
            return not (await client.status(left.url)).leader

        await polling.until("the last one notices that nobody leads", leaderless, 5.0)
        assert not await client.healthy(left.url)


async def test_a_member_that_cannot_start_says_why(etcd):
    await etcd.bootstrap("a")
    broken = member.Secrets(etcd.authority.certificate, etcd.authority.member("b"), etcd.authority.member("b"))
    await etcd.announce("b", secrets=broken)
    (etcd.members["b"]._folder / "peer" / "tls.key").write_text("no key")
    with pytest.raises(member.MemberError, match="has ended") as told:
        await etcd.start("b")
    assert "tls" in str(told.value)


async def test_a_binary_that_is_not_there_is_an_error_and_not_a_wait(tmp_path):
    async with keeping.Keeping() as processes:
        async with asyncio.timeout(5.0 * polling.PATIENCE):
            with pytest.raises(keeping.KeepingError):
                await processes.start("a", [str(tmp_path / "etcd")])


async def test_a_process_that_ends_at_once_has_been_started():
    async with keeping.Keeping() as processes:
        for _ in range(3):
            await processes.start("a", ["false"])
            await processes.end("a")
            assert processes.pid("a") is None


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


async def test_members_that_were_taken_away_can_only_come_back_as_new_ones(etcd):
    await etcd.grow("a", "b", "c")
    await etcd.remove("b")
    assert sorted(one.name for one in await etcd.listed()) == ["a", "c"]
    assert set(etcd.members) == {"a", "c"}
    await etcd.grow("b")
    assert sorted(one.name for one in await etcd.listed()) == ["a", "b", "c"]
