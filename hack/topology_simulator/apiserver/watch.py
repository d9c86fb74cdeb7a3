"""One open watch: from the log's changes to lines of JSON, in order, for one client at its own pace.

`Selection` is which objects a client wants and in which form; lists use it as well. `Watcher` receives
every change in the same step as the write, turns it into a line right away, and
keeps lines until its client has taken them. An object that enters the selection is ADDED, one that leaves
is DELETED with its last state in it. Lines in plain JSON are encoded once per object version however many
watch. The sending itself, with its clock (bookmarks, timeoutSeconds), is in `streams`.
"""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import requests, resources, storage, table


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind are wanted, and in which form."""

    resource: resources.Resource
    namespace: str
    labels: Callable[[dict[str, str]], bool] | None
    fields: Callable[[dict[str, Any]], bool] | None
    form: requests.Form = requests.Form.OBJECT

    def takes(self, item: storage.Item) -> bool:
        """Return whether an object belongs to the selection."""
        meta = item.obj["metadata"]
        if self.namespace and meta.get("namespace") != self.namespace:
            return False
        if self.labels is not None and not self.labels(meta.get("labels") or {}):
            return False
        return self.fields is None or self.fields(item.obj)

    def list_item_bytes(self, item: storage.Item) -> bytes:
        """Return one object as an item of a list, encoded at most once."""
        if self.resource.custom:
            return item.wire(self.resource.api_version, self.resource.to_wire)
        return item.wire(f"{self.resource.api_version} item", self.resource.to_list_item)


class Watcher:
    """The lines that wait for one client. `wake` is set whenever there is something to do."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.closed = False
        self.pending: collections.deque[bytes] = collections.deque()
        self.wake = asyncio.Event()
        self._headers_sent = False
        self._after = 0

    def offer(self, change: storage.Change) -> None:
        """Take one change of the store."""
        if self.closed or change.revision <= self._after:
            return
        after = change.type != storage.DELETED and self.selection.takes(change.item)
        before = change.previous is not None and self.selection.takes(change.previous)
        if after:
            self.append(storage.MODIFIED if before else storage.ADDED, change.item)
        elif before and change.type == storage.DELETED:
            self.append(storage.DELETED, change.item)
        elif before and change.previous is not None:
            obj = change.previous.obj
            meta = {**obj["metadata"], "resourceVersion": str(change.revision)}
            self.append(storage.DELETED, storage.Item({**obj, "metadata": meta}, change.revision))

    def begin_after(self, revision: int) -> None:
        """Send nothing up to a revision that is still to come, not even bookmarks."""
        self._after = revision

    def append(self, kind: str, item: storage.Item) -> None:
        """Send an object."""
        selection = self.selection
        payload = table.shown(selection.resource, item, selection.form, with_headers=not self._headers_sent)
        self._headers_sent = True
        self._push(kind, payload)

    def add_bookmark(self, revision: int, *, initial_end: bool = False) -> None:
        """Tell the client how far it has come."""
        if revision < self._after:
            return
        resource, meta = self.selection.resource, dict[str, Any](resourceVersion=str(revision))
        if initial_end:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj: dict[str, Any] = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
        if self.selection.form is requests.Form.METADATA:
            obj = table.metadata_only(obj)
        elif self.selection.form is requests.Form.TABLE:
            row = {"cells": [], "object": table.metadata_only(obj)}
            obj = {**table.render(resource, (), meta, with_headers=False), "rows": [row]}
        self._push("BOOKMARK", storage.encode(obj))

    def add_error(self, status: dict[str, Any]) -> None:
        """Tell the client why this watch ends, and end it."""
        self._push("ERROR", storage.encode(status))
        self.close()

    def close(self) -> None:
        """End the watch once everything that waits was sent."""
        self.closed = True
        self.wake.set()

    def _push(self, kind: str, payload: bytes) -> None:
        self.pending.append(b'{"type":"%s","object":%s}\n' % (kind.encode(), payload))
        self.wake.set()
