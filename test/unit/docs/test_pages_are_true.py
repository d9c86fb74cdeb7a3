"""What docs/api, operations.md, native-controller.md, render.md and install.md say is so, as it is decided and built.

That the tables of docs/api which are made are current is for `make lint`.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import pathlib
import re
import tomllib
import typing
from datetime import timedelta

import pytest
from test import processes
from test.unit.core import worlds
from test.unit.docs import pages

import explained
import krew
from kubectl_topology import consistency
from topology_api import vocabulary
from topology_api.vocabulary import REASON_CONDITIONS, ConditionType, Phase, Reason
from topology_controller import _version
from topology_controller.checks import advisories
from topology_controller.decide import admission, applicability
from topology_controller.observe import facts
from topology_controller.report import clusteroperator, state
from topology_deploy import install_config
from topology_deploy.install_config import Machines, Rule

OPERATIONS, RENDER, NATIVE, INSTALL = (
    (pages.ROOT / "docs" / f"{name}.md").read_text()
    for name in ("operations", "development/render", "development/native-controller", "install")
)

# -- operations.md: what each phase and reason looks like

PHASES = {row[0].strip("`"): row[1:] for row in pages.table(OPERATIONS, "What each phase looks like")}


def said(cell: str) -> tuple[str, str]:
    found = re.fullmatch(r"(\w+) `(\w+)`", cell)
    assert found is not None, cell
    return found[1], found[2]


@pytest.mark.parametrize("phase", Phase)
def test_a_phase_looks_as_its_conditions_are_made(phase):
    progressing, upgradeable = said(PHASES[phase][0]), said(PHASES[phase][1])
    status, reason, blocked = clusteroperator._REASONS[phase]
    assert progressing == (status.value, reason.value)
    assert upgradeable == (str(blocked == "AsExpected"), blocked.value)


def test_every_phase_has_a_section():
    assert set(PHASES) == set(Phase)
    assert {phase.value for phase in Phase} <= set(re.findall(r"(?m)^### (\w+)$", OPERATIONS))


@pytest.mark.parametrize(
    ("heading", "condition"), [("Degraded", ConditionType.DEGRADED), ("Disabled", ConditionType.DISABLED)]
)
def test_every_reason_of_trouble_says_what_to_do(heading, condition):
    rows = {row[0].strip("`"): row[1] for row in pages.table(OPERATIONS, heading)}
    wanted = {reason.value for reason, on in REASON_CONDITIONS.items() if condition in on}
    assert set(rows) == wanted - {Reason.AS_EXPECTED.value}
    assert all(len(what.split()) > 5 for what in rows.values())


# -- render.md: the table of the rules, and its example

RULES = pages.table(RENDER, "The two rules")
RENDERED = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", RENDER)
NUMBERS = {"1 or more": (1, 2), "3 to 5": (3, 4, 5)}
COLUMNS = ((0,), (1,), (2, 3, 40))
"""What the columns behind the first two stand for: no worker, one, more."""


def run(folder, text: str) -> processes.Ended:
    (folder / "install-config.yaml").write_text(text)
    return processes.python("-m", "topology_deploy", "render", "--install-config", "install-config.yaml", cwd=folder)


def numbers(cell: str) -> tuple[int, ...]:
    return NUMBERS.get(cell) or (int(cell),)


@pytest.mark.parametrize("row", RULES, ids=lambda row: "/".join(row[:2]))
def test_a_row_of_the_table_is_what_the_rules_say(row):
    for cell, workers_of_column in zip(row[2:], COLUMNS, strict=True):
        for cp, arbiters, workers in itertools.product(*map(numbers, row[:2]), workers_of_column):
            outcomes = [install_config.outcome(Machines(cp, arbiters, workers), rule) for rule in Rule]
            released, proposed = (f"`{outcome.control_plane}/{outcome.infrastructure}`" for outcome in outcomes)
            assert cell == (released if released == proposed else f"{released}, **{proposed}**")
            assert {outcome.masters_schedulable for outcome in outcomes} == {workers == 0}


def test_the_example_is_what_the_command_prints(tmp_path):
    (example,) = [text for kind, text in RENDERED if kind == "yaml"]
    printed, refused = (text for kind, text in RENDERED if kind == "text")
    done = run(tmp_path, example)
    assert (done.code, done.complaint) == (0, "")
    assert done.printed == printed
    done = run(tmp_path, example.replace("replicas: 3", "replicas: 2"))
    assert (done.code, done.printed) == (1, "")
    assert done.complaint == f"cluster-topology-operator: {refused}"


def test_every_question_of_an_audit_is_in_the_table():
    rows = pages.table(RENDER, "The other direction: a cluster that is there")
    assert [row[0].strip("`") for row in rows] == list(consistency.Question)
    assert all(row[1].endswith("?") for row in rows)


# -- native-controller.md: who acts beside the native controller

HAND_OVER = pages.table(NATIVE, "The native controller")
LEFT = facts.NativeController(
    present=True,
    conditions=facts.Conditions(
        (facts.Condition("TopologyTransitionControllerUpgradeable", "False", "PreflightCheckFailed"),)
    ),
)
NONE = facts.NativeController(present=False)
LEASE = facts.Lease("it", worlds.NOW, 270)
OF_ITS_LEASE = (LEASE, worlds.MISSING, worlds.BROKEN)
SILENT = (dataclasses.replace(LEASE, silent=True),)
MOVING = facts.Conditions(
    (facts.Condition("TopologyTransitionControllerUpgradeable", "False", "TopologyTransitionInProgress"),)
)
BEGUN = worlds.moved(worlds.healthy(native_controller=facts.NativeController(present=True, conditions=MOVING)), None)
UNFINISHED, FOLLOWED = "off again, its change not complete", "on again, while that is followed"
GATES = {"off": False, "off again": False, "on": True, "on, while Converging": True, UNFINISHED: False, FOLLOWED: True}
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


@pytest.mark.parametrize("row", HAND_OVER, ids=lambda row: ", ".join(row[:3]))
def test_a_row_of_the_hand_over_is_what_is_decided(row):
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


def test_the_grace_and_the_command_are_those_of_the_program():
    single = worlds.healthy()
    several = worlds.with_infrastructure(single, control_plane="HighlyAvailable")
    seconds = [applicability.native_grace(known) / timedelta(seconds=1) for known in (single, several)]
    assert f"The grace is {seconds[0]:.0f} s on a single node" in NATIVE
    assert f"about {seconds[1]:.0f} s elsewhere" in NATIVE
    assert advisories.NATIVE_CLEANUP in NATIVE


# -- install.md: files and paths

VERSION = _version.__version__.partition("+")[0]


def test_the_path_in_the_image_is_where_the_dockerfile_puts_the_manifests():
    folder = re.search(
        r"COPY --from=project /build/bindata/manifests/ \S+ (\S+)", (pages.ROOT / "Dockerfile").read_text()
    )
    assert folder
    assert f"--path {folder[1]}:" in INSTALL


def test_the_names_of_wheel_and_archive_are_those_that_are_built():
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]
    assert f"{project['name'].replace('-', '_')}-{VERSION}-py3-none-any.whl" in INSTALL
    assert krew.archive_name("linux/amd64", VERSION) in INSTALL
    assert f"Python {krew.PYTHONS[0]} to {krew.PYTHONS[-1]}" in INSTALL


def test_every_python_that_an_archive_serves_is_one_that_the_project_supports():
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={krew.PYTHONS[0]}"
    assert pathlib.Path(krew.LAUNCHER).read_text().startswith("#!/usr/bin/env python3\n")


# -- docs/api: every word, and every field of /state

API = "".join(page.read_text() for page in sorted((pages.ROOT / "docs" / "api").glob("*.md")))
WORDS = set(re.findall(r"`([^`]+)`", API))
ENUMS = [one for one in vars(vocabulary).values() if isinstance(one, type) and issubclass(one, enum.Enum)]
OURS = [one for one in ENUMS if one.__module__ == vocabulary.__name__]


@pytest.mark.parametrize("words", OURS, ids=lambda words: words.__name__)
def test_every_word_is_there_with_its_meaning(words):
    meanings = explained.meanings(vocabulary)
    for word in words:
        assert words is vocabulary.ConditionStatus or str(word.value) in WORDS, f"docs/api lacks {word.value}"
        assert meanings[f"{words.__name__}.{word.name}"].endswith("."), word


def inner_of(hint: object) -> type | None:
    """The dictionary that a field holds, in a list or alone."""
    if typing.is_typeddict(hint):
        items = typing.get_type_hints(hint).get("items")
        return inner_of(items) if items is not None else typing.cast("type", hint)
    return next((found for one in typing.get_args(hint) if (found := inner_of(one)) is not None), None)


def test_every_field_of_state_has_a_row_and_what_is_inside_is_named():
    # What `stage`, `checks` and `progress` hold is told in one row.
    rows = pages.table(API, "State")
    cells = {name: cell for words, cell, *_ in rows for name in words.replace("`", "").split(", ")}
    assert set(cells) == {"time", *typing.get_type_hints(state.State)}
    missing = {
        f"{name}.{field}"
        for name, hint in typing.get_type_hints(state.State).items()
        if (inner := inner_of(hint)) is not None
        for field in typing.get_type_hints(inner)
        if f"`{field}`" not in cells[name]
    }
    assert not missing
