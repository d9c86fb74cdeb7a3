"""Conditions and times, as operators write them: one condition per type, its time moves only when the status does.

Pure. `merged` keeps what it does not know, so that two writers of different types do not erase each other, and
answers None when nothing would change: an actor without news does not write.
"""

import datetime as dt
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import kinds

_WRITTEN = re.compile(r"(?<=\")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?=(?:\.\d+)?Z\")")


def now(ago: float = 0.0) -> str:
    """Return metav1.Time, `ago` seconds before now."""
    moment = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=ago)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def moved(text: str, seconds: int) -> str:
    """Return a text in which every time of the API is so much later; each keeps its form."""
    by = dt.timedelta(seconds=seconds)
    return _WRITTEN.sub(lambda match: f"{dt.datetime.fromisoformat(match[1]) + by:%Y-%m-%dT%H:%M:%S}", text)


def now_micro() -> str:
    """Return metav1.MicroTime of now, as leases have it."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Condition(NamedTuple):
    """What a condition should be."""

    type: str
    status: str
    reason: str = "AsExpected"
    message: str = ""


def find(obj: dict[str, Any] | None, type_: str) -> dict[str, Any]:
    """Return the condition of that type, or an empty one."""
    for condition in ((obj or {}).get("status") or {}).get("conditions") or []:
        if condition.get("type") == type_:
            typed: dict[str, Any] = condition
            return typed
    return {}


def is_true(obj: dict[str, Any] | None, type_: str) -> bool:
    """Whether the condition is there and True."""
    return find(obj, type_).get("status") == "True"


def written(wanted: Iterable[Condition], ago: float = 0.0) -> list[dict[str, Any]]:
    """Return new conditions that changed `ago` seconds ago."""
    return [{**condition._asdict(), "lastTransitionTime": now(ago)} for condition in wanted]


def merged(
    obj: dict[str, Any], wanted: Iterable[Condition], without: Iterable[str] = ()
) -> list[dict[str, Any]] | None:
    """Return the object's conditions with those wanted put in and `without` taken out; None when equal."""
    present: list[dict[str, Any]] = (obj.get("status") or {}).get("conditions") or []
    dropped = set(without)
    result = {condition["type"]: condition for condition in present if condition["type"] not in dropped}
    for want in wanted:
        old = result.get(want.type, {})
        same = old.get("status") == want.status
        since = old.get("lastTransitionTime") if same else None
        result[want.type] = {**old, **want._asdict(), "lastTransitionTime": since or now()}
    listed = list(result.values())
    return None if listed == present else listed


def stated(*names: str, **words: object) -> list[Condition]:
    """Return conditions of openshift.yaml by their names there, with these words filled in."""
    return [Condition(*kinds.filled(row, **words)) for name in names for row in kinds.ACCOUNT["conditions"][name]]
