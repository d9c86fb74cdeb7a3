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


def test_verbs_and_targets_are_offered_with_what_they_are_for() -> None:
    found, what = completion.candidates([""], {})
    assert list(found) == list(parsers())
    assert all(found.values())
    assert what == completion.NOTHING | completion.IN_ORDER
    assert offered() == list(parsers())
    found, _ = completion.candidates(["plan", ""], {})
    assert list(found) == [topology.value for topology in Topology]
    assert found["HighlyAvailableArbiter"] == "two control-plane nodes and an arbiter"


@pytest.mark.parametrize("verb", list(parsers()))
def test_flags_are_those_of_the_verb_and_every_value_has_a_source_or_none(verb: str) -> None:
    """A new flag is offered its values, or is added here because nobody can know them."""
    actions = parsers()[verb]._actions
    names = {name for one in actions for name in one.option_strings if name.startswith("--")}
    assert set(offered(verb, "--")) == names
    for name in names:
        assert name in offered(verb, name[:4])
    free = {"D", "USER", "GROUP", "UID", "NS", "T"}
    for action in actions:
        if action.nargs != 0:
            found, what = completion.values(action, {}, {"HOME": "/nowhere"})
            known = found or what in {completion.FILES, completion.FOLDERS} or action.dest == "context"
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
        ("plan -- --", []),
        ("status -o ", ["text", "json", "yaml"]),
        ("status --output ", ["text", "json", "yaml"]),
        ("status --outp=", ["text", "json", "yaml"]),
        ("status -ojson ", []),
        ("nonsense ", []),
        ("nonsense --", []),
        ("plan --nonsense - D", []),
        ("plan --nonsense D", ["DualReplica"]),
    ],
)
def test_what_is_offered_for_the_last_word(words: str, found: list[str]) -> None:
    assert offered(*words.split(" ")) == found


def test_a_flag_that_was_given_is_not_offered_again() -> None:
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
