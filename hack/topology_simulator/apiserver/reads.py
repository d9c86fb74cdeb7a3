"""get, list and the start of a watch: which revision is meant, and what a client gets to see of it.

The pages of one list show one revision (`continue` carries it). Labels of a selector know `=`, `==`, `!=`, `in`,
`notin`, existence and absence; fields know `=`, `==` and `!=` on the few that a kind declares.
"""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from . import requests, resources, statuses, storage, streams, table

_WATCH_SECONDS = (1800.0, 3600.0)
"""The range of a watch's length where the client sets none (--min-request-timeout of the real server)."""
_LATEST = -1
"""In a continue token: whatever the revision is when it is used."""
CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the remainder "
    "of the results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


def select(request: requests.Request, resource: resources.Resource) -> streams.Selection:
    """Return which objects a list or watch asks for, and in which form. Raises StatusError 400 or 406."""
    form = requests.negotiate(request.headers.get("Accept", ""))
    labels, fields = request.query.get("labelSelector", ""), request.query.get("fieldSelector", "")
    if request.target.name:
        fields = f"metadata.name={request.target.name}"
    return streams.Selection(
        resource,
        request.target.namespace,
        parse_labels(labels) if labels.strip() else None,
        parse_fields(resource, fields) if fields else None,
        form,
    )


