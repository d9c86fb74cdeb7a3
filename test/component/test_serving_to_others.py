"""The operator as a process with a serving certificate, before a real kube-apiserver: who gets in, and by which TLS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from test.component import metrics_clients, real
from topology_simulator import serving

if TYPE_CHECKING:
    import pathlib

    from test.component.world import World

_PAGE = "the status page is on port "
_REVIEWS = {"tokenreviews", "subjectaccessreviews"}


@pytest.fixture
def given(real_server: real.Session, tmp_path: pathlib.Path) -> serving.Serving:
    return serving.Serving(tmp_path / "tls", real_server.server.client_authority)


def reviews(events: list[Any]) -> int:
    return sum(one.resource in _REVIEWS and one.user == real.OPERATOR.name for one in events)


async def test_who_may_scrape_by_token_and_by_certificate(
    there: World, given: serving.Serving, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    operator = await metrics_clients.serving_tls(there.operator, given)

    async def ask(path: str, token: str = "") -> tuple[int, str]:
        return await operator.ask(path, headers={"Authorization": f"Bearer {token}"} if token else None)

    async with (
        metrics_clients.account(there.api, "wrong") as wrong,
        metrics_clients.account(there.api, "scraper", metrics_clients.METRICS_ROLE) as scraper,
    ):
        for path in ("/healthz", "/livez", "/readyz"):
            assert await ask(path) == (200, "ok\n"), "open: a kubelet has no credentials"
        for path in ("/metrics", "/", "/state", "/events", "/nothing"):
            assert (await ask(path))[0] == 401
            code, text = await ask(path, wrong)
            assert (code, '"system:serviceaccount:default:wrong" may not get' in text) == (403, True), text
        assert (await ask("/metrics", "made.up.token"))[0] == 401
        code, text = await ask("/metrics", scraper)
        assert (code, "topology_transition_phase{" in text) == (200, True)
        for resource in ("client_ca", "apiserver"):
            assert f'topology_watch_last_activity_timestamp_seconds{{resource="{resource}"}}' in text
        for path in ("/", "/state", "/events"):
            assert (await ask(path, scraper))[0] == 404, "the page is not on this port"
        log = real_server.server.audit()
        for _ in range(10):
            assert (await ask("/metrics", scraper))[0] == 200
        assert not reviews(log.read()), "remembered"

    for _ in range(3):
        assert (await operator.ask("/metrics", tls=given.tls()))[0] == 200
    assert not reviews(log.read()), "nobody is asked about the certificate of Prometheus"
    # The Kubernetes API has the same opinion of another certificate of its CA, which it is asked about.
    assert (await operator.ask("/metrics", tls=given.tls("stranger")))[0] == 403
    assert reviews(log.read()) == 1

    foreign = serving.Serving(tmp_path / "strangers", serving.authority()).tls()
    foreign.load_verify_locations(given.certificates / "ca.crt")
    for path in ("/metrics", "/healthz"):
        with pytest.raises(aiohttp.ClientError):
            await operator.ask(path, tls=foreign)
    assert operator.alive


async def test_the_page_is_on_loopback_where_it_is_asked_for(there: World, given: serving.Serving) -> None:
    """With a serving certificate; the API server decides who sees it, by the right to forward a port of the pod."""
    operator = await metrics_clients.serving_tls(there.operator, given, "--page-address", "127.0.0.1:0")
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
