"""What may be written on the command line, what is said about the rest, and what a shell is offered.

Everything that docs/kubectl-topology.md shows is understood, and everything that is offered as well.
"""

from __future__ import annotations

import argparse
import html
import pathlib
import re
import shlex
from typing import Any

import pytest
from test import processes

from kubectl_topology import arguments, cluster, completion, main
from topology_api.vocabulary import Topology
from topology_controller.kube import config

DOCS = pathlib.Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "kubectl-topology.md").read_text(encoding="utf-8")
SESSIONS = [html.unescape(page.read_text(encoding="utf-8")) for page in (DOCS / "development/sessions").glob("*.md")]
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


def test_no_bound_for_requests_is_not_offered() -> None:
    assert arguments.parse(["status", "--request-timeout", "0"]).request_timeout == 10.0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["plan", "HA"], "did you mean HighlyAvailable?"),
        (["plan", "?"], "Legal are SingleReplica, HighlyAvailable, HighlyAvailableArbiter, DualReplica"),
        (["stauts"], "oc topology: unknown verb 'stauts'; did you mean status?"),
        (["help", "nope"], "unknown verb 'nope'. There are"),
        (["acept"], "unknown verb 'acept'. There are"),
        (["plan", "-o", "name"], "unknown value for -o/--output: 'name'. There are"),
        (["status", "--wat"], "unknown flag --wat; did you mean"),
        (["plan", "--allow-pendin"], "unknown flag --allow-pendin; did you mean --allow-pending?"),
        (["plan", "-o", "jsn"], "did you mean json?"),
        (["status", "--context"], "--context needs a value. See: oc topology status --help"),
        (["set", "HighlyAvailable", "--wait"], "--wait needs --confirm"),
        (["cancel", "HighlyAvailable"], "unknown word HighlyAvailable"),
        (["status", "--client-key", "k"], "--client-certificate and --client-key go together"),
        (["status", "--as-group", "ops"], "are about the user of --as"),
        (["--as-uid", "7", "status"], "are about the user of --as"),
        (["status", "--as", "jane\r\nX-Admin: 1"], "is no name"),
        (["plan", "--probe"], "--probe needs TARGET"),
        (["plan", "DualReplica", "--probe", "--must-gather", "x"], "--probe needs the cluster itself"),
        (["status", "--watch", "--must-gather", "x"], "--watch needs the cluster itself"),
        (["audit", "--capi", "--must-gather", "x"], "--capi needs the cluster itself"),
        (["cancel", "--must-gather", "x"], "unknown flag --must-gather"),
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
    titles = re.findall(r"^(\w+):\n((?:  .*\n)+)", texts[0], re.MULTILINE)
    verbs = [verb for _, rows in titles[:3] for verb in re.findall(r"^  (\w+)", rows, re.MULTILINE)]
    assert sorted(verbs) == sorted(VERBS)
    assert main.main(["options"]) == 0
    assert "--kubeconfig" in capsys.readouterr().out
    assert main.main(["version", "--client"]) == 0
    assert capsys.readouterr().out.startswith("kubectl-topology  ")


@pytest.mark.parametrize("verb", sorted({*VERBS} - {"help", "options"}))
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
    assert "oc topology options" in text


def test_every_command_that_is_shown_is_understood() -> None:
    for text in (PAGE, *SESSIONS):
        for words in _COMMAND.findall(text):
            assert arguments.parse(shlex.split(words)).verb in VERBS, words
        assert not re.search(r"127\.0\.0\.1|Traceback|/tmp/", text), "nothing of the machine that recorded it"


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_and_flag_is_on_the_page(verb: str) -> None:
    assert f"## {verb}\n" in PAGE
    flags = {flag for action in VERBS[verb]._actions for flag in action.option_strings if flag.startswith("--")}
    assert [flag for flag in flags - {"--help", "--output"} if flag not in PAGE] == []


# Which cluster, and in whose name


