"""The flags of logging on the command line, and what becomes of an exception that nobody expected."""

import gc
import json
import logging
from typing import Any

import pytest

from topology_controller import cli, logs, process, terminal
from topology_controller.definitions import load

ADDRESS = ("--bind-address", "127.0.0.1:0")


@pytest.fixture
def began(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The level at which the operator process would have begun; it raises what `fails` holds."""
    found: list[int] = []

    async def run(_: process.Options, __: load.Transitions) -> None:
        found.append(logging.getLogger("topology_controller").getEffectiveLevel())

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    return found


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ([], logging.INFO),
        (["-v", "0"], logging.WARNING),
        (["-v=1"], logging.WARNING),
        (["--v=3"], logging.INFO),
        (["-v=4"], logging.DEBUG),
        (["-v=5", "--log-level=debug"], logging.DEBUG),
        (["-v6"], terminal.REQUESTS),
        (["--v=2", "--log-level", "info"], logging.INFO),
        (["--v", "9"], terminal.REQUESTS),
        (["--log-level", "error"], logging.ERROR),
    ],
)
def test_the_spellings_of_klog_are_understood(untouched: None, began: list[int], flags: list[str], level: int) -> None:
    assert cli.main(["run", *ADDRESS, *flags]) == cli.OK
    assert began == [level]


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("-v", "6", "--log-level", "info"), "--log-level info is the same as -v 2, and -v 6 was given too"),
        *(((f"--v={number}",), "is not a number, 0 or more") for number in ("-1", "2.5", "")),
    ],
)
def test_what_means_two_things_or_nothing_is_bad_usage(
    untouched: None, began: list[int], capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], complaint: str
) -> None:
    try:
        code: object = cli.main(["run", *ADDRESS, *flags])
    except SystemExit as ended:
        code = ended.code
    assert (code, began) == (cli.USAGE, [])
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_bug_ends_the_process_with_one_record_and_its_trace(
    untouched: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    async def run(*_: Any) -> None:
        raise KeyError("Authorization: Bearer abcdefghijklmnop")

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    assert cli.main(["run", *ADDRESS, "--log-format", form]) == cli.FAILED
    logs.flush()
    said = capfd.readouterr().err
    assert "abcdefghijklmnop" not in said
    assert said.count("Traceback") == 1
    assert said.count("this is a bug") == 1
    assert "in run" in (json.loads(said)["exception"] if form == "json" else said)
