"""Reads the evidence from the server, now: every source at once, and Infrastructure last.

A watch may be behind; the flip must not be decided from what was true a moment ago. The resourceVersion of
Infrastructure guards the wish, the topology and our own record, but not nodes or etcd, so Infrastructure is read after
everything else and the age of the evidence is counted from the first request. Used by the operator for the flip and
for what could be asked for, and by the command line, which has no watches.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..kube import errors
from . import catalog, facts, parse, reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..kube import client as clients
    from . import members as direct

# A kept connection answers several reads in the time that a new one needs for its TLS handshake: two lanes took half
# the time of one connection for each source. A server that is slow is asked for the rest at once.
_LANES = 2
_PATIENCE = 0.1


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts that were read for one decision. `taken` is the loop's time before the first request was sent."""

    facts: facts.Facts
    taken: float

    def age(self) -> float:
        """Seconds since the oldest fact in it was read, on the monotonic clock."""
        return asyncio.get_running_loop().time() - self.taken


async def read(client: clients.Client, source: catalog.Source) -> Any:
    """Read one source; whatever goes wrong becomes the fact."""
    selection = source.selection

    def reduce(raw: dict[str, Any]) -> Any:
        try:
            return source.reduce(raw)
        except Exception as error:  # noqa: BLE001 - an object may be anything; it is reported as a fact
            name = raw.get("metadata", {}).get("name") if isinstance(raw.get("metadata"), dict) else None
            return reading.malformed(selection.resource.describe(str(name), selection.namespace), error)

    try:
        if selection.name is not None:
            found = await client.get(selection.resource, selection.name, namespace=selection.namespace)
            return reading.value(source, (reduce(found),))
        options: clients.ListOptions = {
            "namespace": selection.namespace,
            "label_selector": selection.label_selector,
            "metadata_only": selection.metadata_only,
            "page": selection.page,
            "timeout": client.request_timeout,
        }
        if source.enough is not None:
            options["enough"] = source.enough
        listing = await client.list(selection.resource, reduce=reduce, **options)
        return reading.value(source, listing.items)
    except errors.KubeError as error:
        return reading.unobserved(source.what, error)


async def gather(
    client: clients.Client,
    base: facts.Facts,
    sources: Iterable[catalog.Source],
    etcd: direct.Members | None = None,
) -> Evidence:
    """Read these sources and, where there is a way to it, etcd itself concurrently, then Infrastructure.

    They are read two at a time; what is left after 0.1 s is asked for at once. Everything else is taken from `base`.
    The lease of the etcd operator keeps what the watches know of it (whether it moved), which one read cannot tell.
    """
    loop = asyncio.get_running_loop()
    taken = loop.time()
    chosen = tuple(sources)
    lanes = asyncio.Semaphore(_LANES)
    more = loop.call_later(_PATIENCE, _open, lanes, len(chosen))
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {source.field: group.create_task(_read_in_turn(client, source, lanes)) for source in chosen}
            if etcd is not None:
                tasks["etcd_members"] = group.create_task(_ask_etcd(etcd, base, tasks))
    finally:
        more.cancel()
    found = {field: task.result() for field, task in tasks.items()}
    operands = {source.operand: found.pop(source.field) for source in chosen if source.operand is not None}
    if operands:
        found["operands"] = {**base.operands, **operands}
    lease = found.get("etcd_lease")
    if isinstance(lease, facts.EtcdLease) and isinstance(base.etcd_lease, facts.EtcdLease):
        found["etcd_lease"] = dataclasses.replace(lease, moving=base.etcd_lease.moving)
    found["infrastructure"] = await read(client, catalog.INFRASTRUCTURE)
    return Evidence(dataclasses.replace(base, **found, live=True), taken)


async def _read_in_turn(client: clients.Client, source: catalog.Source, lanes: asyncio.Semaphore) -> Any:
    async with lanes:
        return await read(client, source)


def _open(lanes: asyncio.Semaphore, more: int) -> None:
    for _ in range(more):
        lanes.release()


async def _ask_etcd(
    etcd: direct.Members, base: facts.Facts, tasks: Mapping[str, asyncio.Task[Any]]
) -> facts.Fact[facts.EtcdMembers]:
    """Ask where the watches know members to be: their own list shows the rest. Without watches that is read first."""
    published = base.etcd_endpoints
    if isinstance(published, facts.Unobserved) and "etcd_endpoints" in tasks:
        published = await tasks["etcd_endpoints"]
    return await etcd.read(published)


async def installed(client: clients.Client) -> facts.Fact[facts.Installed]:
    """Read the served CRD of Infrastructure by name: does it have our fields?"""
    name = f"{catalog.INFRASTRUCTURES.plural}.{catalog.INFRASTRUCTURES.group}"
    what = catalog.CRDS.describe(name)
    try:
        return parse.installed(await client.get(catalog.CRDS, name))
    except errors.KubeError as error:
        return reading.unobserved(what, error)
