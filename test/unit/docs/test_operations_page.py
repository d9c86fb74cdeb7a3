"""docs/operations.md says what each phase and reason looks like: as the conditions are made, and of every one."""

from __future__ import annotations

import re

import pytest
from test.unit.docs import pages

from topology_api.vocabulary import REASON_CONDITIONS, ConditionType, Phase, Reason
from topology_controller.report import conditions

TEXT = (pages.ROOT / "docs" / "operations.md").read_text()
PHASES = {row[0].strip("`"): row[1:] for row in pages.table(TEXT, "What each phase looks like")}


def said(cell: str) -> tuple[str, str]:
    found = re.fullmatch(r"(\w+) `(\w+)`", cell)
    assert found is not None, cell
    return found[1], found[2]


@pytest.mark.parametrize("phase", Phase)
def test_a_phase_looks_as_its_conditions_are_made(phase):
    progressing, upgradeable = said(PHASES[phase][0]), said(PHASES[phase][1])
    status, reason = conditions._PROGRESSING[phase]
    assert progressing == (status.value, reason.value)
    blocked = conditions._UPGRADEABLE.get(phase)
    assert upgradeable == (("False", blocked.value) if blocked else ("True", "AsExpected"))


def test_every_phase_has_a_section():
    assert set(PHASES) == set(Phase)
    assert {phase.value for phase in Phase} <= set(re.findall(r"(?m)^### (\w+)$", TEXT))


@pytest.mark.parametrize(
    ("heading", "condition"), [("Degraded", ConditionType.DEGRADED), ("Disabled", ConditionType.DISABLED)]
)
def test_every_reason_of_trouble_says_what_to_do(heading, condition):
    rows = {row[0].strip("`"): row[1] for row in pages.table(TEXT, heading)}
    wanted = {reason.value for reason, on in REASON_CONDITIONS.items() if condition in on}
    assert set(rows) == wanted - {Reason.AS_EXPECTED.value}
    assert all(len(what.split()) > 5 for what in rows.values())
