"""What the JSON gateway says, in the raw: the habits that every reader relies on; and that no member outlives a test.

An orderly end is held by `leftovers` in every test here.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys

import aiohttp
import pytest
import pytest_asyncio

from test import polling
from topology_simulator.etcd import certificates, cluster, gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two_and_more():
    """Two voters, a learner, and a voter that has not started."""
    async with cluster.Cluster(strict=False) as made:
        await made.grow("a", "b")
        await made.add("learner")
        await made.announce("unstarted", learner=False)
        yield made


async def test_a_learner_says_that_it_is_well_but_not_who_is_a_member(two_and_more):
    etcd = two_and_more
    learner = etcd.members["learner"].url
    assert await etcd.client.healthy(learner)
    for linearizable in (True, False):
        with pytest.raises(gateway.GatewayError) as refused:
            await etcd.client.members(learner, linearizable=linearizable)
        assert refused.value.by_learner, refused.value


async def test_only_a_learner_that_has_caught_up_is_promoted():
    async with cluster.Cluster(strict=False) as etcd:
        await etcd.bootstrap("a")
        await etcd.announce("b")
        with pytest.raises(gateway.GatewayError, match="too many learner members"):
            await etcd.announce("c")
        assert set(etcd.members) == {"a", "b"}, "one learner at a time"
        assert (
            await etcd.try_to_promote("b")
            == "etcdserver: can only promote a learner member which is in sync with leader"
        )
        await etcd.start("b")
        await etcd.promote("b")
        assert not (await etcd.named("b")).learner


async def test_no_client_gets_in_without_a_certificate_of_the_same_authority(two_and_more, tmp_path):
    etcd = two_and_more
    stranger = certificates.Authority()
    trusting = etcd.authority.certificate
    for pair in (None, stranger.client(), etcd.authority.client(expired=True)):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        context = gateway.tls(certificates.write(folder, trusting, pair))
        async with gateway.Gateway(context) as client:
            with pytest.raises(gateway.GatewayError) as refused:
                await client.members(etcd.members["a"].url)
            assert refused.value.code == 0
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        plain = etcd.members["a"].url.replace("https", "http")
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.get(f"{plain}/health")


# -- the processes


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
    """Whether there is such a process; one that has ended and that no parent has taken note of yet is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


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

    async def gone() -> bool:
        return not any(alive(pid) for pid in pids) and not await asyncio.to_thread(pathlib.Path(folder).exists)

    await polling.until(f"processes {pids} and {folder} are gone", gone, 5.0)
