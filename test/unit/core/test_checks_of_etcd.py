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


def test_a_voter_that_lives_nowhere_is_named() -> None:
    status, message = voting(("1", A), ("2", B), ("3", C), ("4", "192.0.2.99"))
    assert status is CheckStatus.UNMET
    assert "4 at 192.0.2.99" in message


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


def test_a_voter_elsewhere_is_never_counted_nor_allowed() -> None:
    """The member of an arbiter too: it would stay in the quorum after its operator has forgotten the node."""
    arbiter = facts.OtherNode("arbiter", master=False, arbiter=True)
    entries = (*zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True), ("dead", "192.0.2.50"))
    for others in ((), (arbiter,)):
        known = worlds.healthy(etcd_endpoints=facts.EtcdEndpoints(tuple(entries)), other_nodes=others)
        status, message = ask(CheckName.ETCD_VOTING_MEMBERS, known)
        assert status is CheckStatus.UNMET
        assert "dead at 192.0.2.50 is no address of a control-plane node" in message
