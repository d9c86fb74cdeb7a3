"""What etcd's gateway answers, as small frozen values.

The gateway writes protobuf as JSON: 64-bit numbers are strings, and whatever is zero, false or empty is left out
(`isLearner` is there only when true, a status without `leader` has no leader, a member without `name` has not started).
So absent means zero here, and anything of another type than its own is `ValueError`, which `client` turns into
`Garbled`. Ids are unpadded lower-case hexadecimal, the way the etcd operator and etcdctl write them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_LARGEST = 2**64
_ALARM = re.compile(r"memberID:([0-9]{1,20}) alarm:([A-Z]+)\s*\Z")


@dataclass(frozen=True, slots=True)
class Member:
    """A member as a member list has it."""

    id: str
    name: str
    """Empty until it has started and told the others its name."""
    learner: bool
    client_urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemberList:
    """Who is a member, as one of them says. `member` is the one that answered, `cluster` where it belongs."""

    cluster: str
    member: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """What a member says of itself. `leader` is None when it knows of none."""

    cluster: str
    member: str
    leader: str | None
    term: int
    learner: bool
    errors: tuple[str, ...]
    """Trouble, sorted: in etcd's own words ("etcdserver: no leader"), and every alarm of the whole cluster."""


def member_list(raw: Any) -> MemberList:
    """Read the answer to /v3/cluster/member/list. A list without a member is no answer: ValueError."""
    cluster, member = _header(raw)
    found = tuple(sorted((_member(item) for item in _list(raw, "members")), key=lambda one: one.id))
    if not found:
        raise ValueError("the member list is empty")
    if len({one.id for one in found}) != len(found):
        raise ValueError("the member list has a member twice")
    return MemberList(cluster, member, found)


def status(raw: Any) -> Status:
    """Read the answer to /v3/maintenance/status."""
    cluster, member = _header(raw)
    leader = _number(raw, "leader")
    return Status(
        cluster,
        member,
        leader=f"{leader:x}" if leader else None,
        term=_number(raw, "raftTerm"),
        learner=_flag(raw, "isLearner"),
        errors=tuple(sorted({_complaint(_text_of(item)) for item in _list(raw, "errors")})),
    )


def health(raw: Any) -> bool:
    """Read the answer to /health, which is JSON of its own kind: a boolean as text."""
    found = _object(raw).get("health")
    if found is True or found == "true":
        return True
    if found is False or found == "false":
        return False
    raise ValueError("health is neither true nor false")


def _complaint(text: str) -> str:
    """An error of a status: alarms come as "memberID:<decimal> alarm:NOSPACE "."""
    alarm = _ALARM.match(text)
    return f"alarm {alarm[2]} of member {int(alarm[1]):x}" if alarm else text.strip()


def _header(raw: Any) -> tuple[str, str]:
    header = _object(_object(raw).get("header"))
    cluster, member = _number(header, "cluster_id"), _number(header, "member_id")
    if not cluster or not member:
        raise ValueError("the header names no cluster or no member")
    return f"{cluster:x}", f"{member:x}"


def _member(raw: Any) -> Member:
    number = _number(raw, "ID")
    if not number:
        raise ValueError("a member has no ID")
    return Member(
        id=f"{number:x}",
        name=_text_of(_object(raw).get("name") or ""),
        learner=_flag(raw, "isLearner"),
        client_urls=tuple(sorted(_text_of(item) for item in _list(raw, "clientURLs"))),
    )


def _object(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise ValueError(f"an object was expected, found {type(raw).__name__}")  # noqa: TRY004 - bad data, not a bug
    return raw


def _list(raw: Any, name: str) -> list[Any]:
    found = _object(raw).get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise ValueError(f"{name} is no list")  # noqa: TRY004 - bad data, not a bug
    return found


def _flag(raw: Any, name: str) -> bool:
    found = _object(raw).get(name, False)
    if not isinstance(found, bool):
        raise ValueError(f"{name} is no boolean")  # noqa: TRY004 - bad data, not a bug
    return found


def _number(raw: Any, name: str) -> int:
    found = _object(raw).get(name, 0)
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) <= 20:
        found = int(found)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < _LARGEST:
        raise ValueError(f"{name} is no number of 64 bits")
    return found


def _text_of(found: Any) -> str:
    if not isinstance(found, str):
        raise ValueError("a text was expected")  # noqa: TRY004 - bad data, not a bug
    return found
