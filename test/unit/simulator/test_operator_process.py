"""The operator as a process of the demonstration: its death is told with its last words, its end is awaited."""

from __future__ import annotations

import pytest

from topology_simulator import box as boxes
from topology_simulator import operator_process, pace, scenario


async def test_a_dead_operator_is_reported_with_its_last_words(tmp_path):
    log = tmp_path / "operator.log"
    # The command line refuses what is no duration, before anything is contacted.
    async with operator_process.running(tmp_path / "kubeconfig", log, -1) as process:
        with pytest.raises(operator_process.OperatorDiedError, match="exit code 2") as error:
            await operator_process.watch(process, log)
    assert "settle-seconds" in str(error.value)


async def test_no_process_is_left_behind(tmp_path):
    story = scenario.load("happy-path")
    async with boxes.opened(story, pace.FAST, tmp_path) as box:
        assert box.operator is not None
        assert box.operator.returncode is None
    assert box.operator.returncode is not None


def test_last_words_of_a_silent_or_missing_log(tmp_path):
    assert "No such file" in operator_process.last_words(tmp_path / "none")
    (tmp_path / "log").write_text("")
    assert "said nothing" in operator_process.last_words(tmp_path / "log")
