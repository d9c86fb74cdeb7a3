"""Reads the evidence from the server, now: every source at once, and Infrastructure last.

A watch may be behind. The resourceVersion of Infrastructure guards the request, the topology and our own record, but
not nodes or etcd: so Infrastructure is read after everything else, and the age of the evidence is counted from the
first request. `value`, `unobserved` and `missing` make a fact of the end of a read, for `watches` too.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..kube import client as clients
from ..kube import errors, resource, watch
from . import catalog, facts, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from . import members

# A kept connection answers several reads in the time that a new one needs for its TLS handshake: two lanes took half
# the time of one connection for each source. A server that is slow is asked for the rest at once.
_LANES = 2
_PATIENCE = 0.1
_REASONS = {
    errors.Forbidden: "Forbidden: grant the operator's role the right to read it",
    errors.Unauthorized: "Unauthorized: the credentials were not accepted",
    errors.NotFound: "NotFound: it does not exist",
    errors.TimedOut: "no answer in time",
    errors.Unreachable: "the API server cannot be reached",
}
_KINDS = {errors.NotFound: facts.Kind.MISSING, errors.Forbidden: facts.Kind.FORBIDDEN}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered to one read: the objects, and the version of a list; None where one object was read."""

    source: catalog.Source
    entries: tuple[watch.Entry[Any], ...]
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts that were read for one decision. `taken` is the loop's time before the first request was sent."""

    facts: facts.Facts
    taken: float
    answers: tuple[Answer, ...] = ()  # those with everything that there is: who watches can keep them

    def age(self) -> float:
        """Seconds since the oldest fact in it was read, on the monotonic clock."""
        return asyncio.get_running_loop().time() - self.taken


def unobserved(what: str, error: errors.KubeError) -> facts.Unobserved:
    """The fact of a read that failed, in words that stay the same while the trouble does."""
    reason = " ".join(part for part in (str(error.status or ""), error.reason) if part)
    return facts.Unobserved(what, _REASONS.get(type(error), reason), _KINDS.get(type(error), facts.Kind.UNANSWERED))


def missing(source: catalog.Source) -> facts.Unobserved:
    """The fact of an object that does not exist, or of objects whose kind the server does not have."""
    return facts.Unobserved(source.what, _REASONS[errors.NotFound], kind=facts.Kind.MISSING)


def malformed_object(source: catalog.Source, name: str, error: Exception) -> facts.Unobserved:
    """The fact of one object of a source, whose name may have the namespace in front."""
    selection = source.selection
    return fields.malformed(selection.resource.describe(name.rpartition("/")[2], selection.namespace), error)


def value(source: catalog.Source, objects: Iterable[Any]) -> Any:
    """The fact of a source from the reduced objects of a complete read: one object, or a tuple sorted by name."""
    if source.single:
        for fact in objects:
            return fact
        return missing(source)
    return tuple(sorted(objects, key=lambda item: item.what if isinstance(item, facts.Unobserved) else item.name))


async def read(
    client: clients.Client, source: catalog.Source, answers: list[Answer] | None = None, *, as_watched: bool = False
) -> Any:
    """Read one source; whatever goes wrong becomes the fact. What was answered is added to `answers`.

    One object is read by its name or, `as_watched`, by the list that its watch begins with: with no other right.
    """
    selection, kept = source.selection, [] if answers is None else answers
    entries: list[watch.Entry[Any]] = []

    def reduce(raw: dict[str, Any]) -> Any:
        try:
            fact = source.reduce(raw)
        except Exception as error:  # noqa: BLE001 - an object may be anything; it is reported as a fact
            metadata = raw.get("metadata")
            fact = malformed_object(source, str(metadata.get("name") if isinstance(metadata, dict) else None), error)
        with contextlib.suppress(ValueError):
            entries.append(watch.Entry(resource.key_of(raw), resource.version_of(raw), fact))
        return fact

    try:
        if selection.name is not None and not as_watched:
            fact = reduce(await client.get(selection.resource, selection.name, namespace=selection.namespace))
            kept.append(Answer(source, tuple(entries)))
            return fact
        listing = await client.list(selection, reduce, enough=source.enough, timeout=client.request_timeout)
        # Neither a list that may have ended early nor one with an object that has no version replaces anything.
        if source.enough is None and len(entries) == len(listing.items):
            kept.append(Answer(source, tuple(entries), listing.resource_version))
        return value(source, listing.items)
    except errors.KubeError as error:
        if await clients.is_unserved(client, selection, error):
            return missing(source)
        return unobserved(source.what, error)


async def gather(  # noqa: PLR0913 - from where, what, and how
    client: clients.Client,
    base: facts.Facts,
    sources: Iterable[catalog.Source],
    etcd: members.Members | None = None,
    *,
    again: bool = True,
    as_watched: bool = False,
) -> Evidence:
    """Read these sources and, where there is a way to it, etcd itself concurrently, then Infrastructure `again`.

    They are read two at a time; what is left after 0.1 s is asked for at once. Everything else is taken from `base`.
    """
    loop = asyncio.get_running_loop()
    taken = loop.time()
    chosen = tuple(sources)
    lanes = asyncio.Semaphore(_LANES)
    answers: list[Answer] = []

    async def read_in_turn(source: catalog.Source) -> Any:
        async with lanes:
            watched = source.watched is catalog.Watched.REQUEST
            return await read(client, source, answers, as_watched=as_watched and watched)

    def open_lanes() -> None:
        for _ in chosen:
            lanes.release()

    more = loop.call_later(_PATIENCE, open_lanes)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {source: group.create_task(read_in_turn(source)) for source in chosen}
            if machines := tasks.get(catalog.Sources.machines):
                tasks[catalog.Sources.hosts] = group.create_task(_hosts(client, base, machines))
            asked = None if etcd is None else group.create_task(_ask_etcd(etcd, base, tasks))
    finally:
        more.cancel()
    known = catalog.filled(base, {source: task.result() for source, task in tasks.items()})
    members_ = known.etcd_members if asked is None else asked.result()
    here = await read(client, catalog.Sources.infrastructure, answers) if again else known.infrastructure
    known = dataclasses.replace(known, etcd_members=members_, infrastructure=here, live=True)
    return Evidence(known, taken, tuple(answers))


async def _hosts(client: clients.Client, base: facts.Facts, machines: asyncio.Task[Any]) -> Any:
    for source in catalog.following(await machines):
        return await read(client, source)
    return base.hosts


async def _ask_etcd(
    etcd: members.Members, base: facts.Facts, tasks: Mapping[catalog.Source, asyncio.Task[Any]]
) -> facts.Fact[facts.EtcdMembers]:
    """Ask where the watches know members to be: their own list shows the rest. Without watches that is read first."""
    published = base.etcd_endpoints
    if isinstance(published, facts.Unobserved) and (task := tasks.get(catalog.Sources.etcd_endpoints)):
        published = await task
    return await etcd.read(published)