def _too_new(error: storage.FutureRevision) -> statuses.StatusError:
    return statuses.StatusError(
        504,
        f"Timeout: {error}",
        reason="Timeout",
        details={
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
    )


class Reads:
    """The read side of the server, on one storage."""

    def __init__(self, store: storage.Storage) -> None:
        self._storage = store

    def get(self, request: requests.Request, resource: resources.Resource) -> bytes:
        """Return one object, encoded. Raises StatusError."""
        target = request.target
        form = requests.negotiate(request.headers.get("Accept", ""))
        wanted = request.revision()
        if wanted is not None and wanted > self._storage.revision:
            raise _too_new(storage.FutureRevision(wanted, self._storage.revision))
        item = self._storage.get(resource.store, target.namespace, target.name)
        if item is None:
            raise statuses.not_found(resource, target.name)
        return table.shown(resource, item, form)

    def list_all(self, request: requests.Request, resource: resources.Resource) -> bytes:
        """Return a list, encoded. Raises StatusError."""
        selection = select(request, resource)
        limit = request.number("limit") or 0
        revision, after = self._snapshot(request)
        if after is not None and request.query.get("resourceVersion"):
            limit = 0  # from its cache the real server gives all that is left
        try:
            items = self._storage.items(resource.store, request.target.namespace, at=revision)
        except storage.Compacted:
            if after is None:
                raise statuses.StatusError(410, "The resourceVersion for the provided list is too old.") from None
            error = statuses.StatusError(410, CONTINUE_EXPIRED)
            # Of the rest as it is now, which no longer fits what was read before.
            error.metadata["continue"] = _token(_LATEST, after)
            raise error from None
        items = [item for item in items if (after is None or item.key > after) and selection.takes(item)]
        meta: dict[str, Any] = {"resourceVersion": str(revision)}
        if resource.custom and selection.form is requests.Form.OBJECT:
            meta["continue"] = ""
        if 0 < limit < len(items):
            if selection.labels is None and selection.fields is None:
                meta["remainingItemCount"] = len(items) - limit
            items = items[:limit]
            meta["continue"] = _token(revision, items[-1].key)
        return self._encode_list(selection, items, meta)

    def _snapshot(self, request: requests.Request) -> tuple[int, tuple[str, str] | None]:
        """Return the revision to list at and the key to continue after."""
        token = request.query.get("continue", "")
        wanted = request.revision(prefix="invalid resource version: ", code=400)
        current = self._storage.revision
        if token:
            revision, _, key = token.partition("/")
            namespace, slash, name = key.partition("/")
            if not slash or not revision.removeprefix("-").isdecimal():
                raise statuses.bad_request("invalid continue token: continue key is not valid")
            return (current if int(revision) == _LATEST else int(revision)), (namespace, name)
        if wanted is not None and wanted > current:
            raise _too_new(storage.FutureRevision(wanted, current))
        return current, None

    def _encode_list(self, selection: streams.Selection, items: list[storage.Item], meta: dict[str, Any]) -> bytes:
        resource = selection.resource
        if selection.form is requests.Form.TABLE:
            return storage.encode(table.render(resource, (item.obj for item in items), meta))
        if selection.form is requests.Form.METADATA:
            head = {"kind": "PartialObjectMetadataList", "apiVersion": table.META, "metadata": meta}
            encoded = [storage.encode(table.metadata_only(item.obj)) for item in items]
        else:
            head = {
                "kind": resource.list_kind or f"{resource.kind}List",
                "apiVersion": resource.api_version,
                "metadata": meta,
            }
            encoded = [selection.list_item_bytes(item) for item in items]
        return storage.encode(head)[:-1] + b',"items":[' + b",".join(encoded) + b"]}"

    def watch(self, request: requests.Request, resource: resources.Resource) -> streams.Watcher:
        """Return an open watch, subscribed and filled with what it starts with. Raises StatusError."""
        selection = select(request, resource)
        wanted = request.revision()
        bookmarks, initial = request.flag("allowWatchBookmarks"), request.flag("sendInitialEvents")
        seconds = request.number("timeoutSeconds")
        lasts = float(seconds) if seconds else random.uniform(*_WATCH_SECONDS)
        watcher = streams.Watcher(selection, lasts, bookmarks=bookmarks)
        try:
            if wanted and not initial:
                for change in self._storage.since(resource.store, wanted):
                    watcher.offer(change)
            else:
                for item in self._storage.items(resource.store, request.target.namespace):
                    if selection.takes(item):
                        watcher.append(storage.ADDED, item)
                if initial:
                    watcher.add_bookmark(self._storage.revision, initial_end=True)
        except storage.Compacted as error:
            watcher.add_error(statuses.StatusError(410, str(error)).body())
            return watcher
        except storage.FutureRevision:
            watcher.begin_after(wanted or 0)
        self._storage.subscribe(resource.store, watcher)
        return watcher


def _token(revision: int, key: tuple[str, str]) -> str:
    return "/".join((str(revision), *key))


_PREFIX = r"(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/)?"
_KEY = rf"{_PREFIX}[A-Za-z0-9](?:[-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"
_SET = re.compile(rf"\s*({_KEY})\s+(in|notin)\s*\(\s*({_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)\s*(?:,|$)")
_COMPARE = re.compile(rf"\s*({_KEY})\s*(==|=|!=)\s*({_VALUE})\s*(?:,|$)")
_EXISTS = re.compile(rf"\s*(!?)\s*({_KEY})\s*(?:,|$)")

Labels = dict[str, str]


def parse_labels(text: str) -> Callable[[Labels], bool]:
    """Return the predicate over labels of a label selector; an empty one takes everything. Raises StatusError 400."""
    tests: list[tuple[str, frozenset[str] | None, bool]] = []
    position = 0
    while text[position:].strip():
        if match := _SET.match(text, position):
            key, operator, raw = match.groups()
            tests.append((key, frozenset(part.strip() for part in raw.split(",")), operator == "in"))
        elif match := _COMPARE.match(text, position):
            key, operator, value = match.groups()
            tests.append((key, frozenset((value,)), operator != "!="))
        elif match := _EXISTS.match(text, position):
            tests.append((match[2], None, not match[1]))
        else:
            raise statuses.bad_request(
                f"unable to parse requirement: found '{text[position:].strip()}', expected: a label selector"
            )
        position = match.end()
    return lambda labels: all(
        (key in labels and (values is None or labels[key] in values)) is wanted for key, values, wanted in tests
    )


def split_fields(text: str) -> list[tuple[str, str, str]]:
    r"""Return the terms (field, `=` or `!=`, value) of a field selector.

    `\,`, `\=` and `\\` stand for themselves.
    """
    terms: list[tuple[str, str, str]] = []
    for part in re.split(r"(?<!\\),", text):
        if not part:
            continue
        match = re.match(r"((?:\\.|[^=!\\])*)(==|=|!=)(.*)$", part, re.DOTALL)
        if match is None:
            raise statuses.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        field, operator, value = match.groups()
        terms.append((field, "!=" if operator == "!=" else "=", re.sub(r"\\([\\,=])", r"\1", value)))
    return terms


def parse_fields(resource: resources.Resource, text: str) -> Callable[[dict[str, Any]], bool]:
    """Return the predicate over stored objects of a field selector.

    Raises StatusError 400 for a field that is not offered.
    """
    known: Mapping[str, Callable[[dict[str, Any]], str]] = {
        "metadata.name": table.at("metadata", "name"),
        "metadata.namespace": table.at("metadata", "namespace"),
        **resource.selectable,
    }
    tests: list[tuple[Callable[[dict[str, Any]], str], str, bool]] = []
    for field, operator, value in split_fields(text):
        if field not in known:
            raise statuses.bad_request(f"field label not supported: {field}")
        tests.append((known[field], value, operator == "="))
    return lambda obj: all((read(obj) == value) is wanted for read, value, wanted in tests)
