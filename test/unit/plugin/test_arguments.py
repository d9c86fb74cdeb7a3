"""What may be written on the command line, what is said about the rest, and that docs/kubectl-topology.md shows it."""

from __future__ import annotations

import argparse
import html
import pathlib
import re
import shlex

import pytest

from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.plugin import arguments, cluster, main

DOCS = pathlib.Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "kubectl-topology.md").read_text(encoding="utf-8")
SESSIONS = {page.stem: html.unescape(page.read_text(encoding="utf-8")) for page in (DOCS / "sessions").glob("*.md")}
_COMMAND = re.compile(r"^(?:\$ oc topology|    kubectl-topology) ([^|>\n]*)", re.MULTILINE)
(VERBS,) = [one.choices for one in arguments.parser()._actions if isinstance(one, argparse._SubParsersAction)]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90m", 5400.0), ("1h30m", 5400.0), ("45", 45.0), ("250ms", 0.25), ("1.5s", 1.5), ("0", 0.0)]
)
def test_durations_are_written_as_for_kubectl(text: str, seconds: float) -> None:
    assert arguments.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5d", "-1s", "1m soon", "m", "1e3", "٣s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a duration"):
        arguments.duration(text)


@pytest.mark.parametrize("words", [["--context", "c", "status"], ["status", "--context", "c"]])
def test_flags_of_the_connection_stand_before_or_after_the_verb(words: list[str]) -> None:
    found = arguments.parse(words)
    assert (found.context, found.kubeconfig, found.request_timeout) == ("c", None, 10.0)


def test_no_bound_for_requests_is_not_offered() -> None:
    assert arguments.parse(["status", "--request-timeout", "0"]).request_timeout == 10.0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["plan", "highlyavailable"], "did you mean HighlyAvailable?"),
        (["plan", "HA"], "did you mean HighlyAvailable?"),
        (["plan", "sno"], "did you mean SingleReplica?"),
        (["plan", "?"], "Legal are SingleReplica, HighlyAvailable, HighlyAvailableArbiter, DualReplica"),
        (["plan", "External"], "created on the management cluster"),
        (["stauts"], "oc topology: unknown verb 'stauts'; did you mean status?"),
        (["plan", "--allow-pendin"], "unknown flag --allow-pendin; did you mean --allow-pending?"),
        (["plan", "-o", "jsn"], "did you mean json?"),
        (["accept", "--check", "RouterReplica"], "did you mean RouterReplicas?"),
        (["accept"], "--check is missing. See: oc topology accept --help"),
        (["status", "--context"], "--context needs a value. See: oc topology status --help"),
        (["wait", "--timeout", "soon"], "'soon' is not a duration such as 90m"),
        (["set"], "TARGET is missing. See: oc topology set --help"),
        (["set", "HighlyAvailable", "--wait"], "--wait needs --confirm"),
        (["set", "HighlyAvailable", "--confirm", "--timeout", "5m"], "--timeout is for --wait"),
        (["set", "HighlyAvailable", "--force"], "unknown flag --force"),
        (["cancel", "HighlyAvailable"], "unknown word HighlyAvailable"),
        (["status", "--as-group", "ops"], "are about the user of --as"),
        (["--as-uid", "7", "status"], "are about the user of --as"),
        (["status", "--as", ""], "is no name"),
        (["status", "--as", "jane\r\nX-Admin: 1"], "is no name"),
        (["plan", "--probe"], "--probe needs TARGET"),
        (["plan", "--probe", "-f", "x"], "--probe needs TARGET"),
    ],
    ids=" ".join,
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
def test_the_help_of_a_verb_has_two_examples_that_are_understood(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_every_command_that_is_shown_is_understood() -> None:
    for text in (PAGE, *SESSIONS.values()):
        for words in _COMMAND.findall(text):
            assert arguments.parse(shlex.split(words)).verb in VERBS, words


@pytest.mark.parametrize("name", sorted(SESSIONS))
def test_a_recorded_session_has_every_verb_and_nothing_of_the_machine(name: str) -> None:
    text = SESSIONS[name]
    verbs = {arguments.parse(shlex.split(words)).verb for words in _COMMAND.findall(text)}
    assert verbs == {"plan", "set", "cancel", "status", "wait", "accept", "graph", "audit"}
    assert not re.search(r"127\.0\.0\.1|localhost|Traceback|/tmp/|\d{4}-\d\d-\d\dT", text)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_and_flag_is_on_the_page(verb: str) -> None:
    assert f"## {verb}\n" in PAGE
    flags = {flag for action in VERBS[verb]._actions for flag in action.option_strings if flag.startswith("--")}
    assert [flag for flag in flags - {"--help", "--output"} if flag not in PAGE] == []


# In whose name


def test_somebody_else_is_named_on_either_side_of_the_verb() -> None:
    words = ["--as", "jane", "--as-group", "ops", "status", "--as-group", "all", "--as-uid", "7"]
    found = arguments.parse(words)
    acting = cluster.Acting.of(found.as_user, found.as_group, found.as_uid)
    assert acting is not None
    assert acting.headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Group", "all"),
        ("Impersonate-Uid", "7"),
    )
    assert str(acting) == "jane in ops, all"


@pytest.mark.parametrize(
    ("acting", "message", "words"),
    [
        (
            cluster.Acting("jane", ("ops",)),
            'User "joe" cannot impersonate resource',
            "you may not act as jane in ops: ",
        ),
        (cluster.Acting("jane"), 'User "jane" cannot get resource', "forbidden: jane needs permission to get infra"),
        (None, 'User "joe" cannot get resource', "forbidden: you need permission to get infra"),
    ],
)
def test_whose_right_lacks_is_told(acting: cluster.Acting | None, message: str, words: str) -> None:
    made = cluster.Connection(None, "https://api.example.com:6443", acting)  # type: ignore[arg-type] # not asked
    infrastructures = resources.Resource("config.openshift.io", "v1", "infrastructures", "Infrastructure")
    error = kube.Forbidden("get", infrastructures, None, "cluster", 403, "Forbidden", message)
    assert str(cluster.explained(made, error)).startswith(words)
