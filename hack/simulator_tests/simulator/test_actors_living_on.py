"""Actors end without a trace, survive an API server that goes away, and are quiet when there is no news."""

from __future__ import annotations

import asyncio

import pytest

from topology_simulator import cluster, install, pace
from topology_simulator.actors import hub, workloads
from topology_simulator.apiserver import faults


async def test_nothing_is_left_when_they_stop(api, access, served):
    await install.install(api, cluster.Shape())
    before = asyncio.all_tasks()
    async with hub.Actors(access, pace.FAST):
        await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) > len(before)
    async with asyncio.timeout(30):
        while served.open_watches:  # noqa: ASYNC110  # the server's side of a real socket closes a moment later
            await asyncio.sleep(0.01)
    ours = [task for task in asyncio.all_tasks() - before if "topology_simulator/apiserver" not in repr(task)]
    assert [task for task in ours if "topology_simulator" in repr(task)] == []


async def test_they_go_on_when_the_server_comes_back(living):
    port = living.server.port
    await living.server.stop()
    await asyncio.sleep(0.1)
    await living.server.start(port=port)
    await living.join("master-1")
    await living.eventually(living.voters, ["master-0", "master-1"])


async def test_they_bear_cut_watches_and_an_expired_log(living):
    living.server.faults.add(faults.Fault(action="cut"))
    unavailable = living.server.faults.add(faults.Fault(action="status", code=503, count=10))
    await living.eventually(lambda: asyncio.sleep(0, unavailable.hits), 10)
    living.server.compact()
    living.server.faults.add(faults.Fault(action="expire"))
    await living.join("master-1")
    await living.eventually(living.voters, ["master-0", "master-1"])


async def test_only_heartbeats_and_the_lease_are_written_when_there_is_no_news(living):
    quiet = {("patch", "nodes"), ("patch", "leases")}
    writes: set[tuple[str, str]] = set()
    ends = asyncio.get_running_loop().time() + 60
    # A busy machine may let less than a heartbeat into one window.
    while writes != quiet and asyncio.get_running_loop().time() < ends:
        living.server.requests.clear()
        await asyncio.sleep(0.8)
        writes = {(one.verb, one.resource) for one in living.server.requests} - _reads(living.server.requests)
    assert writes == quiet, f"either they no longer live, or there is always news: {writes}"


def _reads(asked):
    return {(one.verb, one.resource) for one in asked if one.verb in ("get", "list", "watch")}


async def test_a_fault_of_ours_ends_the_whole_cast_instead_of_leaving_it_half_alive(api, access, monkeypatch):
    await install.install(api, cluster.Shape())

    async def broken(_):
        raise KeyError("a bug")

    monkeypatch.setattr(workloads.Ingress, "step", broken)
    with pytest.raises(ExceptionGroup) as died:
        async with asyncio.timeout(5), hub.Actors(access, pace.FAST):
            await asyncio.Event().wait()
    assert died.group_contains(KeyError)


async def test_an_error_of_whoever_uses_them_comes_out_as_it_is(api, access):
    await install.install(api, cluster.Shape())
    with pytest.raises(LookupError, match="mine"):
        async with hub.Actors(access, pace.FAST):
            raise LookupError("mine")
