"""The server itself: what probes and Prometheus are told, what is served without a certificate, and what it survives.

Without a certificate it is loopback only, for who asks by a name of this machine.
"""

import asyncio
import pathlib
import socket
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import pytest
from test import polling

from topology_controller.definitions import load
from topology_controller.report import metrics
from topology_controller.serve import routes
from topology_controller.serve import server as servers

from . import ground

TRANSITIONS = load.load(pathlib.Path(__file__).resolve().parents[3] / "bindata" / "transitions")


def served(*troubles: str, working_since: float | None = None) -> AbstractAsyncContextManager[servers.Server]:
    measured = metrics.Metrics(TRANSITIONS, lease="test")
    paths = (
        *routes.probes(lambda: troubles, lambda: working_since),
        *routes.scrape(measured, lambda: {"infrastructure": 1700000000.0}),
    )
    return ground.running(servers.Server(servers.Address.parse("127.0.0.1:0"), paths))


async def get(url: str, **options: Any) -> tuple[int, str]:
    timeout = aiohttp.ClientTimeout(total=5)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url, **options) as answer:
        return answer.status, await answer.text()


async def test_a_blind_operator_is_not_ready_and_says_which_watch():
    async with served("nodes: Forbidden") as server:
        assert await get(f"http://127.0.0.1:{server.bound}/readyz") == (500, "nodes: Forbidden\n")
        # A restart would not give it the right to read nodes.
        for path in ("healthz", "livez"):
            assert await get(f"http://127.0.0.1:{server.bound}/{path}") == (200, "ok\n")


async def test_a_loop_that_hangs_is_not_alive():
    async with served(working_since=asyncio.get_running_loop().time() - routes.STUCK_BOUND - 1) as server:
        status, text = await get(f"http://127.0.0.1:{server.bound}/healthz")
        assert (status, "one pass" in text) == (500, True), text


@pytest.mark.parametrize("text", ["0.0.0.0:8443", ":8443", "[::]:8443", "10.0.0.1:80", "example:80"])
def test_metrics_are_not_served_openly(text):
    listening = servers.Address.parse(text)
    with pytest.raises(ValueError, match="--serving-cert-dir"):
        servers.refuse_open_http(listening, None)
    servers.refuse_open_http(listening, pathlib.Path("certificates"))


@pytest.mark.parametrize("text", ["", "8443", "host:", "host:port", "host:65536", "host:-1"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match="HOST:PORT"):
        servers.Address.parse(text)


# Without a certificate


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("localhost", 200),
        ("LOCALHOST:8443", 200),
        ("127.0.0.1", 200),
        ("127.9.9.9:", 200),
        ("[::1]", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("0.0.0.0", 421),
        ("2130706433", 421),
        ("", 421),
        ("localhost:80:80", 421),
    ],
)
async def test_only_a_name_of_this_machine_is_answered(host, code):
    """A web site may let its own name lead to 127.0.0.1; the browser then sends that name."""
    async with ground.running(servers.Server(servers.Address("127.0.0.1", 0), ground.ROUTES)) as server:
        found, text = await get(f"http://127.0.0.1:{server.bound}/metrics", headers={"Host": host})
    assert found == code, text


async def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = servers.Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(OSError, match="in use"):
            async with servers.Server(place, ground.ROUTES):
                pass


# Failing


@pytest.mark.parametrize("error", [AssertionError, MemoryError])
async def test_whatever_the_handshake_of_one_client_raises_the_others_are_served(
    folder, tls, monkeypatch, caplog, error
):
    loop = asyncio.get_running_loop()
    accept, handshakes = loop.connect_accepted_socket, 0

    async def accepting(*arguments: Any, **options: Any) -> Any:
        nonlocal handshakes
        handshakes += 1
        if handshakes % 2:
            raise error("not foreseen")
        return await accept(*arguments, **options)

    monkeypatch.setattr(loop, "connect_accepted_socket", accepting)
    async with ground.served(ground.Cluster(), folder) as server:
        files = ground.open_files()
        for _ in range(3):
            with pytest.raises(aiohttp.ClientError):
                await ground.get(server, tls, "/healthz")
            assert await ground.get(server, tls, "/healthz") == (200, "this is /healthz\n")
        await polling.until("all were forgotten", lambda: len(server._open) == 0)
        await polling.until("their sockets are closed", lambda: ground.open_files() <= files)
    logged = [entry for entry in caplog.records if entry.exc_info and entry.levelname == "ERROR"]
    assert len(logged) == 1, "once, whatever the number of its clients"


async def test_without_files_to_spare_it_waits_and_goes_on(folder, tls, monkeypatch, caplog):
    """EMFILE: the listening socket stays readable, which must not become a loop that does nothing else."""
    accept, tries = socket.socket.accept, 0

    def exhausted(listening):
        nonlocal tries
        tries += 1
        if tries <= 2:
            raise OSError(24, "Too many open files")
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", exhausted)
    monkeypatch.setattr(servers, "_PAUSE", 0.1)
    async with ground.served(ground.Cluster(), folder) as server:
        assert (await ground.get(server, tls, "/healthz"))[0] == 200
    assert 3 <= tries <= 10
    told = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert told == ["cannot accept connections: Too many open files"]
