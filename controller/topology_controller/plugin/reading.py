"""Reads one consistent set of facts, live, through the same sources as the operator, and names the rights that lack.

Infrastructure is read first, since it tells whether there is anything to read and what; then everything at once, and
Infrastructure once more at the end (`observe.live`), so that the answer is not about a cluster that has just moved on.
What could not be read is a fact, and every check that needs it answers Unknown. The operator says of a refusal that its
role lacks a right; here it is a person who asks, so the right is named that this person lacks.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase

from ..decide import records
from ..kube import errors as kube
from ..kube import resource as resources
from ..observe import catalog, facts, live, parse
from . import connection, errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..transitions import load

_OPEN = frozenset({Phase.UNSUPPORTED, Phase.PENDING, Phase.ADMITTING, Phase.CONVERGING})
_ROLES = tuple(
    source for source in catalog.EVIDENCE if source.field in {"control_plane_nodes", "other_nodes", "scheduler"}
)
_IDLE = tuple(source for source in catalog.IDLE if source is not catalog.INFRASTRUCTURE)


@dataclass(frozen=True, slots=True)
class Unread:
    """An object that could not be read, and why. `right` is the verb that lacks, None where something else did."""

    what: str
    why: str
    right: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read for one answer. `operator` is the operator's own Lease; `now` is aware UTC."""

    known: facts.Facts
    infrastructure: facts.Infrastructure
    operator: facts.Fact[facts.EtcdLease]
    now: datetime
    unread: tuple[Unread, ...] = ()

    @property
    def record(self) -> TopologyTransition | None:
        """What the operator has recorded, None when it has not, or what stands there is no record."""
        return records.shown(self.infrastructure, self.known.own_operator)


async def overview(made: connection.Connection, transitions: load.Transitions, namespace: str) -> Seen:
    """What is needed to say what could be asked for from here."""
    here = await _infrastructure(made)
    sources = catalog.offered(*transitions.starting_at(records.pair(here)))
    return await _read(made, namespace, (*_IDLE, *sources))


async def everything(made: connection.Connection, transitions: load.Transitions, namespace: str) -> Seen:
    """What the operator watches while a wish is open: what a decision about a wish is made from."""
    await _infrastructure(made)
    return await _read(made, namespace, (*_IDLE, *catalog.watched(transitions)))


async def present(made: connection.Connection, transitions: load.Transitions, namespace: str) -> Seen:
    """What is needed to say how it stands: everything while a wish is open, else only what tells the phase."""
    here = await _infrastructure(made)
    record = here.record if isinstance(here.record, TopologyTransition) else None
    return await _read(made, namespace, about(record, transitions), served=record is not None)


def about(record: TopologyTransition | None, transitions: load.Transitions) -> tuple[catalog.Source, ...]:
    """What is read, besides Infrastructure, to say how it stands with this record."""
    phase = record.phase if record is not None else None
    if phase is Phase.CONVERGING:
        return (*_IDLE, *catalog.watched(transitions))
    return (*_IDLE, *catalog.EVIDENCE) if phase in _OPEN else _IDLE


async def head(made: connection.Connection, namespace: str) -> Seen:
    """What tells the wish and the phase, and no more: whoever takes a wish back is in a hurry."""
    here = await _infrastructure(made)
    return await _read(made, namespace, _IDLE, served=isinstance(here.record, TopologyTransition))


async def census(made: connection.Connection, namespace: str) -> Seen:
    """What the shape of a cluster is told by. A cluster whose API lacks our fields will do."""
    await _infrastructure(made)
    return await _read(made, namespace, _ROLES, served=True)


async def _infrastructure(made: connection.Connection) -> facts.Infrastructure:
    raw = await connection.infrastructure(made)
    try:
        return parse.infrastructure(raw)
    except ValueError as error:
        raise errors.PluginError(f"Infrastructure cluster makes no sense: {error}") from error


