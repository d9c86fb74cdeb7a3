"""The verbs: methods with typed arguments that return raw objects.

Every call has one budget of seconds (`timeout`) for all attempts and pauses. Reads are tried again while waiting can
help. Writes are not, because a write without an answer may have happened; 429 says that it has not. `transport` carries
out one attempt, `errors` judges it. `watch` builds on `list` and `open_watch`.
"""

# ruff: noqa: ASYNC109 - `timeout` is a budget for several attempts and pauses, which a cancel scope could not divide

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack

import tenacity

from . import credentials, errors, queue, transport

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from kubernetes_asyncio.client.configuration import Configuration

    from . import resource as resources

Raw = dict[str, Any]
T = TypeVar("T")
REQUEST_TIMEOUT = 10.0  # seconds for one attempt where nothing else is said


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A whole list: its reduced items in the server's order, and its resourceVersion."""

    items: tuple[T, ...]
    resource_version: str


class Options(TypedDict, total=False):
    """Of a request about one object; `timeout` is one request timeout by default.

    `retry=False` leaves even 429 to the caller. `executed_within` (seconds) is for a write whose reasons grow old on
    the way: it is sent along, so that the server leaves undone what waits there for longer.
    """

    namespace: str | None
    subresource: str | None
    retry: bool
    timeout: float | None
    executed_within: float


class Client(transport.Transport):
    """A connection to one API server; use it with `async with`, which raises ConfigError for unusable certificates.

    `request_timeout` (seconds) bounds one attempt, and is the default budget of a call. `observer` is called once per
    attempt with (verb, plural, HTTP status or "error", seconds until the headers came). Methods raise `errors`.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        user_agent: str,
        field_manager: str,
        request_timeout: float = REQUEST_TIMEOUT,
        observer: transport.Observer | None = None,
    ) -> None:
        super().__init__(configuration, user_agent, observer)
        self.request_timeout, self._field_manager = request_timeout, field_manager

    def anonymous_tls(self) -> ssl.SSLContext:
        """Return a TLS context that trusts what this client trusts, and shows no certificate. Raises OSError."""
        held = credentials.certificates(self._configuration)
        return credentials.tls(self._configuration, {name: held[name] for name in ("ssl_ca_cert",) if name in held})

    async def get(self, resource: resources.Resource, name: str, **options: Unpack[Options]) -> Raw:
        """Read one object, from etcd whatever API server answers."""
        return await self._ask("get", resource, name, None, options)

    async def list(
        self,
        selection: resources.Selection,
        reduce: Callable[[Raw], T],
        *,
        enough: Callable[[Sequence[T]], bool] | None = None,
        timeout: float | None = None,
        retry: bool = True,
    ) -> Listing[T]:
        """Read all objects, in pages of one snapshot that are reduced as they arrive. Raises Gone where it is dropped.

        Pages after one of which `enough` is true are left out. `timeout` is for all, six request timeouts by default.
        """
        clock, query = asyncio.get_running_loop().time, (("limit", str(selection.page)),)
        deadline = clock() + (6 * self.request_timeout if timeout is None else timeout)
        items: list[T] = []
        token = ""
        while True:
            page = (*query, ("continue", token)) if token else query
            request = _request("list", selection, "List", page)
            raw = await self._send(request, deadline - clock(), retry=retry)
            objects, version, token = errors.page(request, 200, raw)
            items.extend(map(reduce, objects))
            del raw, objects
            if not token or (enough is not None and enough(items)):
                return Listing(tuple(items), version)

    async def serves(self, resource: resources.Resource) -> bool:
        """Ask discovery whether the server has this kind at all, which needs no right to its objects."""
        request = errors.Request("get", resource, None, None, ("APIResourceList",), resource.version_path)
        try:
            raw = await self._send(request, None, retry=False)
        except errors.NotFound:
            return False
        served = raw.get("resources")
        names = [item.get("name") for item in served if isinstance(item, dict)] if isinstance(served, list) else []
        return resource.plural in names

    async def create(self, resource: resources.Resource, body: Raw, **options: Unpack[Options]) -> Raw:
        """Create an object, or ask a review (a kind that is only ever created). Returns what the server made of it."""
        return await self._ask("create", resource, body.get("metadata", {}).get("name"), body, options)

    async def merge_patch(self, resource: resources.Resource, name: str, body: Raw, **options: Unpack[Options]) -> Raw:
        """Merge-patch an object (RFC 7386). A `metadata.resourceVersion` in the body guards it with Conflict."""
        return await self._ask("patch", resource, name, body, options)

    async def replace(self, resource: resources.Resource, name: str, body: Raw, **options: Unpack[Options]) -> Raw:
        """Replace an object; the `metadata.resourceVersion` in the body guards it with Conflict."""
        return await self._ask("update", resource, name, body, options)

    def open_watch(
        self, selection: resources.Selection, resource_version: str, timeout_seconds: float, read_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[tuple[str, Raw]]]:
        """Open one watch; what is entered, within one request timeout, yields (type, object).

        Raises TimedOut after `read_timeout` seconds without a byte, and what an ERROR event stands for. Never retries.
        """
        asked = (("watch", "true"), ("resourceVersion", resource_version), ("allowWatchBookmarks", "true"))
        ends = ("timeoutSeconds", str(max(1, round(timeout_seconds))))
        request = _request("watch", selection, "", (*asked, ends))
        # The server ends a watch at timeoutSeconds; one that goes on long after is not to be trusted.
        longest = max(1.0, timeout_seconds) + read_timeout
        return self.stream(request, start=self.request_timeout, silence=read_timeout, longest=longest)

    async def _ask(
        self, verb: str, resource: resources.Resource, name: str | None, body: Raw | None, options: Options
    ) -> Raw:
        """Ask about one object; with a body it is a write."""
        namespace = options.get("namespace")
        # The path of an object that is created does not have its name yet.
        path = resource.path(namespace, None if verb == "create" else name, options.get("subresource"))
        query = () if body is None else (("fieldManager", self._field_manager),)
        timeout = options.get("timeout")
        if (within := options.get("executed_within")) is not None:
            # Go's syntax. Source: apiserver pkg/endpoints/filters/request_deadline.go (1.36). The server may still have
            # begun to write when it answers 504, which is why that does not say that nothing has happened.
            timeout = min(within, self.request_timeout)
            query = (*query, ("timeout", f"{int(1000 * timeout)}ms"))
        request = errors.Request(verb, resource, namespace, name, (resource.kind,), path, query, body)
        return await self._send(request, timeout, retry=options.get("retry", True))

    async def _send(self, request: errors.Request, timeout: float | None, *, retry: bool) -> Raw:
        """Send a request until there is an answer; the last error when the budget cannot hold another attempt."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.request_timeout if timeout is None else timeout)
        backoff = queue.Backoff(first=0.5, cap=5.0)
        changes = request.verb not in errors.READS and not request.resource.plural.endswith("reviews")
        passing = (errors.Throttled,) if changes else (errors.Throttled, errors.Unclear)

        async def attempt() -> Raw:
            left = min(self.request_timeout, deadline - loop.time())
            if left <= 0:
                raise request.error(errors.TimedOut, 0, "TimedOut", "no time was left to ask", sent=False)
            return await self.ask(request, left)

        def pause(state: tenacity.RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            if isinstance(error, errors.Unreachable) and error.sent and state.attempt_number == 1:
                # Most likely a kept connection that the server had closed: a new one works at once.
                return 0.0
            return backoff.next(error.retry_after if isinstance(error, errors.KubeError) else None)

        return await tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(passing if retry else ()),
            wait=pause,
            # Better an error now than an answer after the caller's budget.
            stop=lambda state: loop.time() + state.upcoming_sleep >= deadline,
            sleep=asyncio.sleep,
            reraise=True,
        )(attempt)


