"""Who gets what over TLS: certificates, tokens, and nobody, whatever else stands in Authorization and Cookie."""

from __future__ import annotations

import asyncio
import datetime as dt

import aiohttp
import pytest
from aiohttp import test_utils, web
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from topology_controller.kube import errors
from topology_controller.serve import authn

from . import ground


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


REQUESTS = [
    ("/healthz", {}, 200),
    ("/metrics", {}, 401),
    ("/", {}, 401),
    ("/state", {}, 401),
    ("/%6detrics", {}, 401),
    ("/%68ealthz/../state", {}, 401),
    ("//healthz", {}, 401),
    ("/healthz%2f..%2fstate", {}, 401),
    ("/healthz;/state", {}, 401),
    ("/healthz?/state", {}, 200),
    ("/state?/healthz", {}, 401),
    ("/metrics", bearer("alices"), 200),
    ("/metrics", {"Authorization": "bEaReR   alices "}, 200),
    ("/state", bearer("alices"), 200),
    ("/nothing-here", bearer("alices"), 404),
    ("/metrics", bearer("bobs"), 403),
    ("/state", bearer("bobs"), 403),
    ("/metrics", bearer("nobodys"), 401),
]


async def test_who_gets_what(cluster, folder, tls):
    async with ground.served(cluster, folder) as server:
        for path, headers, code in REQUESTS:
            found, text = await ground.get(server, tls, path, **headers)
            assert found == code, (path, headers, text)
            assert ("this is" in text) is (code == 200)


async def test_head_is_asked_for_as_get_and_other_methods_are_not_served(cluster, folder, tls):
    async with ground.served(cluster, folder) as server, ground.session(tls) as client:
        for method, path, token, code in (
            ("HEAD", "/metrics", "alices", 200),
            ("HEAD", "/metrics", "bobs", 403),
            ("POST", "/metrics", "alices", 405),
            ("POST", "/healthz", "nobodys", 401),
        ):
            async with client.request(method, ground.url(server, path), headers=bearer(token)) as answer:
                assert answer.status == code, method
        assert {spec["nonResourceAttributes"]["verb"] for kind, spec in cluster.asked if "Access" in kind} == {"get"}


async def test_prometheus_with_its_certificate_needs_no_question_and_with_a_token_it_does(
    cluster, folder, tmp_path, tls
):
    cluster.know("prometheus", ground.PROMETHEUS)
    prometheus = ground.client_tls(tmp_path, ground.CLIENTS.client(ground.PROMETHEUS))
    async with ground.served(cluster, folder) as server:
        assert (await ground.get(server, prometheus, "/metrics"))[0] == 200
        assert not cluster.asked
        assert (await ground.get(server, tls, "/metrics", **bearer("prometheus")))[0] == 403
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
async def test_a_certificate_that_is_no_good_is_refused_in_the_handshake(cluster, folder, tmp_path, tls, pair):
    async with ground.served(cluster, folder) as server:
        with pytest.raises(aiohttp.ClientError):
            await ground.get(server, ground.client_tls(tmp_path, pair), "/healthz")
        assert (await ground.get(server, tls, "/healthz"))[0] == 200


def certified(*subject: tuple[str, str], days: int = 1) -> dict[str, object]:
    ends = dt.datetime.now(dt.UTC) + dt.timedelta(days=days)
    return {"subject": tuple(((pair),) for pair in subject), "notAfter": f"{ends:%b %d %H:%M:%S %Y} GMT"}


