"""The real API server of tests and demos: up quickly, closed to strangers, and gone whatever happens to its owner."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import sys
import time
from typing import TYPE_CHECKING

import aiohttp
import pytest

from test import polling
from test.component import controllers
from topology_simulator import client as clients
from topology_simulator import kinds, kubeconfig
from topology_simulator.envtest import server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.usefixtures("real_binaries")
_UP_SECONDS = 10.0 * polling.PATIENCE
_COLLECTED_SECONDS = 60.0
_OWNER = """
import asyncio, json, signal
from topology_simulator.envtest import server

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with server.RealServer() as real:
        print(json.dumps({"pids": real.pids, "folder": str(real.folder)}), flush=True)
        await stop.wait()

asyncio.run(main())
"""


@pytest.fixture
async def real() -> AsyncIterator[server.RealServer]:
    nobody = {"nobody": server.User("nobody", ("strangers",))}
    async with server.RealServer(nobody) as started:
        yield started


def _client(real: server.RealServer, *token: str) -> clients.Client:
    return clients.Client(kubeconfig.access(real.kubeconfig(*token), real.folder))


async def test_it_is_up_soon_and_remembers_over_a_restart(figure) -> None:
    began = time.monotonic()
    async with server.RealServer() as real:
        up = time.monotonic() - began
        async with _client(real) as api:
            await api.create(kinds.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kept"}})
            began = time.monotonic()
            await real.restart_api()
            back = time.monotonic() - began
            assert (await api.get(kinds.NAMESPACES, "kept"))["metadata"]["name"] == "kept"
        folder, pids = real.folder, real.pids
        assert sorted(pids) == ["etcd", "kube-apiserver"]
    figure(f"a real kube-apiserver with etcd is up in {up:.1f} s and back in {back:.1f} s")
    assert up < _UP_SECONDS
    assert not folder.exists()
    assert [pid for pid in pids.values() if _runs(pid)] == []


async def test_whoever_has_no_rights_is_refused_and_the_log_says_so(real: server.RealServer) -> None:
    log = real.audit()
    async with _client(real, "nobody") as stranger:
        with pytest.raises(clients.ApiError) as refused:
            await stranger.list(kinds.NODES)
    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    async with _client(real, "unheard-of") as stranger:
        with pytest.raises(clients.ApiError) as unknown:
            await stranger.list(kinds.NODES)
    assert unknown.value.code == 401
    seen = [(one.user, one.verb, one.resource, one.code, one.allowed) for one in log.read() if one.user == "nobody"]
    assert seen == [("nobody", "list", "nodes", 403, False)]


@pytest.mark.nightly
async def test_an_old_revision_is_gone_after_compaction(real: server.RealServer) -> None:
    """The API server remembers by itself, so it is started anew."""
    async with _client(real) as api:
        made = await api.create(
            kinds.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "first"}}
        )
        version = made["metadata"]["resourceVersion"]
        await api.patch(kinds.NAMESPACES, "first", {"metadata": {"labels": {"changed": "yes"}}})
    await real.compact()
    await real.restart_api()
    access = kubeconfig.access(real.kubeconfig(), real.folder)
    watch = f"{real.url}/api/v1/namespaces?watch=true&timeoutSeconds=5&resourceVersion={version}"
    async with (
        aiohttp.ClientSession(headers=access.headers) as session,
        session.get(watch, ssl=real.tls()) as response,
    ):
        said = json.loads(await response.content.readline())
    assert (said["type"], said["object"]["code"], said["object"]["reason"]) == ("ERROR", 410, "Expired"), said


async def test_clusters_that_share_an_etcd_do_not_see_each_other(real: server.RealServer) -> None:
    namespace = kinds.NAMESPACES.new("only-here")
    async with server.RealServer(beside=real, prefix="/another") as other:
        assert list(other.pids) == ["kube-apiserver"]
        async with _client(real) as here, _client(other) as there:
            await there.create(kinds.NAMESPACES, namespace)
            assert await here.find(kinds.NAMESPACES, "only-here") is None
            await real.stop_api()
            await other.restart_api()
            assert await there.find(kinds.NAMESPACES, "only-here") is not None


async def test_its_controllers_empty_a_namespace_and_collect_what_lost_its_owner(real: server.RealServer) -> None:
    async with _client(real) as api:
        owner = await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new("owner"))
        await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new("inhabited"))
        await api.create(kinds.CONFIG_MAPS, kinds.CONFIG_MAPS.new("content", "inhabited"))
        reference = {"apiVersion": "v1", "kind": "Namespace", "name": "owner", "uid": owner["metadata"]["uid"]}
        dependent = kinds.CONFIG_MAPS.new("dependent", "default")
        dependent["metadata"]["ownerReferences"] = [reference]
        await api.create(kinds.CONFIG_MAPS, dependent)
        await api.create(kinds.CONFIG_MAPS, kinds.CONFIG_MAPS.new("independent", "default"))

        async def left() -> set[str]:
            found = [*await api.list(kinds.NAMESPACES), *await api.list(kinds.CONFIG_MAPS)]
            names = {one["metadata"]["name"] for one in found}
            return names & {"owner", "inhabited", "content", "dependent", "independent"}

        for name in ("owner", "inhabited"):
            await api.delete(kinds.NAMESPACES, name)
        assert await left() == {"owner", "inhabited", "content", "dependent", "independent"}, "nothing reconciles here"
        await real.start_controllers(controllers.NAMESPACES, controllers.GARBAGE)

        async def collected() -> bool:
            return await left() == {"independent"}

        await polling.until("only what has no owner and no namespace to lose is left", collected, _COLLECTED_SECONDS)
        await real.stop_controllers()


@pytest.mark.nightly
async def test_controllers_that_do_not_start_say_why(real: server.RealServer) -> None:
    await real.start_controllers("no-such-controller")

    async def ended() -> bool:
        return len(real.pids) == 2

    await polling.until("kube-controller-manager has ended", ended)
    with pytest.raises(server.RealServerError, match="no-such-controller"):
        await real.stop_controllers()


@pytest.mark.nightly(but=("keeper",))
@pytest.mark.parametrize("victim", ["owner", "keeper"])
async def test_nothing_is_left_when_somebody_is_killed(victim: str) -> None:
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", _OWNER, stdout=asyncio.subprocess.PIPE)
    assert owner.stdout is not None
    try:
        async with asyncio.timeout(30):
            told = json.loads(await owner.stdout.readline())
        pids, folder = list(told["pids"].values()), pathlib.Path(told["folder"])
        assert all(_runs(pid) for pid in pids)
        os.kill(owner.pid if victim == "owner" else _parent(pids[0]), signal.SIGKILL)

        async def gone() -> bool:
            return not any(_runs(pid) for pid in pids)

        await polling.until("both servers have ended", gone)
        if victim == "keeper":
            # Its owner is alive, and clears up when it leaves.
            owner.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            await owner.wait()

        async def cleared() -> bool:
            return not await asyncio.to_thread(folder.exists)

        await polling.until(f"{folder} is removed", cleared)
    finally:
        with contextlib.suppress(ProcessLookupError):
            owner.kill()
        await owner.wait()


def _status(pid: int) -> dict[str, str]:
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def _runs(pid: int) -> bool:
    return _status(pid).get("State", "Z")[0] != "Z"


def _parent(pid: int) -> int:
    return int(_status(pid)["PPid"])
