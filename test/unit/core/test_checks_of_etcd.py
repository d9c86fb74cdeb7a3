"""etcd: who is a voter, is it well, is the one who says so alive, and what the members say themselves."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.checks import catalog
from topology_controller.observe import facts, parse

from . import worlds


def ask(check: CheckName, known: facts.Facts) -> tuple[CheckStatus, str]:
    found = catalog.answer(worlds.question(known, check))
    return found.status, found.message


def voting(*entries: tuple[str, str], **changes: Any) -> tuple[CheckStatus, str]:
    known = dataclasses.replace(worlds.healthy(**changes), etcd_endpoints=facts.EtcdEndpoints(entries))
    return ask(CheckName.ETCD_VOTING_MEMBERS, known)


A, B, C = worlds.ADDRESSES


def test_two_members_on_one_node_are_one_home() -> None:
    assert voting(("1", A), ("2", A), ("3", B))[0] is CheckStatus.UNMET


@pytest.mark.parametrize("where", ["control_plane_nodes", "other_nodes"])
def test_cafe_is_a_member_id_and_may_be_a_node_name_too(where: str) -> None:
    """A node named like hexadecimal digits must not pass for a voter."""
    named: tuple[Any, ...]
    if where == "other_nodes":
        named = (facts.OtherNode("cafe", master=True, arbiter=False),)
    else:
        named = (worlds.node(0, name="cafe"), worlds.node(1), worlds.node(2))
    entries = (("cafe", A), ("2", B), ("3", C))
    assert voting(*entries)[0] is CheckStatus.MET
    assert voting(*entries, **{where: named})[0] is CheckStatus.UNKNOWN


HEALTHY = {"EtcdMembersAvailable": "True", "EtcdMembersDegraded": "False", "EtcdMembersProgressing": "False"}


def healthy(**changes: str | None) -> tuple[CheckStatus, str]:
    statuses = {type_: status for type_, status in {**HEALTHY, **changes}.items() if status is not None}
    known = dataclasses.replace(worlds.healthy(), etcd=facts.Etcd(worlds.conditions(**statuses)))
    return ask(CheckName.ETCD_HEALTHY, known)


@pytest.mark.parametrize("type_", HEALTHY)
def test_each_condition_of_members_counts(type_: str) -> None:
    other = "False" if HEALTHY[type_] == "True" else "True"
    assert healthy()[0] is CheckStatus.MET
    status, message = healthy(**{type_: other})
    assert status is CheckStatus.UNMET
    assert f"{type_}={other}" in message
    for nothing in (None, "Unknown", "garbage"):
        assert healthy(**{type_: nothing})[0] is CheckStatus.UNKNOWN, nothing


def alive(age: float, *, holder: str = "somebody", moving: bool = False) -> tuple[CheckStatus, str]:
    lease = facts.Lease(holder, worlds.NOW - timedelta(seconds=age), 137, moving=moving)
    return ask(CheckName.ETCD_OPERATOR_ALIVE, dataclasses.replace(worlds.healthy(), etcd_lease=lease))


def test_the_lease_counts_for_its_duration_and_thirty_seconds() -> None:
    assert alive(0)[0] is CheckStatus.MET
    assert alive(167)[0] is CheckStatus.MET
    assert alive(167.1)[0] is CheckStatus.UNMET
    assert alive(-30)[0] is CheckStatus.MET
    assert alive(-31)[0] is CheckStatus.UNKNOWN, "it was renewed in the future"


def test_a_lease_that_moves_by_our_clock_but_is_old_by_its_own_is_unknown() -> None:
    """The two clocks disagree: neither alive nor dead can be told from times."""
    status, message = alive(4000, moving=True)
    assert status is CheckStatus.UNKNOWN
    assert "clocks disagree" in message
    assert alive(4000)[0] is CheckStatus.UNMET


def test_a_voter_elsewhere_is_never_counted_nor_allowed() -> None:
    """The member of an arbiter too: it would stay in the quorum after its operator has forgotten the node."""
    arbiter = facts.OtherNode("arbiter", master=False, arbiter=True)
    entries = (*zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True), ("dead", "192.0.2.50"))
    for others in ((), (arbiter,)):
        known = worlds.healthy(etcd_endpoints=facts.EtcdEndpoints(tuple(entries)), other_nodes=others)
        status, message = ask(CheckName.ETCD_VOTING_MEMBERS, known)
        assert status is CheckStatus.UNMET
        assert "dead at 192.0.2.50 is no address of a control-plane node" in message


@pytest.mark.parametrize(
    ("overrides", "status", "named"),
    [
        (None, CheckStatus.MET, ""),
        ({"other": True}, CheckStatus.MET, ""),
        *(({facts.UNSAFE_SCALING: value}, CheckStatus.MET, "") for value in (False, "false", "0", 1, None, [True])),
        *(({facts.UNSAFE_SCALING: value}, CheckStatus.UNMET, '"op":"remove"') for value in (True, "true", "T")),
        *(({facts.UNSAFE_SCALING: value}, CheckStatus.UNKNOWN, "neither") for value in ("yes", "", "tRuE")),
        ("true", CheckStatus.UNKNOWN, "unsupportedConfigOverrides should be an object"),
    ],
)
def test_the_override_for_one_voter_is_read_as_the_etcd_operator_reads_it(
    overrides: Any, status: CheckStatus, named: str
) -> None:
    etcd = parse.etcd({"spec": {"unsupportedConfigOverrides": overrides}})
    found, message = ask(CheckName.ETCD_SCALING_SAFE, worlds.healthy(etcd=etcd))
    assert (found, named in message) == (status, True), message


ID_A, ID_B, ID_C = worlds.MEMBERS
GOOD = worlds.voices()
LISTED = GOOD[0].members
DOWN = "no answer in time"


def direct(known: facts.Facts, at_least: int = 3) -> tuple[CheckStatus, str]:
    found = catalog.answer(worlds.question(known, CheckName.ETCD_MEMBERS_DIRECT, atLeast=at_least))
    assert found.name is CheckName.ETCD_MEMBERS_DIRECT
    return found.status, found.message


def said(*voices: facts.EtcdVoice, silences: tuple[facts.EtcdSilence, ...] = (), **changes: Any) -> Any:
    return direct(worlds.healthy(etcd_members=facts.EtcdMembers(voices, silences), **changes))


def but(index: int, **changes: Any) -> tuple[facts.EtcdVoice, ...]:
    """The good picture, but one voice."""
    return tuple(dataclasses.replace(one, **changes) if at == index else one for at, one in enumerate(GOOD))


def listing(*extra: facts.EtcdMember, without: str = "") -> tuple[facts.EtcdMember, ...]:
    kept = [one for one in LISTED if one.id != without]
    return tuple(sorted((*kept, *extra), key=lambda one: one.id))


def silence(id_: str = ID_C, why: str = DOWN, *, down: bool = True) -> facts.EtcdSilence:
    return facts.EtcdSilence("https://192.0.2.12:2379", (id_,), why, down)


def test_nothing_is_met_without_having_asked() -> None:
    status, message = direct(worlds.healthy())
    assert status is CheckStatus.UNKNOWN
    assert "--etcd-cert-dir" in message
    assert direct(worlds.healthy(etcd_members=worlds.BROKEN))[0] is CheckStatus.UNKNOWN
    assert said()[0] is not CheckStatus.MET


UNMET: dict[str, tuple[Any, str]] = {
    "two voters": (worlds.voices(members=listing(without=ID_C))[:2], "2 voters: node-0"),
    "a learner in place of a voter": (
        worlds.voices(members=listing(facts.EtcdMember(ID_C, "node-2", learner=True), without=ID_C)),
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
    "another leader": (but(2, leader=ID_A), "name different leaders"),
    "a leader that is nobody": (worlds.voices(leader="dead"), "a leader that is no voter"),
    "another term": (but(0, term=8), "not in the same term"),
    "another cluster": (but(0, cluster="beef"), "different etcd clusters"),
    "another list": (but(1, members=listing(without=ID_C)), "different member lists"),
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
    assert message.startswith("Wanted: 3 healthy etcd voters")
    assert "Look at the etcd pods in namespace openshift-etcd" in message


def test_a_silent_voter_is_unmet_when_it_may_be_down_and_unknown_when_the_trouble_may_be_ours() -> None:
    status, message = said(*GOOD[:2], silences=(silence(),))
    assert status is CheckStatus.UNMET
    assert "node-2 (cafe) at https://192.0.2.12:2379: no answer in time" in message
    status, message = said(*GOOD[:2], silences=(silence(why="TLS: certificate has expired", down=False),))
    assert status is CheckStatus.UNKNOWN
    assert "node-2 (cafe) at https://192.0.2.12:2379: TLS: certificate has expired" in message
    status, message = said(*worlds.voices(confirmed=False, unconfirmed=DOWN))
    assert (status, message.count("gave no member list through the quorum")) == (CheckStatus.UNKNOWN, 3)


def test_ill_health_that_could_not_be_asked_for_is_unknown() -> None:
    unread = facts.Unobserved("https://192.0.2.10:2379/health", DOWN)
    status, message = said(*but(0, healthy=unread))
    assert (status, DOWN in message) == (CheckStatus.UNKNOWN, True)


def published(*keys: str) -> facts.EtcdEndpoints:
    return facts.EtcdEndpoints(tuple(zip(keys, worlds.ADDRESSES, strict=False)))


def test_the_voters_are_those_that_the_etcd_operator_publishes() -> None:
    status, message = said(*GOOD, etcd_endpoints=published(ID_A, ID_B, "d"))
    assert status is CheckStatus.UNMET
    assert "node-2 (cafe) is not in configmaps/etcd-endpoints" in message
    assert "d in configmaps/etcd-endpoints in namespace openshift-etcd is no started voter" in message
    assert said(*GOOD, etcd_endpoints=published(ID_A, ID_B))[0] is CheckStatus.UNMET


@pytest.mark.parametrize(
    "changed", [{"etcd_endpoints": worlds.BROKEN}, {"etcd_endpoints": published("node-0", ID_A, ID_B)}]
)
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
    status, message = direct(known, wanted)
    assert direct(known, wanted) == (status, message), "the same facts give the same message"
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
