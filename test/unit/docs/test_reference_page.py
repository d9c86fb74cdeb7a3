"""docs/reference.md says what can be seen; the vocabulary says what is. Neither may know more than the other."""

from __future__ import annotations

import pathlib
import re

import pytest

from topology_api import vocabulary
from topology_controller.report import metrics
from topology_controller.transitions import load, model

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reference.md").read_text()
TRANSITIONS = load.load(ROOT / "bindata" / "transitions")
WORDS = set(re.findall(r"`([A-Za-z_./-]+)`", PAGE))
OURS = ("topology_", "controller_runtime_", "workqueue_", "rest_client_", "leader_election_")


@pytest.mark.parametrize(
    "words",
    [
        vocabulary.Topology,
        vocabulary.Phase,
        vocabulary.CheckStatus,
        vocabulary.Stage,
        vocabulary.CheckName,
        vocabulary.AdvisoryName,
        vocabulary.ConditionType,
        vocabulary.Reason,
        vocabulary.EventReason,
    ],
    ids=lambda words: words.__name__,
)
def test_every_word_is_documented(words):
    missing = {word.value for word in words} - WORDS
    assert not missing, f"docs/reference.md does not mention {sorted(missing)}"


def test_every_switch_is_documented():
    switches = {
        vocabulary.PAUSED_ANNOTATION,
        vocabulary.IMAGE_BASED_INSTALL_LABEL,
        vocabulary.ETCD_BACKUP_ANNOTATION,
    }
    assert switches <= WORDS


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


def test_every_check_has_the_stages_that_it_may_be_asked_in():
    written = {name: lines[0][0] for name, lines in rows("Checks").items() if name in set(vocabulary.CheckName)}
    stages = {check: "both" if len(found) > 1 else next(iter(found)).value for check, found in model.STAGES.items()}
    assert written == {**stages, vocabulary.CheckName.UPGRADES_BLOCKED: "Preflight"}


def test_every_parameter_is_documented_with_the_checks_that_take_it():
    table = PAGE.partition("Parameters, as a definition writes them")[2].partition("\nHow convergence")[0]
    written = {
        parameter: set(re.findall(r"`([^`]+)`", line.split("|")[2]))
        for line in table.splitlines()
        if line.startswith("| `")
        for parameter in re.findall(r"`([^`]+)`", line.split("|")[1])
    }
    taken: dict[str, set[str]] = {}
    for check, parameters in model.PARAMETERS.items():
        for parameter in parameters:
            taken.setdefault(parameter, set()).add(check.value)
    assert written == taken


def test_every_definition_has_a_row():
    assert set(rows("Transitions")) == {one.name for one in TRANSITIONS.definitions}


def test_every_advisory_has_a_row():
    assert list(rows("Advisories")) == [name.value for name in vocabulary.AdvisoryName]


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
            arbiter = operand.replicas.get(vocabulary.Topology.HIGHLY_AVAILABLE_ARBITER)
            assert group.follows == "infrastructure" or str(arbiter) == several, "an arbiter implies what HA does"
        elif operand.replicas is not None:
            assert figures == {("nodes", "nodes")}
    words = {"controlPlane": "control plane", "infrastructure": "infrastructure"}
    assert {line[1] for line in lines} <= {words[group.follows], ""}
    assert not group.capability or f"capability `{group.capability}`" in names


def exported() -> set[str]:
    registry = metrics.Metrics(TRANSITIONS, lease="test").registry
    found = {f"{family.name}_total" if family.type == "counter" else family.name for family in registry.collect()}
    return {name for name in found if name.startswith(OURS)}


def test_every_metric_is_documented_and_every_documented_metric_exists():
    documented = {word for word in WORDS if word.startswith(OURS)}
    assert documented == exported()


def test_no_reason_is_documented_that_does_not_exist():
    rows = re.findall(
        r"^\| `([A-Za-z]+)` \| [^|]*(?:Progressing|Upgradeable|Degraded|Disabled|all)", PAGE, re.MULTILINE
    )
    assert rows, "the table of reasons was not found"
    unknown = set(rows) - {reason.value for reason in vocabulary.Reason}
    assert not unknown, f"docs/reference.md explains reasons that nobody gives: {sorted(unknown)}"
