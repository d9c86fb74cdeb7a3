"""`kubectl_complete-topology`: what may come next on the command line, for the shell.

kubectl looks for an executable of this name when a shell asks it to complete `kubectl topology ...`, and hands over
every word after `topology`, the last one being what was typed of the word to be completed (maybe nothing). Each line of
the answer is a candidate, with a tab and a description if there is one; the last line is a colon and a number that says
what the shell should do besides. `oc` does the same.

Verbs, flags and most values come from `arguments.parser`, so that they are those that are understood. A shell waits for
this at every tab: nothing heavy is imported, nothing is asked of a cluster, and whatever goes wrong is no candidate.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import ACCEPTABLE_CHECKS, Topology

from . import arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FAILED, FILES, NOTHING, FOLDERS, IN_ORDER = 1, 0, 4, 16, 32
"""Directives of cobra's shell completion: an error, files too, no files, folders only, and keep the order."""
_TOPOLOGIES: Final = {
    Topology.SINGLE_REPLICA: "one control-plane node",
    Topology.HIGHLY_AVAILABLE: "three control-plane nodes or more",
    Topology.HIGHLY_AVAILABLE_ARBITER: "two control-plane nodes and an arbiter",
    Topology.DUAL_REPLICA: "two control-plane nodes with fencing",
}
_LONGEST = 80
_LARGEST = 4 * 1024 * 1024

Candidates = dict[str, str]


