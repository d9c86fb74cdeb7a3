"""Endpoints where somebody else answers, or nobody: never Met, and named."""

from __future__ import annotations

import contextlib
import ssl

import pytest
from aiohttp import web

from test.etcd import asking, conftest
from topology_simulator.etcd import certificates, cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")


@contextlib.asynccontextmanager
async def served(answer, context=None):
    """Answer every request with `answer(request)`, over TLS when there is a context; yields the https URL."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
def serving(three, tmp_path):
    """A TLS context that the cluster's own authority has signed: whoever has it is no stranger to TLS."""
    folder = certificates.write(tmp_path / "server", three.authority.certificate, three.authority.member("x"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


async def good_otherwise(three, url):
    """The same question with this endpoint besides all good ones, and with it alone."""
    besides = await asking.ask(three, endpoints=(*three.urls, url))
    alone = await asking.ask(three, endpoints=(url,))
    return besides, alone


@pytest.mark.parametrize(
    "answer",
    [
        lambda: web.json_response({}),
        lambda: web.json_response([]),
        lambda: web.Response(text="<html>It works!</html>", content_type="text/html"),
        lambda: web.json_response({"error": "no", "code": 12, "message": "no"}, status=501),
        lambda: web.Response(status=307, headers={"Location": "https://127.0.0.1:1/"}),
        lambda: web.Response(body=b"\x00" * (2 << 20)),
    ],
    ids=["empty object", "list", "page", "refusal", "redirection", "zeros"],
)
async def test_a_server_that_is_no_etcd(three, serving, answer):
    async def say(_):
        return answer()

    async with served(say, serving) as url:
        for told in await good_otherwise(three, url):
            assert told.status is asking.UNKNOWN, told
            assert url in told.message


async def test_a_member_of_another_cluster(three):
    """The same authority signs for both, as it may in a fleet that was set up by one script."""
    async with cluster.Cluster(strict=False, authority=three.authority) as other:
        await other.grow(*conftest.THREE)
        besides, alone = await good_otherwise(three, other.urls[0])
    assert besides.status is asking.UNMET, besides
    assert "different etcd clusters" in besides.message
    assert alone.status is asking.UNMET, alone
    assert "etcd-endpoints" in alone.message


async def test_a_removed_member_that_was_started_anew_by_itself(three):
    """A node that was taken out and reinstalled with a single etcd of its own, at an address that is still named."""
    async with cluster.Cluster(strict=False, authority=three.authority) as lonely:
        await lonely.bootstrap("master-2")
        answer = await asking.ask(three, endpoints=(*three.urls[:2], lonely.urls[0]))
    assert answer.status is asking.UNMET, answer
