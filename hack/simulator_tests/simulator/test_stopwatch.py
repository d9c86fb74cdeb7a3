"""The time from the last operand that came to rest to Completed, as somebody sees it who watches the API."""

from __future__ import annotations

from typing import Any

import pytest

from topology_simulator import conditions, kinds, machines, operands, stopwatch
from topology_simulator.actors import console as consoles


class Watched:
    """A stopwatch, and a clock that only a test moves."""

    def __init__(self):
        self.now = 100.0
        nobody: Any = None
        self.watch = stopwatch.Stopwatch(nobody, lambda: self.now)

    def see(self, kind, obj, *, later=1.0):
        self.now += later
        self.watch._look(kind, obj)

    def phase(self, phase, *, later=1.0):
        record = {"topologyTransition": {"phase": phase}}
        self.see(kinds.INFRASTRUCTURES, {"metadata": {"name": "cluster"}, "status": record}, later=later)


@pytest.fixture
def watched():
    return Watched()


CONSOLE = next(one for one in operands.WORKLOADS if one.name == "console")


def console(ready):
    made = operands.workload(CONSOLE, 2)
    return {**made, "status": operands.workload_status(CONSOLE, 2, 2, ready)}


def test_it_is_counted_from_the_last_change(watched):
    watched.see(kinds.DEPLOYMENTS, console(1))
    watched.see(kinds.DEPLOYMENTS, console(2))
    watched.see(kinds.DEPLOYMENTS, console(2), later=2.0)
    watched.phase("Converging")
    assert watched.watch.measured is None
    watched.phase("Completed", later=0.5)
    assert watched.watch.measured == stopwatch.Measured(3.5, "Deployment console")
    watched.phase("Completed", later=9.0)
    assert watched.watch.measured == stopwatch.Measured(3.5, "Deployment console")


def test_restarts_of_the_console_are_no_change(watched):
    reason = consoles.Console.reason

    def restarting(ready, status):
        marked = {
            **console(ready),
            "metadata": {**console(ready)["metadata"], "annotations": {consoles.ANNOTATION: "7"}},
        }
        said = conditions.written([conditions.Condition("Progressing", status, reason if status == "True" else "")])
        watched.see(kinds.DEPLOYMENTS, marked)
        watched.see(kinds.CLUSTER_OPERATORS, kinds.CLUSTER_OPERATORS.new("console", status={"conditions": said}))

    restarting(2, "False")
    restarting(1, "True")
    restarting(2, "False")
    watched.phase("Completed")
    assert watched.watch.measured == stopwatch.Measured(5.0, "ClusterOperator console")


def test_heartbeats_and_our_own_operator_are_no_change(watched):
    node = machines.node("master-0", roles=("master",), ready=True)
    own = kinds.CLUSTER_OPERATORS.new("topology", status={"conditions": []})
    watched.see(kinds.NODES, node)
    watched.see(kinds.CLUSTER_OPERATORS, own)
    beat = {**node, "status": {**node["status"], "conditions": machines.beat(node, ready=True)}}
    busy = conditions.written([conditions.Condition("Progressing", "True")])
    watched.see(kinds.NODES, beat)
    watched.see(kinds.CLUSTER_OPERATORS, {**own, "status": {"conditions": busy}})
    watched.phase("Completed")
    assert watched.watch.measured.seconds == 3.0
    assert watched.watch.measured.last == "ClusterOperator topology"


def test_templates_that_are_rendered_again_for_the_same_topology_are_no_change(watched):
    def copy(version, topology):
        infra = {"metadata": {"resourceVersion": version}, "status": {"controlPlaneTopology": topology}}
        return kinds.CONTROLLER_CONFIGS.new("machine-config-controller", spec={"infra": infra})

    watched.see(kinds.CONTROLLER_CONFIGS, copy("7", "HighlyAvailable"))
    watched.see(kinds.CONTROLLER_CONFIGS, copy("8", "HighlyAvailable"))
    watched.phase("Completed")
    assert watched.watch.measured == stopwatch.Measured(2.0, "ControllerConfig machine-config-controller")
    watched.phase("Converging")
    watched.see(kinds.CONTROLLER_CONFIGS, copy("9", "SingleReplica"))
    watched.phase("Completed")
    assert watched.watch.measured.seconds == 1.0


def test_another_transition_is_measured_anew(watched):
    watched.see(kinds.DEPLOYMENTS, console(1))
    watched.phase("Completed")
    watched.phase("Pending")
    assert watched.watch.measured is None
    watched.see(kinds.DEPLOYMENTS, console(2))
    watched.phase("Completed", later=4.0)
    assert watched.watch.measured == stopwatch.Measured(4.0, "Deployment console")
