"""Which failures get a second try, what becomes of it, and what is remembered."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test import second_try

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SLOW, SLOWER = "test/component/test_kubectl.py::test_it[real]", "test/unit/kube/test_tls.py::test_b"
LOG = f"=== short test summary info ===\nFAILED {SLOW} - AssertionError: not within 60 s\nERROR {SLOWER} - OSError\n"


@pytest.fixture
def files(tmp_path):
    return second_try.Files(tmp_path, tmp_path / "cache" / "second-tries.jsonl")


def fail(files, *tests):
    files.failures.parent.mkdir(parents=True, exist_ok=True)
    files.failures.write_text(json.dumps(dict.fromkeys(tests, True)))


class Runs:
    """Stands for pytest: remembers what it was asked to run."""

    def __init__(self, code=0):
        self.code, self.asked = code, []

    def __call__(self, tests):
        self.asked.append(tests)
        return self.code


def recorded(files):
    return [json.loads(line) for line in files.history.read_text().splitlines()]


def test_what_failed_is_run_once_more_and_told_and_recorded(files, capsys):
    fail(files, SLOW, SLOWER)
    runs = Runs()
    assert second_try.again(files, LOG, runs) == 0
    assert runs.asked == [[SLOW, SLOWER]]
    assert second_try.end(files, "abc1234", NOW) == 0
    told = capsys.readouterr().out
    assert f"{SLOW}  passed      0                    AssertionError: not within 60 s" in told
    assert recorded(files) == [
        {
            "date": "2026-01-02T03:04:05+00:00",
            "commit": "abc1234",
            "tests": [
                {"test": SLOW, "first": "AssertionError: not within 60 s", "passed": True},
                {"test": SLOWER, "first": "OSError", "passed": True},
            ],
        }
    ]


def test_a_run_that_needed_none_is_recorded_too(files, capsys):
    second_try.begin(files)
    assert second_try.end(files, "abc1234", NOW) == 0
    assert capsys.readouterr().out == "no test needed a second try\n"
    assert [one["tests"] for one in recorded(files)] == [[]]


def test_what_fails_again_is_a_failure(files):
    fail(files, SLOW)
    assert second_try.again(files, LOG, Runs(code=1)) == 1
    second_try.end(files, "abc1234", NOW)
    assert recorded(files)[0]["tests"][0]["passed"] is False


@pytest.mark.parametrize(
    ("failed", "log", "why"),
    [
        ([], "", "no test failed"),
        ([SLOW, SLOWER, SLOW + "2"], "", "3 tests failed"),
        (["test/fuzz/test_promises_hold.py::test_it[3]"], "", "races"),
        (["test/component/test_crashes.py::test_it"], "", "races"),
        (["test/component/test_guards_of_the_change.py::test_it"], "", "races"),
        (["test/component/test_two_leaders.py::test_it"], "", "races"),
        (["test/unit/kube/test_tls.py"], "", "cannot be collected"),
        ([SLOW], LOG + "E   Falsifying example: test_it(\n", "Hypothesis"),
        ([SLOW], "Failing test case: test_it(", "Hypothesis"),
    ],
)
def test_some_get_no_second_try(files, capsys, failed, log, why):
    fail(files, *failed)
    runs = Runs()
    assert second_try.again(files, log, runs) == 1
    assert runs.asked == []
    assert why in capsys.readouterr().err


def test_two_tests_of_a_run_not_of_each_part_of_it(files, capsys):
    fail(files, SLOW, SLOWER)
    assert second_try.again(files, LOG, Runs()) == 0
    fail(files, "test/observability/test_stuck.py::test_it")
    assert second_try.again(files, "", Runs()) == 1
    assert "3 tests failed" in capsys.readouterr().err


@pytest.mark.parametrize(("since", "code"), [(0, 1), (9, 1), (10, 0)])
def test_the_same_test_gets_none_again_within_ten_runs(files, capsys, since, code):
    fail(files, SLOW)
    second_try.again(files, LOG, Runs())
    second_try.end(files, "abc1234", NOW)
    for _ in range(since):
        second_try.begin(files)
        second_try.end(files, "abc1234", NOW)
    fail(files, SLOW)
    runs = Runs()
    assert second_try.again(files, LOG, runs) == code
    assert len(runs.asked) == 1 - code
    assert ("mend it" in capsys.readouterr().err) is bool(code)


def test_a_new_run_forgets_what_an_earlier_one_left(files):
    fail(files, SLOW)
    second_try.again(files, LOG, Runs())
    second_try.begin(files)
    runs = Runs()
    assert second_try.again(files, "", runs) == 1
    assert runs.asked == []
    second_try.end(files, "abc1234", NOW)
    assert recorded(files)[0]["tests"] == []


@given(st.lists(st.sampled_from([SLOW, SLOWER, "test/fuzz/test_x.py::test_y", "test/unit/a.py"]), unique=True))
def test_never_more_than_two_and_never_one_of_those_that_look_for_races(failed):
    allowed = not second_try.refusal(failed, [], "", {})
    assert allowed == (0 < len(failed) <= 2 and all("::" in test and "/fuzz/" not in test for test in failed))


def test_the_history_outlives_a_clone(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert second_try.history_file() == tmp_path / "cluster-topology-operator" / "second-tries.jsonl"
