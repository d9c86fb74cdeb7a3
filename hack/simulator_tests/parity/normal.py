"""Makes the answers of two servers comparable, without losing what matters about what differs by nature.

The name that a row uses becomes `{row}` again. A uid becomes `uid 1`, `uid 2` in the order in which the row met it,
so that "the same object" and "another one" stay visible. A resourceVersion of an object becomes `version 1`, `version
2` by its size, so that "newer" and "unchanged" stay visible; that of a list, a table or a bookmark says whether it is
at least as new as all that the row had seen. A time near the present becomes its form (seconds or microseconds). Of
generated names and continue tokens only their being there is kept. Causes of a refusal are a set: the real server
tells them in no order, and some of them twice. So are the owners of fields, which it sorts by seconds; a list is one
field and an object none of its own, though the real server knows who wrote which item, and who made the object.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_GENERATED = re.compile(r"(-gen-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_AGE = re.compile(r"\d+s")
_VERSION_TEXTS = (
    (re.compile(r"(Too large resource version: \d+, current: )\d+"), r"\1<version>"),
    (re.compile(r"(ResourceVersion in record )\(\d+\)"), r"\1(<version>)"),
    (re.compile(r"(too old resource version: )\d+ \(\d+\)"), r"\1<version> (<version>)"),
    (re.compile(r"(resourceVersion\\?\":\\?\")\d+"), r"\1<version>"),
    (re.compile(r"(required revision has been compacted; .*?)\d+"), r"\1<version>"),
)
_OWNER = ("manager", "operation", "subresource", "apiVersion")
_NEAR = dt.timedelta(days=1)


class _Seen:
    """What one row has met on one side."""

    def __init__(self, row: str) -> None:
        self.row = re.compile(rf"\b{re.escape(row)}\b")
        self.uids: dict[str, str] = {}
        self.versions: set[int] = set()
        self.latest = 0


def _is_collection(obj: dict[str, Any]) -> bool:
    return "items" in obj or obj.get("kind") == "Table"


def _is_bookmark(event: dict[str, Any]) -> bool:
    return event.get("type") == "BOOKMARK" and isinstance(event.get("object"), dict)


def _versions(value: Any, found: set[int], *, collection: bool = False) -> None:
    """Collect the resourceVersions of objects."""
    if isinstance(value, list):
        for one in value:
            _versions(one, found)
    if not isinstance(value, dict):
        return
    if _is_bookmark(value):
        return
    collection = _is_collection(value)
    for key, part in value.items():
        if key == "metadata" and isinstance(part, dict) and not collection:
            version = part.get("resourceVersion")
            if isinstance(version, str) and version.isdecimal():
                found.add(int(version))
        _versions(part, found)


def normalised(answers: list[dict[str, Any]], row: str) -> list[Any]:
    """Return the answers of one row on one side, comparable with those of the other; `row` is the name it used."""
    seen = _Seen(row)
    for answer in answers:
        _versions(answer, seen.versions)
    ranks = {version: f"version {rank}" for rank, version in enumerate(sorted(seen.versions), 1)}
    made: list[Any] = []
    for answer in answers:
        before: set[int] = set()
        _versions(answer, before)
        made.append(_value(answer, "", seen, ranks))
        seen.latest = max(seen.latest, *before, 0)
    return made


def _value(value: Any, key: str, seen: _Seen, ranks: dict[int, str]) -> Any:
    if isinstance(value, dict):
        if key == "fieldsV1":
            return _leaves(value)
        if _is_bookmark(value):
            return _bookmark(value, seen, ranks)
        if value.get("kind") == "Status":
            value = _told_once(value)
        if _is_collection(value) and isinstance(value.get("metadata"), dict):
            return _collection(value, seen, ranks)
        return {_text(name, seen): _value(part, name, seen, ranks) for name, part in value.items()}
    if isinstance(value, list):
        ordered = sorted(value, key=_owner) if key == "managedFields" else value
        return [_value(one, "cell" if key in ("cells", "cell") else "", seen, ranks) for one in ordered]
    return _scalar(value, key, seen, ranks) if isinstance(value, str) else value


def _owner(entry: dict[str, Any]) -> list[str]:
    return [str(entry.get(name)) for name in _OWNER]


def _leaves(tree: dict[str, Any]) -> dict[str, Any]:
    if any(name.startswith(("k:", "v:")) for name in tree):
        return {}
    return {name: _leaves(part) for name, part in tree.items() if name != "."}


def _scalar(value: str, key: str, seen: _Seen, ranks: dict[int, str]) -> str:
    if key == "continue" and value:
        return "<a continue token>"
    if key == "cell" and _AGE.fullmatch(value):
        return "<an age in seconds>"
    if key == "resourceVersion" and value.isdecimal():
        return ranks.get(int(value), value)
    return _text(value, seen)


def _told_once(status: dict[str, Any]) -> dict[str, Any]:
    """Return a refusal with its causes in one order, each once: the real server's order is that of a Go map."""
    causes = (status.get("details") or {}).get("causes") or []
    if len(causes) < 2:
        return status
    ordered = sorted({json.dumps(one, sort_keys=True): one for one in causes}.items())
    shown = "<the causes>" if len(ordered) > 1 else "{field}: {message}".format(**causes[0])
    message = status["message"].partition(" is invalid: ")[0] + f" is invalid: {shown}"
    told = all(f"{one['field']}: {one['message']}" in status["message"] for one in causes)
    details = {**status["details"], "causes": [one for _, one in ordered]}
    return {**status, "details": details, "message": message if told else status["message"]}


def _age_of(version: Any, seen: _Seen) -> Any:
    if not isinstance(version, str) or not version.isdecimal():
        return version
    return "<at least as new as all before>" if int(version) >= seen.latest else "<older than something before>"


def _collection(value: dict[str, Any], seen: _Seen, ranks: dict[int, str]) -> Any:
    meta = dict(value["metadata"])
    version = meta.pop("resourceVersion", None)
    made = {name: _value(part, name, seen, ranks) for name, part in value.items() if name != "metadata"}
    shown = {name: _value(part, name, seen, ranks) for name, part in meta.items()}
    if version is not None:
        shown["resourceVersion"] = _age_of(version, seen)
    return {**made, "metadata": shown}


def _bookmark(value: dict[str, Any], seen: _Seen, ranks: dict[int, str]) -> Any:
    obj = value["object"]
    meta = dict(obj.get("metadata") or {})
    version = meta.pop("resourceVersion", None)
    rest = {name: _value(part, name, seen, ranks) for name, part in obj.items() if name != "metadata"}
    return {"type": "BOOKMARK", "object": {**rest, "metadata": {**meta, "resourceVersion": _age_of(version, seen)}}}


def _text(text: str, seen: _Seen) -> str:
    text = seen.row.sub("{row}", text)
    text = _UID.sub(lambda match: seen.uids.setdefault(match[0], f"<uid {len(seen.uids) + 1}>"), text)
    text = _TIME.sub(_time, text)
    text = _GENERATED.sub(r"\1<generated>", text)
    for pattern, shown in _VERSION_TEXTS:
        text = pattern.sub(shown, text)
    return text


def _time(match: re.Match[str]) -> str:
    try:
        when = dt.datetime.fromisoformat(match[0])
    except ValueError:
        return match[0]
    if abs(dt.datetime.now(dt.UTC) - when) > _NEAR:
        return match[0]
    return f"<now, {len(match[1]) - 1} decimals>" if match[1] else "<now>"
