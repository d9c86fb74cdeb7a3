"""Which cases `make nightly` keeps for itself: those named, all but those named, or the whole test."""

import re

from .test_what_ci_refuses import run

CASES = """
import pytest

EACH = pytest.mark.parametrize("name", ["a", "b", "real-c"])

@pytest.mark.nightly
@EACH
def test_whole(name):
    pass

@pytest.mark.nightly("a", "c")
@EACH
def test_named(name):
    pass

@pytest.mark.nightly(but=("c",))
@EACH
def test_all_but(name):
    pass

@EACH
def test_each_time(name):
    pass
"""


def test_further_cases_are_left_out(tmp_path):
    code, output = run(tmp_path, CASES)
    assert code == 0
    assert set(re.findall(r"::(test_\w+\[.*?\])", output)) == {
        "test_named[b]",
        "test_all_but[real-c]",
        *(f"test_each_time[{name}]" for name in ("a", "b", "real-c")),
    }
