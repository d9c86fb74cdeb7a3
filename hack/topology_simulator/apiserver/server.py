"""The embedded server: what a test can reach of it, and the way of a request to `handlers` and back.

State lives in the object, not in the port: `start` again on the same port and clients find everything as it was, which
is what restart tests need. Nothing listens on anything but a loopback address, because nothing here checks who asks.
"""

import asyncio
import dataclasses
import logging
import time
from collections.abc import Sequence
from typing import Any

import pydantic
from aiohttp import web

from .. import conditions, kubeconfig
from ..etcd import certificates
from . import builtins, faults, handlers, metadata, requests, resources, statuses, storage, streams

_LOG = logging.getLogger(__name__)
_SELF = metadata.Writer("topology-simulator", "v1")
_PREFIX = "/simulator/"
_FAULTS = pydantic.TypeAdapter(list[faults.Fault])


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """What a server held: objects (`Storage.dump`), the kinds that it served, its revision, when (s, monotonic)."""

    objects: str
    kinds: tuple[resources.Resource, ...]
    revision: int
    taken: float


class ApiServer(faults.Front):
    """An in-memory Kubernetes API server; its state outlasts a `stop`.

    `crds` are served from the start. `history` bounds the log (changes), `bookmark_seconds` is the time between
    bookmarks. `tls` is for tests of what clients send as credentials; here nothing checks those. Raises StatusError
    when a definition is refused.
    """

    def __init__(
        self,
        *,
        crds: Sequence[dict[str, Any]] = (),
        history: int = 4096,
        bookmark_seconds: float = 60.0,
        tls: certificates.Served | None = None,
    ) -> None:
        super().__init__(None if tls is None else tls.context)
        self._authority = b"" if tls is None else tls.authority
        self.storage = storage.Storage(history)
        self.registry = resources.Registry(builtins.KINDS)
        self.bookmark_seconds = bookmark_seconds
        self._handlers = handlers.Handlers(self.storage, self.registry)
        for name in builtins.INITIAL_NAMESPACES:
            self.install({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for crd in crds:
            self.install(crd)

    def install(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Create an object without a request and return its stored form. Raises StatusError as a create would."""
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        for kind in self.registry.kinds_of(group, version):
            if kind.kind == obj.get("kind"):
                namespace = (obj.get("metadata") or {}).get("namespace", "")
                return self._handlers.writes.create(kind, namespace, obj, requests.Intent(_SELF, []))
        raise statuses.bad_request(f'no matches for kind "{obj.get("kind")}" in version "{obj.get("apiVersion")}"')

    def kubeconfig(self) -> dict[str, Any]:
        """Return a kubeconfig; with TLS it has a token that nothing checks: kubectl asks for a password without."""
        return kubeconfig.content(
            self.url, authority=self._authority, token="topology-simulator" if self._authority else ""
        )

    def compact(self) -> None:
        """Forget the log: a watch from any earlier revision is answered with 410 from now on."""
        self.storage.compact()

    def snapshot(self) -> Snapshot:
        """Return what another server can go on from."""
        return Snapshot(self.storage.dump(), tuple(self.registry.all()), self.storage.revision, time.monotonic())

    def restore(self, saved: Snapshot) -> None:
        """Hold what a snapshot holds, as if it were of now: every time in it is shifted. No client may watch yet."""
        self.storage.load(conditions.moved(saved.objects, int(time.monotonic() - saved.taken)))
        self.registry.replace(saved.kinds)

    def put_back(self, saved: Snapshot, *, bump: int = 0) -> None:
        """Hold what a snapshot of this server holds, as it was: an etcd that was restored. It must not listen.

        Revisions go on from there, by `bump` higher. It begins without a log, as a restarted kube-apiserver does.
        """
        self.storage.load(saved.objects, saved.revision + bump)
        self.registry.replace(saved.kinds)

    async def _serve(self, http: web.Request) -> web.StreamResponse:
        if not http.path.startswith(_PREFIX):
            return await super()._serve(http)
        request = requests.parse(http.method, http.path, http.query, http.headers)
        try:
            request = dataclasses.replace(request, body=await http.read())
            return faults.response(_controlled(request, self.storage, self.faults, self.requests))
        except statuses.StatusError as error:
            return faults.response(handlers.refusal(error))

    async def _outcome(self, http: web.Request, request: requests.Request) -> web.Response | streams.Watcher:  # noqa: ARG002 - the proxy's
        answer: handlers.Answer | streams.Watcher | None
        answer, lost = await self._disturbed(request)
        try:
            answer = answer or self._handlers.handle(request)
        except statuses.StatusError as error:
            answer = handlers.refusal(error)
        except Exception:  # noqa: BLE001  # a fault of ours is a 500 for the client and a traceback in the log
            _LOG.exception("%s %s", request.method, request.path)
            answer = handlers.refusal(statuses.StatusError(500, "Internal error occurred: see the simulator's log"))
        if lost is not None:
            if isinstance(answer, streams.Watcher):
                self._forget(answer)
            await asyncio.sleep(lost.delay)
            raise faults.DroppedError
        return answer if isinstance(answer, streams.Watcher) else faults.response(answer)

    def _forget(self, watcher: streams.Watcher) -> None:
        self.storage.unsubscribe(watcher.selection.resource.store, watcher)

    async def _watch(self, http: web.Request, request: requests.Request, opened: streams.Watcher) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Cache-Control": "no-cache, private"})
        response.content_type = "application/json"
        stream = streams.WatchStream(
            request,
            response,
            http.transport,
            opened,
            revision=lambda: self.storage.revision,
            bookmark_seconds=self.bookmark_seconds,
        )
        try:
            return await self._send(http, stream)
        finally:
            self._forget(opened)


def _controlled(
    request: requests.Request, store: storage.Storage, rules: faults.Faults, log: requests.Log
) -> handlers.Answer:
    """Answer one of the simulator's own paths, for a server in a process of its own. Raises StatusError.

    POST faults: a JSON list of faults; all are added, or none. POST compact: forgets the log. GET requests: the audit
    log, oldest first; `?since=UNIX_SECONDS` for the later part. None is recorded or hit by faults.
    """
    answer: object = {}
    match request.method, request.path.removeprefix(_PREFIX):
        case "POST", "faults":
            try:
                wanted = _FAULTS.validate_json(request.body)
            except pydantic.ValidationError as error:
                raise statuses.bad_request(str(error)) from None
            answer = [{"hits": rules.add(fault).hits} for fault in wanted]
        case "POST", "compact":
            store.compact()
        case "GET", "requests":
            since = request.number("since") or 0
            answer = [dataclasses.asdict(record) for record in log if record.time >= since]
        case _:
            return handlers.unknown_path()
    return handlers.Answer(200, storage.encode(answer))
