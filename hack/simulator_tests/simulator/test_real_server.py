"""The real API server of tests and demos: up quickly, closed to strangers, and gone whatever happens to its owner."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import sys

import pytest
from test import polling

from topology_simulator import client as clients
from topology_simulator import kinds, kubeconfig
from topology_simulator.envtest import server

_OWNER = """
import asyncio, json, os
from topology_simulator.envtest import server

async def main():
    async with server.RealServer() as real:
        await real.hold("etcd")
        print(json.dumps({"pids": real.pids, "folder": str(real.folder)}), flush=True)
        await asyncio.Event().wait()

os.setsid()  # no parent in it is left then: the kernel sends SIGHUP to a group in which a process holds still
asyncio.run(main())
"""


async def test_it_is_up_soon_remembers_over_a_restart_and_refuses_strangers() -> None:
    async with server.RealServer({"nobody": server.User("nobody", ("strangers",))}) as real:
        log = real.audit()
        async with clients.Client(kubeconfig.access(real.kubeconfig())) as api:
            await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new("kept"))
            await real.restart_api()
            assert (await api.get(kinds.NAMESPACES, "kept"))["metadata"]["name"] == "kept"
        for token, code in (("nobody", 403), ("unheard-of", 401)):
            async with clients.Client(kubeconfig.access(real.kubeconfig(token))) as stranger:
                with pytest.raises(clients.ApiError) as refused:
                    await stranger.list(kinds.NODES)
            assert refused.value.code == code
        seen = [(one.verb, one.resource, one.code, one.allowed) for one in log.read() if one.user == "nobody"]
        assert seen == [("list", "nodes", 403, False)]
        folder, pids = real.folder, real.pids
        assert sorted(pids) == ["etcd", "kube-apiserver"]
    assert not folder.exists()
    assert [pid for pid in pids.values() if _runs(pid)] == []


async def test_nothing_is_left_when_the_owner_is_killed() -> None:
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", _OWNER, stdout=asyncio.subprocess.PIPE)
    assert owner.stdout is not None
    try:
        async with asyncio.timeout(30):
            told = json.loads(await owner.stdout.readline())
        pids, folder = list(told["pids"].values()), pathlib.Path(told["folder"])
        assert all(_runs(pid) for pid in pids)
        owner.kill()
        await polling.until("both servers have ended", lambda: not any(_runs(pid) for pid in pids))
        async with asyncio.timeout(30):
            await owner.wait()
        await polling.until(f"{folder} is removed", lambda: not folder.exists())
    finally:
        with contextlib.suppress(ProcessLookupError):
            owner.kill()
        await owner.wait()


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
