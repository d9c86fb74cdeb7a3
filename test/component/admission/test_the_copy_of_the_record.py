"""The report in ClusterOperator `topology`, with the copy of the record, also while no operator runs.

Without the right it stays as it is (test_who_may_change_what.py); its metadata but for what an administrator confirms,
and every other ClusterOperator, is as before. What is tried is done for real here, and not as a dry run.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from test.component.admission import changes, policy_server
from test.component.admission.policy_server import Request
from test.component.rights import restricted_world
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    Object = dict[str, Any]
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real

_STATUS = f"{policy_server.OPERATOR}/status"
_FORGED = {"phase": "Completed", "name": "sno-to-ha-compact"}
_JSON = "application/json"
_OTHER = "admission-other"


async def test_nothing_is_confirmed_by_creating_it(ground: policy_server.PolicyServer) -> None:
    """Whoever deletes it may create it again, but not with what an administrator has to confirm."""
    await changes.prepare(ground)
    path = kinds.CLUSTER_OPERATORS.path()
    claims = {
        changes.BACKENDS: "192.0.2.10",
        "topology.openshift.io/etcd-backup-taken": "2099-01-01T00:00:00Z",
        "topology.openshift.io/operator-elsewhere": "true",
        "topology.openshift.io/router-drain-accepted": "true",
    }

    def created(**annotations: str) -> Request:
        metadata = {"name": "topology", "annotations": annotations}
        return Request("POST", {**kinds.CLUSTER_OPERATORS.new("topology", spec={}), "metadata": metadata}, _JSON, path)

    deleted = await ground.send("janitor", Request("DELETE", None, _JSON, policy_server.OPERATOR), dry=False)
    try:
        assert deleted.code == 200, deleted
        for name, value in claims.items():
            answer = await ground.send("janitor", created(**{name: value}), dry=False)
            assert answer.refused_by == policy_server.REPORT_POLICY, answer
            assert f"may not change annotation {name} of ClusterOperator topology" in answer.said
            assert (await ground.send("admin", created(**{name: value}))).code == 201
        answer = await ground.send("janitor", created(**{changes.PAUSED: "true", changes.MARK: "new"}), dry=False)
        assert answer.code == 201, answer
        operator = await ground.api.get(kinds.CLUSTER_OPERATORS, "topology")
        assert not changes.CONFIRMED.keys() & operator["metadata"]["annotations"].keys()
    finally:
        await ground.api.delete(kinds.CLUSTER_OPERATORS, "topology")
        await ground.anew()


@pytest.fixture
async def other(ground: policy_server.PolicyServer) -> AsyncIterator[Object]:
    """A ClusterOperator beside ours."""
    await ground.api.create(kinds.CLUSTER_OPERATORS, kinds.CLUSTER_OPERATORS.new(_OTHER, spec={}))
    yield await ground.api.patch_status(kinds.CLUSTER_OPERATORS, _OTHER, {"extension": changes.COPY})
    with contextlib.suppress(clients.ApiError):
        await ground.api.delete(kinds.CLUSTER_OPERATORS, _OTHER)


async def test_another_clusteroperator_and_the_metadata_of_ours_are_as_before(
    ground: policy_server.PolicyServer, other: Object
) -> None:
    await changes.prepare(ground)
    path = kinds.CLUSTER_OPERATORS.path(_OTHER)
    conditions = [{"type": "Available", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    for who, request in (
        ("ingress", Request("PATCH", {"status": {"extension": _FORGED}}, path=f"{path}/status")),
        ("ingress", Request("PATCH", {"status": {"extension": None, "conditions": conditions}}, path=f"{path}/status")),
        ("janitor", Request("PATCH", {"metadata": {"annotations": changes.CONFIRMED}}, path=path)),
        ("janitor", Request("PATCH", {"metadata": {"labels": {changes.MARK: "new"}}}, path=path)),
        ("janitor", Request("PATCH", {"metadata": {"labels": {changes.MARK: "new"}}}, path=policy_server.OPERATOR)),
        ("janitor", Request("PUT", other, _JSON, path)),
        ("janitor", Request("DELETE", None, _JSON, path)),
    ):
        answer = await ground.send(who, request)
        assert answer.code == 200, (who, request, answer)


# -- while no operator runs

_PATCH = ("patch", "infrastructure", "cluster", "--type", "merge", "-p")


@pytest.fixture
async def staged(furnished: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[restricted_world.RestrictedWorld]:
    """A cluster of three good nodes, in which the operator runs by a token of its ServiceAccount."""
    async with restricted_world.opened(restricted_world.SharedCluster(furnished), tmp_path) as made:
        yield made


async def test_while_no_operator_runs_upgrades_stay_blocked_and_nothing_is_confirmed(
    staged: restricted_world.RestrictedWorld, ground: policy_server.PolicyServer
) -> None:
    """It is evicted in every roll-out of machine configuration: then nothing puts its report right."""
    staged.operands.on = False
    operator = await staged.idle_operator()
    await ground.in_force()
    code, _, said = await ground.kubectl("requester", *_PATCH, '{"spec":{"desiredTopology":"HighlyAvailable"}}')
    assert code == 0, said
    attempt = (await staged.until_phase("Converging"))["attempt"]
    await staged.until_condition("Upgradeable", "False", "TransitionInProgress")
    await operator.kill()
    before = await staged.api.get(kinds.CLUSTER_OPERATORS, "topology")
    lift = {**next(one for one in before["status"]["conditions"] if one["type"] == "Upgradeable"), "status": "True"}
    forged = {**before["status"]["extension"], "phase": "Completed"}
    for who, what, change in (
        ("ingress", "/status", {"status": {"conditions": [lift]}}),
        ("ingress", "/status", {"status": {"extension": forged, "conditions": [lift]}}),
        ("ingress", "/status", {"status": None}),
        ("janitor", "", {"metadata": {"annotations": changes.CONFIRMED}}),
    ):
        tried = policy_server.Request("PATCH", change, path=policy_server.OPERATOR + what)
        answer = await ground.send(who, tried, dry=False)
        assert answer.refused_by == policy_server.REPORT_POLICY, answer
    back = {"status": {"controlPlaneTopology": "SingleReplica"}}
    moved = policy_server.Request("PATCH", back, path=f"{policy_server.INFRASTRUCTURE}/status")
    assert (await ground.send("ingress", moved, dry=False)).refused_by == policy_server.STATUS_POLICY
    assert await staged.api.get(kinds.CLUSTER_OPERATORS, "topology") == before
    await staged.operator("operator-b")
    await staged.operands.go_on()
    await staged.completed_once()
    assert (await staged.record())["attempt"] == attempt
    await staged.until_condition("Upgradeable", "True")
    code, _, said = await ground.kubectl("requester", *_PATCH, '{"spec":{"desiredTopology":null}}')
    assert code == 0, said
    await staged.until_phase("Idle")
    assert not staged.refused()
