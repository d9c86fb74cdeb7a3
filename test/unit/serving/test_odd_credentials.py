"""Whatever stands in Authorization and Cookie: nobody is let in by it, nothing raises, and little is asked."""

from __future__ import annotations

import asyncio

from aiohttp import test_utils
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from topology_controller.serve import authn

from . import ground

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
        door = authn.Filter(asked)
        request = test_utils.make_mocked_request("GET", "/metrics", headers=CIMultiDict(headers), transport=Plain())
        refused = await door.refusal(request)
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
