"""`status`: what the operator has recorded, whether it is still there, and what is seen of nodes and operands."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin.commands import status

from ..core import worlds
from . import replies


def test_operands_are_looked_at_while_the_cluster_follows() -> None:
    found = replies.told(replies.in_phase(Phase.CONVERGING))
    operands = {(one["check"], one["name"]): one for one in found["operands"]["items"]}
    assert operands["ConsoleReplicas", "openshift-console/console"]["wanted"] == 2
    assert found["cancel"] is None
    idle = dataclasses.replace(replies.WITHOUT_REQUEST, control_plane_nodes=facts.NOT_READ)
    for part in ("operands", "nodes", "etcd"):
        assert replies.told(idle)[part] == {"items": [], "said": status.NOT_NOW}


@pytest.mark.parametrize(
    ("lease", "own", "state"),
    [
        pytest.param(replies.LEASE, worlds.own(), "Running", id="renewed"),
        pytest.param(dataclasses.replace(replies.LEASE, holder=""), worlds.own(), "NotRunning", id="given-back"),
        pytest.param(
            dataclasses.replace(replies.LEASE, renew_time=worlds.NOW - timedelta(seconds=168)), worlds.own(),
            "NotRunning", id="expired",
        ),
        pytest.param(
            dataclasses.replace(replies.LEASE, renew_time=worlds.NOW - timedelta(seconds=166)), worlds.own(), "Running",
            id="within-its-duration",
        ),
        pytest.param(
            facts.EtcdLease("ghost", worlds.NOW - timedelta(seconds=631), 2**31 - 1), worlds.own(), "NotRunning",
            id="of-a-ghost",
        ),
        pytest.param(worlds.MISSING, worlds.own(), "NotRunning", id="no-lease"),
        pytest.param(worlds.MISSING, worlds.MISSING, "NotInstalled", id="nothing-of-it"),
        pytest.param(worlds.BROKEN, worlds.own(), "Unknown", id="forbidden"),
        pytest.param(dataclasses.replace(replies.LEASE, renew_time=None), worlds.own(), "Unknown", id="never-renewed"),
    ],
)  # fmt: skip
def test_whether_the_operator_is_there_is_told_by_its_lease(
    lease: facts.Fact[facts.EtcdLease], own: facts.Fact[facts.OwnOperator], state: str
) -> None:
    known = dataclasses.replace(replies.WITHOUT_REQUEST, own_operator=own)
    for found in (replies.told(known, operator=lease), replies.planned(known, operator=lease)):
        assert found["operator"]["state"] == state, found["operator"]["message"]
