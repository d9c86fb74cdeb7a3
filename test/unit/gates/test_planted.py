"""The list of planted faults fits the sources and the tests, and its command tells a survivor from a catch."""

from __future__ import annotations

import collections
import shutil
import subprocess
import sys

import pytest
from test.planted import __main__ as command
from test.planted import planting

FAULTS = planting.faults()
GUARD = "def allowed(left):\n    return left >= 10\n"
TESTS = """
from topology_api import guard

def test_enough():
    assert guard.allowed(10)

def test_too_little():
    assert not guard.allowed(9)
"""
FAULT = """
[[fault]]
name = "{name}"
file = "api/topology_api/guard.py"
old = "{old}"
new = "{new}"
breaks = "the lease"
caught_by = ["test/unit/test_guard.py"]
"""


def test_every_old_text_is_found_once_in_what_is_shipped():
    for fault in FAULTS:
        assert fault.file.startswith(planting.PLANTED_IN), fault.name
        text = (planting.ROOT / fault.file).read_text()
        assert fault.planted(text) != text, fault.name


def test_every_fault_has_a_name_of_its_own_a_promise_and_a_test():
    assert [name for name, times in collections.Counter(fault.name for fault in FAULTS).items() if times > 1] == []
    assert [fault.name for fault in FAULTS if not fault.breaks or not fault.caught_by] == []


def test_every_named_test_is_one_that_make_test_runs():
    """Collected as there: what is left out of it, or has another name now, is not among them."""
    named = planting.tests_of(FAULTS)
    done = subprocess.run(  # noqa: S603 - pytest, on tests of ours
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", *named],
        cwd=planting.ROOT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert "ERROR" not in done.stdout, done.stdout[-2000:]
    lines = {line for line in done.stdout.splitlines() if "::" in line}
    collected = lines | {line.partition("[")[0] for line in lines}
    assert [test for test in named if test not in collected] == []


@pytest.fixture
def tree(tmp_path):
    """A source tree with one guard, its tests, and the command."""
    files = {"api/topology_api/__init__.py": "", "api/topology_api/guard.py": GUARD, "test/unit/test_guard.py": TESTS}
    for name, text in {**files, "test/__init__.py": "", "pyproject.toml": "[tool.pytest]\n"}.items():
        file = tmp_path / "checkout" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    shutil.copytree(planting.LIST.parent, tmp_path / "checkout/test/planted", ignore=shutil.ignore_patterns("*.toml"))
    return tmp_path / "checkout"


def planted(tree, capsys, **faults):
    """Run the command on these faults, each of a name, an old and a new text; return exit code and what it says."""
    entries = [FAULT.format(name=name, old=old, new=new) for name, (old, new) in faults.items()]
    (tree / "test/planted/faults/1.toml").write_text("".join(entries))
    code = command.main([], tree)
    said = capsys.readouterr()
    return code, said.out + said.err


def test_a_fault_that_a_test_notices_is_caught_and_the_checkout_stays_as_it_is(tree, capsys):
    code, said = planted(tree, capsys, early=(">= 10", "> 10"), late=(">= 10", ">= 9"))
    assert code == 0, said
    rows = {line.split()[0]: line.split()[-1] for line in said.splitlines() if "test_guard.py::" in line}
    assert rows == {"early": "test/unit/test_guard.py::test_enough", "late": "test/unit/test_guard.py::test_too_little"}
    assert "2 of 2 planted faults were caught" in said
    assert (tree / "api/topology_api/guard.py").read_text() == GUARD


def test_a_fault_that_no_test_notices_and_a_text_that_is_gone_are_failures_and_the_others_are_tried(tree, capsys):
    code, said = planted(tree, capsys, gone=("<= 10", "< 10"), far=(">= 10", "> 9"))
    assert code == 1
    gone, far = (line for line in said.splitlines() if line.startswith(("gone", "far")))
    assert gone.endswith("NO VERDICT: its old text is found 0 times in api/topology_api/guard.py, not once")
    assert far.endswith("SURVIVED")
    assert "0 of 2 planted faults were caught" in said


def test_a_test_that_fails_by_itself_catches_nothing(tree, capsys):
    (tree / "api/topology_api/guard.py").write_text(GUARD.replace(">= 10", ">= 11"))
    code, said = planted(tree, capsys, early=(">= 11", "> 11"))
    assert code == 1
    assert "without any fault, pytest ends with 1: test/unit/test_guard.py::test_enough" in said
