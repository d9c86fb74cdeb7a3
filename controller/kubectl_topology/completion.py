"""`kubectl_complete-topology`: what may come next on the command line, for the shell.

kubectl and oc look for an executable of this name when a shell asks to complete `kubectl topology ...`, and pass every
word after `topology`, the last one being what is typed of the word to be completed (maybe nothing). Each line of the
answer is a candidate, with a tab and a description if there is one; the last line is a colon and a number that says
what else the shell should do.

Verbs, flags and most values come from `arguments.parser`. A shell waits for this at every tab: nothing heavy is
imported, no cluster is asked, and whatever goes wrong is no candidate.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import Topology
from topology_controller.definitions import registry

from . import arguments, explanations, naming

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FAILED, FILES, NOTHING, FOLDERS, IN_ORDER = 1, 0, 4, 16, 32
"""Directives of cobra's shell completion: an error, files too, no files, folders only, and keep the order."""
_TOPOLOGIES: Final = {
    Topology.SINGLE_REPLICA.value: "one control-plane node",
    Topology.HIGHLY_AVAILABLE.value: "three control-plane nodes or more",
    Topology.HIGHLY_AVAILABLE_ARBITER.value: "two control-plane nodes and an arbiter",
    Topology.DUAL_REPLICA.value: "two control-plane nodes with fencing",
}
_LONGEST = 80

Candidates = dict[str, str]
"""What a word could become, each with a description, which may be empty."""


@dataclass(slots=True)
class _Line:
    """What is typed so far, as far as it is understood.

    `awaited` is a flag whose value comes next; `given` has the flags by their destination, with their last value.
    """

    parser: argparse.ArgumentParser
    positionals: int = 0
    only_words: bool = False
    awaited: argparse.Action | None = None
    given: dict[str, str] = field(default_factory=dict)

    def take(self, word: str) -> None:
        """Understand the next word; what is not understood is passed over."""
        if self.awaited is not None:
            self.given[self.awaited.dest], self.awaited = word, None
        elif word == "--" and not self.only_words:
            self.only_words = True
        elif word.startswith("-") and word != "-" and not self.only_words:
            name, equals, value = word.partition("=")
            if not word.startswith("--") and len(word) > 2:
                name, equals, value = word[:2], "=", word[2:]
            if (action := self.flag(name)) is not None:
                self.given[action.dest] = value
                self.awaited = action if action.nargs != 0 and not equals else None
        elif (verbs := self.verbs) is not None:
            self.parser = verbs.choices.get(word, argparse.ArgumentParser(add_help=False))
        else:
            self.positionals += 1

    @property
    def actions(self) -> list[argparse.Action]:
        """What the verb understands, or the program before there is a verb."""
        return self.parser._actions  # noqa: SLF001 - argparse has no other way to tell what it understands

    @property
    def verbs(self) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
        """The verbs, None once there is one."""
        kind = argparse._SubParsersAction  # noqa: SLF001 - its public name is what add_subparsers returns
        return next((action for action in self.actions if isinstance(action, kind)), None)

    @property
    def flags(self) -> dict[str, argparse.Action]:
        """Every flag, by each of its names."""
        return {name: action for action in self.actions for name in action.option_strings}

    def flag(self, name: str) -> argparse.Action | None:
        """The flag of that name, or the only one whose name begins so."""
        if name in self.flags:
            return self.flags[name]
        actions = [action for long, action in self.flags.items() if name.startswith("--") and long.startswith(name)]
        return actions[0] if len(actions) == 1 else None


def candidates(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> tuple[Candidates, int]:
    """What the last of these words could become, and the directive for the shell."""
    *before, begun = words or [""]
    line, program = _Line(arguments.parser()), _Line(arguments.parser())
    for word in before:
        line.take(word)
    action = line.awaited
    if action is None and begun.startswith("-") and not line.only_words:
        name, equals, value = begun.partition("=")
        if not equals:
            repeated = argparse._AppendAction  # noqa: SLF001 - argparse has no public name for it
            offered = {
                name: _described(program.flag(name) or action)
                for name, action in line.flags.items()
                if name.startswith("--") and (action.dest not in line.given or isinstance(action, repeated))
            }
            return _beginning(begun, offered), NOTHING
        # The shell puts back what stands before the equals sign.
        action, begun = line.flag(name), value
    elif action is None and (verbs := line.verbs) is not None:
        choices = verbs._choices_actions  # noqa: SLF001 - where argparse keeps the help of each verb
        return _beginning(begun, {choice.dest: _described(choice) for choice in choices}), NOTHING | IN_ORDER
    elif action is None:
        positionals = [action for action in line.actions if not action.option_strings]
        action = positionals[line.positionals] if line.positionals < len(positionals) else None
    offered, directive = values(action, line.given, environ) if action is not None else ({}, NOTHING)
    return _beginning(begun, offered), directive


def _beginning(begun: str, offered: Candidates) -> Candidates:
    return {word: description for word, description in offered.items() if word.startswith(begun)}


def _described(action: argparse.Action) -> str:
    """The first clause of its help."""
    text = (action.help or "") % {**vars(action), "prog": naming.PROGRAM}
    clause = text.partition(";")[0].strip()
    return clause if len(clause) <= _LONGEST else clause[: _LONGEST - 3].rstrip() + "..."


def values(action: argparse.Action, given: Mapping[str, str], environ: Mapping[str, str]) -> tuple[Candidates, int]:
    """What may stand for a flag's value, or for a word that is no flag. `given` are the flags that are typed."""
    if action.choices is not None:
        return {str(choice): "" for choice in action.choices}, NOTHING | IN_ORDER
    if action.type is arguments.target:
        return _TOPOLOGIES, NOTHING | IN_ORDER
    if action.dest == "check":
        return {check.value: "" for check in registry.ACCEPTABLE_CHECKS}, NOTHING
    if action.dest == "context":
        return _contexts(given.get("kubeconfig"), environ), NOTHING
    if action.dest == "name":
        return {item["name"]: item["kind"] for item in explanations.every()}, NOTHING
    if action.type is pathlib.Path:
        return {}, FOLDERS
    return {}, FILES if action.dest in {"kubeconfig", "filename", "must_gather"} else NOTHING


def _contexts(given: str | None, environ: Mapping[str, str]) -> Candidates:
    """Contexts of the kubeconfig that the command would use, with the cluster that each leads to."""
    import yaml  # noqa: PLC0415 - only this flag needs it

    home = pathlib.Path(environ.get("HOME") or "/", ".kube", "config")
    contexts: Candidates = {}
    for path in [given] if given else (environ.get("KUBECONFIG") or str(home)).split(os.pathsep):
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
            for context in yaml.safe_load(pathlib.Path(path).expanduser().read_bytes())["contexts"]:
                contexts.setdefault(str(context["name"]), f"cluster {context['context']['cluster']}")
    return contexts


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
