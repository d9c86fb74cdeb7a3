"""The generator of mutants tells what a test kills, who else kills it, and what no test sees."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from test.mutants import making

GUARD = """
import functools

LEAST = 10
MOST = 20


def allowed(left):
    if left < LEAST:
        return False
    return True


@functools.cache
def capped(left):
    return min(left, MOST)


def unseen(left):
    return left == 1


def hangs(left):
    while left > 0:
        left = left - 1
    return left
"""
TESTS = """
import pytest
from topology_controller import act

@pytest.mark.parametrize("left", [10, 11])
def test_enough(left):
    assert act.allowed(left)

def test_too_little():
    assert not act.allowed(9)

def test_capped():
    assert act.capped(21) == 20

def test_ends():
    assert act.hangs(1) == 0
"""
FILE = f"{making.PACKAGE}/act.py"


@pytest.fixture
def tree(tmp_path):
    """A source tree with one module of the operator, its tests, and the command."""
    files = {FILE: GUARD, f"{making.PACKAGE}/__init__.py": "", "test/unit/core/test_act.py": TESTS}
    for name, text in {**files, "test/__init__.py": "", "pyproject.toml": "[tool.pytest]\n"}.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    shutil.copytree(making.ROOT / "test/mutants", tmp_path / "test/mutants")
    return tmp_path


def judge(tree, *arguments):
    """Run the command on all mutants; return the tests that kill each, and what it prints."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "test.mutants", *arguments],
        cwd=tree, env={**os.environ, "PYTHONPATH": f"{tree}/controller:{tree}", "MUTANTS": "all", "TMPDIR": str(tree)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result = "mutants-again.json" if arguments else "mutants.json"
    rows = json.loads((tree / "build" / result).read_text())["mutants"]
    names = {f"{row['mutant']['was']} > {row['becomes']}": row["killers"] for row in rows}
    return {name: sorted(test.partition("::test_")[2] for test in tests) for name, tests in names.items()}, done.stdout


def test_all_tests_that_kill_a_mutant_are_named_and_those_are_found_that_survive_without_them(tree):
    before, said = judge(tree)
    assert before["if left < LEAST: > if left <= LEAST:"] == ["enough[10]"]
    assert before["if left < LEAST: > if left >= LEAST:"] == ["enough[10]", "enough[11]", "too_little"]
    assert before["LEAST = 10 > LEAST = 11"] == ["enough[10]"]
    assert before["return min(left, MOST) > return max(left, MOST)"] == ["capped"]
    assert before["left = left - 1 > left = left + 1"] == ["ends"], "an endless loop is ended, and is no survivor"
    assert before["return left == 1 > return left != 1"] == []
    assert "+ return left != 1" in said
    branches = json.loads((tree / "build/mutants.json").read_text())["branches"]
    line = GUARD[: GUARD.index("return False")].count("\n") + 1
    assert [len(tests) for branch, tests in branches.items() if branch.endswith(f"act.py:{line - 1}->{line}")] == [1]
    shutil.copy(tree / "build/mutants.json", tree / "before.json")

    (tree / "test/unit/core/test_act.py").write_text(TESTS.replace("[10, 11]", "[11]"))
    (tree / FILE).write_text(f"\n\n{GUARD}")
    after, said = judge(tree, "--again", "before.json")
    assert [name for name, tests in after.items() if not tests] == [
        "LEAST = 10 > LEAST = 11",
        "if left < LEAST: > if left <= LEAST:",
    ]
    assert "+ if left <= LEAST:" in said
    assert "return left != 1" not in said, "it survived before"


def test_operators_of_ours_swap_names_of_calls_and_membership():
    text = "def f(a, b):\n    return min(a, b) in a or any(c for c in b if c not in a)\n"
    ours = [
        mutant.text(text).split("return ")[1].strip()
        for mutant in making.mutants("f.py", text)
        if mutant.operator == "Opposite"
    ]
    assert ours == [
        "max(a, b) in a or any(c for c in b if c not in a)",
        "min(a, b) not in a or any(c for c in b if c not in a)",
        "min(a, b) in a or all(c for c in b if c not in a)",
        "min(a, b) in a or any(c for c in b if c in a)",
    ]