def test_flags_replace_what_a_context_has_and_a_credential_replaces_every_other() -> None:
    parts: dict[str, Any] = {
        "contexts": [{"name": "c", "context": {"cluster": "one", "user": "ann"}}],
        "clusters": [
            {"name": name, "cluster": {"server": f"https://{name}", "certificate-authority-data": "e"}}
            for name in ("one", "two")
        ],
        "users": [{"name": "ann", "user": {"exec": {"command": "login"}, "client-key-data": "k"}}],
    }
    words = "status -n x --cluster two -s https://three --token t --certificate-authority a"
    override = arguments.overriding(arguments.parse(words.split()))
    assert override is not None
    override(parts, "c")
    assert parts["contexts"][0]["context"] == {"cluster": "two", "user": "ann"}
    authority = str(pathlib.Path("a").absolute())
    assert parts["clusters"][1]["cluster"] == {"server": "https://three", "certificate-authority": authority}
    assert parts["users"][0]["user"] == {"token": "t"}
    absent = arguments.overriding(arguments.parse(["--user", "bob", "status"]))
    assert absent is not None
    with pytest.raises(config.ConfigError, match="user 'bob' does not exist; users there: ann"):
        absent(parts, "c")
    assert arguments.overriding(arguments.parse(["status", "--namespace", "x"])) is None


def test_somebody_else_is_named_on_either_side_of_the_verb() -> None:
    words = ["--as", "jane", "--as-group", "ops", "status", "--as-group", "all", "--as-uid", "7", "--context", "c"]
    found = arguments.parse(words)
    assert (found.context, found.kubeconfig, found.request_timeout) == ("c", None, 10.0)
    assert arguments.parse(["--context", "c", "status"]).context == "c"
    acting = cluster.Acting(found.as_user, tuple(found.as_group), found.as_uid)
    assert acting.headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Group", "all"),
        ("Impersonate-Uid", "7"),
    )
    assert str(acting) == "jane in ops, all"


def offered(*words: str) -> list[str]:
    return list(completion.candidates(words)[0])


def test_verbs_and_targets_are_offered_with_what_they_are_for() -> None:
    found, what = completion.candidates([""])
    assert list(found) == list(VERBS)
    assert all(found.values())
    assert what == completion.NOTHING | completion.IN_ORDER
    assert offered() == list(VERBS)
    found, _ = completion.candidates(["plan", ""])
    assert list(found) == [topology.value for topology in Topology]
    assert found["HighlyAvailableArbiter"] == "two control-plane nodes and an arbiter"


@pytest.mark.parametrize("verb", list(VERBS))
def test_flags_are_those_of_the_verb_and_every_value_has_a_source_or_none(verb: str) -> None:
    """A new flag is offered its values, or is added here because nobody can know them."""
    actions = VERBS[verb]._actions
    names = {name for one in actions for name in one.option_strings if name.startswith("--")}
    assert set(offered(verb, "--")) == names
    for name in names:
        assert name in offered(verb, name[:4])
    assert set(offered(verb, "-o", "json", "--")) == names - {"--output"}, "what was given is not offered again"
    free = {"D", "NAME", "USER", "GROUP", "UID", "NS", "T", "X", "KEY"}
    for action in actions:
        if action.nargs != 0:
            found, what = completion.values(action)
            known = found or what in {completion.FILES, completion.FOLDERS}
            assert known or action.metavar in free, f"{verb} {action.option_strings or action.dest}"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("st", ["status"]),
        ("--context c st", ["status"]),
        ("plan Dual", ["DualReplica"]),
        ("plan highly", []),
        ("plan HighlyAvailable ", []),
        ("status ", []),
        ("plan -o json S", ["SingleReplica"]),
        ("plan -- S", ["SingleReplica"]),
        ("status -o ", ["text", "wide", "json", "yaml"]),
        ("status --output=", ["text", "wide", "json", "yaml"]),
        ("status -ojson ", []),
        ("nonsense ", []),
        ("plan --nonsense - D", []),
    ],
)
def test_what_is_offered_for_the_last_word(words: str, found: list[str]) -> None:
    assert offered(*words.split(" ")) == found


def test_no_name_breaks_the_lines_that_the_shell_reads() -> None:
    evil = {"good": "a\tb\nc", "tab\there": "", "line\nbreak": "", ":4": "", "": "", "\x1b[2J": ""}
    assert completion.for_shell(evil, 4) == "good\ta b c\n:4\n"


def test_the_command_answers_quickly_and_with_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['kubectl_complete-topology', 'plan', ''];"
        "from kubectl_topology import completion; assert completion.main() == 0;"
        "heavy = {'aiohttp', 'asyncio', 'kubernetes_asyncio', 'pydantic', 'rich', 'yaml'};"
        "assert not heavy & {name.partition('.')[0] for name in sys.modules}"
    )
    ran = processes.python("-c", script)
    assert ran.code == 0, ran.complaint
    assert ran.printed.splitlines()[-1] == ":36"


def test_a_fault_is_told_to_the_shell_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arguments, "parser", lambda: 1 / 0)
    assert completion.main() == 0
    assert capsys.readouterr() == (":1\n", "")
