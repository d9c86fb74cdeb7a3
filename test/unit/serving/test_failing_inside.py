"""When the server itself fails, whoever runs it is told; when they fail, their own reason stays what it is."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from topology_controller.serve import server as servers

from . import ground


class LeaseLostError(Exception):
    pass


async def test_the_reason_of_whoever_entered_is_not_wrapped(tmp_path):
    folder = ground.serving_pair(tmp_path / "serving")
    with pytest.raises(LeaseLostError):
        async with ground.served(ground.Cluster(), folder):
            raise LeaseLostError


async def test_a_task_that_fails_ends_what_was_entered_and_says_why(tmp_path, monkeypatch):
    folder = ground.serving_pair(tmp_path / "serving")
    made = servers.Security(ground.Cluster(), folder)  # type: ignore[arg-type]  # stands in for the client

    async def fail() -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(made.tls, "run", fail)
    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="a bug")):
        async with servers.Server(servers.Address("127.0.0.1", 0), ground.ROUTES, made):
            await asyncio.sleep(30)


async def test_a_task_that_ends_without_an_error_is_a_failure_too(tmp_path, monkeypatch):
    made = servers.Security(ground.Cluster(), ground.serving_pair(tmp_path / "serving"))  # type: ignore[arg-type]  # stands in for the client

    async def end() -> None:
        pass

    monkeypatch.setattr(made.tls, "run", end)
    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="ended")):
        async with servers.Server(servers.Address("127.0.0.1", 0), ground.ROUTES, made):
            await asyncio.sleep(30)


@pytest.mark.parametrize("error", [RuntimeError, AssertionError, MemoryError, ValueError])
async def test_whatever_the_handshake_of_one_client_raises_the_others_are_served(tmp_path, monkeypatch, caplog, error):
    loop = asyncio.get_running_loop()
    accept, handshakes = loop.connect_accepted_socket, 0

    async def accepting(*arguments: Any, **options: Any) -> Any:
        nonlocal handshakes
        handshakes += 1
        if handshakes % 2:
            raise error("not foreseen")
        return await accept(*arguments, **options)

    monkeypatch.setattr(loop, "connect_accepted_socket", accepting)
    tls = ground.client_tls(tmp_path)
    async with ground.served(ground.Cluster(), ground.serving_pair(tmp_path / "serving")) as server:
        files = ground.open_files()
        for _ in range(3):
            with pytest.raises(aiohttp.ClientError):
                await ground.get(server, tls, "/healthz")
            assert await ground.get(server, tls, "/healthz") == (200, "this is /healthz\n")
        await ground.until("all were forgotten", lambda: server.connected == 0)
        await ground.until("their sockets are closed", lambda: ground.open_files() <= files)
    logged = [entry for entry in caplog.records if entry.exc_info and entry.levelname == "ERROR"]
    assert len(logged) == 1, "once, whatever the number of its clients"


async def test_without_files_to_spare_it_waits_and_goes_on(tmp_path, monkeypatch, caplog):
    """EMFILE: the listening socket stays readable, which must not become a loop that does nothing else."""
    tries = 0

    class Exhausted:
        def __init__(self, inner) -> None:
            self.inner = inner

        def accept(self):
            nonlocal tries
            tries += 1
            if tries <= 2:
                raise OSError(24, "Too many open files")
            return self.inner.accept()

        def __getattr__(self, name: str):
            return getattr(self.inner, name)

    listen = servers._listen

    async def listening(place):
        return [Exhausted(one) for one in await listen(place)]

    monkeypatch.setattr(servers, "_listen", listening)
    monkeypatch.setattr(servers, "_PAUSE", 0.1)
    folder = ground.serving_pair(tmp_path / "serving")
    async with ground.served(ground.Cluster(), folder) as server:
        assert (await ground.get(server, ground.client_tls(tmp_path), "/healthz"))[0] == 200
    assert 3 <= tries <= 10
    told = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert told == ["cannot accept connections: Too many open files"]
