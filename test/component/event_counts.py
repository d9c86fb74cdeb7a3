"""How often events may be told: once for each time that it happened, and never so often that a cluster fails for it."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from test.component import cluster

if TYPE_CHECKING:
    from topology_simulator import client as clients

OPENSHIFT_FAILS_AT = 20
"""Events with the same reason and note, over all namespaces: what OpenShift's tests accept in a cluster."""
_PER_REQUEST = frozenset({"TransitionRequested", "TransitionCancelled", "TransitionBlocked"})


async def assert_told_once(api: clients.Client, *, requests: int) -> None:
    """Assert that no event of ours was told more often than it can have happened, after so many requests."""
    found = await api.list(cluster.EVENTS, "default")
    ours = [one for one in found if one.get("reportingController") == "cluster-topology-operator"]
    told = collections.Counter((one["reason"], one["note"]) for one in ours)
    for (reason, note), times in told.items():
        allowed = max(1, requests) if reason in _PER_REQUEST else 1
        assert times <= allowed, f"{reason} was told {times} times: {note}"
        assert times <= OPENSHIFT_FAILS_AT
    assert len(ours) <= OPENSHIFT_FAILS_AT, told
    assert all(not one.get("series") and not one.get("deprecatedCount") for one in ours), told
    assert all(len(one["note"].encode()) <= 1024 for one in ours)
