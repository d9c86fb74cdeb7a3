"""Who gets what over TLS: certificates, tokens, and nobody."""

from __future__ import annotations

import datetime as dt

import aiohttp
import pytest
from aiohttp import web

from topology_controller.kube import errors
from topology_controller.serve import authn

from . import ground

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def cluster():
    made = ground.Cluster(client_ca=ground.CLIENTS.certificate.decode())
    made.know("alices", "alice", authn.PATH)
    made.know("bobs", "bob", "/state")
    return made


@pytest.fixture
def folder(tmp_path):
    return ground.serving_pair(tmp_path / "serving")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        ("/healthz", {}, 200),
        ("/metrics", {}, 401),
        ("/", {}, 401),
        ("/sign-in", {}, 401),
        ("/state", {}, 401),
        ("/nothing-here", {}, 401),
        ("/%6detrics", {}, 401),
        ("/%68ealthz/../state", {}, 401),
        ("//healthz", {}, 401),
        ("/healthz/", {}, 401),
        ("/healthz%2f..%2fstate", {}, 401),
        ("/healthz;/state", {}, 401),
        ("/healthz?/state", {}, 200),
        ("/state?/healthz", {}, 401),
        ("/state#/healthz", {}, 401),
        ("/metrics", bearer("alices"), 200),
        ("/metrics", {"Authorization": "bEaReR   alices "}, 200),
        ("/state", bearer("alices"), 200),
        ("/nothing-here", bearer("alices"), 404),
        ("/metrics", bearer("bobs"), 403),
        ("/state", bearer("bobs"), 403),
        ("/metrics", {"Cookie": "topology_session=alices"}, 401),
        ("/metrics", bearer("nobodys"), 401),
        ("/metrics", {"Authorization": "Basic YWxpY2U6YWxpY2Vz"}, 401),
        ("/metrics", {"Authorization": "Bearer"}, 401),
        ("/metrics", {"Authorization": "Bearer alices bobs"}, 401),
    ],
)
async def test_who_gets_what(cluster, folder, tmp_path, path, headers, code):  # noqa: PLR0917 - fixtures and a row
    async with ground.served(cluster, folder) as server:
        found, text = await ground.get(server, ground.client_tls(tmp_path), path, **headers)
    assert found == code, text
    assert ("this is" in text) is (code == 200)


async def test_head_is_asked_for_as_get_and_other_methods_are_not_served(cluster, folder, tmp_path):
    async with ground.served(cluster, folder) as server, ground.session(ground.client_tls(tmp_path)) as client:
        for method, path, token, code in (
            ("HEAD", "/metrics", "alices", 200),
            ("HEAD", "/metrics", "bobs", 403),
            ("POST", "/metrics", "alices", 405),
            ("POST", "/healthz", "nobodys", 401),
        ):
            async with client.request(method, ground.url(server, path), headers=bearer(token)) as answer:
                assert answer.status == code, method
        assert {spec["nonResourceAttributes"]["verb"] for kind, spec in cluster.asked if "Access" in kind} == {"get"}


async def test_prometheus_with_its_certificate_needs_no_question_and_with_a_token_it_does(cluster, folder, tmp_path):
    cluster.know("prometheus", ground.PROMETHEUS)
    tls = ground.client_tls(tmp_path, ground.CLIENTS.client(ground.PROMETHEUS))
    async with ground.served(cluster, folder) as server:
        assert (await ground.get(server, tls, "/metrics"))[0] == 200
        assert not cluster.asked
        plain = ground.client_tls(tmp_path)
        assert (await ground.get(server, plain, "/metrics", **bearer("prometheus")))[0] == 403
        assert (cluster.times("TokenReview"), cluster.times("SubjectAccessReview")) == (1, 1)


@pytest.mark.parametrize(
    "pair",
    [
        ground.STRANGERS.client(ground.PROMETHEUS),
        ground.CLIENTS.client(ground.PROMETHEUS, expired=True),
        ground.CLIENTS.server_only(ground.PROMETHEUS),
        ground.SERVICES.client(ground.PROMETHEUS),
    ],
    ids=["of a CA of the same name", "expired", "for serving only", "of the CA that certifies us"],
)
async def test_a_certificate_that_is_no_good_is_refused_in_the_handshake(cluster, folder, tmp_path, pair):
    async with ground.served(cluster, folder) as server:
        with pytest.raises(aiohttp.ClientError):
            await ground.get(server, ground.client_tls(tmp_path, pair), "/healthz")
        assert (await ground.get(server, ground.client_tls(tmp_path), "/healthz"))[0] == 200


