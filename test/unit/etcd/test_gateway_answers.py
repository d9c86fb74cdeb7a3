"""etcd's JSON: what is absent is zero, numbers are texts, and what is anything else is no answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller.etcd import client

HEADER = {"cluster_id": "2655536050733517058", "member_id": "18446744073709551615", "raft_term": "2"}
SIMPLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SIMPLE | st.sampled_from(("1", "-1", "9" * 20)),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ("header", "cluster_id", "member_id", "members", "ID", "name", "clientURLs", "isLearner", "leader",
             "health", "raftTerm", "errors")
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


def member(**changes: Any) -> dict[str, Any]:
    return {"ID": "51966", "name": "m", "peerURLs": ["p"], "clientURLs": ["https://b:1", "https://a:1"], **changes}


def member_list(raw: Any) -> client.MemberList:
    return client.MemberList.model_validate_json(json.dumps(raw))


def status(raw: Any) -> client.Status:
    return client.Status.model_validate_json(json.dumps(raw))


def health(raw: Any) -> client.Health:
    return client.Health.model_validate_json(json.dumps(raw))


def test_a_member_list():
    found = member_list({"header": HEADER, "members": [member(), {"ID": "2"}, member(ID="3", isLearner=True)]})
    assert (found.cluster, found.member) == (f"{2655536050733517058:x}", "f" * 16)
    assert [(one.id, one.name, one.learner, one.client_urls) for one in found.members] == [
        ("2", "", False, ()),
        ("3", "m", True, ("https://a:1", "https://b:1")),
        ("cafe", "m", False, ("https://a:1", "https://b:1")),
    ]


@pytest.mark.parametrize(
    "members",
    [
        None, [], {}, [None], [member(ID=None)], [member(ID="0")], [member(ID="x")], [member(ID=True)],
        [member(ID=str(2**64))], [member(ID=-1)], [member(name=1)], [member(isLearner="true")],
        [member(clientURLs="x")], [member(clientURLs=[1])], [member(), member()],
    ],
)  # fmt: skip
def test_a_list_that_is_none(members: Any):
    with pytest.raises(ValueError, match=r"\S"):
        member_list({"header": HEADER, "members": members})


def test_a_status_with_everything():
    said = ["memberID:51966 alarm:NOSPACE ", "etcdserver: no leader", "memberID:51966 alarm:NOSPACE "]
    found = status(
        {"header": HEADER, "leader": "51966", "raftTerm": "7", "isLearner": True, "errors": said, "dbSize": "1"}
    )
    assert (found.leader, found.term, found.learner) == ("cafe", 7, True)
    assert found.errors == ("alarm NOSPACE of member cafe", "etcdserver: no leader")


@given(JSON)
def test_garbage_is_a_value_error_and_nothing_else(raw: Any):
    for read in (member_list, status, health):
        try:
            read(raw)
        except ValueError:
            continue
