"""What a shell is offered: what the parser understands, and nothing that it would refuse."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest
import yaml
from test import processes

from topology_api.vocabulary import Topology
from topology_controller.plugin import arguments, completion

if TYPE_CHECKING:
    import pathlib


def offered(*words: str, environ: dict[str, str] | None = None) -> list[str]:
    return list(completion.candidates(words, environ or {})[0])


def parsers() -> dict[str, argparse.ArgumentParser]:
    (verbs,) = [one for one in arguments.parser()._actions if isinstance(one, argparse._SubParsersAction)]
    return dict(verbs.choices)


def test_verbs_are_those_of_the_parser_each_with_what_it_is_for() -> None:
    found, what = completion.candidates([""], {})
    assert list(found) == list(parsers())
    assert all(found.values())
    assert what == completion.NOTHING | completion.IN_ORDER
    assert offered("st") == ["status"]
    assert offered() == list(parsers())
    assert offered("--context", "c", "st") == ["status"]


@pytest.mark.parametrize("verb", list(parsers()))
def test_flags_are_those_that_the_verb_understands(verb: str) -> None:
    names = {name for one in parsers()[verb]._actions for name in one.option_strings if name.startswith("--")}
    assert set(offered(verb, "--")) == names
    assert set(offered(verb, "-")) == names
    for name in names:
        assert name in offered(verb, name[:4])


@pytest.mark.parametrize("verb", list(parsers()))
def test_every_value_has_a_source_or_is_known_to_have_none(verb: str) -> None:
    """A new flag is offered its values, or is added here because nobody can know them."""
    free = {"D", "USER", "GROUP", "UID", "NS", "T"}
    for action in parsers()[verb]._actions:
        if action.nargs == 0:
            continue
        found, what = completion.values(action, {}, {"HOME": "/nowhere"})
        known = found or what in {completion.FILES, completion.FOLDERS} or action.dest == "context"
        assert known or action.metavar in free, f"{verb} {action.option_strings or action.dest}"


def test_a_target_is_offered_with_what_it_means_and_only_once() -> None:
    found, _ = completion.candidates(["plan", ""], {})
    assert list(found) == [topology.value for topology in Topology]
    assert found["HighlyAvailableArbiter"] == "two control-plane nodes and an arbiter"
    assert offered("plan", "Dual") == ["DualReplica"]
    assert offered("plan", "highly") == []
    assert offered("plan", "HighlyAvailable", "") == []
    assert offered("status", "") == []
    assert offered("plan", "-o", "json", "S") == ["SingleReplica"]
    assert offered("plan", "--", "S") == ["SingleReplica"]
    assert offered("plan", "--", "--") == []


@pytest.mark.parametrize("words", [("-o", ""), ("--output", ""), ("--output=",), ("--outp=",)])
def test_forms_of_output_are_offered_however_the_flag_is_written(words: tuple[str, ...]) -> None:
    assert offered("status", *words) == ["text", "json", "yaml"]


def test_values_of_a_flag_are_not_offered_for_what_comes_after_it() -> None:
    assert offered("status", "-ojson", "") == []
    assert "--watch" in offered("status", "-o", "json", "--")
    assert "--output" not in offered("status", "-o", "json", "--")


def _kubeconfig(path: pathlib.Path, *contexts: tuple[str, str]) -> str:
    named = [{"name": name, "context": {"cluster": cluster, "user": "u"}} for name, cluster in contexts]
    path.write_text(yaml.safe_dump({"kind": "Config", "contexts": named}))
    return str(path)


def test_contexts_come_from_the_kubeconfig_that_would_be_used(tmp_path: pathlib.Path) -> None:
    one = _kubeconfig(tmp_path / "one", ("edge", "edge-7f4kd"), ("hub", "hub-1"))
    two = _kubeconfig(tmp_path / "two", ("edge", "other"), ("lab", "lab-1"))
    both = {"KUBECONFIG": f"{one}:{two}:{tmp_path / 'absent'}"}
    found, _ = completion.candidates(["status", "--context", ""], both)
    assert found == {"edge": "cluster edge-7f4kd", "hub": "cluster hub-1", "lab": "cluster lab-1"}
    assert offered("status", "--context=e", environ=both) == ["edge"]
    assert offered("--kubeconfig", two, "status", "--context", "", environ=both) == ["edge", "lab"]
    (tmp_path / ".kube").mkdir()
    _kubeconfig(tmp_path / ".kube" / "config", ("home", "h"))
    assert offered("plan", "--context", "", environ={"HOME": str(tmp_path)}) == ["home"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"[", b"contexts: 7", b"contexts: [1, {name: 2}, {context: x}]", b"- a", b"x: &a [*a]"],
)
def test_a_kubeconfig_that_makes_no_sense_offers_nothing(tmp_path: pathlib.Path, content: bytes) -> None:
    path = tmp_path / "kubeconfig"
    path.write_bytes(content)
    assert offered("status", "--context", "", environ={"KUBECONFIG": str(path)}) == []


def test_words_that_are_not_understood_are_passed_over() -> None:
    assert offered("nonsense", "") == []
    assert offered("nonsense", "--") == []
    assert offered("plan", "--nonsense", "-", "D") == []
    assert offered("plan", "--nonsense", "D") == ["DualReplica"]


def test_no_name_breaks_the_lines_that_the_shell_reads() -> None:
    evil = {"good": "a\tb\nc", "tab\there": "", "line\nbreak": "", ":4": "", "": "", "\x1b[2J": ""}
    assert completion.text(evil, 4) == "good\ta b c\n:4\n"


def test_the_command_answers_quickly_and_with_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['kubectl_complete-topology', 'plan', ''];"
        "from topology_controller.plugin import completion; assert completion.main() == 0;"
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
