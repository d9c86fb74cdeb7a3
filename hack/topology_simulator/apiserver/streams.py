"""Open watches: from the log's changes to lines of JSON for one client at its own pace, and what faults can do to any.

`Watcher` turns every change into a line in the same step as the write. An object that enters the selection is ADDED,
one that leaves is DELETED with its last state in it. Lines go out as they come, bookmarks when it is quiet. A fault may
mute a watch (nothing is sent any more, not even its end) or cut it, between two lines or in the middle of one.
"""

from __future__ import annotations

import abc
import asyncio
import collections
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from . import requests, resources, storage, table

_FINAL_BOOKMARK_SECONDS = 2.0
_HALF_A_LINE = b'{"type":"MODIFIED","object":{"kind":"'


class Stream(abc.ABC):
    """One open watch. `request` is what opened it, `transport` its connection."""

    def __init__(
        self, request: requests.Request, response: web.StreamResponse, transport: asyncio.Transport | None
    ) -> None:
        self.request = request
        self.response = response
        self.transport = transport
        self.muted = False
        self.was_cut = False

    def mute(self) -> None:
        """Send nothing any more, and never end."""
        self.muted = True

    def cut(self, *, mid_line: bool = False) -> None:
        """End the connection now, without the end of the chunked body; first send half a line if asked to."""
        self.was_cut = True
        if self.transport is not None:
            if mid_line:
                self.transport.write(b"%x\r\n%s\r\n" % (len(_HALF_A_LINE), _HALF_A_LINE))
                self.transport.close()
            else:
                self.transport.abort()
        self._end()

    @abc.abstractmethod
    def fail(self, status: dict[str, Any]) -> None:
        """Send an ERROR event and end."""

    @abc.abstractmethod
    def _end(self) -> None:
        """Let `run` end."""

    @abc.abstractmethod
    async def run(self) -> None:
        """Send until the watch ends. Raises ConnectionError when the end is not a proper one."""


class WatchStream(Stream):
    """A watch of the embedded server."""

    def __init__(  # noqa: PLR0913  # a connection, and what is sent over it
        self,
        request: requests.Request,
        response: web.StreamResponse,
        transport: asyncio.Transport | None,
        watcher: Watcher,
        *,
        revision: Callable[[], int],
        bookmark_seconds: float,
    ) -> None:
        super().__init__(request, response, transport)
        self._watcher = watcher
        self._revision = revision
        self._bookmark_seconds = bookmark_seconds
        self._next_bookmark = 0.0
        self._ends = 0.0

    def fail(self, status: dict[str, Any]) -> None:
        """Send an ERROR event and end."""
        self._watcher.add_error(status)

    def _end(self) -> None:
        self._watcher.close()

    async def run(self) -> None:
        """Send until the client goes, the time is over, or the watch was ended. Raises ConnectionError."""
        loop = asyncio.get_running_loop()
        watcher = self._watcher
        self._ends = loop.time() + self._watcher.seconds
        self._next_bookmark = min(
            loop.time() + self._bookmark_seconds, max(self._ends - _FINAL_BOOKMARK_SECONDS, loop.time())
        )
        while True:
            await self._wait(loop)
            if self.was_cut:
                raise ConnectionResetError("the watch was cut")
            if self.muted:
                watcher.pending.clear()
                continue
            self._bookmark(loop.time())
            if watcher.pending:
                chunk = b"".join(watcher.pending)
                watcher.pending.clear()
                await self.response.write(chunk)
            if not watcher.pending and (watcher.closed or loop.time() >= self._ends):
                return

    async def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        watcher = self._watcher
        if self.muted or not watcher.pending:
            due = min(self._ends, self._next_bookmark) if self._watcher.bookmarks else self._ends
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(None if self.muted else max(due, loop.time())):
                    await watcher.wake.wait()
        watcher.wake.clear()

    def _bookmark(self, now: float) -> None:
        if not self._watcher.bookmarks or now < self._next_bookmark:
            return
        last = self._ends - _FINAL_BOOKMARK_SECONDS
        following = now + self._bookmark_seconds
        self._next_bookmark = min(following, last) if now < last else self._ends + self._bookmark_seconds
        self._watcher.add_bookmark(self._revision())


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
    """A watch that was granted: the lines that wait for one client. `wake` is set when there is something to do.

    `seconds` is its length; `bookmarks`: whether those are wanted.
    """

    status = 200

    def __init__(self, selection: Selection, seconds: float, *, bookmarks: bool) -> None:
        self.selection = selection
        self.seconds = seconds
        self.bookmarks = bookmarks
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
