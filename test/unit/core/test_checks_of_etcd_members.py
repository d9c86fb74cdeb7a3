"""EtcdMembersDirect: what the members say themselves. Only the whole good picture is Met."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.checks import catalog
from topology_controller.observe import facts

from . import worlds

A, B, C = worlds.MEMBERS
GOOD = worlds.voices()
LISTED = GOOD[0].members
DOWN = "no answer in time"


def ask(known: facts.Facts, at_least: int = 3) -> tuple[CheckStatus, str]:
    found = catalog.CHECKS[CheckName.ETCD_MEMBERS_DIRECT](
        worlds.question(known, CheckName.ETCD_MEMBERS_DIRECT, atLeast=at_least)
    )
    assert found.name is CheckName.ETCD_MEMBERS_DIRECT
    return found.status, found.message


def said(*voices: facts.EtcdVoice, silences: tuple[facts.EtcdSilence, ...] = (), **changes: Any) -> Any:
    return ask(worlds.healthy(etcd_members=facts.EtcdMembers(voices, silences), **changes))


def but(index: int, **changes: Any) -> tuple[facts.EtcdVoice, ...]:
    """The good picture, but one voice."""
    return tuple(dataclasses.replace(one, **changes) if at == index else one for at, one in enumerate(GOOD))


def listing(*extra: facts.EtcdMember, without: str = "") -> tuple[facts.EtcdMember, ...]:
    kept = [one for one in LISTED if one.id != without]
    return tuple(sorted((*kept, *extra), key=lambda one: one.id))


def silence(id_: str = C, why: str = DOWN, *, down: bool = True) -> facts.EtcdSilence:
    return facts.EtcdSilence("https://192.0.2.12:2379", (id_,), why, down)


def test_three_healthy_voters_of_one_mind() -> None:
    status, message = said(*GOOD)
    assert status is CheckStatus.MET
    assert message == (
        "3 etcd voters answer, healthy, with one leader: node-0 (8e9e05c52164694d), node-1 (a1b2c3), node-2 (cafe)"
    )


def test_nothing_is_met_without_having_asked() -> None:
    status, message = ask(worlds.healthy())
    assert status is CheckStatus.UNKNOWN
    assert "--etcd-cert-dir" in message
    assert ask(worlds.healthy(etcd_members=worlds.BROKEN))[0] is CheckStatus.UNKNOWN
    assert said()[0] is not CheckStatus.MET


UNMET: dict[str, tuple[Any, str]] = {
    "two voters": (worlds.voices(members=listing(without=C))[:2], "2 voters: node-0"),
    "a learner in place of a voter": (
        worlds.voices(members=listing(facts.EtcdMember(C, "node-2", learner=True), without=C)),
        "node-2 (cafe) is a learner",
    ),
    "a learner besides": (
        worlds.voices(members=listing(facts.EtcdMember("d", "node-3", learner=True))),
        "node-3 (d) is a learner",
    ),
    "a member that has not started": (worlds.voices(members=listing(facts.EtcdMember("d", ""))), "d is a member that"),
    "a voter calls itself a learner": (but(1, learner=True), "node-1 (a1b2c3) calls itself a learner"),
    "ill": (but(2, healthy=False), "node-2 (cafe) calls itself unhealthy"),
    "an alarm": (but(0, errors=("alarm NOSPACE of member cafe",)), "etcd itself says: alarm NOSPACE of member cafe"),
    "no leader": (but(2, leader=None), "https://192.0.2.12:2379 knows of no leader"),
    "another leader": (but(2, leader=A), "name different leaders"),
    "a leader that is nobody": (worlds.voices(leader="dead"), "a leader that is no voter"),
    "another term": (but(0, term=8), "not in the same term"),
    "another cluster": (but(0, cluster="beef"), "different etcd clusters"),
    "another list": (but(1, members=listing(without=C)), "different member lists"),
    "no quorum for one": (but(1, confirmed=False, unconfirmed=DOWN, members=()), "node-1 (a1b2c3) has lost touch"),
    "a removed member": ((*GOOD, dataclasses.replace(GOOD[0], member="dead", endpoint="https://x:1")), "dead answers"),
    "no quorum at all": (
        worlds.voices(confirmed=False, unconfirmed=DOWN, leader=None, errors=("etcdserver: no leader",)),
        "etcd has no quorum",
    ),
}


@pytest.mark.parametrize("case", UNMET)
def test_what_is_found_otherwise_is_unmet_and_named(case: str) -> None:
    voices, words = UNMET[case]
    status, message = said(*voices)
    assert status is CheckStatus.UNMET, message
    assert words in message
    assert message.startswith("Wanted: 3 etcd voters")
    assert "Look at the etcd pods in namespace openshift-etcd" in message


def test_a_silent_voter_is_unmet_when_it_may_be_down_and_unknown_when_the_trouble_may_be_ours() -> None:
    status, message = said(*GOOD[:2], silences=(silence(),))
    assert status is CheckStatus.UNMET
    assert "node-2 (cafe) at https://192.0.2.12:2379: no answer in time" in message
    status, message = said(*GOOD[:2], silences=(silence(why="TLS: certificate has expired", down=False),))
    assert status is CheckStatus.UNKNOWN
    assert "node-2 (cafe) at https://192.0.2.12:2379: TLS: certificate has expired" in message


def test_ill_health_that_could_not_be_asked_for_is_unknown() -> None:
    unread = facts.Unobserved("https://192.0.2.10:2379/health", DOWN)
    status, message = said(*but(0, healthy=unread))
    assert (status, DOWN in message) == (CheckStatus.UNKNOWN, True)


def published(*keys: str) -> facts.EtcdEndpoints:
    return facts.EtcdEndpoints(tuple(zip(keys, worlds.ADDRESSES, strict=False)))


def test_the_voters_are_those_that_the_etcd_operator_publishes() -> None:
    status, message = said(*GOOD, etcd_endpoints=published(A, B, "d"))
    assert status is CheckStatus.UNMET
    assert "node-2 (cafe) is not in configmaps/etcd-endpoints" in message
    assert "d in configmaps/etcd-endpoints in namespace openshift-etcd is no started voter" in message
    assert said(*GOOD, etcd_endpoints=published(A, B))[0] is CheckStatus.UNMET


@pytest.mark.parametrize("changed", [{"etcd_endpoints": worlds.BROKEN}, {"etcd_endpoints": published("node-0", A, B)}])
def test_without_a_list_to_hold_them_against_they_may_be_another_clusters(changed: dict[str, Any]) -> None:
    status, message = said(*GOOD, **changed)
    assert status is CheckStatus.UNKNOWN
    assert "members of this cluster" in message


WORDS = st.sampled_from(("", "node-0", "d", "x" * 300))
IDS = st.sampled_from((*worlds.MEMBERS, "d", "dead"))
VOICE = st.builds(
    facts.EtcdVoice,
    endpoint=st.sampled_from(tuple(one.endpoint for one in GOOD)),
    member=IDS,
    cluster=st.sampled_from(("cdf8", "beef")),
    members=st.just(LISTED) | st.lists(st.builds(facts.EtcdMember, IDS, WORDS, st.booleans()), max_size=4).map(tuple),
    confirmed=st.booleans(),
    leader=st.none() | IDS,
    term=st.integers(6, 7),
    learner=st.booleans(),
    healthy=st.booleans() | st.just(worlds.BROKEN),
    errors=st.lists(WORDS, max_size=2).map(tuple),
    unconfirmed=WORDS,
)
SILENCE = st.builds(facts.EtcdSilence, WORDS, st.lists(IDS, max_size=2).map(tuple), WORDS, st.booleans())


@settings(max_examples=200)
@given(st.lists(st.sampled_from(GOOD) | VOICE, max_size=5), st.lists(SILENCE, max_size=3), st.integers(1, 5))
def test_met_is_the_whole_good_picture_and_nothing_raises(
    voices: list[facts.EtcdVoice], silences: list[facts.EtcdSilence], wanted: int
) -> None:
    """Every sentence of the promise is looked up anew, from anything that might have been answered."""
    found = facts.EtcdMembers(tuple(voices), tuple(silences))
    known = worlds.healthy(etcd_members=found)
    status, message = ask(known, wanted)
    assert ask(known, wanted) == (status, message), "the same facts give the same message"
    event(str(status))
    if status is not CheckStatus.MET:
        return
    assert len({(one.cluster, one.leader, one.term, one.members) for one in voices}) == 1
    listed = voices[0].members
    assert {one.id for one in listed} == set(worlds.MEMBERS) == {one.member for one in voices}
    assert len(listed) >= wanted
    assert voices[0].leader in worlds.MEMBERS
    assert all(one.name and not one.learner for one in listed)
    assert all(one.confirmed and one.healthy is True and not one.errors and not one.learner for one in voices)
