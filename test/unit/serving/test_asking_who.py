"""What is asked of the API server, and how long its answers are believed; in virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from topology_controller.kube import errors
from topology_controller.serve import authn

from . import ground

pytestmark = pytest.mark.looptime
UNBOUND = dataclasses.replace(authn.Timing(), rate=1000.0, burst=1000)


@pytest.fixture
def cluster():
    made = ground.Cluster()
    made.know("alices", "alice", "/metrics")
    return made


@pytest.fixture
def asked(cluster):
    return authn.Reviews(cluster, UNBOUND)


async def test_a_token_is_believed_for_a_minute(cluster, asked, looptime):
    assert (await asked.identity("alices")).name == "alice"
    del cluster.tokens["alices"]
    await asyncio.sleep(59.9)
    assert (await asked.identity("alices")).name == "alice"
    await asyncio.sleep(0.1)
    assert await asked.identity("alices") is None
    assert cluster.times("TokenReview") == 2
    assert looptime == 60.0


async def test_a_token_that_nobody_has_is_asked_about_again_after_ten_seconds(cluster, asked, looptime):
    assert await asked.identity("news") is None
    cluster.know("news", "carol")
    await asyncio.sleep(9.9)
    assert await asked.identity("news") is None
    await asyncio.sleep(0.1)
    assert (await asked.identity("news")).name == "carol"
    assert looptime == 10.0


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
    limited, whole = await asked.identity("limited"), await asked.identity("alices")
    assert limited != whole
    await asked.allowed(limited, "/metrics")
    await asked.allowed(whole, "/metrics")
    first, second = (spec for kind, spec in cluster.asked if kind == "SubjectAccessReview")
    assert first == {
        "user": "alice",
        "uid": "uid of alice",
        "groups": ["system:authenticated"],
        "extra": extra,
        "nonResourceAttributes": {"verb": "get", "path": "/metrics"},
    }
    assert second["extra"] == {}


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
    async def answer(*_: object, **__: object) -> dict[str, object]:
        return {"status": status}

    monkeypatch.setattr(cluster, "create", answer)
    assert await asked.identity("odd") is None


@pytest.mark.parametrize("status", [None, {}, {"allowed": "yes"}, {"allowed": 1}, {"allowed": True, "denied": True}])
async def test_an_answer_that_is_not_plainly_yes_is_no(cluster, asked, monkeypatch, status):
    async def answer(*_: object, **__: object) -> dict[str, object]:
        return {"status": status}

    monkeypatch.setattr(cluster, "create", answer)
    assert not await asked.allowed(authn.Identity("alice"), "/metrics")


@pytest.mark.parametrize("token", ["", " ", "a b", "a\tb", "töken", "x" * 8193, "a\x00"])
async def test_what_cannot_be_a_token_is_not_asked_about(cluster, asked, token):
    assert await asked.identity(token) is None
    assert not cluster.asked


async def test_many_who_bring_the_same_token_at_once_are_asked_about_a_few_times(cluster, asked, looptime):
    cluster.slow = 1.0
    found = await asyncio.gather(*(asked.identity("alices") for _ in range(50)))
    assert {one.name for one in found} == {"alice"}
    assert cluster.times("TokenReview") <= UNBOUND.at_once
    assert looptime == 1.0


async def test_who_leaves_while_the_answer_is_awaited_takes_nobody_along(cluster, asked, looptime):
    cluster.slow = 1.0
    leaving, staying = (asyncio.create_task(asked.identity("alices")) for _ in range(2))
    await asyncio.sleep(0.5)
    leaving.cancel()
    assert (await staying).name == "alice"
    assert looptime == 1.0


async def test_an_api_server_that_does_not_answer_is_waited_for_ten_seconds(cluster, looptime):
    cluster.slow = 60.0
    patient: Any = Patient(cluster)
    asked = authn.Reviews(patient, UNBOUND)
    with pytest.raises(authn.Undecided):
        await asked.identity("alices")
    assert looptime == 10.0


class Patient:
    """The client turns time that is over into its own error."""

    def __init__(self, cluster: ground.Cluster) -> None:
        self._cluster = cluster

    async def create(self, resource, body, *, timeout):  # noqa: ASYNC109 - the client's own signature
        try:
            return await self._cluster.create(resource, body, timeout=timeout)
        except TimeoutError:
            raise errors.TimedOut("create", resource, None, None, 0, "TimedOut", "") from None


async def test_a_connection_that_was_lost_is_asked_by_once_more(cluster, asked, monkeypatch):
    create, failures = cluster.create, [errors.Unreachable]

    async def unsteady(resource, body, *, timeout):  # noqa: ASYNC109 - the client's own signature
        if failures:
            raise failures.pop()("create", resource, None, None, 0, "Unreachable", "")
        return await create(resource, body, timeout=timeout)

    monkeypatch.setattr(cluster, "create", unsteady)
    assert (await asked.identity("alices")).name == "alice"


async def test_trouble_is_not_remembered(cluster, asked):
    cluster.trouble = errors.ServerError
    with pytest.raises(authn.Undecided):
        await asked.identity("alices")
    cluster.trouble = None
    assert (await asked.identity("alices")).name == "alice"


async def test_a_flood_of_made_up_tokens_does_not_become_a_flood_of_questions(cluster, looptime):
    asked = authn.Reviews(cluster, authn.Timing())
    refused = 0
    for number in range(1000):
        try:
            await asked.identity(f"made-up-{number}")
        except authn.Undecided:
            refused += 1
    assert (cluster.times("TokenReview"), refused) == (40, 960)
    await asyncio.sleep(2.0)
    for number in range(1000):
        try:
            await asked.identity(f"later-{number}")
        except authn.Undecided:
            refused += 1
    assert cluster.times("TokenReview") == 60, "ten a second"
    assert looptime == 2.0


async def test_whoever_is_known_is_not_refused_in_a_flood(cluster):
    asked = authn.Reviews(cluster, authn.Timing())
    await asked.identity("alices")
    for number in range(100):
        try:
            await asked.identity(f"made-up-{number}")
        except authn.Undecided:
            continue
    found = await asked.identity("alices")
    assert found is not None
    assert found.name == "alice"


async def test_what_is_remembered_is_bounded_and_the_next_to_end_goes_first():
    kept: authn.Cache[int, str] = authn.Cache(3)
    for number, seconds in enumerate((30, 10, 20)):
        kept.put(number, f"number {number}", seconds)
    kept.put(3, "number 3", 5)
    assert [kept.get(number) for number in range(4)] == ["number 0", None, "number 2", "number 3"]
    await asyncio.sleep(20)
    kept.put(4, "number 4", 1)
    kept.put(5, "number 5", 1)
    assert kept.get(0) == "number 0", "what has ended makes room first"
    assert [kept.get(number) for number in (4, 5)] == ["number 4", "number 5"]


async def test_no_token_is_kept_as_it_is(cluster, asked):
    token = "sha256~" + "abcdefgh" * 5
    cluster.know(token, "dora", "/metrics")
    await asked.allowed(await asked.identity(token), "/metrics")
    signed_in = authn.Sessions()
    cookie = signed_in.begin(token)
    assert signed_in.token(cookie) == token
    kept = repr([vars(one) for one in (asked._known, asked._unknown, asked._allowed, signed_in._kept)])
    assert token not in kept
    assert cookie not in kept


async def test_sessions_end_and_are_bounded(looptime):
    signed_in = authn.Sessions(3600.0)
    cookies = [signed_in.begin(f"token-{number}") for number in range(70)]
    assert len(set(cookies)) == 70
    tokens = [f"token-{number}" for number in range(6, 70)]
    assert [signed_in.token(one) for one in cookies] == [None] * 6 + tokens, "the oldest went"
    signed_in.end(cookies[-1])
    assert signed_in.token(cookies[-1]) is None
    assert signed_in.token("made up") is None
    await asyncio.sleep(3600)
    assert signed_in.token(cookies[-2]) is None
    assert looptime == 3600.0