@dataclass(slots=True)
class _Line:
    """What has been typed so far, as far as it is understood."""

    parser: argparse.ArgumentParser
    verb: str | None = None
    positionals: int = 0
    only_words: bool = False
    awaited: argparse.Action | None = None
    """A flag whose value comes next."""
    given: dict[str, str] = field(default_factory=dict)
    """Flags that were given, by their destination, with their last value."""

    def take(self, word: str) -> None:
        """Understand the next word; what is not understood is passed over."""
        if self.awaited is not None:
            self.given[self.awaited.dest], self.awaited = word, None
        elif word == "--" and not self.only_words:
            self.only_words = True
        elif word.startswith("-") and word != "-" and not self.only_words:
            self._flag(word)
        elif (verbs := _verbs(self.parser)) is not None and self.verb is None:
            self.verb = word
            self.parser = verbs.choices.get(word, argparse.ArgumentParser(add_help=False))
        else:
            self.positionals += 1

    def _flag(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if not word.startswith("--") and len(word) > 2:
            name, equals, value = word[:2], "=", word[2:]
        action = self.flag(name)
        if action is None:
            return
        self.given[action.dest] = value
        if action.nargs != 0 and not equals:
            self.awaited = action

    def flag(self, name: str) -> argparse.Action | None:
        """The flag of that name, or of the only name that begins so."""
        known = flags(self.parser)
        if name in known:
            return known[name]
        found = [action for one, action in known.items() if name.startswith("--") and one.startswith(name)]
        return found[0] if len(found) == 1 else None


def candidates(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> tuple[Candidates, int]:
    """What the last of these words could become, with a description each, and the directive for the shell."""
    *before, begun = words or [""]
    line = _Line(arguments.parser())
    for word in before:
        line.take(word)
    if line.awaited is not None:
        return _beginning(begun, *_values(line.awaited, line, environ))
    if begun.startswith("-") and not line.only_words:
        name, equals, value = begun.partition("=")
        if not equals:
            return _beginning(begun, _flags(line), NOTHING)
        action = line.flag(name)
        # The shell puts back what stands before the equals sign.
        return ({}, NOTHING) if action is None else _beginning(value, *_values(action, line, environ))
    verbs = _verbs(line.parser)
    if verbs is not None and line.verb is None:
        return _beginning(begun, _described(verbs), NOTHING | IN_ORDER)
    words_of_verb = [action for action in _actions(line.parser) if not action.option_strings]
    if line.positionals >= len(words_of_verb):
        return {}, NOTHING
    return _beginning(begun, *_values(words_of_verb[line.positionals], line, environ))


def _beginning(begun: str, found: Candidates, directive: int) -> tuple[Candidates, int]:
    return {one: said for one, said in found.items() if one.startswith(begun)}, directive


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 - argparse has no other way to tell what it understands


def _verbs(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    kind = argparse._SubParsersAction  # noqa: SLF001 - its public name is what add_subparsers returns
    return next((action for action in _actions(parser) if isinstance(action, kind)), None)


def _described(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> Candidates:
    return {one.dest: _said(one) for one in verbs._choices_actions}  # noqa: SLF001 - where argparse keeps their help


def flags(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Every flag that this parser understands, by each of its names."""
    return {name: action for action in _actions(parser) for name in action.option_strings}


def _flags(line: _Line) -> Candidates:
    """Flags by their long names that were not given yet, or may be given again."""
    repeated = (argparse._AppendAction,)  # noqa: SLF001 - argparse has no public name for it
    return {
        name: _said(action)
        for name, action in flags(line.parser).items()
        if name.startswith("--") and (action.dest not in line.given or isinstance(action, repeated))
    }


def _said(action: argparse.Action) -> str:
    """The first clause of its help."""
    text = (action.help or "") % {**vars(action), "prog": arguments.PROGRAM}
    clause = text.partition(";")[0].strip()
    return clause if len(clause) <= _LONGEST else clause[: _LONGEST - 3].rstrip() + "..."


def _values(action: argparse.Action, line: _Line, environ: Mapping[str, str]) -> tuple[Candidates, int]:
    """What may stand for a flag's value, or for a word that is no flag."""
    if action.choices is not None:
        return {str(one): "" for one in action.choices}, NOTHING | IN_ORDER
    if action.type is arguments.target:
        return {topology.value: _TOPOLOGIES[topology] for topology in Topology}, NOTHING | IN_ORDER
    if action.type is pathlib.Path or action.metavar == "DIR":
        return {}, FOLDERS
    if action.dest == "check":
        return {check.value: "" for check in ACCEPTABLE_CHECKS}, NOTHING
    if action.dest == "kubeconfig":
        return {}, FILES
    if action.dest == "context":
        return _contexts(line.given.get("kubeconfig"), environ), NOTHING
    return {}, NOTHING


def _contexts(given: str | None, environ: Mapping[str, str]) -> Candidates:
    """Contexts of the kubeconfig that the command would use, with the cluster that each leads to."""
    home = pathlib.Path(environ.get("HOME") or "/")
    paths = [given] if given else (environ.get("KUBECONFIG") or str(home / ".kube" / "config")).split(os.pathsep)
    found: Candidates = {}
    for path in filter(None, paths):
        for name, cluster in _in_file(pathlib.Path(path).expanduser()):
            found.setdefault(name, cluster)
    return found


def _in_file(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    import yaml  # noqa: PLC0415 - only this flag needs it

    try:
        with path.open(encoding="utf-8") as opened:
            text = opened.read(_LARGEST)
        read = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders
    except (OSError, ValueError, yaml.YAMLError):
        return
    contexts = read.get("contexts") if isinstance(read, dict) else None
    for one in contexts if isinstance(contexts, list) else []:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            continue
        about = one.get("context")
        cluster = about.get("cluster") if isinstance(about, dict) else None
        yield one["name"], f"cluster {cluster}" if isinstance(cluster, str) else ""


def text(found: Candidates, directive: int) -> str:
    """The answer as kubectl reads it: nothing that would break a line, or be taken for a description."""
    return "".join(f"{line}\n" for line in (*_lines(found.items()), f":{directive}"))


def _lines(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    for one, said in found:
        if one and one.isprintable() and not one.startswith(":"):
            words = " ".join("".join(letter if letter.isprintable() else " " for letter in said).split())
            yield f"{one}\t{words}" if words else one


def main() -> int:
    """Print what may come next, and nothing else, whatever happens."""
    try:
        answer = text(*candidates(sys.argv[1:]))
    except Exception:  # noqa: BLE001 - somebody is typing: an error has no place to be shown
        answer = f":{FAILED}\n"
    try:
        sys.stdout.write(answer)
        sys.stdout.flush()
    except (OSError, ValueError):
        return 1
    return 0
