"""Sees what happens in a cluster, through watches of its own: when topology changes, and when nothing moves any more.

Independent of whoever acts: bare watches of the three objects that a transition writes, each line stamped before it is
decoded. Also answers as the version operator would, at once, because without an echo nothing is admitted; how long the
answer took is kept apart, so that nobody mistakes it for the operator's own time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import TYPE_CHECKING, Any, Self

import aiohttp

from topology_simulator import conditions, kinds

from . import processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_simulator import client, kubeconfig

Raw = dict[str, Any]
OBJECTS = (
    (kinds.INFRASTRUCTURES, "cluster"),
    (kinds.CLUSTER_OPERATORS, "topology"),
    (kinds.CLUSTER_VERSIONS, "version"),
)
_ECHO = "Cluster operator topology should not be upgraded between minor versions: "


class Lookout:
    """Use with `async with`. `now` maps a plural to the object as last seen; `moved` is when anything was last seen."""

    def __init__(self, access: kubeconfig.Access, api: client.Client) -> None:
        self.now: dict[str, Raw] = {}
        self.seen: list[tuple[float, str, Raw]] = []
        self.moved = 0.0
        self._access = access
        self._api = api
        self._news = asyncio.Event()
        self._asked = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None, connect=5.0)
        connector = aiohttp.TCPConnector(limit=0, ssl=self._access.tls or True)
        headers = {"User-Agent": "lookout", **self._access.headers}
        session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers, read_bufsize=1 << 20)
        await self._closing.enter_async_context(session)
        self._tasks = [asyncio.create_task(self._watch(session, kind, name)) for kind, name in OBJECTS]
        self._tasks.append(asyncio.create_task(self._answer()))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._closing.aclose()

    def infrastructure(self) -> Raw:
        """Infrastructure `cluster` as last seen; empty before that."""
        return self.now.get(kinds.INFRASTRUCTURES.plural, {})

    def record(self) -> Raw:
        """Our record in it, empty when there is none."""
        return (self.infrastructure().get("status") or {}).get("topologyTransition") or {}

    def report(self) -> Raw:
        """ClusterOperator `topology` as last seen."""
        return self.now.get(kinds.CLUSTER_OPERATORS.plural, {})

    def echoed(self) -> bool:
        """Does ClusterVersion repeat what ClusterOperator `topology` says of upgrades?"""
        said = conditions.of(self.report(), "Upgradeable")
        heard = conditions.of(self.now.get(kinds.CLUSTER_VERSIONS.plural), "Upgradeable")
        if said.get("status") != "False":
            return not heard
        return heard.get("message") == _ECHO + str(said.get("message"))

    async def until(self, holds: Callable[[], bool], what: str, seconds: float = 20.0) -> float:
        """Wait until something holds; returns the stamp of the event that made it so. Raises BenchError."""
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    for task in self._tasks:
                        if task.done():
                            task.result()
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            found = json.dumps(self.record())[:1500]
            raise processes.BenchError(f"waited {seconds:g} s in vain: {what}; the record is {found}") from None
        return self.moved

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing has been seen for so long."""
        while (left := self.moved + seconds - time.perf_counter()) > 0:  # noqa: ASYNC110 - time is what is waited for
            await asyncio.sleep(left)

    async def _watch(self, session: aiohttp.ClientSession, kind: kinds.Kind, name: str) -> None:
        query = {"fieldSelector": f"metadata.name={name}"}
        async with session.get(self._access.server + kind.path(), params=query) as response:
            listing = await response.json()
        for item in listing["items"]:
            self._take(kind, item, time.perf_counter())
        query |= {"watch": "true", "resourceVersion": listing["metadata"]["resourceVersion"], "timeoutSeconds": "3600"}
        async with session.get(self._access.server + kind.path(), params=query) as response:
            async for line in response.content:
                stamp = time.perf_counter()
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise processes.BenchError(f"the watch of {kind.plural} failed: {event['object']}")
                if event["type"] == "DELETED":
                    self._take(kind, {}, stamp)
                elif event["type"] != "BOOKMARK":
                    self._take(kind, event["object"], stamp)
        raise processes.BenchError(f"the watch of {kind.plural} ended")

    def _take(self, kind: kinds.Kind, obj: Raw, stamp: float) -> None:
        self.now[kind.plural] = obj
        self.moved = stamp
        self.seen.append((stamp, kind.plural, obj))
        self._news.set()
        if kind is kinds.CLUSTER_OPERATORS:
            self._asked.set()

    async def _answer(self) -> None:
        """Be the version operator: repeat the block, or take it away."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            version = self.now.get(kinds.CLUSTER_VERSIONS.plural)
            if not version or self.echoed():
                continue
            said = conditions.of(self.report(), "Upgradeable")
            blocked = said.get("status") == "False"
            wanted = [conditions.Condition("Upgradeable", "False", "Blocked", _ECHO + str(said.get("message")))]
            found = conditions.merged(version, wanted if blocked else [], () if blocked else ("Upgradeable",))
            if found is not None:
                await self._api.patch_status(kinds.CLUSTER_VERSIONS, "version", {"conditions": found})
