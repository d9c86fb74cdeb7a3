"""The operator as a process with a serving certificate, before a real kube-apiserver: who gets in, and by which TLS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from test.component import backend, metrics_clients, real
from test.component import world as worlds
from topology_simulator import serving

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

_PAGE = "the status page is on port "


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


def reviews(events: list[Any]) -> list[Any]:
    return [one for one in events if one.resource in metrics_clients.REVIEWS and one.user == real.OPERATOR.name]


async def test_the_page_is_on_loopback_where_it_is_asked_for(
    world: worlds.World, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    """With a serving certificate; the API server decides who sees it, by the right to forward a port of the pod."""
    given = serving.Serving(tmp_path / "tls", real_server.server.client_authority)
    flags = ("--serving-cert-dir", str(given.certificates), "--page-address", "127.0.0.1:0")
    operator = await world.operator("operator-a", *flags, wait=False)
    operator.tls = metrics_clients.trusting(given)
    await operator.ready()
    said = await operator.said(_PAGE)
    place = f"http://127.0.0.1:{said.partition(_PAGE)[2].split()[0]}"
    async with aiohttp.ClientSession(place, timeout=aiohttp.ClientTimeout(total=5.0)) as forwarded:
        async with forwarded.get("/") as answer:
            assert (answer.status, "<title>" in await answer.text()) == (200, True)
        for path, headers, code in (
            ("/metrics", {}, 404),
            ("/state", {"Host": "evil.example"}, 421),
            ("/state", {"Origin": "http://evil.example"}, 403),
        ):
            async with forwarded.get(path, headers=headers) as answer:
                assert answer.status == code, (path, headers)
    assert (await operator.ask("/"))[0] == 401, "nor on the port that others reach"
    without = await world.operator("operator-b", "--serving-cert-dir", str(given.certificates), wait=False)
    without.tls = operator.tls
    await without.ready()
    assert _PAGE not in without.words()
