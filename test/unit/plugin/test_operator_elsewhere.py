"""Does the operator run? Where it runs in another cluster, no lease of this one says so."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest
from test.unit.core import worlds

from topology_controller.observe import facts, parse
from topology_controller.plugin import cluster

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NO_LEASE = facts.Unobserved("the lease", "NotFound", missing=True)


def state(annotation: str | None, lease: dict[str, Any] | None) -> tuple[str, str]:
    annotations = {} if annotation is None else {"topology.openshift.io/operator-elsewhere": annotation}
    own = parse.own_operator({"metadata": {"resourceVersion": "1", "annotations": annotations}})
    held = NO_LEASE if lease is None else parse.etcd_lease({"metadata": {"name": "a"}, "spec": lease})
    known = dataclasses.replace(worlds.healthy(), own_operator=own)
    said = cluster.operator_state(cluster.Snapshot(known, worlds.infrastructure(), held, NOW))
    return said["state"], said["message"]


@pytest.mark.parametrize(
    ("annotation", "expected"), [("true", "Unknown"), ("false", "NotRunning"), (None, "NotRunning")]
)
def test_without_a_lease_it_is_not_running_unless_it_runs_elsewhere(annotation: str | None, expected: str) -> None:
    found, message = state(annotation, None)
    assert found == expected
    assert ("in another cluster" in message) is (expected == "Unknown")
