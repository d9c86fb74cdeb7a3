"""What a cluster says is one word of a command that is printed to be pasted, and runs nothing."""

from __future__ import annotations

import dataclasses
import json
import shlex

import pytest

from topology_api.types import TopologyPair
from topology_controller.checks import machine_config
from topology_controller.decide import applicability, problems
from topology_controller.observe import facts
from topology_controller.report import view

from . import worlds

EVIL = ["x'; touch /tmp/x; echo '", "$(id)", "`id`", "a b", "\\'", 'a"b', "*", "~root", "-x", "a\\"]


def pasted(text: str) -> list[str]:
    """The words of the command at the end of a message."""
    return shlex.split(text[text.index("oc ") :])


@pytest.mark.parametrize("evil", EVIL)
def test_the_command_of_a_transition_that_is_offered(evil: str) -> None:
    assert json.loads(pasted(view._request(evil))[-1]) == {"spec": {"desiredTopology": evil}}


@pytest.mark.parametrize("evil", EVIL)
def test_the_command_that_hands_a_request_over(evil: str) -> None:
    infrastructure = worlds.healthy().infrastructure
    assert isinstance(infrastructure, facts.Infrastructure)
    text = applicability._handed_over(dataclasses.replace(infrastructure, desired=evil, native_desired=None))
    assert json.loads(pasted(text)[-1]) == {"spec": {"controlPlaneTopology": evil}}


@pytest.mark.parametrize("evil", EVIL)
def test_the_command_that_restores_a_request(evil: str) -> None:
    text = problems.restored(TopologyPair(control_plane=evil, infrastructure="HighlyAvailable"))
    assert json.loads(pasted(text)[-1]) == {"spec": {"desiredTopology": evil}}


@pytest.mark.parametrize("evil", EVIL)
def test_the_command_that_lets_a_pool_follow(evil: str) -> None:
    pool = facts.MachineConfigPool(evil, "a", "b", 1, 0, 1, 0, observed=True, paused=True)
    words = pasted(machine_config._unpause(pool))
    assert words == ["oc", "patch", "machineconfigpool", evil, "--type", "merge", "-p", '{"spec":{"paused":false}}']
