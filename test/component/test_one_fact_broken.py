"""One preflight fact is broken, all others are good: nothing moves, and what is wrong is named until it is repaired.

Each case spoils one fact through the API: Pending, the failing check with what is wanted and what was found, upgrades
held back. Repairing the fact is all that is needed. What else a check
looks at is said by its unit tests. The cases of one check share a world and an operator; between two of them another
fact is the brake, and when the last one is repaired the topology moves by itself.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import pytest
import yaml

from test import polling
from test.component import cluster
from test.component import world as worlds
from test.component.broken_facts import (
    LAST,
    VOTERS,
    Case,
    begin_deleting,
    condition,
    delete_machine,
    delete_node,
    delete_operators,
    endpoints,
    endpoints_by_member_id,
    endpoints_by_node_name,
    finish_deletion,
    labelled,
    one_operator,
    paused_pool,
    ready,
    register_again,
    restore_lease,
    schedulable,
    until_failing,
)
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.broken_facts import Change

_CO, _CV, _ETCD = kinds.CLUSTER_OPERATORS, kinds.CLUSTER_VERSIONS, kinds.ETCDS
_FILE = pathlib.Path(__file__).parents[2] / "bindata" / "transitions" / f"{worlds.NAME}.yaml"

CASES = (
    *(
        Case(
            id=f"operator-degraded-{bad}",
            check="ClusterOperatorsStable",
            found=f"dns (Degraded={bad})",
            status=status,
            spoil=condition(_CO, "dns", "Degraded", bad),
            repair=condition(_CO, "dns", "Degraded", "False"),
        )
        for bad, status in (("True", "Unmet"), ("Unknown", "Unknown"))
    ),
    Case(
        id="no-operators-at-all",
        check="ClusterOperatorsStable",
        found="no ClusterOperators",
        status="Unknown",
        spoil=delete_operators,
        repair=one_operator,
    ),
    Case(
        id="upgrade",
        check="NoUpgradeInProgress",
        found="Progressing",
        spoil=condition(_CV, "version", "Progressing", "True"),
        repair=condition(_CV, "version", "Progressing", "False"),
    ),
    Case(
        id="pool-paused",
        check="MachineConfigPoolsReady",
        found="worker (paused; unpause it: oc patch machineconfigpool worker",
        spoil=paused_pool("worker", paused=True),
        repair=paused_pool("worker", paused=False),
    ),
    Case(
        id="node-not-ready",
        check="ControlPlaneNodes",
        found="master-2 (Ready=False)",
        spoil=ready(ready=False),
        repair=ready(ready=True),
    ),
    Case(
        id="node-missing",
        check="ControlPlaneNodes",
        found="Found: 2",
        also=("EtcdVotingMembers",),
        spoil=delete_node,
        repair=lambda api: cluster.add_node(api, "master-2"),
    ),
    Case(
        id="node-being-deleted",
        check="ControlPlaneNodes",
        found="master-2 (is being deleted)",
        spoil=begin_deleting,
        repair=register_again,
    ),
    Case(
        id="node-without-the-label-of-the-control-plane",
        check="ControlPlaneNodes",
        found="master-2 (lacks label node-role.kubernetes.io/control-plane)",
        also=("EtcdVotingMembers",),
        spoil=labelled("master-2", "control-plane", None),
        repair=labelled("master-2", "control-plane", ""),
    ),
    Case(
        id="dedicated-worker",
        check="DedicatedWorkers",
        found="worker-7",
        spoil=lambda api: cluster.add_node(api, "worker-7", ("worker",)),
        repair=lambda api: api.delete(kinds.NODES, "worker-7"),
    ),
    Case(
        id="masters-not-schedulable",
        check="MastersSchedulable",
        found="Found: false",
        spoil=schedulable(wanted=False),
        repair=schedulable(wanted=True),
    ),
    Case(
        id="two-voters",
        check="EtcdVotingMembers",
        found="Found: 2: master-0, master-1",
        also=("ControlPlaneNodes",),
        spoil=endpoints(**{LAST: None}),
        repair=endpoints(**{LAST: VOTERS[LAST]}),
    ),
    Case(
        id="voters-by-node-name",
        check="EtcdVotingMembers",
        found="is a node name",
        status="Unknown",
        also=("ControlPlaneNodes",),
        spoil=endpoints_by_node_name,
        repair=endpoints_by_member_id,
    ),
    Case(
        id="etcd-degraded",
        check="EtcdHealthy",
        found="EtcdMembersDegraded=True",
        spoil=condition(_ETCD, "cluster", "EtcdMembersDegraded", "True"),
        repair=condition(_ETCD, "cluster", "EtcdMembersDegraded", "False"),
    ),
    Case(
        id="etcd-operator-gone",
        check="EtcdOperatorAlive",
        found="has expired",
        spoil=lambda api: cluster.renew_etcd_lease(api, ago=3600.0),
        repair=cluster.renew_etcd_lease,
    ),
    Case(
        id="etcd-operator-without-a-lease",
        check="EtcdOperatorAlive",
        found="NotFound",
        status="Unknown",
        spoil=lambda api: api.delete(kinds.LEASES, simulated.ETCD_LEASE, simulated.ETCD_OPERATOR_NAMESPACE),
        repair=restore_lease,
    ),
    Case(
        id="machine-deleted",
        check="ControlPlaneMachines",
        found="Machine edge-7f4kd-master-1 of node master-1 is being deleted",
        spoil=delete_machine,
        repair=finish_deletion,
    ),
)  # fmt: skip


def test_every_preflight_check_of_the_definition_has_a_case() -> None:
    asked = {one["check"] for one in yaml.safe_load(_FILE.read_text())["preflight"]}
    assert asked == {case.check for case in CASES}


def brake_for(check: str) -> tuple[str, Change, Change]:
    """Another fact that keeps it Pending while one case is taken back and the next one set up: check, on, off."""
    if check == "MastersSchedulable":
        return (
            "ClusterOperatorsStable",
            condition(_CO, "dns", "Degraded", "True"),
            condition(_CO, "dns", "Degraded", "False"),
        )
    return "MastersSchedulable", schedulable(wanted=False), schedulable(wanted=True)


async def one_is_broken(world: worlds.World, case: Case) -> None:
    """Nothing but this fact is broken: assert what must be seen."""
    checks = await until_failing(world, case.id, case.check, *case.also)
    found = next(one for one in checks if one["name"] == case.check)
    assert found["status"] == case.status, (case.id, found)
    assert case.found in found["message"], (case.id, found)
    assert found["message"].startswith("Wanted: " if case.status == "Unmet" else "Cannot tell: "), (case.id, found)
    if case.status == "Unmet":
        assert "Found: " in found["message"], (case.id, found)
    record = await world.record()
    assert record["phase"] == "Pending", case.id
    assert "attempt" not in record, case.id
    blocked = await world.until_condition("Upgradeable", "False", "TransitionPending")
    assert "desiredTopology" in blocked["message"], case.id

    async def named() -> bool:
        waiting = await world.until_condition("Progressing", "False", "PreflightUnmet")
        return case.check in str(waiting["message"])

    await polling.until(f"{case.id}: Progressing names {case.check}", named)
    assert await world.moves() == [], case.id


def alone(folder: pathlib.Path) -> pathlib.Path:
    """A folder with this definition only: with its sibling there is one for every number of workers."""
    made = folder / "transitions"
    made.mkdir()
    (made / _FILE.name).write_text(_FILE.read_text())
    return made


@pytest.mark.nightly("ClusterOperatorsStable", "DedicatedWorkers", "EtcdHealthy", "MachineConfigPoolsReady")
@pytest.mark.parametrize("check", sorted({case.check for case in CASES}))
async def test_it_waits_and_names_the_fact_until_it_is_repaired(
    world: worlds.World, check: str, tmp_path: pathlib.Path
) -> None:
    brake, on, off = brake_for(check)
    await on(world.api)
    await world.ask_for()
    flags = ["--transitions-dir", str(alone(tmp_path))] if check == "DedicatedWorkers" else []
    await world.operator("operator-a", *flags, wait=False)
    for case in (one for one in CASES if one.check == check):
        await case.spoil(world.api)
        await until_failing(world, case.id, brake, case.check, *case.also)
        await off(world.api)
        await one_is_broken(world, case)
        await on(world.api)
        await until_failing(world, case.id, brake, case.check, *case.also)
        await case.repair(world.api)
        await until_failing(world, case.id, brake)

    await off(world.api)
    await world.until_phase("Converging", "Completed")
    assert await world.moves() == [worlds.MOVED]
    assert (await world.check(check))["status"] == "Met"
