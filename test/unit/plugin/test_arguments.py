"""What may be written on the command line, and what is said about the rest."""

from __future__ import annotations

import argparse
import shlex

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
        ("HA", "did you mean HighlyAvailable?"),
        ("sno", "did you mean SingleReplica?"),
        ("?", "Legal are SingleReplica, HighlyAvailable, HighlyAvailableArbiter, DualReplica"),
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


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["stauts"], "oc topology: unknown verb 'stauts'; did you mean status?"),
        (["plan", "--allow-pendin"], "unknown flag --allow-pendin; did you mean --allow-pending?"),
        (["plan", "-o", "jsn"], "did you mean json?"),
        (["accept", "--check", "RouterReplica"], "did you mean RouterReplicas?"),
        (["accept"], "--check is missing. See: oc topology accept --help"),
        (["status", "--context"], "--context needs a value. See: oc topology status --help"),
        (["wait", "--timeout", "soon"], "'soon' is not a duration such as 90m"),
    ],
)
def test_bad_usage_is_one_line_in_our_words_with_where_to_read_on(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments.parse(words)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1
    assert "See: oc topology" in err
    assert not any(word in err for word in ("usage:", "argument ", "invalid choice", "unrecognized", "expected"))


def test_without_arguments_the_help_is_printed_and_so_it_is_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for words in ([], ["help"]):
        assert main.main(words) == 0
        texts.append(capsys.readouterr().out)
    with pytest.raises(SystemExit) as ended:
        main.main(["--help"])
    assert ended.value.code == 0
    assert texts == [capsys.readouterr().out] * 2
    assert "--kubeconfig" in texts[0]
    assert main.main(["version"]) == 0
    assert capsys.readouterr().out.startswith("kubectl-topology ")


@pytest.mark.parametrize("verb", ["plan", "set", "cancel", "status", "wait", "graph", "audit", "accept", "fleet"])
def test_the_help_of_a_verb_has_two_examples_that_are_understood_and_not_the_connection_again(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["help", verb]) == 0
    text = capsys.readouterr().out
    examples = [line.strip() for line in text.partition("examples:\n")[2].partition("\n\n")[0].splitlines()]
    assert len(examples) == 2
    for example in examples:
        words = shlex.split(example.partition(" > ")[0])
        assert words[:3] == ["oc", "topology", verb]
        assert arguments.parse(words[2:]).verb == verb
    assert "--kubeconfig" not in text
    assert "oc topology --help" in text
