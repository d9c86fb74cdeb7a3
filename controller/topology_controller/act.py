"""Performs the writes of a decision, in their order, each guarded, and stops at the first that does not hold.

Three writes exist: the record (Infrastructure status, topology untouched), the report (ClusterOperator `topology`) and
the change (Infrastructure status, topology and record together). Those to Infrastructure carry the resourceVersion that
the decision was made from, so that a request that changed, another leader's record, or anybody else's write turns ours
into a conflict instead of a mistake. The change asks twice more, right before it is sent: how old is the evidence, and
how long is the lease still ours? It says how long it may take, because facts grow old on the way, too. Where the lease
is in another cluster, `guard` asks both clusters before that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from topology_api import vocabulary
from topology_api.types import TopologyTransition

from .decide.state import EVIDENCE_SECONDS, EXECUTED_SECONDS
from .kube import client as clients
from .observe import catalog, facts, live

Raw = dict[str, Any]


class Voided(Exception):  # noqa: N818 - what became of the attempt; nothing is broken
    """A write was not sent: `why`. `age` is that of the evidence in seconds, where it was too old."""

    def __init__(self, why: str, age: float | None = None) -> None:
        super().__init__(why)
        self.age = age


class RecordDropped(Exception):  # noqa: N818 - what the server did with our write
    """The server answered a write of the record without the record: the CRD does not have our fields."""


class Unread(Voided):
    """The server was away, and nothing was read live since."""


def merge_patch(before: object, after: object) -> Any:
    """The merge patch (RFC 7386) that turns one JSON value into another; objects only differ where they do."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: Raw = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before or before[key] != value:
            patch[key] = merge_patch(before.get(key), value)
    return patch


class Act:
    """Every method sends one write and returns what the server made of it.

    `time_left` returns the seconds for which the lease is surely ours. `guard` raises KubeError where nothing may be
    written; it is None where the lease is in the cluster that is written to.
    """

    def __init__(
        self, client: clients.Client, time_left: Callable[[], float], guard: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._client = client
        self._time_left = time_left
        self._guard = guard

    async def save(self, infrastructure: facts.Infrastructure, record: TopologyTransition) -> Raw:
        """Write the record; topology stays. Raises KubeError (Conflict too), RecordDropped, Voided (the lease)."""
        await self._hold()
        return await self._write(infrastructure, record, {})

    async def change(
        self, evidence: live.Evidence | None, infrastructure: facts.Infrastructure, record: TopologyTransition
    ) -> Raw:
        """Move the topology, the one write that matters: before the evidence is 4 s old, or not at all.

        Raises Voided without evidence, when it is older than 2 s, or when the lease has less than one request timeout
        left, KubeError otherwise; after an `outcome_unknown` error nothing is written before a live read.
        """
        target = record.target
        if evidence is None:
            raise Voided("nothing was read live for it")
        if target is None:
            raise Voided("the record has no target")
        await self._hold()
        age = evidence.age()
        if age > EVIDENCE_SECONDS:
            raise Voided(f"the evidence is older than {EVIDENCE_SECONDS:g} s", age)
        moved = {"controlPlaneTopology": target.control_plane, "infrastructureTopology": target.infrastructure}
        return await self._write(infrastructure, record, moved, executed_within=EXECUTED_SECONDS - age)

    async def report(self, own: facts.Fact[facts.OwnOperator], status: Raw) -> Raw:
        """Write what differs to ClusterOperator `topology`, created first where it is missing. Raises as `save`."""
        await self._hold()
        before: Raw = {}
        if isinstance(own, facts.Unobserved):
            metadata = {"name": vocabulary.CLUSTER_OPERATOR}
            new = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": metadata, "spec": {}}
            created = await self._client.create(catalog.CLUSTER_OPERATORS, new)
            version = created["metadata"]["resourceVersion"]
            # Creating it may have taken all the time that the lease had to spare.
            await self._hold()
        else:
            version, before = own.resource_version, own.status
        known, name = {key: before.get(key) for key in status}, vocabulary.CLUSTER_OPERATOR
        body = {"metadata": {"resourceVersion": version}, "status": merge_patch(known, status)}
        return await self._client.merge_patch(catalog.CLUSTER_OPERATORS, name, body, subresource="status")

    async def _hold(self) -> None:
        """Ask the guard, then look at the lease, and at the evidence after that: the guard's answer takes time."""
        if self._guard is not None:
            await self._guard()
        if self._time_left() < self._client.request_timeout:
            raise Voided("the lease has less than one request timeout left")

    async def _write(
        self,
        infrastructure: facts.Infrastructure,
        record: TopologyTransition,
        moved: Raw,
        executed_within: float | None = None,
    ) -> Raw:
        change = merge_patch(infrastructure.raw_record or {}, record.to_api())
        body = {
            "metadata": {"resourceVersion": infrastructure.resource_version},
            "status": {**moved, "topologyTransition": change},
        }
        # Not even 429 is retried inside: what had to wait is decided again from what is true then.
        options: clients.Options = {"subresource": "status", "retry": False}
        if executed_within is not None:
            options["executed_within"] = executed_within
        raw = await self._client.merge_patch(catalog.INFRASTRUCTURES, "cluster", body, **options)
        written = (raw.get("status") or {}).get("topologyTransition")
        if not isinstance(written, dict) or written.get("phase") != record.phase.value:
            raise RecordDropped("infrastructures.config.openshift.io/cluster")
        return raw
