"""What may be written on the command line, and what is said about the rest."""

from __future__ import annotations

import argparse

import pytest

from topology_controller.plugin import arguments, main


@pytest.mark.parametrize(
    ("text", "seconds"), [("90m", 5400.0), ("1h30m", 5400.0), ("45", 45.0), ("250ms", 0.25), ("1.5s", 1.5), ("0", 0.0)]
)
def test_durations_are_written_as_for_kubectl(text: str, seconds: float) -> None:
    assert arguments.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5d", "-1s", "1m soon", "m", "1e3", "٣s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a duration"):
        arguments.duration(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("highlyavailable", "did you mean HighlyAvailable?"),
        ("HA", "Legal are SingleReplica, HighlyAvailable, HighlyAvailableArbiter, DualReplica"),
        ("DualReplicas", "did you mean DualReplica?"),
        ("External", "created on the management cluster"),
    ],
)
def test_an_unknown_target_names_those_that_are_known(
    text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments.parse(["plan", text])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--context", "c", "status"], ["status", "--context", "c"]])
def test_flags_of_the_connection_stand_before_or_after_the_verb(words: list[str]) -> None:
    found = arguments.parse(words)
    assert (found.context, found.kubeconfig, found.request_timeout) == ("c", None, 10.0)


def test_no_bound_for_requests_is_not_offered() -> None:
    assert arguments.parse(["status", "--request-timeout", "0"]).request_timeout == 10.0


@pytest.mark.parametrize("words", [[], ["status", "-o", "wide"], ["wait", "--timeout", "soon"], ["plan", "a", "b"]])
def test_bad_usage_ends_with_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(words)
    assert ended.value.code == 2
