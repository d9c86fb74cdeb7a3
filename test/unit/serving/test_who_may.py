"""Who gets what over TLS: certificates, tokens, sessions, and nobody."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gzip
from typing import TYPE_CHECKING

import aiohttp
import pytest
from aiohttp import web

from topology_controller.kube import errors
from topology_controller.serve import authn

from . import ground

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

METRICS, PAGE = authn.METRICS.path, authn.PAGE.path
HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def cluster():
    made = ground.Cluster(client_ca=ground.CLIENTS.certificate.decode())
    made.know("alices", "alice", METRICS, PAGE)
    made.know("bobs", "bob")
    made.know("viewers", "viewer", PAGE)
    return made


@pytest.fixture
def folder(tmp_path):
    return ground.serving_pair(tmp_path / "serving")


@contextlib.asynccontextmanager
async def browser(tmp_path) -> AsyncIterator[aiohttp.ClientSession]:
    async with ground.session(ground.client_tls(tmp_path), headers=HTML) as made:
        yield made


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        ("/healthz", {}, 200),
        ("/metrics", {}, 401),
        ("/", {}, 401),
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
        ("/", bearer("alices"), 200),
        ("/nothing-here", bearer("alices"), 404),
        ("/metrics", bearer("viewers"), 403),
        ("/", bearer("viewers"), 200),
        ("/metrics", bearer("bobs"), 403),
        ("/", bearer("bobs"), 403),
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


async def test_a_refusal_says_what_would_help(cluster, folder, tmp_path):
    async with ground.served(cluster, folder) as server:
        tls = ground.client_tls(tmp_path)
        _, text = await ground.get(server, tls, "/metrics", **bearer("bobs"))
        assert text == (
            'user "bob" may not get "/metrics"; who is bound to ClusterRole cluster-topology-operator-metrics may: '
            "oc adm policy add-cluster-role-to-user cluster-topology-operator-metrics bob\n"
        )
        async with ground.session(tls) as client, client.get(ground.url(server, "/state")) as answer:
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


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


async def test_prometheus_with_its_certificate_needs_no_question_and_gets_metrics_only(cluster, folder, tmp_path):
    tls = ground.client_tls(tmp_path, ground.CLIENTS.client(ground.PROMETHEUS))
    async with ground.served(cluster, folder) as server:
        assert (await ground.get(server, tls, "/metrics"))[0] == 200
        assert not cluster.asked
        assert (await ground.get(server, tls, "/"))[0] == 403
        assert cluster.times("SubjectAccessReview") == 1


async def test_another_certificate_is_somebody_who_is_asked_about(cluster, folder, tmp_path):
    tls = ground.client_tls(tmp_path, ground.CLIENTS.client("viewer"))
    async with ground.served(cluster, folder) as server:
        assert (await ground.get(server, tls, "/"))[0] == 200
        assert (await ground.get(server, tls, "/metrics", **bearer("alices")))[0] == 403, "the certificate goes first"
    (_, spec), _ = cluster.asked
    assert (spec["user"], spec["groups"]) == ("viewer", ["system:authenticated"])
    assert cluster.times("TokenReview") == 0


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


async def test_without_a_client_ca_no_certificate_counts(cluster, folder, tmp_path):
    cluster.client_ca = None
    tls = ground.client_tls(tmp_path, ground.CLIENTS.client(ground.PROMETHEUS))
    async with ground.served(cluster, folder) as server:
        assert (await ground.get(server, tls, "/metrics"))[0] == 401
        assert (await ground.get(server, tls, "/metrics", **bearer("alices")))[0] == 200


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


async def test_a_browser_signs_in_looks_and_signs_out(cluster, folder, tmp_path):
    async with ground.served(cluster, folder) as server, browser(tmp_path) as client:
        async with client.get(ground.url(server, "/")) as answer:
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
            form = await answer.text()
            assert 'action="/sign-in"' in form
            assert 'role="alert">' not in form
        async with client.post(ground.url(server, "/sign-in"), data={"token": " viewers\n"}) as answer:
            assert (answer.status, await answer.text()) == (200, "this is /\n")
            (moved,) = answer.history
        assert (moved.status, moved.headers["Location"]) == (303, "/")
        cookie = moved.headers["Set-Cookie"]
        for part in ("topology_session=", "HttpOnly", "Secure", "SameSite=Strict", "Path=/", "Max-Age=3600"):
            assert part in cookie, cookie
        assert "Domain" not in cookie
        async with client.get(ground.url(server, "/state")) as answer:
            assert answer.status == 200
        async with client.get(ground.url(server, "/metrics")) as answer:
            assert answer.status == 403, "a session is who it stands for, no more"
        async with client.post(ground.url(server, "/sign-out")) as answer:
            assert answer.status == 200
        async with client.get(ground.url(server, "/state")) as answer:
            assert answer.status == 401


@pytest.mark.parametrize(
    ("token", "code", "said"),
    [
        ("nobodys", 401, "does not know this token"),
        ("bobs", 403, "may not get"),
        ("", 400, "Paste a token first"),
        ("<script>alert(1)</script>", 401, "does not know this token"),
    ],
)
async def test_a_token_that_does_not_do_is_told(cluster, folder, tmp_path, token, code, said):  # noqa: PLR0917 - as above
    async with ground.served(cluster, folder) as server, browser(tmp_path) as client:
        async with client.post(ground.url(server, "/sign-in"), data={"token": token}) as answer:
            text = await answer.text()
            assert answer.status == code
            assert "Set-Cookie" not in answer.headers
        assert said in text.partition('role="alert">')[2].partition("</p>")[0]
        assert "alert(1)" not in text


async def test_a_name_is_shown_as_it_is_and_does_nothing(cluster, folder, tmp_path):
    """In a page, and in a command that somebody will copy."""
    cluster.know("odds", "<b>eve</b>; reboot")
    async with ground.served(cluster, folder) as server, browser(tmp_path) as client:
        async with client.post(ground.url(server, "/sign-in"), data={"token": "odds"}) as answer:
            text = await answer.text()
        assert "user &quot;&lt;b&gt;eve&lt;/b&gt;; reboot&quot; may not get" in text
        assert "<b>" not in text
        _, text = await ground.get(server, ground.client_tls(tmp_path), "/state", **bearer("odds"))
        assert text.endswith("cluster-topology-operator-page '<b>eve</b>; reboot'\n")


async def test_a_session_ends_when_its_token_does(cluster, folder, tmp_path):
    believed = authn.Timing(known=0.2, unknown=0.0)
    async with ground.served(cluster, folder, reviewing=believed) as server, browser(tmp_path) as client:
        async with client.post(ground.url(server, "/sign-in"), data={"token": "viewers"}) as answer:
            cookie = answer.history[0].cookies["topology_session"].value
        user = cluster.tokens.pop("viewers")
        await asyncio.sleep(0.3)
        async with client.get(ground.url(server, "/")) as answer:
            assert answer.status == 401
            assert "Your session has ended." in await answer.text()
            assert 'topology_session=""' in answer.headers["Set-Cookie"]
        cluster.tokens["viewers"] = user
        headers = {"Cookie": f"topology_session={cookie}"}
        async with client.get(ground.url(server, "/"), headers=headers) as answer:
            assert answer.status == 401, "it does not begin again with its token"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 200),
    ],
)
async def test_another_site_cannot_sign_anybody_in(cluster, folder, tmp_path, headers, code):
    async with (
        ground.served(cluster, folder) as server,
        browser(tmp_path) as client,
        client.post(ground.url(server, "/sign-in"), data={"token": "viewers"}, headers=headers) as answer,
    ):
        assert answer.status == code


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"x" * 17_000, "application/x-www-form-urlencoded", 413),
        (b"token=alices", "text/plain", 415),
        (b"token=\xff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"token=a" for _ in range(20)), "application/x-www-form-urlencoded", 400),
    ],
)
async def test_what_is_no_form_is_refused(cluster, folder, tmp_path, body, kind, code):  # noqa: PLR0917 - as above
    async with ground.served(cluster, folder) as server, browser(tmp_path) as client:
        headers = {"Content-Type": kind}
        async with client.post(ground.url(server, "/sign-in"), data=body, headers=headers) as answer:
            assert answer.status == code, await answer.text()
    assert not cluster.asked


async def test_a_form_that_was_packed_is_not_unpacked(cluster, folder, tmp_path):
    """A few bytes can unpack to very many."""
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Encoding": "gzip"}
    async with (
        ground.served(cluster, folder) as server,
        browser(tmp_path) as client,
        client.post(ground.url(server, "/sign-in"), data=gzip.compress(b"token=viewers"), headers=headers) as answer,
    ):
        assert answer.status == 400


async def test_every_answer_tells_a_browser_to_be_careful(cluster, folder, tmp_path):
    async with ground.served(cluster, folder) as server, ground.session(ground.client_tls(tmp_path)) as client:
        for path, headers in (("/healthz", {}), ("/", {}), ("/", HTML), ("/", bearer("alices")), ("/sign-in", {})):
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