async def newest(client: Client, selection: resources.Selection) -> str:
    """Return the version that the store has now for this kind: no answer to a read without a version is older."""
    shortest = dataclasses.replace(selection, metadata_only=True, page=1)
    listing = await client.list(shortest, lambda _: None, enough=bool, timeout=client.request_timeout, retry=False)
    return listing.resource_version


async def is_unserved(client: Client, selection: resources.Selection, error: errors.KubeError) -> bool:
    """Whether a read failed because the server does not have an `optional` kind: it looks at rights before kinds."""
    if selection.optional and isinstance(error, errors.Forbidden):
        with contextlib.suppress(errors.KubeError):
            return not await client.serves(selection.resource)
    return selection.optional and isinstance(error, errors.NotFound)


def _request(
    verb: str, selection: resources.Selection, ending: str, query: tuple[tuple[str, str], ...]
) -> errors.Request:
    """Make a request, which may be answered by the whole objects also where only their metadata is wanted."""
    resource, whole = selection.resource, selection.resource.kind + ending
    kinds = (errors.PARTIAL + ending, whole) if selection.metadata_only else (whole,)
    path = resource.path(selection.namespace)
    fields = None if selection.name is None else f"metadata.name={selection.name}"
    pairs = (("labelSelector", selection.label_selector), ("fieldSelector", fields))
    query = (*query, *((name, value) for name, value in pairs if value))
    return errors.Request(verb, resource, selection.namespace, selection.name, kinds, path, query)
