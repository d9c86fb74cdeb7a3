"""The verbs: methods with typed arguments that return raw objects.

Every call has one budget of seconds (`timeout`) for everything it does: waiting for a connection, all
attempts, all pauses between them. Reads are tried again while waiting can help and the budget allows.
Writes are not, because a write without an answer may have happened; the one exception is 429, which says
that it has not.

`exchange` carries out one attempt, `answer` judges it. `watch` builds on `list` and `open_watch`; `lease` and
`events` use the verbs.
"""

# ruff: noqa: PLR0913 - a verb has as many arguments as the API gives it, all but the first by name
# ruff: noqa: ASYNC109 - `timeout` is a budget for several attempts and pauses, which a cancel scope could not divide

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

import tenacity

from . import answer, credentials, errors, exchange, transport
from . import backoff as backoffs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from kubernetes_asyncio.client.configuration import Configuration

    from . import resource as resources

Raw = dict[str, Any]
T = TypeVar("T")
REQUEST_TIMEOUT = 10.0
"""Seconds for one attempt where nothing else is said."""
_PARTIAL = "application/json;as={kind};g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A whole list: its items in the server's order, and its resourceVersion.

    The items are reduced if that was asked for.
    """

    items: tuple[T, ...]
    resource_version: str


class ListOptions(TypedDict, total=False):
    """What a list can be asked for.

    `page` is in objects; `timeout` is the budget for all pages, in seconds. With `enough`, no further page is asked for
    once it says so of the items that were read, and the rest is left out.
    """

    namespace: str | None
    label_selector: str | None
    field_selector: str | None
    metadata_only: bool
    page: int
    enough: Callable[[Sequence[Any]], bool]
    timeout: float
    retry: bool


class Client:
    """A connection to one API server; use it with `async with`.

    `request_timeout` (seconds) bounds one attempt, and is the default budget of a call. `observer` is
    called once per attempt with (verb, plural, HTTP status or "error", seconds until the headers came).
    `extra_headers` go with every request (name, value; a name may come more than once); without any, those of somebody
    in whose name the kubeconfig acts.
    Every method raises the classes in `errors`; entering raises ConfigError for certificates that cannot
    be used.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        user_agent: str,
        field_manager: str,
        request_timeout: float = REQUEST_TIMEOUT,
        observer: exchange.Observer | None = None,
        extra_headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.request_timeout = request_timeout
        self._transport = transport.Transport(configuration)
        acting = credentials.extras(configuration).acting
        extra = extra_headers or (acting.headers if acting is not None else ())
        self._exchange = exchange.Exchange(self._transport, user_agent, observer, extra)
        self._field_manager = field_manager

    async def __aenter__(self) -> Self:
        await self._transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    async def get(
        self,
        resource: resources.Resource,
        name: str,
        *,
        namespace: str | None = None,
        metadata_only: bool = False,
        timeout: float | None = None,
    ) -> Raw:
        """Read one object, live from the store."""
        kinds = answer.kinds_of(resource, metadata_only=metadata_only)
        call = answer.Call("get", resource, namespace, name, kinds)
        accept = _PARTIAL.format(kind=answer.PARTIAL) if metadata_only else exchange.JSON
        return await self._ask(exchange.Request(call, resource.path(namespace, name), accept=accept), timeout)

    @overload
    async def list(self, resource: resources.Resource, **options: Unpack[ListOptions]) -> Listing[Raw]: ...

    @overload
    async def list(
        self, resource: resources.Resource, *, reduce: Callable[[Raw], T], **options: Unpack[ListOptions]
    ) -> Listing[T]: ...

    async def list(
        self,
        resource: resources.Resource,
        *,
        reduce: Callable[[Raw], Any] | None = None,
        **options: Unpack[ListOptions],
    ) -> Listing[Any]:
        """Read all objects, live from the store, in pages (of 500 by default).

        With `reduce`, each page is reduced as it arrives and its raw objects are dropped. All pages are
        one snapshot, whose version is the list's. When the server drops that snapshot in the middle
        (410), the list begins again, once. `timeout` is the budget for all pages, six request timeouts by
        default; `retry=False` leaves trying again to the caller.
        """
        namespace = options.get("namespace")
        metadata_only = options.get("metadata_only", False)
        fields = options.get("field_selector")
        kinds = answer.kinds_of(resource, metadata_only=metadata_only, plural=True)
        call = answer.Call("list", resource, namespace, (fields or "").partition("metadata.name=")[2] or None, kinds)
        accept = _PARTIAL.format(kind=answer.PARTIAL + "List") if metadata_only else exchange.JSON
        query = (("limit", str(options.get("page", 500))), *_selectors(options.get("label_selector"), fields))
        deadline = asyncio.get_running_loop().time() + options.get("timeout", 6 * self.request_timeout)
        enough = options.get("enough")
        begun_again = False
        token = ""
        items: list[Any] = []
        while True:
            page = (*query, ("continue", token)) if token else query
            request = exchange.Request(call, resource.path(namespace), page, accept=accept)
            left = deadline - asyncio.get_running_loop().time()
            try:
                raw = await self._ask(request, left, retry=options.get("retry", True))
            except errors.Gone:
                if not token or begun_again:
                    raise
                begun_again, token, items = True, "", []
                continue
            found, version, token = answer.page(call, 200, raw)
            items.extend(found if reduce is None else map(reduce, found))
            del raw, found
            if not token or (enough is not None and enough(items)):
                return Listing(tuple(items), version)

    async def create(
        self,
        resource: resources.Resource,
        body: Raw,
        *,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> Raw:
        """Create an object, or ask a review (a kind that is only ever created).

        Returns what the server made of it.
        """
        call = answer.Call("create", resource, namespace, body.get("metadata", {}).get("name"), (resource.kind,))
        request = exchange.Request(call, resource.path(namespace), self._written_by(), body)
        return await self._ask(request, timeout)

    async def merge_patch(
        self,
        resource: resources.Resource,
        name: str,
        body: Raw,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        retry: bool = True,
        timeout: float | None = None,
    ) -> Raw:
        """Merge-patch an object (RFC 7386).

        A `metadata.resourceVersion` in the body guards it with Conflict. `retry=False` leaves even 429 to the
        caller, for a write whose reasons grow old while it waits.
        """
        call = answer.Call("patch", resource, namespace, name, (resource.kind,))
        path = resource.path(namespace, name, subresource)
        query = self._written_by(dry_run=dry_run)
        return await self._ask(exchange.Request(call, path, query, body, exchange.MERGE_PATCH), timeout, retry=retry)

    async def replace(
        self,
        resource: resources.Resource,
        name: str,
        body: Raw,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Raw:
        """Replace an object; the `metadata.resourceVersion` in the body guards it with Conflict."""
        call = answer.Call("update", resource, namespace, name, (resource.kind,))
        path = resource.path(namespace, name, subresource)
        return await self._ask(exchange.Request(call, path, self._written_by(dry_run=dry_run), body), timeout)

    async def delete(
        self,
        resource: resources.Resource,
        name: str,
        *,
        namespace: str | None = None,
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Raw:
        """Delete an object; with `resource_version` only that version of it (else Conflict)."""
        call = answer.Call("delete", resource, namespace, name, ("Status", resource.kind))
        body: Raw = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if resource_version is not None:
            body["preconditions"] = {"resourceVersion": resource_version}
        return await self._ask(exchange.Request(call, resource.path(namespace, name), (), body), timeout)

    def open_watch(
        self,
        selection: resources.Selection,
        resource_version: str,
        timeout_seconds: float,
        read_timeout: float,
    ) -> AbstractAsyncContextManager[AsyncIterator[tuple[str, Raw]]]:
        """Open one watch from a version; what is entered yields (type, object) until the server ends it.

        Entering waits for the server's 200, at most one request timeout. The iterator ends when the
        server ended the watch in good order, and raises otherwise: TimedOut after `read_timeout` seconds
        without a byte, Unreachable when the connection is lost, Malformed for what is not an event, and
        whatever an ERROR event stands for. Never retries.
        """
        resource = selection.resource
        kinds = answer.kinds_of(resource, metadata_only=selection.metadata_only)
        call = answer.Call("watch", resource, selection.namespace, selection.name, kinds)
        query = (
            ("watch", "true"),
            ("resourceVersion", resource_version),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", str(max(1, round(timeout_seconds)))),
            *_selectors(selection.label_selector, selection.field_selector),
        )
        accept = _PARTIAL.format(kind=answer.PARTIAL) if selection.metadata_only else exchange.JSON
        return self._exchange.stream(
            exchange.Request(call, resource.path(selection.namespace), query, accept=accept),
            start=self.request_timeout,
            silence=read_timeout,
            # The server ends a watch at timeoutSeconds; one that goes on long after is not to be trusted.
            longest=max(1.0, timeout_seconds) + read_timeout,
        )

    def _written_by(self, *, dry_run: bool = False) -> tuple[tuple[str, str], ...]:
        query = (("fieldManager", self._field_manager),)
        return (*query, ("dryRun", "All")) if dry_run else query

    async def _ask(self, request: exchange.Request, timeout: float | None, *, retry: bool = True) -> Raw:
        """Ask until there is an answer.

        When the budget cannot hold another attempt, raise the last error.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.request_timeout if timeout is None else timeout)
        pauses = backoffs.Backoff(first=0.5, cap=5.0)

        async def attempt() -> Raw:
            left = min(self.request_timeout, deadline - loop.time())
            if left <= 0:
                raise request.call.error(errors.TimedOut, 0, "TimedOut", "no time was left to ask", sent=False)
            return await self._exchange.ask(request, left)

        def worth_it(error: BaseException) -> bool:
            if not retry or not isinstance(error, errors.KubeError):
                return False
            return error.may_pass if request.call.verb in errors.READS else isinstance(error, errors.Throttled)

        def pause(state: tenacity.RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            if isinstance(error, errors.Unreachable) and error.sent and state.attempt_number == 1:
                # Most likely a kept connection that the server had closed: a new one works at once.
                return 0.0
            return pauses.next(error.retry_after if isinstance(error, errors.KubeError) else None)

        # Most requests need no second attempt, and bookkeeping for one would cost a quarter of what a request costs.
        try:
            return await attempt()
        except errors.KubeError as error:
            if not worth_it(error):
                raise
            again = _beginning_with(error, attempt)
        return await tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(worth_it),
            wait=pause,
            # Better an error now than an answer when nobody waits for it any more.
            stop=lambda state: loop.time() + state.upcoming_sleep >= deadline,
            sleep=asyncio.sleep,
            reraise=True,
        )(again)


def _beginning_with(error: errors.KubeError, attempt: Callable[[], Awaitable[Raw]]) -> Callable[[], Awaitable[Raw]]:
    """An attempt whose first call repeats how the one before it ended."""
    ended = [error]

    async def again() -> Raw:
        if ended:
            raise ended.pop()
        return await attempt()

    return again


def _selectors(labels: str | None, fields: str | None) -> tuple[tuple[str, str], ...]:
    pairs = (("labelSelector", labels), ("fieldSelector", fields))
    return tuple((name, value) for name, value in pairs if value)