async def _read(
    made: connection.Connection, namespace: str, sources: tuple[catalog.Source, ...], *, served: bool = False
) -> Seen:
    """Read everything at once. `served` says that our fields are there beyond doubt: a record stands in them."""
    client = made.client
    async with asyncio.TaskGroup() as group:
        gathering = group.create_task(live.gather(client, facts.Facts(), sources))
        holder = group.create_task(live.read(client, lease(namespace)))
        crd = None if served else group.create_task(live.installed(client))
    known = dataclasses.replace(gathering.result().facts, installed=facts.Installed() if crd is None else crd.result())
    return assembled(known, holder.result(), sources, namespace, datetime.now(UTC))


def assembled(
    known: facts.Facts,
    operator: facts.Fact[facts.EtcdLease],
    sources: Iterable[catalog.Source],
    namespace: str,
    now: datetime,
) -> Seen:
    """What was read of these sources, in whatever way, as an answer is made from it. `operator` is its Lease.

    Raises PluginError when the API lacks our fields, or Infrastructure is not known.
    """
    if isinstance(known.installed, facts.Installed) and known.installed.lacks:
        raise errors.PluginError(
            f"the API of this cluster lacks our fields: CustomResourceDefinition {known.installed.lacks}",
            f"Install them with the commands of: {vocabulary.OPERATOR_NAME} manifests --crd-patch",
        )
    here = known.infrastructure
    if isinstance(here, facts.Unobserved):
        raise errors.PluginError(f"Infrastructure was there and cannot be read any more: {here}")
    known, unread = _with_rights(known, sources)
    if isinstance(operator, facts.Unobserved):
        operator, _ = _named(operator, lease(namespace).selection)
    return Seen(known, here, operator, now, unread)


def lease(namespace: str) -> catalog.Source:
    """The operator's own Lease, where it runs in that namespace."""
    selection = resources.Selection(catalog.LEASES, namespace=namespace, name=vocabulary.LEASE)
    return catalog.Source("operator", selection, parse.etcd_lease)


def _with_rights(known: facts.Facts, sources: Iterable[catalog.Source]) -> tuple[facts.Facts, tuple[Unread, ...]]:
    """The same facts, where what was refused says which right lacks; and everything that could not be read."""
    changed: dict[str, facts.Unobserved] = {}
    operands = dict(known.operands)
    unread: list[Unread] = []
    for source in sources:
        found = getattr(known, source.field) if source.operand is None else operands.get(source.operand)
        if not isinstance(found, facts.Unobserved) or found.missing or found.awaited:
            continue
        said, missing = _named(found, source.selection)
        unread.append(missing)
        if source.operand is None:
            changed[source.field] = said
        else:
            operands[source.operand] = said
    if isinstance(known.installed, facts.Unobserved):
        changed["installed"], missing = _named(known.installed, _CRD)
        unread.append(missing)
    return dataclasses.replace(known, operands=operands, **changed), tuple(unread)  # type: ignore[arg-type] # a fact each


_CRD = resources.Selection(catalog.CRDS, name=f"{catalog.INFRASTRUCTURES.plural}.{catalog.INFRASTRUCTURES.group}")
# What a refused read says, told in one place and compared with that.
_REFUSED = live.unobserved("", kube.Forbidden("get", catalog.CRDS, None, None, 403, "Forbidden", "")).why


def _named(found: facts.Unobserved, selection: resources.Selection) -> tuple[facts.Unobserved, Unread]:
    """The fact with the right that lacks, if it was refused; a right is what a role has: a verb, and what it is for."""
    if found.why != _REFUSED:
        return found, Unread(found.what, found.why)
    verb = "list" if selection.name is None else "get"
    right = f"{verb} {selection.resource.describe(selection.name, selection.namespace)}"
    said = dataclasses.replace(found, why=f"Forbidden: you lack the right to {right}")
    return said, Unread(said.what, said.why, right)
