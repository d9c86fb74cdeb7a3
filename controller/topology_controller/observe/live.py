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
    from collections.abc import Iterable

    from ..kube import client as clients


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
        listing = await client.list(
            selection.resource,
            reduce=reduce,
            namespace=selection.namespace,
            label_selector=selection.label_selector,
            metadata_only=selection.metadata_only,
            page=selection.page,
            timeout=client.request_timeout,
        )
        return reading.value(source, listing.items)
    except errors.KubeError as error:
        return reading.unobserved(source.what, error)


async def gather(client: clients.Client, base: facts.Facts, sources: Iterable[catalog.Source]) -> Evidence:
    """Read these sources concurrently, then Infrastructure; everything else is taken from `base`.

    The lease of the etcd operator keeps what the watches know of it (whether it moved), which one read cannot tell.
    """
    taken = asyncio.get_running_loop().time()
    chosen = tuple(sources)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(client, source)) for source in chosen]
    found = {source.field: task.result() for source, task in zip(chosen, tasks, strict=True)}
    lease = found.get("etcd_lease")
    if isinstance(lease, facts.EtcdLease) and isinstance(base.etcd_lease, facts.EtcdLease):
        found["etcd_lease"] = dataclasses.replace(lease, moving=base.etcd_lease.moving)
    found["infrastructure"] = await read(client, catalog.INFRASTRUCTURE)
    return Evidence(dataclasses.replace(base, **found, live=True), taken)


async def installed(client: clients.Client) -> facts.Fact[facts.Installed]:
    """Read the served CRD of Infrastructure by name: does it have our fields?"""
    name = f"{catalog.INFRASTRUCTURES.plural}.{catalog.INFRASTRUCTURES.group}"
    what = catalog.CRDS.describe(name)
    try:
        return parse.installed(await client.get(catalog.CRDS, name))
    except errors.KubeError as error:
        return reading.unobserved(what, error)
    except ValueError as error:
        return reading.malformed(what, error)
