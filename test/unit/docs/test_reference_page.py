"""docs/reference.md says by hand what each operand implies; the matrix knows it as well."""

from __future__ import annotations

import pathlib
import re

import pytest

from topology_api import vocabulary
from topology_controller.definitions import load

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reference.md").read_text()
TRANSITIONS = load.load(ROOT / "bindata" / "transitions")


def rows(heading: str) -> dict[str, list[list[str]]]:
    """Rows of the first table below a heading, by the words in their first cell; an empty first cell repeats."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    found: dict[str, list[list[str]]] = {}
    names: list[str] = []
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if set(cells[0]) <= {"-"} and cells[0]:
            break
        names = re.findall(r"`([^`]+)`", cells[0]) or names
        for name in names:
            found.setdefault(name, []).append(cells[1:])
    assert found, f"there is no table below {heading}"
    return found


GROUPS = TRANSITIONS.matrix.groups


def test_every_operand_check_has_a_row_with_a_source():
    written = rows("Operands")
    assert set(written) == {group.check.value for group in GROUPS}
    assert all(len(line) == 5 and line[4] for lines in written.values() for line in lines)


@pytest.mark.parametrize("group", GROUPS, ids=[group.check.value for group in GROUPS])
def test_the_figures_of_operands_are_those_of_the_matrix(group):
    lines = rows("Operands")[group.check.value]
    names = " ".join(line[0] for line in lines)
    for operand in group.operands:
        said = operand.name if operand.namespace else operand.key.replace(".operator.openshift.io", "")
        assert said in names
        figures = {tuple(line[2:4]) for line in lines}
        if isinstance(operand.replicas, dict):
            single, several = (
                str(operand.replicas[topology])
                for topology in (vocabulary.Topology.SINGLE_REPLICA, vocabulary.Topology.HIGHLY_AVAILABLE)
            )
            assert figures == {(single, several)}
        elif operand.replicas == "perConfiguration":
            assert figures == {("as configured", "as configured")}
        elif operand.replicas is not None:
            assert figures == {("nodes", "nodes")}
    words = {"controlPlane": "control plane", "infrastructure": "infrastructure"}
    assert {line[1] for line in lines} <= {words[group.follows], ""}
    assert not group.capability or f"capability `{group.capability}`" in names
