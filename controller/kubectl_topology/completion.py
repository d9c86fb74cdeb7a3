"""`kubectl_complete-topology`: what may come next on the command line, for the shell.

kubectl and oc pass every word after `topology`, the last one being what is typed of the word to be completed. Each line
of the answer is a candidate, with a tab and a description if there is one; the last line is a colon and a directive. A
shell waits for this at every tab: nothing heavy is imported, no cluster is asked, and an error is no candidate.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import Topology
from topology_controller.definitions import registry

from . import arguments, naming
from .commands import explain

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

FAILED, FILES, NOTHING, FOLDERS, IN_ORDER = 1, 0, 4, 16, 32
"""Directives of cobra's shell completion: an error, files too, no files, folders only, and keep the order."""
_TOPOLOGIES: Final = {
    Topology.SINGLE_REPLICA.value: "one control-plane node",
    Topology.HIGHLY_AVAILABLE.value: "three control-plane nodes or more",
    Topology.HIGHLY_AVAILABLE_ARBITER.value: "two control-plane nodes and an arbiter",
    Topology.DUAL_REPLICA.value: "two control-plane nodes with fencing",
}
_LONGEST = 80

Candidates = dict[str, str]  # what a word could become, each with a description, which may be empty


def candidates(words: Sequence[str]) -> tuple[Candidates, int]:
    """What the last of these words could become, and the directive for the shell."""
    *before, begun = words or [""]
    program = arguments.parser()
    parser: argparse.ArgumentParser = program
    awaited: argparse.Action | None = None  # a flag whose value comes next
    given, positionals = set[str](), 0
    for word in before:
        if awaited is not None:
            awaited = None
        elif word.startswith("-") and word != "-":
            name, equals, _ = word.partition("=") if word.startswith("--") else (word[:2], word[2:], "")
            if (action := arguments.flags(parser).get(name)) is not None:
                given.add(action.dest)
                awaited = action if action.nargs != 0 and not equals else None
        elif parser is program:
            parser = program.verbs.get(word, argparse.ArgumentParser(add_help=False))
        else:
            positionals += 1
    flag, equals, value = begun.partition("=")
    if awaited is None and begun.startswith("-"):
        if not equals:
            return _beginning(begun, _offered(program, parser, given)), NOTHING
        # The shell puts back what stands before the equals sign.
        awaited, begun = arguments.flags(parser).get(flag), value
    elif awaited is None and parser is program:
        choices = {choice.dest: _described(choice) for choice in program.listed}
        return _beginning(begun, choices), NOTHING | IN_ORDER
    elif awaited is None:
        expected = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001 - as in `arguments.flags`
        awaited = expected[positionals] if positionals < len(expected) else None
    offered, directive = values(awaited) if awaited is not None else ({}, NOTHING)
    return _beginning(begun, offered), directive


def _offered(program: argparse.ArgumentParser, parser: argparse.ArgumentParser, given: Container[str]) -> Candidates:
    """The flags that may come next; the help of the connection's flags stands at the program alone."""
    repeated, of_program = argparse._AppendAction, arguments.flags(program)  # noqa: SLF001 - argparse has no public name for it
    return {
        name: _described(of_program.get(name, action))
        for name, action in arguments.flags(parser).items()
        if name.startswith("--") and (action.dest not in given or isinstance(action, repeated))
    }


def _beginning(begun: str, offered: Candidates) -> Candidates:
    return {word: description for word, description in offered.items() if word.startswith(begun)}


def _described(action: argparse.Action) -> str:
    text = (action.help or "") % {**vars(action), "prog": naming.PROGRAM}
    clause = text.partition(";")[0].strip()
    return clause if len(clause) <= _LONGEST else clause[: _LONGEST - 3].rstrip() + "..."


def values(action: argparse.Action) -> tuple[Candidates, int]:
    """What may stand for a flag's value, or for a word that is no flag."""
    if action.choices is not None:
        return {str(choice): "" for choice in action.choices}, NOTHING | IN_ORDER
    if action.type is arguments.target:
        return _TOPOLOGIES, NOTHING | IN_ORDER
    if action.dest == "check":
        return {check.value: "" for check in registry.ACCEPTABLE_CHECKS}, NOTHING
    if action.dest == "name":
        return {item["name"]: item["kind"] for item in explain.every()}, NOTHING
    if action.type is pathlib.Path:
        return {}, FOLDERS
    return {}, FILES if action.dest in {"kubeconfig", "filename", "must_gather"} else NOTHING


def for_shell(offered: Candidates, directive: int) -> str:
    """The answer as kubectl reads it: nothing that would break a line, or be taken for a description."""
    lines = []
    for word, description in offered.items():
        if word and word.isprintable() and not word.startswith(":"):
            clean = " ".join("".join(letter if letter.isprintable() else " " for letter in description).split())
            lines.append(f"{word}\t{clean}\n" if clean else f"{word}\n")
    return f"{''.join(lines)}:{directive}\n"


def main() -> int:
    """Print what may come next, and nothing else, whatever happens."""
    try:
        answer = for_shell(*candidates(sys.argv[1:]))
    except Exception:  # noqa: BLE001 - in the middle of a command line an error has no place to be shown
        answer = f":{FAILED}\n"
    try:
        sys.stdout.write(answer)
        sys.stdout.flush()
    except (OSError, ValueError):
        return 1
    return 0
