"""The machine config operator: works with the new topology first, then rolls another configuration out."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.observe import facts

from . import measuring, worlds

OBSERVED, POOLS = CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED, CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT
NEW = {"wanted_configuration": "rendered-master-2", "configuration": "rendered-master-2"}
ARBITER = measuring.definition("arbiter-to-ha")


def controller(**changes: Any) -> measuring.Cluster:
    cluster = measuring.followed()
    assert isinstance(cluster.known.controller_config, facts.ControllerConfig)
    return cluster.but(controller_config=dataclasses.replace(cluster.known.controller_config, **changes))


def pools(*found: facts.Fact[facts.MachineConfigPool]) -> measuring.Cluster:
    return measuring.followed().but(machine_config_pools=found)


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"control_plane": "SingleReplica"}, CheckStatus.UNMET, "it is made for SingleReplica"),
        ({"control_plane": None}, CheckStatus.UNMET, "it is made for no topology"),
        ({"observed": False}, CheckStatus.UNMET, "has not seen that yet"),
        ({"failing": "True"}, CheckStatus.UNMET, "TemplateControllerFailing=True"),
        ({"completed": "False"}, CheckStatus.UNMET, "TemplateControllerCompleted=False"),
        ({"completed": "absent"}, CheckStatus.UNKNOWN, "TemplateControllerCompleted=absent"),
        ({"failing": "Unknown"}, CheckStatus.UNKNOWN, "TemplateControllerFailing=Unknown"),
    ],
)
def test_the_controller_must_work_with_the_new_topology(
    changes: dict[str, Any], status: CheckStatus, reason: str
) -> None:
    found, message = controller(**changes).ask(OBSERVED)
    assert found is status
    assert reason in message
    assert "controllerconfigs.machineconfiguration.openshift.io/machine-config-controller" in message


@pytest.mark.parametrize("there", ["SingleReplica", None])
def test_every_control_plane_node_must_go_by_it(there: str | None) -> None:
    """The daemon drains a node unless its annotation says SingleReplica."""
    nodes = (worlds.node(0, observed_topology="HighlyAvailable"), worlds.node(1, observed_topology=there))
    status, message = measuring.followed().but(control_plane_nodes=nodes).ask(OBSERVED)
    assert status is CheckStatus.UNMET
    assert f"node-1 ({there or 'none'})" in message
    assert "node-0" not in message


def test_no_controller_and_no_nodes_prove_nothing() -> None:
    cluster = measuring.followed()
    for nothing in (worlds.BROKEN, worlds.MISSING):
        assert cluster.but(controller_config=nothing).ask(OBSERVED)[0] is CheckStatus.UNKNOWN
    for nobody in (worlds.BROKEN, (), (worlds.node(0, observed_topology="HighlyAvailable"), worlds.BROKEN)):
        assert cluster.but(control_plane_nodes=nobody).ask(OBSERVED)[0] is CheckStatus.UNKNOWN


def test_pools_say_nothing_before_the_controller_has_looked() -> None:
    status, message = controller(observed=False).ask(POOLS)
    assert status is CheckStatus.UNMET
    assert "Waiting for MachineConfigControllerObserved" in message
    status, message = measuring.followed().but(controller_config=worlds.BROKEN).ask(POOLS)
    assert status is CheckStatus.UNKNOWN
    assert str(worlds.BROKEN) in message


def test_a_pool_that_is_equal_to_itself_may_not_have_heard_of_the_flip() -> None:
    status, message = pools(worlds.pool()).ask(POOLS)
    assert status is CheckStatus.UNMET
    assert "master (still at rendered-master-1, the configuration from before the topology moved)" in message
    assert pools(worlds.pool(**NEW)).ask(POOLS)[0] is CheckStatus.MET


def test_it_may_stay_where_the_controller_had_looked_before_the_flip() -> None:
    cluster = pools(worlds.pool()).measured_by(control_plane_observed="HighlyAvailable")
    assert cluster.ask(POOLS)[0] is CheckStatus.MET


def test_it_may_stay_where_both_topologies_have_the_same_configuration() -> None:
    cluster = measuring.followed(ARBITER).but(machine_config_pools=(worlds.pool(),))
    assert cluster.ask(POOLS)[0] is CheckStatus.MET
    assert cluster.unmeasured().ask(POOLS)[0] is CheckStatus.MET, "nothing has to be measured"


def test_without_a_baseline_nobody_knows_whether_it_is_another_configuration() -> None:
    status, message = measuring.followed().unmeasured().ask(POOLS)
    assert status is CheckStatus.UNKNOWN
    assert measuring.MASTER in message
    assert "status.topologyTransition.baseline.machineConfigPools" in message
    assert measuring.followed().measured_by(machine_config_pools=()).ask(POOLS)[0] is CheckStatus.UNKNOWN
    status, message = pools(worlds.pool(degraded=1)).unmeasured().ask(POOLS)
    assert status is CheckStatus.UNMET, "that it has not rolled out can be told all the same"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"degraded": 1}, "1 degraded machines"),
        ({"observed": False}, "has not seen its newest generation"),
        ({"configuration": ""}, "no rendered configuration"),
        ({"wanted_configuration": "", "configuration": ""}, "no rendered configuration"),
        (
            {"configuration": "rendered-master-1", "updated": 1},
            "rolling out rendered-master-2, 1 of 3 machines updated",
        ),
        ({"updated": 2}, "2 of 3 machines updated"),
        ({"ready": 2}, "2 of 3 machines ready"),
    ],
)
def test_a_pool_that_has_not_rolled_out_says_why(changes: dict[str, Any], reason: str) -> None:
    status, message = pools(worlds.pool(**{**NEW, **changes})).ask(POOLS)
    assert status is CheckStatus.UNMET
    assert f"master ({reason}" in message or reason in message


def test_other_pools_need_not_change_but_must_be_rolled_out() -> None:
    empty = worlds.pool("worker", machines=0, updated=0, ready=0)
    assert pools(worlds.pool(**NEW), empty).ask(POOLS)[0] is CheckStatus.MET
    status, message = pools(worlds.pool(**NEW), worlds.pool("infra", ready=0)).ask(POOLS)
    assert status is CheckStatus.UNMET
    assert "infra (0 of 3 machines ready)" in message


def test_pools_that_are_not_there_or_cannot_be_read_prove_nothing() -> None:
    for found in ((), (worlds.pool("worker"),), (worlds.pool(**NEW), worlds.BROKEN)):
        assert pools(*found).ask(POOLS)[0] is CheckStatus.UNKNOWN
    assert measuring.followed().but(machine_config_pools=worlds.BROKEN).ask(POOLS)[0] is CheckStatus.UNKNOWN


def test_the_order_of_pools_does_not_change_the_message() -> None:
    found = (worlds.pool(**NEW), worlds.pool("worker"), worlds.pool("infra"))
    assert pools(*found).ask(POOLS) == pools(*reversed(found)).ask(POOLS)
