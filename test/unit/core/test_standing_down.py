"""When the operator must not act: hosted, unknown, image-based, the native controller, the API missing."""

from __future__ import annotations

from typing import Any

import pytest

from topology_api.vocabulary import Reason
from topology_controller.decide import discovery
from topology_controller.decide.decision import Step
from topology_controller.observe import facts

from . import worlds
from .outcomes import WELL, T, row


@pytest.mark.parametrize(
    ("changes", "reason", "text"),
    [
        ({"control_plane": "External"}, Reason.HOSTED_CONTROL_PLANE, "controllerAvailabilityPolicy"),
        ({"control_plane": "Mystery"}, Reason.UNKNOWN_TOPOLOGY, "controlPlaneTopology Mystery"),
        ({"control_plane": "x" * 65, "record": None}, Reason.UNKNOWN_TOPOLOGY, "controlPlaneTopology xxx"),
        ({"control_plane": None}, Reason.UNKNOWN_TOPOLOGY, "no status.controlPlaneTopology"),
        ({"infrastructure": None}, Reason.UNKNOWN_TOPOLOGY, "infrastructureTopology no value"),
        ({"infrastructure": "External"}, Reason.UNKNOWN_TOPOLOGY, "infrastructureTopology External"),
        ({"image_based_install": True}, Reason.IMAGE_BASED_INSTALL, "image-based-install"),
    ],
)
def test_a_cluster_of_another_kind_is_left_alone(changes: dict[str, Any], reason: Reason, text: str) -> None:
    found = worlds.decide(worlds.with_infrastructure(worlds.healthy(live=True), **changes))
    assert found.steps == (Step.REPORT,)
    assert not found.watch
    assert row(found) == WELL | {"Disabled": (T, reason)}
    assert found.disabled is not None
    assert text in found.disabled.message


@pytest.mark.parametrize(
    ("gates", "present", "disabled"),
    [
        ((("4.20.1", True),), True, True),
        ((("4.20.1", True),), False, False),
        ((("4.20.1", False),), True, False),
        ((("4.20.1", False), ("4.21.0", True)), True, False),
        ((("4.19.0", True),), True, True),
        ((), True, False),
    ],
)
def test_both_the_gate_of_this_version_and_its_conditions_are_needed(
    gates: tuple[tuple[str, bool], ...],
    present: bool,  # noqa: FBT001 - a column of the table
    disabled: bool,  # noqa: FBT001 - a column of the table
) -> None:
    known = worlds.healthy(feature_gates=facts.FeatureGates(gates), native_controller=facts.NativeController(present))
    assert (worlds.decide(known).disabled is not None) is disabled


@pytest.mark.parametrize("record", [None, worlds.admitting(), worlds.converging()])
def test_an_api_without_our_fields_is_said_with_the_command(record: Any) -> None:
    known = worlds.recorded(worlds.healthy(installed=facts.Installed("infrastructures lacks x"), live=True), record)
    found = worlds.decide(known, worlds.term(attempt="mine"))
    assert found.steps == (Step.REPORT,)
    assert row(found) == WELL | {"Degraded": (T, Reason.API_NOT_INSTALLED)}
    assert found.degraded is not None
    assert "manifests --crd-patch" in found.degraded.message


# Discovery


def test_discovery_says_what_is_possible_and_what_blocks_it() -> None:
    found = discovery.available(worlds.healthy(), worlds.ONLY_COMPACT, worlds.NOW)
    assert found is not None
    assert [(item.name, item.available, item.blockers) for item in found] == [("sno-to-ha-compact", True, ())]
    blocked = discovery.available(worlds.healthy(etcd=worlds.BROKEN), worlds.ONLY_COMPACT, worlds.NOW)
    assert blocked is not None
    assert [blocker.name for blocker in blocked[0].blockers] == ["EtcdHealthy"]


def test_a_verdict_that_stays_is_not_rewritten_because_its_words_or_its_time_changed() -> None:
    one = discovery.available(worlds.healthy(etcd=worlds.BROKEN), worlds.ONLY_COMPACT, worlds.NOW)
    other = facts.Etcd(facts.Conditions())
    later = worlds.NOW.replace(hour=13)
    two = discovery.available(worlds.healthy(later, etcd=other), worlds.ONLY_COMPACT, later)
    assert one is not None
    assert two is not None
    assert one != two
    assert discovery.merged(one, two) == two, "what is shown has the words and the time of the same look"
    assert discovery.merged(two, one) == two
    idle = worlds.with_infrastructure(worlds.healthy(), desired=None)
    stored = worlds.decide(idle, worlds.term(available=one)).record
    known = worlds.recorded(idle, stored)
    again = worlds.decide(known, worlds.term(available=two), later)
    assert again.record is not None
    assert (again.record.available, again.steps) == (two, (Step.REPORT,)), "shown, and not written"
    free = discovery.available(worlds.healthy(), worlds.ONLY_COMPACT, worlds.NOW)
    assert discovery.merged(one, free) == free
    assert discovery.merged(one, None) == one
    assert discovery.merged(one, ()) == ()
