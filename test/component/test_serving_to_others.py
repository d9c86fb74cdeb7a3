"""The operator as a process with a serving certificate, before a real kube-apiserver: who gets in, and by which TLS."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import pathlib
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from test import polling
from test.component import backend, metrics_clients, real
from test.component import world as worlds
from topology_simulator import kinds, serving

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

_SECONDS = 20.0


@pytest.fixture
async def world(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    async with worlds.opened(backend.Place(real_server), tmp_path) as made:
        yield made


@pytest.fixture
async def served(world: worlds.World, real_server: real.Session, tmp_path: pathlib.Path) -> metrics_clients.Served:
    return await metrics_clients.served(world, real_server, tmp_path / "tls")


@pytest.fixture
def known(world: worlds.World) -> metrics_clients.MetricsClients:
    return metrics_clients.MetricsClients(world.api)


async def test_who_may_scrape(
    served: metrics_clients.Served, known: metrics_clients.MetricsClients, real_server: real.Session
) -> None:
    async with (
        known.account("wrong") as wrong,
        known.account("scraper", metrics_clients.METRICS_ROLE) as scraper,
    ):
        for path in ("/healthz", "/livez", "/readyz"):
            assert await served.ask(path) == (200, "ok\n"), "open: a kubelet has no credentials"
        for path in ("/metrics", "/", "/state", "/events", "/nothing"):
            assert (await served.ask(path))[0] == 401
            code, text = await served.ask(path, wrong)
            assert (code, '"system:serviceaccount:default:wrong" may not get' in text) == (403, True), text
        assert (await served.ask("/metrics", "made.up.token"))[0] == 401
        code, text = await served.ask("/metrics", scraper)
        assert (code, "topology_transition_phase{" in text) == (200, True)
        assert 'topology_watch_last_activity_timestamp_seconds{resource="client_ca"}' in text
        assert 'topology_watch_last_activity_timestamp_seconds{resource="apiserver"}' in text
        for path in ("/", "/state", "/events"):
            assert (await served.ask(path, scraper))[0] == 404, "the page is not on this port"
        asked = real_server.server.audit()
        for _ in range(10):
            assert (await served.ask("/metrics", scraper))[0] == 200
        assert not reviews(asked.read()), "remembered"


async def test_prometheus_comes_in_with_its_certificate_and_nobody_is_asked(
    served: metrics_clients.Served, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    asked = real_server.server.audit()
    for _ in range(3):
        code, text = await served.operator.ask("/metrics", tls=served.serving.scraper().tls())
        assert (code, "topology_transition_phase{" in text) == (200, True)
    assert not reviews(asked.read())
    # The Kubernetes API has the same opinion of another certificate of its CA, which it is asked about.
    assert (await served.operator.ask("/metrics", tls=served.serving.scraper("stranger").tls()))[0] == 403
    assert len(reviews(asked.read())) == 1

    strangers = serving.Serving(tmp_path / "strangers", serving.authority())
    foreign = strangers.scraper().tls()
    foreign.load_verify_locations(served.serving.scraper().authority)
    with pytest.raises(aiohttp.ClientError):
        await served.operator.ask("/metrics", tls=foreign)
    with pytest.raises(aiohttp.ClientError):
        await served.operator.ask("/healthz", tls=foreign)
    assert served.operator.alive


async def test_a_new_serving_certificate_is_served_without_a_restart(served: metrics_clients.Served) -> None:
    tls, port = served.nobody, await served.port()
    async with kept(port, tls) as ask:
        assert "close" not in await ask()
        before = await serial(port, tls)
        served.serving.renew()

        async def renewed() -> bool:
            return await serial(port, tls) != before

        await polling.until("the new certificate is served", renewed, _SECONDS)
        assert (await served.ask("/readyz"))[0] == 200
        assert "close" in await ask(), "one that is open is answered once more"
    assert served.operator.alive
    await served.operator.said("was replaced")


async def test_tls_12_is_spoken_or_not_as_the_cluster_says_while_it_runs(
    served: metrics_clients.Served, world: worlds.World
) -> None:
    async def speaks(tls: ssl.SSLContext) -> bool:
        try:
            return (await served.operator.ask("/healthz", tls=tls))[0] == 200
        except aiohttp.ClientError:
            return False

    async def is_so(*, old: bool) -> bool:
        return await speaks(served.old_nobody) is old and await speaks(served.nobody)

    async def wants(profile: dict[str, Any] | None) -> None:
        await world.api.patch(kinds.API_SERVERS, "cluster", {"spec": {"tlsSecurityProfile": profile}})

    await polling.until("Intermediate, where nothing is said", lambda: is_so(old=True), _SECONDS)
    await wants({"type": "Modern"})
    await polling.until("TLS 1.2 is refused", lambda: is_so(old=False), _SECONDS)
    await wants({"type": "Intermediate"})
    await polling.until("TLS 1.2 is accepted", lambda: is_so(old=True), _SECONDS)
    await world.api.delete(kinds.API_SERVERS, "cluster")
    await polling.until("the same without the object", lambda: is_so(old=True), _SECONDS)
    assert served.operator.alive


async def test_while_the_api_server_is_away_only_those_are_let_in_who_need_no_question(
    served: metrics_clients.Served, known: metrics_clients.MetricsClients, world: worlds.World
) -> None:
    async with known.account("scraper", metrics_clients.METRICS_ROLE) as scraper:
        assert (await served.ask("/metrics", scraper))[0] == 200
        async with world.server.away():
            assert (await served.ask("/metrics", scraper))[0] == 200, "believed for a minute"
            code, text = await served.ask("/metrics", "another.made.up")
            assert (code, "cannot be asked at the moment" in text) == (503, True), text
            assert (await served.operator.ask("/metrics", tls=served.serving.scraper().tls()))[0] == 200
            assert (await served.ask("/healthz"))[0] == 200

        async def nobodys() -> bool:
            return (await served.ask("/metrics", "another.made.up"))[0] == 401

        await polling.until("it is asked again", nobodys, _SECONDS)


@pytest.mark.nightly
async def test_memory_does_not_grow_with_requests(
    served: metrics_clients.Served, known: metrics_clients.MetricsClients, figure: Callable[[str], None]
) -> None:
    port, tls = await served.port(), served.nobody

    async def ask(number: int, token: str) -> None:
        limit = aiohttp.ClientTimeout(total=60)
        connector = aiohttp.TCPConnector(ssl=tls, limit=4)
        paths = ("/metrics", "/healthz", "/state", "/nothing")
        async with aiohttp.ClientSession(f"https://127.0.0.1:{port}", connector=connector, timeout=limit) as client:

            async def some(first: int) -> None:
                for one in range(first, number, 4):
                    who = token if one % 8 < 6 else f"made.up.{one % 16}"
                    headers = {
                        "Authorization": f"Bearer {who}",
                        "Connection": "close" if one % 20 == 0 else "keep-alive",
                    }
                    async with client.get(paths[one % 4], headers=headers) as answer:
                        await answer.read()

            await asyncio.gather(*(some(first) for first in range(4)))

    async with known.account("both", metrics_clients.METRICS_ROLE) as token:
        await ask(400, token)
        sizes = [resident(served)]
        for _ in range(4):
            await ask(500, token)
            sizes.append(resident(served))
    figure(f"{sizes[0] / 1024:.1f} MiB before 2,000 requests over TLS, {sizes[-1] / 1024:.1f} MiB after")
    # What leaks grows each time; what an allocator takes in one piece does not.
    assert min(after - before for before, after in itertools.pairwise(sizes)) < 256, f"{sizes} KiB"


async def test_a_full_house_costs_little_memory(served: metrics_clients.Served, figure: Callable[[str], None]) -> None:
    port, tls = await served.port(), served.nobody
    before = resident(served)
    async with contextlib.AsyncExitStack() as stack:
        for number in range(64):
            # A source has a share, the last places are for sources that have next to none.
            source = f"127.0.1.{number if number >= 48 else number // 24}"
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, local_addr=(source, 0))
            stack.callback(writer.transport.abort)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await reader.readuntil(b"ok\n")
        full = resident(served)
        assert (await served.ask("/readyz"))[0] == 200, "a probe finds room"
    figure(f"64 connections that are kept alive over TLS cost {(full - before) / 1024:.1f} MiB")
    assert (full - before) / 64 < 256, f"{before} KiB, then {full} KiB with 64 of them"


def reviews(events: list[Any]) -> list[Any]:
    return [one for one in events if one.resource in metrics_clients.REVIEWS and one.user == real.OPERATOR.name]


def resident(served: metrics_clients.Served) -> int:
    """Return how much memory the process has, in KiB."""
    status = pathlib.Path(f"/proc/{served.operator.process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


async def serial(port: int, tls: ssl.SSLContext) -> str:
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    try:
        return str(writer.get_extra_info("peercert")["serialNumber"])
    finally:
        writer.transport.abort()


@contextlib.asynccontextmanager
async def kept(port: int, tls: ssl.SSLContext) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """Lend a question by a connection that is kept: it returns the head of the answer, in lower case."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)

    async def ask() -> str:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert await reader.readexactly(3) == b"ok\n"
        return head.partition("connection:")[2].partition("\r\n")[0]

    try:
        yield ask
    finally:
        writer.transport.abort()
