"""What the JSON gateway says, in the raw: the habits that every reader relies on."""

from __future__ import annotations

import aiohttp
import pytest
import pytest_asyncio

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
        assert (
            await etcd.try_to_promote("b")
            == "etcdserver: can only promote a learner member which is in sync with leader"
        )
        await etcd.start("b")
        await etcd.promote("b")
        assert not (await etcd.named("b")).learner


async def test_one_learner_at_a_time():
    async with cluster.Cluster(strict=False) as etcd:
        await etcd.bootstrap("a")
        await etcd.announce("b")
        with pytest.raises(gateway.GatewayError, match="too many learner members"):
            await etcd.announce("c")
        assert set(etcd.members) == {"a", "b"}


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