@pytest.mark.parametrize(
    ("found", "name", "groups"),
    [
        (None, None, ()),
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
async def test_when_the_api_server_cannot_be_asked_nobody_is_let_in(cluster, folder, tmp_path, tls, trouble):
    cluster.trouble = trouble
    async with ground.served(cluster, folder) as server:
        code, text = await ground.get(server, tls, "/metrics", **bearer("alices"))
        assert (code, text) == (503, "the API server, which knows who may see this, cannot be asked at the moment\n")
        prometheus = ground.client_tls(tmp_path, ground.CLIENTS.client(ground.PROMETHEUS))
        assert (await ground.get(server, prometheus, "/metrics"))[0] == 200, "Prometheus does not depend on it"
        assert (await ground.get(server, tls, "/healthz"))[0] == 200


async def test_a_missing_right_of_ours_is_named(cluster, folder, tls, caplog):
    cluster.trouble = errors.Forbidden
    async with ground.served(cluster, folder) as server:
        for _ in range(2):
            code, text = await ground.get(server, tls, "/metrics", **bearer("alices"))
    named = "this operator is not allowed to ask the API server for tokenreviews.authentication.k8s.io\n"
    assert (code, text) == (503, named)
    assert len([one for one in caplog.records if "neither authenticated nor authorized" in one.getMessage()]) == 1


async def test_a_page_that_fails_gives_nothing_away(cluster, folder, tls, caplog):
    async def broken(_: web.Request) -> web.Response:
        raise RuntimeError("the secret is 42")

    routes = [web.get("/state", broken)]
    async with ground.served(cluster, folder, routes) as server:
        found = await ground.get(server, tls, "/state", **bearer("alices"))
    assert found == (500, "something went wrong here; the log of the operator says what\n")
    (told,) = [one for one in caplog.records if one.exc_info]
    assert told.getMessage() == "GET /state failed"


# Odd credentials

# What a parser of HTTP lets through: no control characters but tab.
VALUE = st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=60)
SCHEMES = st.sampled_from(["Bearer ", "bearer ", "Bearer  ", "Bearer\t", "Basic ", "Negotiate ", "", "Bearer,"])
CREDENTIALS = st.builds("{}{}".format, SCHEMES, VALUE | st.sampled_from(["goods", "good", "good,good", '"good"', " "]))
COOKIES = st.builds(
    "{}{}".format,
    st.sampled_from(["topology_session=", "topology_session", "a=b; topology_session=", "$Version=1; "]),
    VALUE,
)
HEADERS = st.lists(
    st.tuples(st.just("Authorization"), CREDENTIALS) | st.tuples(st.just("Cookie"), COOKIES | VALUE), max_size=4
)


class Plain(asyncio.Transport):
    """A connection on which no certificate was shown."""


def judged(headers: list[tuple[str, str]]) -> tuple[int, ground.Cluster]:
    async def ask() -> tuple[int, ground.Cluster]:
        cluster = ground.Cluster()
        cluster.know("good", "alice", authn.PATH)
        asked = authn.Reviews(cluster)  # type: ignore[arg-type]  # stands in for the client
        request = test_utils.make_mocked_request("GET", "/metrics", headers=CIMultiDict(headers), transport=Plain())
        refused = await authn.refusal(request, asked)
        return (200 if refused is None else refused.status), cluster

    return asyncio.run(ask())


def good(headers: list[tuple[str, str]]) -> bool:
    """The one way in: a single Authorization of the scheme Bearer (RFC 6750, 2.1) with the token that is known."""
    given_ = [value.strip() for name, value in headers if name == "Authorization"]
    if len(given_) != 1:
        return False
    scheme, _, token = given_[0].partition(" ")
    return scheme.lower() == "bearer" and token.strip() == "good"


@given(HEADERS)
def test_only_the_right_token_in_the_right_form_comes_in(headers):
    code, cluster = judged(headers)
    assert code == (200 if good(headers) else 401), headers
    assert len(cluster.asked) <= 2


def test_the_right_one_does_and_two_of_them_do_not():
    assert judged([("Authorization", "Bearer good")])[0] == 200
    for other in ("Bearer good", "Bearer bad", "Basic Z29vZA=="):
        assert judged([("Authorization", "Bearer good"), ("Authorization", other)])[0] == 401
