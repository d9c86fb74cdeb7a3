"""When the operator must not act: hosted, unknown, image-based, the native controller, the API missing."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from topology_api.vocabulary import ConditionType, Phase, Reason
from topology_controller.decide import discovery
from topology_controller.decide.decision import Step
from topology_controller.observe import facts
from topology_controller.report import conditions

from . import worlds
from .outcomes import WELL, T, row

NATIVE_ON: dict[str, Any] = {
    "feature_gates": facts.FeatureGates((("4.20.1", True),)),
    "native_controller": facts.NativeController(present=True),
}


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


def test_a_record_that_was_not_admitted_is_cleared_once_except_where_hosted() -> None:
    known = worlds.recorded(worlds.healthy(), worlds.admitting(), image_based_install=True)
    found = worlds.decide(known)
    assert found.steps == (Step.SAVE, Step.REPORT)
    assert found.record is not None
    assert found.record.phase is Phase.IDLE
    assert worlds.decide(worlds.recorded(known, found.record)).steps == (Step.REPORT,)
    hosted = worlds.with_infrastructure(known, control_plane="External")
    assert worlds.decide(hosted).steps == (Step.REPORT,)


def test_the_native_controller_takes_over_and_the_request_is_handed_on() -> None:
    found = worlds.decide(worlds.healthy(**NATIVE_ON))
    assert row(found) == WELL | {"Disabled": (T, Reason.NATIVE_CONTROLLER_ACTIVE)}
    assert found.disabled is not None
    assert """'{"spec":{"controlPlaneTopology":"HighlyAvailable"}}'""" in found.disabled.message


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


def test_a_missing_infrastructure_is_reported() -> None:
    missing = facts.Unobserved("infrastructures.config.openshift.io/cluster", "NotFound", missing=True)
    found = worlds.decide(worlds.healthy(infrastructure=missing))
    assert found.steps == (Step.REPORT,)
    assert row(found) == WELL | {"Degraded": (T, Reason.INFRASTRUCTURE_MISSING)}


def test_an_infrastructure_that_cannot_be_read_changes_nothing() -> None:
    assert worlds.decide(worlds.healthy(infrastructure=worlds.BROKEN)).steps == ()


def test_nothing_is_reported_into_an_object_that_could_not_be_read() -> None:
    """To create what exists would only fail, again and again."""
    missing = facts.Unobserved("infrastructures.config.openshift.io/cluster", "NotFound", missing=True)
    assert worlds.decide(worlds.healthy(infrastructure=missing, own_operator=worlds.BROKEN)).steps == ()


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


def test_discovery_that_could_not_read_infrastructure_says_nothing() -> None:
    """An empty answer would take back what was found before."""
    assert discovery.available(worlds.healthy(infrastructure=worlds.BROKEN), worlds.ONLY_COMPACT, worlds.NOW) is None


@pytest.mark.parametrize(
    "changes", [{"platform": "AWS"}, {"control_plane": "HighlyAvailable"}, {"control_plane": "External"}]
)
def test_discovery_offers_nothing_that_does_not_start_here(changes: dict[str, Any]) -> None:
    known = worlds.with_infrastructure(worlds.healthy(), **changes)
    assert discovery.available(known, worlds.ONLY_COMPACT, worlds.NOW) == ()


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


def test_the_record_of_an_idle_cluster_follows_discovery() -> None:
    known = worlds.healthy(infrastructure=worlds.infrastructure(desired=None))
    free = discovery.available(worlds.healthy(), worlds.ONLY_COMPACT, worlds.NOW)
    found = worlds.decide(known, worlds.term(available=free))
    assert found.record is not None
    assert found.record.available == free
    blocked = discovery.available(dataclasses.replace(known, etcd=worlds.BROKEN), worlds.ONLY_COMPACT, worlds.NOW)
    again = worlds.decide(worlds.recorded(known, found.record), worlds.term(available=blocked))
    assert again.steps == (Step.SAVE, Step.REPORT)


def test_all_five_conditions_always_stand_there_with_reason_and_message() -> None:
    for known in (worlds.healthy(), worlds.healthy(etcd=worlds.BROKEN), worlds.healthy(infrastructure=worlds.BROKEN)):
        found = conditions.of(worlds.decide(known))
        assert [condition.type for condition in found] == list(ConditionType)
        assert all(condition.message for condition in found)
