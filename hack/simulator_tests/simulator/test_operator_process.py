"""The operator as a process of the demonstration: its death is told with its last words, its end is awaited."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
import yaml

from topology_simulator import box as boxes
from topology_simulator import client, operator_process, pace, probes, scenario


async def test_a_dead_operator_is_reported_with_its_last_words(tmp_path):
    log = tmp_path / "operator.log"
    # The command line refuses what is no duration, before anything is contacted.
    async with operator_process.running(tmp_path / "kubeconfig", log, -1) as operator:
        with pytest.raises(operator_process.OperatorDiedError, match="exit code 2") as error:
            await operator.watch()
        with pytest.raises(operator_process.OperatorDiedError, match="exit code 2"):
            await operator.evict(0.01)
    assert "settle-seconds" in str(error.value)


async def test_one_that_is_evicted_or_killed_is_followed_by_another_and_the_log_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("POD_NAME", "operator-0")  # by it one that was killed gives its Lease to the next
    story = scenario.load("happy-path")
    async with boxes.opened(story, pace.FAST, tmp_path) as box:
        watching = asyncio.create_task(box.watch_operator())
        series = scenario.Condition.model_validate(
            {"metric": {"series": 'topology_transition_phase{phase="Idle"}', "equals": 1.0}}
        )
        await until_it_holds(box, series)
        assert box.operator is not None
        for number, killed in enumerate((False, True), start=2):
            await box.operator.evict(0.01, killed=killed)
            await until_it_holds(box, series)
            assert box.log.read_text().count(" serves on port ") == number
        assert not watching.done()
        watching.cancel()
        await asyncio.wait([watching])


async def until_it_holds(box, question):
    """Ask again and again, of an operator that may not serve yet."""
    answer = probes.Answer(holds=False, wanted="an answer", actual="none")
    async with asyncio.timeout(30):
        while not answer.holds:
            with contextlib.suppress(client.UnreachableError):
                answer = await probes.ask(box.api, question, box.operator.url)
            await asyncio.sleep(0.05)


async def test_a_scenarios_deadline_is_what_the_definitions_say(tmp_path):
    story = scenario.load("stuck")
    async with boxes.opened(story, pace.FAST, tmp_path, operator=False):
        assert not (tmp_path / "transitions").exists()
    assert boxes._hurried(story, tmp_path) == ("--transitions-dir", str(tmp_path / "transitions"))
    found = {one.stem: yaml.safe_load(one.read_text()) for one in (tmp_path / "transitions").iterdir()}
    assert "sno-to-ha-compact" in found
    assert {one["convergence"]["deadlineMinutes"] for one in found.values()} == {1}
