"""etcd: who is a voter, is it well, and is the one who says so alive?"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.checks import catalog
from topology_controller.observe import facts

from . import worlds


def ask(check: CheckName, known: facts.Facts) -> tuple[CheckStatus, str]:
    found = catalog.CHECKS[check](worlds.question(known, check))
    return found.status, found.message


def voting(*entries: tuple[str, str], **changes: Any) -> tuple[CheckStatus, str]:
    known = dataclasses.replace(worlds.healthy(**changes), etcd_endpoints=facts.EtcdEndpoints(entries))
    return ask(CheckName.ETCD_VOTING_MEMBERS, known)


A, B, C = worlds.ADDRESSES


def test_three_voters_on_three_nodes() -> None:
    assert voting(("cafe", A), ("8e9e05c52164694d", B), ("1", C))[0] is CheckStatus.MET


def test_fewer_voters_are_named_by_the_nodes_that_house_them() -> None:
    status, message = voting(("cafe", A), ("2", B))
    assert status is CheckStatus.UNMET
    assert "Found: 2: node-0, node-1" in message
    assert message.endswith("Look at oc -n openshift-etcd get configmap etcd-endpoints -o yaml")
    assert voting()[0] is CheckStatus.UNMET


def test_two_members_on_one_node_are_one_home() -> None:
    assert voting(("1", A), ("2", A), ("3", B))[0] is CheckStatus.UNMET


def test_a_key_that_is_a_node_name_means_that_members_could_not_be_listed() -> None:
    status, message = voting(("node-0", A), ("node-1", B), ("node-2", C))
    assert status is CheckStatus.UNKNOWN
    assert "key node-0 is a node name" in message


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


@pytest.mark.parametrize("where", ["control_plane_nodes", "other_nodes"])
def test_a_node_that_cannot_be_read_may_be_the_one_that_is_named_like_a_member(where: str) -> None:
    known = worlds.healthy()
    changed = {where: (*getattr(known, where), worlds.BROKEN)}
    assert voting(("cafe", A), ("2", B), ("3", C), **changed)[0] is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    "key", ["0cafe", "00000000000000a1", "CAFE", "12345678901234567", "xyz", "", "cafe ", "cafe\n", "0x1", "-1"]
)
def test_any_other_key_proves_nothing(key: str) -> None:
    status, message = voting((key, A), ("2", B), ("3", C))
    assert status is CheckStatus.UNKNOWN
    assert "is not a member id" in message


@pytest.mark.parametrize("address", ["", "node-0.example.org", "192.0.2.10:2379", "999.1.1.1"])
def test_a_member_without_an_address_proves_nothing(address: str) -> None:
    assert voting(("cafe", address), ("2", B), ("3", C))[0] is CheckStatus.UNKNOWN


def test_a_voter_that_lives_nowhere_is_named() -> None:
    status, message = voting(("1", A), ("2", B), ("3", C), ("4", "192.0.2.99"))
    assert status is CheckStatus.UNMET
    assert "4 at 192.0.2.99" in message


@pytest.mark.parametrize("written", ["2001:db8::1", "2001:0db8:0:0:0:0:0:1", "[2001:db8::1]", "2001:DB8::1"])
def test_ipv6_addresses_are_compared_as_addresses(written: str) -> None:
    changed = (worlds.node(0, addresses=("2001:db8::1",)), worlds.node(1), worlds.node(2))
    entries = (("1", written), ("2", B), ("3", C))
    assert voting(*entries, control_plane_nodes=changed)[0] is CheckStatus.MET


@pytest.mark.parametrize("field", ["etcd_endpoints", "control_plane_nodes", "other_nodes"])
def test_voters_are_unknown_while_something_cannot_be_read(field: str) -> None:
    known = worlds.unread(worlds.healthy(), field)
    assert ask(CheckName.ETCD_VOTING_MEMBERS, known)[0] is CheckStatus.UNKNOWN


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


def test_no_conditions_prove_nothing() -> None:
    known = dataclasses.replace(worlds.healthy(), etcd=facts.Etcd(facts.Conditions()))
    assert ask(CheckName.ETCD_HEALTHY, known)[0] is CheckStatus.UNKNOWN
    assert ask(CheckName.ETCD_HEALTHY, dataclasses.replace(known, etcd=worlds.BROKEN))[0] is CheckStatus.UNKNOWN


def alive(age: float, *, holder: str = "somebody", moving: bool = False) -> tuple[CheckStatus, str]:
    lease = facts.EtcdLease(holder, worlds.NOW - timedelta(seconds=age), 137, moving=moving)
    return ask(CheckName.ETCD_OPERATOR_ALIVE, dataclasses.replace(worlds.healthy(), etcd_lease=lease))


def test_the_lease_counts_for_its_duration_and_thirty_seconds() -> None:
    assert alive(0)[0] is CheckStatus.MET
    assert alive(167)[0] is CheckStatus.MET
    assert alive(167.1)[0] is CheckStatus.UNMET


def test_a_lease_that_moves_by_our_clock_but_is_old_by_its_own_is_unknown() -> None:
    """The two clocks disagree: neither alive nor dead can be told from times."""
    status, message = alive(4000, moving=True)
    assert status is CheckStatus.UNKNOWN
    assert "clocks disagree" in message
    assert alive(4000)[0] is CheckStatus.UNMET


def test_a_lease_from_the_future_is_unknown_beyond_the_grace() -> None:
    assert alive(-30)[0] is CheckStatus.MET
    assert alive(-31)[0] is CheckStatus.UNKNOWN


def test_a_lease_that_nobody_holds_or_that_has_no_times() -> None:
    assert alive(0, holder="")[0] is CheckStatus.UNMET
    for lease in (
        facts.EtcdLease("somebody", None, 137),
        facts.EtcdLease("somebody", worlds.NOW, None),
        worlds.BROKEN,
    ):
        known = dataclasses.replace(worlds.healthy(), etcd_lease=lease)
        assert ask(CheckName.ETCD_OPERATOR_ALIVE, known)[0] is CheckStatus.UNKNOWN, lease


def test_a_voter_elsewhere_is_never_counted_nor_allowed() -> None:
    """The member of an arbiter too: it would stay in the quorum after its operator has forgotten the node."""
    arbiter = facts.OtherNode("arbiter", master=False, arbiter=True)
    entries = (*zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True), ("dead", "192.0.2.50"))
    for others in ((), (arbiter,)):
        known = worlds.healthy(etcd_endpoints=facts.EtcdEndpoints(tuple(entries)), other_nodes=others)
        status, message = ask(CheckName.ETCD_VOTING_MEMBERS, known)
        assert status is CheckStatus.UNMET
        assert "dead at 192.0.2.50 is no address of a control-plane node" in message


def test_without_the_nodes_nobody_knows_where_a_voter_lives() -> None:
    unread = facts.Unobserved("nodes", "Forbidden")
    for nodes in (unread, (worlds.node(0), worlds.node(1), worlds.BROKEN)):
        assert voting(("1", A), ("2", B), ("3", C), control_plane_nodes=nodes)[0] is CheckStatus.UNKNOWN
    assert voting(("1", A), ("2", B), ("3", C), control_plane_nodes=())[0] is CheckStatus.UNMET
