"""The floor: a bare client in a process of its own that sends what the operator sends, and thinks nothing.

It watches what the operator watches, is woken by the same event, and then sends the same requests in the same order
and with the same concurrency: the record, the report, twelve reads in two lanes, Infrastructure, the change; for a
request it opens the watches first and waits for the echo, as the operator must. It decodes only what it cannot do
without (the request and resourceVersions). Nobody could be much faster than this against the same server in the same
language and over HTTP/1.1: it opens as many connections as it has requests in flight, as the operator does, with the
same credentials, and keeps them as long.

`python -m test.bench.floor KUBECONFIG PLAN`; PLAN is a file of JSON that `side` has made. It is told what to wait for
by lines on stdin (`desired`, `fact`; `watch` and `rest` prepare for them), and says `ready` on stdout when it does.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import re
import sys
import traceback
from typing import TYPE_CHECKING, Any

import aiohttp

from topology_simulator import kubeconfig

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Raw = dict[str, Any]
_MERGE = {"Content-Type": "application/merge-patch+json"}
# Of one, two, three and eight, the number that was fastest with TLS: fewer connections are fewer handshakes.
_LANES = 2
_JSON = "application/json"
_CONTINUE = re.compile(rb'"continue":\s*"([^"]+)"')


class Floor:
    """One bare client; `plan` has `idle`, `evidence` and `reads` (path, query, accept), and the bodies to write."""

    def __init__(self, session: aiohttp.ClientSession, url: str, plan: Raw) -> None:
        self._session = session
        self._url = url
        self._plan = plan
        self._mode = "rest"
        self._idle: list[asyncio.Task[None]] = []
        self._evidence: list[asyncio.Task[None]] = []
        self._busy: asyncio.Task[None] | None = None
        self._echo = asyncio.Event()
        self._infrastructure: Raw = {}
        self._operator_version = ""

    async def run(self) -> None:
        """Obey stdin until it ends."""
        await self._open(self._plan["idle"], self._idle)
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while word := (await lines.readline()).decode().strip():
            if self._busy is not None:
                await self._busy
                self._busy = None
            self._mode = word
            if word == "watch" and not self._evidence:
                await self._open(self._plan["evidence"], self._evidence)
            elif word in {"desired", "rest"}:
                await _ended(self._evidence)
                self._echo.clear()
            sys.stdout.write("ready\n")
            sys.stdout.flush()
        await _ended([*self._idle, *self._evidence])

    def _wake(self, what: str) -> None:
        if self._mode == what and self._busy is None:
            self._busy = _task(self._change())

    async def _change(self) -> None:
        if self._mode == "desired":
            await self._open(self._plan["evidence"], self._evidence)
        meta = self._infrastructure["metadata"]
        status = {"topologyTransition": self._plan["record"]}
        body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
        await self._call("PATCH", self._plan["infrastructure"] + "/status", body)
        body = {"metadata": {"resourceVersion": self._operator_version}, "status": self._plan["report"]}
        await self._call("PATCH", self._plan["operator"] + "/status", body)
        await self._echo.wait()
        lanes = asyncio.Semaphore(_LANES)
        async with asyncio.TaskGroup() as group:
            for path, accept, whole in self._plan["reads"]:
                group.create_task(self._read(path, accept, lanes, whole=whole))
        found = json.loads(await self._call("GET", self._plan["infrastructure"]))
        version = found["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "status": self._plan["change"]}
        await self._call("PATCH", self._plan["infrastructure"] + "/status", body)

    async def _read(self, path: str, accept: str, lanes: asyncio.Semaphore, *, whole: bool) -> None:
        """Read one object, a page of a list or every page, and look at nothing but the way to the next page."""
        async with lanes:
            raw = await self._call("GET", path, accept=accept)
            while whole and (found := _CONTINUE.search(raw)):
                raw = await self._call("GET", f"{path}&continue={found[1].decode()}", accept=accept)

    async def _open(self, sources: list[Raw], tasks: list[asyncio.Task[None]]) -> None:
        """List all of them at once, and go on watching each; return when all are listed."""
        listed = [asyncio.Event() for _ in sources]
        for source, event in zip(sources, listed, strict=True):
            tasks.append(_task(self._follow(source, event)))
        for event in listed:
            await event.wait()

    async def _follow(self, source: Raw, listed: asyncio.Event) -> None:
        take = self._taker(source["field"])
        listing = await self._call("GET", source["list"], accept=source["list_accept"], missing=source["optional"])
        if not listing:
            # The operator asks for such a kind again after minutes.
            listed.set()
            return
        raw = json.loads(listing)
        # A Go server writes null for a list that was never filled.
        for item in raw["items"] or []:
            take(json.dumps({"object": item}).encode())
        listed.set()
        version = raw["metadata"]["resourceVersion"]
        path = f"{source['watch']}&resourceVersion={version}&timeoutSeconds=3000"
        headers = {"Accept": source["watch_accept"]}
        async with self._session.get(self._url + path, headers=headers) as response:
            async for line in response.content:
                take(line)

    def _taker(self, field: str) -> Callable[[bytes], None]:
        return {
            "infrastructure": self._take_infrastructure,
            "own_operator": self._take_operator,
            "cluster_version": self._take_version,
            "etcd_endpoints": self._take_endpoints,
        }.get(field, lambda _: None)

    def _take_infrastructure(self, line: bytes) -> None:
        found = json.loads(line)["object"]
        if "spec" in found:
            self._infrastructure = found
            if found["spec"].get("desiredTopology"):
                self._wake("desired")

    def _take_operator(self, line: bytes) -> None:
        meta = json.loads(line)["object"]["metadata"]
        # A bookmark moves on without the object.
        if "uid" in meta:
            self._operator_version = meta["resourceVersion"]

    def _take_version(self, line: bytes) -> None:
        if self._plan["echo"].encode() in line:
            self._echo.set()

    def _take_endpoints(self, line: bytes) -> None:
        if len(json.loads(line)["object"].get("data") or {}) >= self._plan["voters"]:
            self._wake("fact")

    async def _call(
        self, method: str, path: str, body: Raw | None = None, *, accept: str = _JSON, missing: bool = False
    ) -> bytes:
        """The body of an answer; empty for a 404 where `missing` allows that."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": accept, **(_MERGE if body is not None else {})}
        async with self._session.request(method, self._url + path, data=data, headers=headers) as response:
            raw = await response.read()
            if response.status == 404 and missing:
                return b""
            if response.status >= 300:
                raise SystemExit(f"{method} {path}: {response.status} {raw[:500]!r}")
            return raw


def _task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Begin some work whose failure is the end of this process: a floor that hangs would be taken for a slow one."""

    def judge(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise SystemExit("".join(traceback.format_exception(error)))

    task = asyncio.create_task(work)
    task.add_done_callback(judge)
    return task


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    tasks.clear()


async def main(access: kubeconfig.Access, plan: Raw) -> None:
    """Be the floor of a server."""
    connector = aiohttp.TCPConnector(limit=100, ssl=access.tls or True, keepalive_timeout=75.0)
    timeout = aiohttp.ClientTimeout(total=None, connect=5.0)
    headers = {"User-Agent": "floor", "Accept-Encoding": "identity", **access.headers}
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=headers, read_bufsize=4 << 20
    ) as session:
        await Floor(session, access.server, plan).run()


if __name__ == "__main__":
    asyncio.run(main(kubeconfig.load(pathlib.Path(sys.argv[1])), json.loads(pathlib.Path(sys.argv[2]).read_text())))
