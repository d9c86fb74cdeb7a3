"""What is broken on purpose fits sources and tests, and the command of planted faults tells a survivor from a catch."""

import ast
import collections
import shutil

import pytest
from test import further
from test.fuzz import mutations
from test.planted import __main__ as command
from test.planted import planting

FAULTS = planting.faults()
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
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


def test_every_fault_has_a_name_a_promise_and_a_test_that_make_test_runs():
    assert [name for name, times in collections.Counter(fault.name for fault in FAULTS).items() if times > 1] == []
    assert [fault.name for fault in FAULTS if not fault.breaks or not fault.caught_by] == []
    for test in planting.tests_of(FAULTS):
        file, _, name = test.partition("[")[0].partition("::")
        text = (planting.ROOT / file).read_text(encoding="utf-8")
        functions = {node.name: node for node in ast.parse(text).body if isinstance(node, FUNCTION)}
        assert not name or name in functions, f"{file} has no {name}"
        decorators = functions[name].decorator_list if name else []
        assert not any(left_out(decorator, test) for decorator in decorators), test


def left_out(decorator: ast.expr, test: str) -> bool:
    """Whether `make test` leaves out that case of a test, or all of them where it names none."""
    call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
    if ast.unparse(call.func) != f"pytest.mark.{further.MARK}" or "[" not in test:
        return ast.unparse(decorator) in {f"pytest.mark.{further.MARK}", "pytest.mark.slow"}
    words = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    mark = pytest.mark.nightly.with_args(*map(ast.literal_eval, call.args), **words).mark
    return further.names(mark, further.case(test))


@pytest.mark.parametrize("mark", ["slow", "nightly", "nightly('a')", "nightly(but=('b',))"])
def test_a_case_that_is_left_to_the_night_is_known_by_its_mark(mark):
    decorator = ast.parse(f"pytest.mark.{mark}", mode="eval").body
    assert left_out(decorator, "test_it[embedded-a]")
    assert left_out(decorator, "test_it[b]") is left_out(decorator, "test_it") is ("(" not in mark)


def test_every_broken_operator_of_the_state_machine_replaces_what_is_there():
    """No type checker looks into the strings that name it, and the hunts take minutes."""
    for mutation in mutations.MUTATIONS:
        with mutation.replaced():
            pass


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


def test_the_command_tells_a_catch_from_a_survivor(tree, capsys):
    faults = {"early": (">= 10", "> 10"), "late": (">= 10", ">= 9"), "gone": ("<= 10", "< 10"), "far": (">= 10", "> 9")}
    code, said = planted(tree, capsys, **faults)
    assert code == 1
    rows = {line.split()[0]: line for line in said.splitlines() if line.startswith(tuple(faults))}
    assert rows["early"].endswith(" test/unit/test_guard.py::test_enough")
    assert rows["late"].endswith(" test/unit/test_guard.py::test_too_little")
    assert rows["gone"].endswith("NO VERDICT: its old text is found 0 times in api/topology_api/guard.py, not once")
    assert rows["far"].endswith("SURVIVED")
    assert "2 of 4 planted faults were caught" in said
    assert (tree / "api/topology_api/guard.py").read_text() == GUARD
