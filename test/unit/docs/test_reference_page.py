"""docs/reference.md says what can be seen; the vocabulary says what is. Neither may know more than the other."""

from __future__ import annotations

import pathlib
import re

import pytest

from topology_api import vocabulary
from topology_controller.report import metrics
from topology_controller.transitions import load

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reference.md").read_text()
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
    assert {vocabulary.PAUSED_ANNOTATION, vocabulary.IMAGE_BASED_INSTALL_LABEL} <= WORDS


def exported() -> set[str]:
    transitions = load.load(ROOT / "bindata" / "transitions")
    registry = metrics.Metrics(transitions, lease="test").registry
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
