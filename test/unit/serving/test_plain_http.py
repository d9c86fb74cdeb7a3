"""Without a certificate: loopback only, and only for who asks by a name of this machine."""

from __future__ import annotations

import socket

import aiohttp
import pytest

from topology_controller.serve import server as servers

from . import ground


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("localhost", 200),
        ("LOCALHOST:8443", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:1", 200),
        ("127.9.9.9:", 200),
        ("[::1]", 200),
        ("[::1]:8443", 200),
        ("evil.example", 421),
        ("evil.example:8443", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("10.0.0.1", 421),
        ("0.0.0.0", 421),
        ("[::]", 421),
        ("2130706433", 421),
        ("", 421),
        ("localhost:80:80", 421),
        ("localhost:http", 421),
    ],
)
async def test_only_a_name_of_this_machine_is_answered(host, code):
    """A web site may let its own name lead to 127.0.0.1; the browser then sends that name."""
    async with servers.Server(servers.Address("127.0.0.1", 0), ground.ROUTES) as server:
        limit = aiohttp.ClientTimeout(total=5)
        async with (
            aiohttp.ClientSession(timeout=limit) as client,
            client.get(f"http://127.0.0.1:{server.bound}/metrics", headers={"Host": host}) as answer,
        ):
            assert answer.status == code, await answer.text()


async def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = servers.Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(OSError, match="in use"):
            async with servers.Server(place, ground.ROUTES):
                pass


async def test_without_a_host_every_family_of_the_machine_is_served(tmp_path):
    folder = ground.serving_pair(tmp_path / "serving")
    made = servers.Security(ground.Cluster(), folder)  # type: ignore[arg-type]  # stands in for the client
    tls = ground.client_tls(tmp_path)
    async with (
        servers.Server(servers.Address.parse(":0"), ground.ROUTES, made) as server,
        ground.session(tls) as client,
    ):
        for host in ("127.0.0.1", *(("[::1]",) if socket.has_dualstack_ipv6() else ())):
            async with client.get(
                f"https://{host}:{server.bound}/healthz", ssl=tls if host[0] == "1" else False
            ) as answer:
                assert answer.status == 200
