"""docs/render.md: its table is that of the rules, and its example is what the command prints."""

from __future__ import annotations

import itertools
import re

import pytest
from test import processes
from test.unit.docs import pages

from topology_api import audit, install_config
from topology_api.install_config import Machines, Rule

TEXT = (pages.ROOT / "docs" / "render.md").read_text()
ROWS = pages.table(TEXT, "The two rules")
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", TEXT)
MANY = {"1 or more": (1, 2), "3 to 5": (3, 4, 5)}
WORKERS = ((0,), (1,), (2, 3, 40))
"""What the columns behind the first two stand for: no worker, one, more."""


def run(folder, text: str) -> processes.Ended:
    (folder / "install-config.yaml").write_text(text)
    return processes.python(
        "-m", "topology_controller", "render", "--install-config", "install-config.yaml", cwd=folder
    )


def numbers(cell: str) -> tuple[int, ...]:
    return MANY.get(cell) or (int(cell),)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "/".join(row[:2]))
def test_a_row_of_the_table_is_what_the_rules_say(row):
    for cell, workers_of_column in zip(row[2:], WORKERS, strict=True):
        for cp, arbiters, workers in itertools.product(*map(numbers, row[:2]), workers_of_column):
            outcomes = [install_config.outcome(Machines(cp, arbiters, workers), rule) for rule in Rule]
            released, proposed = (f"`{outcome.control_plane}/{outcome.infrastructure}`" for outcome in outcomes)
            assert cell == (released if released == proposed else f"{released}, **{proposed}**")
            assert {outcome.masters_schedulable for outcome in outcomes} == {workers == 0}


def test_the_example_is_what_the_command_prints(tmp_path):
    (example,) = [text for kind, text in BLOCKS if kind == "yaml"]
    printed, refused = (text for kind, text in BLOCKS if kind == "text")
    done = run(tmp_path, example)
    assert (done.code, done.complaint) == (0, "")
    assert done.printed == printed
    done = run(tmp_path, example.replace("replicas: 3", "replicas: 2"))
    assert (done.code, done.printed) == (1, "")
    assert done.complaint == f"cluster-topology-operator: {refused}"


def test_every_question_of_an_audit_is_in_the_table():
    rows = pages.table(TEXT, "The other direction: a cluster that is there")
    assert [row[0].strip("`") for row in rows] == list(audit.Question)
    assert all(row[1].endswith("?") for row in rows)
