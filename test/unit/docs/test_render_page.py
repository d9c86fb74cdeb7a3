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
MANY = {"2 or more": (2, 3, 40), "1 or more": (1, 2), "3, 4, 5": (3, 4, 5)}


def run(folder, text: str) -> processes.Ended:
    (folder / "install-config.yaml").write_text(text)
    return processes.python(
        "-m", "topology_controller", "render", "--install-config", "install-config.yaml", cwd=folder
    )


def numbers(cell: str) -> tuple[int, ...]:
    return MANY.get(cell) or (int(cell),)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "/".join(row[:3]))
def test_a_row_of_the_table_is_what_the_rules_say(row):
    for cp, arbiters, workers in itertools.product(*map(numbers, row[:3])):
        found = [install_config.outcome(Machines(cp, arbiters, workers), rule) for rule in Rule]
        released, proposed = ((f"`{one.control_plane}`", f"`{one.infrastructure}`") for one in found)
        bold = [f"**{new}**" if new != old else new for old, new in zip(released, proposed, strict=True)]
        schedulable = {str(one.masters_schedulable).lower() for one in found}
        assert row[3:] == [*released, *bold, *schedulable], (cp, arbiters, workers)


def test_the_table_has_every_legal_number_of_machines():
    told = {row for cells in ROWS for row in itertools.product(*map(numbers, cells[:3]))}
    wanted = set(itertools.product((1, 2, 3, 4, 5), (0, 1, 2), (0, 1, 2, 3, 40)))
    assert told == {row for row in wanted if row[0] > 1 or not row[1]}


def test_the_example_is_what_the_command_prints(tmp_path):
    (example,) = [text for kind, text in BLOCKS if kind == "yaml"]
    printed, refused = (text for kind, text in BLOCKS if kind == "text")
    done = run(tmp_path, example)
    assert (done.code, done.complaint) == (0, "")
    assert done.printed == printed
    done = run(tmp_path, example.replace("replicas: 3", "replicas: 2"))
    assert (done.code, done.printed) == (1, "")
    assert done.complaint == f"cluster-topology-operator: {refused}"


def test_the_single_node_of_the_page_is_one(tmp_path):
    """The indented example, with what a file has besides."""
    (snippet,) = re.findall(r"A single node needs:\n\n((?:    .*\n)+)", TEXT)
    text = re.sub(r"(?m)^    ", "", snippet)
    done = run(tmp_path, text)
    assert done.code == 0
    assert "1 control-plane node, 0 arbiters, 0 workers" in done.printed
    done = run(tmp_path, text.partition("compute:")[0])
    assert "1 control-plane node, 0 arbiters, 3 workers" in done.printed, "without compute it is none"


def test_every_question_of_an_audit_is_in_the_table():
    rows = pages.table(TEXT, "The other direction: a cluster that is there")
    assert [row[0].strip("`") for row in rows] == list(audit.Question)
    assert all(row[1].endswith("?") for row in rows)