def certified(*subject: tuple[str, str], days: int = 1) -> dict[str, object]:
    ends = dt.datetime.now(dt.UTC) + dt.timedelta(days=days)
    return {"subject": tuple(((pair),) for pair in subject), "notAfter": f"{ends:%b %d %H:%M:%S %Y} GMT"}


@pytest.mark.parametrize(
    ("found", "name", "groups"),
    [
        (None, None, ()),
        ({}, None, ()),
        (certified(("commonName", "alice")), "alice", ("system:authenticated",)),
        (
            certified(("organizationName", "a"), ("organizationName", "b"), ("commonName", "alice")),
            "alice",
            ("a", "b", "system:authenticated"),
        ),
        (certified(("organizationName", "a")), None, ()),
        (certified(("commonName", "")), None, ()),
        (certified(("commonName", "alice"), ("commonName", "bob")), None, ()),
        (certified(("commonName", "alice"), days=-1), None, ()),
        ({"subject": ((("commonName", "alice"),),), "notAfter": "some day"}, None, ()),
        ({"subject": ((("commonName", "alice"),),)}, None, ()),
    ],
)
def test_whom_a_certificate_names(found, name, groups):
    """One that has ended while its connection lives on names nobody."""
    identity = authn.certified(found)
    assert (identity and identity.name, identity.groups if identity else ()) == (name, groups)


@pytest.mark.parametrize("trouble", [errors.Unreachable, errors.TimedOut, errors.ServerError, errors.Throttled])
async def test_when_the_api_server_cannot_be_asked_nobody_is_let_in(cluster, folder, tmp_path, trouble):
    cluster.trouble = trouble
    async with ground.served(cluster, folder) as server:
        code, text = await ground.get(server, ground.client_tls(tmp_path), "/metrics", **bearer("alices"))
        assert (code, text) == (503, "the API server, which knows who may see this, cannot be asked at the moment\n")
        tls = ground.client_tls(tmp_path, ground.CLIENTS.client(ground.PROMETHEUS))
        assert (await ground.get(server, tls, "/metrics"))[0] == 200, "Prometheus does not depend on it"
        assert (await ground.get(server, tls, "/healthz"))[0] == 200


async def test_a_missing_right_of_ours_is_named(cluster, folder, tmp_path, caplog):
    cluster.trouble = errors.Forbidden
    async with ground.served(cluster, folder) as server:
        for _ in range(2):
            code, text = await ground.get(server, ground.client_tls(tmp_path), "/metrics", **bearer("alices"))
    named = "this operator is not allowed to ask the API server for tokenreviews.authentication.k8s.io\n"
    assert (code, text) == (503, named)
    assert len([one for one in caplog.records if "neither authenticated nor authorized" in one.getMessage()]) == 1


async def test_every_answer_tells_a_browser_to_be_careful(cluster, folder, tmp_path):
    async with ground.served(cluster, folder) as server, ground.session(ground.client_tls(tmp_path)) as client:
        for path, headers in (("/healthz", {}), ("/", {}), ("/", HTML), ("/", bearer("alices")), ("/none", {})):
            async with client.get(ground.url(server, path), headers=headers) as answer:
                found = answer.headers
                assert "frame-ancestors 'none'" in found["Content-Security-Policy"]
                assert "default-src 'none'" in found["Content-Security-Policy"]
                assert found["X-Content-Type-Options"] == "nosniff"
                assert found["Cache-Control"] == "no-store"
                assert found["Referrer-Policy"] == "no-referrer"
                assert "Server" not in found


async def test_a_page_that_fails_gives_nothing_away(cluster, folder, tmp_path, caplog):
    async def broken(_: web.Request) -> web.Response:
        raise RuntimeError("the secret is 42")

    routes = [web.get("/state", broken)]
    async with ground.served(cluster, folder, routes) as server:
        found = await ground.get(server, ground.client_tls(tmp_path), "/state", **bearer("alices"))
    assert found == (500, "something went wrong here; the log of the operator says what\n")
    (told,) = [one for one in caplog.records if one.exc_info]
    assert told.getMessage() == "GET /state failed"
