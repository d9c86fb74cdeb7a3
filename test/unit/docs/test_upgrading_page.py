"""docs/upgrading.md says who acts beside the native controller as it is decided, row by row."""

from __future__ import annotations

import dataclasses
import itertools
from datetime import timedelta

import pytest
from test.unit.core import worlds
from test.unit.docs import pages

from topology_api.vocabulary import Phase
from topology_controller.checks import advisories
from topology_controller.decide import admission, applicability
from topology_controller.observe import facts

TEXT = (pages.ROOT / "docs" / "upgrading.md").read_text()
ROWS = pages.table(TEXT, "The native controller")
LEFT = facts.NativeController(
    present=True,
    conditions=facts.Conditions(
        (facts.Condition("TopologyTransitionControllerUpgradeable", "False", "PreflightCheckFailed"),)
    ),
)
NONE = facts.NativeController(present=False)
LEASE = facts.NativeLease("it", worlds.NOW, 270)
OF_ITS_LEASE = (LEASE, worlds.MISSING, worlds.BROKEN)
SILENT = (dataclasses.replace(LEASE, silent=True),)
MOVING = facts.Conditions(
    (facts.Condition("TopologyTransitionControllerUpgradeable", "False", "TopologyTransitionInProgress"),)
)
BEGUN = worlds.moved(worlds.healthy(native_controller=facts.NativeController(present=True, conditions=MOVING)), None)
UNFINISHED, FOLLOWED = "off again, its change not complete", "on again, while that is followed"
GATES = {
    "off": False,
    "off again": False,
    "on": True,
    "on, while Converging": True,
    UNFINISHED: False,
    FOLLOWED: True,
}
CONDITIONS = {"any": (NONE, LEFT), "none": (NONE,), "there": (LEFT,), "left behind": (LEFT,)}
LEASES = {
    "any": (*OF_ITS_LEASE, *SILENT),
    "renewed, missing or unreadable": OF_ITS_LEASE,
    "not renewed for the grace": SILENT,
}


def does(known: facts.Facts) -> str:
    """What is decided there, as the page calls it."""
    decision = worlds.decide(known, worlds.term(gate_since=worlds.NOW))
    if decision.disabled is not None:
        return "stands down"
    if decision.phase is Phase.CONVERGING:
        return "follows"
    return "waits" if admission.AWAITED in decision.note else {Phase.ADMITTING: "acts"}.get(decision.phase, "")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ", ".join(row[:3]))
def test_a_row_of_the_hand_over_is_what_is_decided(row: list[str]) -> None:
    gate, conditions, lease, operator = row
    known = worlds.healthy()
    if "Converging" in gate:
        known = worlds.moved(known, worlds.converging())
    if gate in {UNFINISHED, FOLLOWED}:
        known = worlds.moved(BEGUN, worlds.decide(BEGUN).record if gate == FOLLOWED else None)
    gates = facts.FeatureGates((("4.20.1", GATES[gate]),))
    for native, held in itertools.product(CONDITIONS[conditions], LEASES[lease]):
        left = BEGUN.native_controller if gate == UNFINISHED else native
        there = dataclasses.replace(known, feature_gates=gates, native_controller=left, native_lease=held)
        assert operator.startswith(does(there)), (native, held)


def test_the_grace_and_the_command_are_those_of_the_program() -> None:
    single = worlds.healthy()
    several = worlds.with_infrastructure(single, control_plane="HighlyAvailable")
    seconds = [applicability.native_grace(known) / timedelta(seconds=1) for known in (single, several)]
    assert f"The grace is {seconds[0]:.0f} s on a single node" in TEXT
    assert f"about {seconds[1]:.0f} s elsewhere" in TEXT
    assert advisories.NATIVE_CLEANUP in TEXT
