"""What is asked of the API server, and how long its answers are believed; in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

import pytest

from topology_controller.kube import errors
from topology_controller.serve import authn

pytestmark = pytest.mark.looptime
UNBOUND = dataclasses.replace(authn.Timing(), rate=1000.0, burst=1000)


@pytest.fixture
def asked(cluster):
    return authn.Reviews(cluster, UNBOUND)


async def test_yes_is_believed_for_five_minutes_and_no_for_half_of_one(cluster, asked, looptime):
    alice = await asked.identity("alices")
    assert await asked.allowed(alice, "/metrics")
    assert not await asked.allowed(alice, "/else")
    cluster.grants = {("alice", "/else")}
    await asyncio.sleep(29.9)
    assert not await asked.allowed(alice, "/else")
    await asyncio.sleep(0.1)
    assert await asked.allowed(alice, "/else")
    await asyncio.sleep(269.9)
    assert await asked.allowed(alice, "/metrics")
    await asyncio.sleep(0.1)
    assert not await asked.allowed(alice, "/metrics")
    assert looptime == 300.0


async def test_all_that_is_known_of_somebody_is_asked_with(cluster, asked):
    """A token may be limited to scopes, which stand in `extra`; two tokens of one user are not the same answer."""
    extra = {"scopes.authorization.openshift.io": ["user:info"]}
    cluster.know("limited", "alice", "/metrics")
    cluster.tokens["limited"]["extra"] = extra
    for token in ("limited", "alices"):
        await asked.allowed(await asked.identity(token), "/metrics")
    limited, whole = (spec for kind, spec in cluster.asked if kind == "SubjectAccessReview")
    assert (limited["user"], limited["uid"], limited["groups"]) == ("alice", "uid of alice", ["system:authenticated"])
    assert limited["nonResourceAttributes"] == {"verb": "get", "path": "/metrics"}
    assert (limited["extra"], whole["extra"]) == (extra, {})


def answering(status):
    """What every review ends with."""

    async def create(*_: object, **__: object) -> dict[str, object]:
        return {"status": status}

    return create


@pytest.mark.parametrize(
    "status",
    [
        None,
        "yes",
        {},
        {"authenticated": "true", "user": {"username": "alice"}},
        {"authenticated": True},
        {"authenticated": True, "user": {}},
        {"authenticated": True, "user": {"username": ""}},
        {"authenticated": True, "user": {"username": ["alice"]}},
    ],
)
async def test_an_answer_that_is_not_plainly_a_user_is_nobody(cluster, asked, monkeypatch, status):
    monkeypatch.setattr(cluster, "create", answering(status))
    assert await asked.identity("odd") is None


@pytest.mark.parametrize("status", [None, {}, {"allowed": "yes"}, {"allowed": 1}, {"allowed": True, "denied": True}])
async def test_an_answer_that_is_not_plainly_yes_is_no(cluster, asked, monkeypatch, status):
    monkeypatch.setattr(cluster, "create", answering(status))
    assert not await asked.allowed(authn.Identity("alice"), "/metrics")


async def authorized(asked: authn.Reviews, token: str) -> bool:
    user = await asked.identity(token)
    return user is not None and await asked.allowed(user, "/metrics")


async def test_those_who_come_with_the_same_wait_for_one_review(cluster, asked):
    cluster.slow = 1.0
    users = await asyncio.gather(*(asked.identity("nobodys") for _ in range(50)))
    assert set(users) == {None}
    assert cluster.times("TokenReview") == 1


async def test_a_flood_of_made_up_tokens_does_not_become_a_flood_of_questions(cluster, looptime):
    asked = authn.Reviews(cluster, authn.Timing())
    await flood(asked, 0, 1000)
    assert cluster.times("TokenReview") == 20
    await asyncio.sleep(2.0)
    await flood(asked, 1000, 1000)
    assert cluster.times("TokenReview") == 40, "ten a second"
    assert looptime == 2.0


async def flood(asked: authn.Reviews, first: int, number: int = 200) -> None:
    for one in range(first, first + number):
        with contextlib.suppress(authn.Undecided):
            await authorized(asked, f"made-up-{one}")


async def test_a_token_that_was_good_lately_is_never_refused_in_a_flood(cluster, looptime):
    """An hour of scrapes, with more made-up tokens in every moment than may be asked about."""
    asked = authn.Reviews(cluster, authn.Timing())
    for scrape in range(120):
        await flood(asked, 1000 * scrape)
        if scrape == 0:
            await asyncio.sleep(2.0)  # it comes for the first time, when there is room
        assert await authorized(asked, "alices"), f"at {looptime:g} s"
        for moment in range(5):
            await flood(asked, 1000 * scrape + 200 * moment)
            await asyncio.sleep(6.0)
    tokens = [spec["token"] for kind, spec in cluster.asked if kind == "TokenReview"]
    assert tokens.count("alices") == 60, "once a minute, as without a flood"


async def test_a_token_that_was_revoked_is_refused_after_a_minute_in_a_flood_too(cluster):
    asked = authn.Reviews(cluster, authn.Timing())
    assert await authorized(asked, "alices")
    del cluster.tokens["alices"]
    await asyncio.sleep(59.9)
    await flood(asked, 0)
    assert await authorized(asked, "alices")
    await asyncio.sleep(0.1)
    assert not await authorized(asked, "alices")
    await asyncio.sleep(10.0)
    await flood(asked, 1000)
    with pytest.raises(authn.Undecided, match="too many reviews"):
        await authorized(asked, "alices")


async def test_trouble_of_the_api_server_is_no_reason_to_believe_for_longer(cluster):
    asked = authn.Reviews(cluster, authn.Timing())
    await authorized(asked, "alices")
    cluster.trouble = errors.ServerError
    await asyncio.sleep(60.0)
    with pytest.raises(authn.Undecided, match="cannot be asked"):
        await authorized(asked, "alices")


async def test_what_is_remembered_is_bounded_and_the_next_to_end_goes_first():
    kept: authn.Cache[int, str] = authn.Cache(3)
    for number, seconds in enumerate((30, 10, 20)):
        kept.put(number, f"number {number}", seconds)
    kept.put(3, "number 3", 5)
    assert [kept.get(number)[0] for number in range(4)] == ["number 0", None, "number 2", "number 3"]
    kept.put(4, "", 40)
    kept.put(5, "number 5", 1)
    assert [kept.get(number)[0] for number in range(6)] == ["number 0", None, "number 2", None, None, "number 5"]
    await asyncio.sleep(30)
    assert kept.get(0) == ("number 0", False)


async def test_no_token_is_kept_as_it_is(cluster, asked):
    token = "sha256~" + "abcdefgh" * 5
    cluster.know(token, "dora", "/metrics")
    await asked.allowed(await asked.identity(token), "/metrics")
    kept = repr([vars(one) for one in (asked._tokens, asked._allowed)])
    assert token not in kept
