"""The commands that the documentation shows: found, taken apart, and sorted by what may be done with them in a test.

A command is a line of a code block (indented or fenced) that begins with `oc`, `kubectl`, the name of the operator's
program or `sh crd-patch.sh`, with or without a prompt; a span of a page that begins with `oc` or `kubectl`; or what
`oc topology explain` tells to look at. What it is sorted into:

    READ     asks the API server and changes nothing: it is run
    WRITE    changes one object: it is run with --dry-run=server, so that the API server judges it and nothing happens
    PIPED    what the program prints, into `oc apply` or `oc delete`: both sides are parsed
    PRINT    the program by itself: its arguments are parsed
    SCRIPT   what the program has printed, run by sh: its argument is looked at
    TALK     needs pods, files, a login or a person: only its verb is looked at
"""

from __future__ import annotations

import enum
import json
import pathlib
import re
import shlex
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_controller import cli as operator
from topology_deploy import cli
from topology_simulator import binaries

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "cluster-topology-operator"
_EXPLANATIONS = pathlib.Path(__file__).parents[2] / "bindata" / "explanations.json"
_CLIENTS = ("oc", "kubectl")
_SCRIPTS = ("sh crd-patch.sh", "sh crd-patch.sh install", "sh crd-patch.sh remove")
_READS = {"get", "explain", "describe", "wait", "api-resources", "events"}
_WRITES = {"patch", "annotate", "label", "scale", "delete"}
_TALKS = {
    "adm", "apply", "auth", "config", "create", "debug", "edit", "exec", "extract", "image", "krew", "login", "logs",
    "plugin", "port-forward", "replace", "rollout", "rsh", "set", "topology", "whoami",
}  # fmt: skip
_VALUED = {"-n", "--namespace", "--context", "--kubeconfig"}
_PLACEHOLDER = re.compile(r"\b[A-Z][A-Z0-9_]+\b")


def kubectl() -> str:
    """Return the kubectl to use for what the pages call `oc` or `kubectl`. Raises binaries.MissingError."""
    return str(binaries.folder() / "kubectl")


class Sort(enum.Enum):
    """What may be done with a command."""

    READ = enum.auto()
    WRITE = enum.auto()
    PIPED = enum.auto()
    PRINT = enum.auto()
    SCRIPT = enum.auto()
    TALK = enum.auto()


class NoCommandError(ValueError):
    """A line of a page looks like a command and is none that is known here."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command, where it stands, and its arguments without the program."""

    page: str
    line: int
    text: str
    sort: Sort
    arguments: tuple[str, ...]

    @property
    def at(self) -> str:
        """Where it stands."""
        return f"{self.page}:{self.line}"


def of(page: pathlib.Path) -> list[Command]:
    """Return every command of a page, in order. Raises NoCommandError."""
    found = []
    for number, line in _lines(page.read_text(encoding="utf-8")):
        text, _, _ = line.removeprefix("$ ").partition("  #")
        if text.partition(" ")[0] in (*_CLIENTS, PROGRAM) or text.startswith("sh crd-patch.sh"):
            sort = _script if text.startswith("sh ") else _sorted
            found.append(sort(page.name, number, text.strip()))
    return found


def spans(page: pathlib.Path) -> list[Command]:
    """Return the commands in spans of a page for users, in order; a synopsis is none. Raises NoCommandError."""
    if "development" in page.parts:
        return []
    code = re.compile(r"(?m)^```[\s\S]*?^```$|^    .*$")
    text = code.sub(lambda match: "\n" * match[0].count("\n"), page.read_text(encoding="utf-8"))
    return list(_spans(text, page.name))


def explained() -> list[Command]:
    """Return the commands that explanations tell to look at, and those in their texts. Raises NoCommandError."""
    found = []
    for one in json.loads(_EXPLANATIONS.read_text(encoding="utf-8")):
        page = f"explain {one['name']}"
        found += [_sorted(page, 0, look["command"]) for look in one["look"] if look["command"].startswith(_CLIENTS)]
        for text in (one["meaning"], *one["do"], *one["avoid"], *one["call"]):
            found += _spans(text, page)
    return found


def _spans(text: str, page: str) -> Iterator[Command]:
    for match in re.finditer(r"`((?:oc|kubectl)\s[^`|]+)`", text):
        words = match[1].split()
        if len(words) > 2 or words[1] in _READS:
            yield _sorted(page, text.count("\n", 0, match.start()) + 1, " ".join(words))


def below(page: pathlib.Path, heading: str) -> list[Command]:
    """Return the commands between a heading, such as `## Uninstall`, and the next one of any level, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    first = lines.index(heading) + 1
    last = next((number for number, line in enumerate(lines, 1) if number > first and line.startswith("#")), len(lines))
    return [one for one in of(page) if first < one.line < last]


def blocks(page: pathlib.Path, heading: str) -> list[str]:
    """Return the indented blocks between a heading and the next of its level, as a reader copies them whole."""
    text = page.read_text(encoding="utf-8").partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"(?:^    .*\n)+", f"{text}\n", re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def _lines(page: str) -> Iterator[tuple[int, str]]:
    """Yield each line of a code block with its number; one that ends with a backslash goes on in the next."""
    fenced, begun, first = False, "", 0
    for number, line in enumerate(page.splitlines(), 1):
        if line.strip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            whole = f"{begun} {line.strip()}" if begun else line.strip()
            first = first if begun else number
            begun = whole.removesuffix("\\").strip() if whole.endswith("\\") else ""
            if not begun:
                yield first, whole


def _script(page: str, line: int, text: str) -> Command:
    if text not in _SCRIPTS:
        raise NoCommandError(f"{page}:{line}: the script does not understand this: {text}")
    return Command(page, line, text, Sort.SCRIPT, tuple(text.split()[1:]))


def _sorted(page: str, line: int, text: str) -> Command:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise NoCommandError(f"{page}:{line}: {error}: {text}") from None
    left, piped, right = _pipe(words)
    if left[0] == PROGRAM:
        _parse(page, line, left[1:])
        if piped and right[:1] != ["oc"]:
            raise NoCommandError(f"{page}:{line}: only oc is piped into: {text}")
        if piped:
            _takes_a_file(page, line, right)
        return Command(page, line, text, Sort.PIPED if piped else Sort.PRINT, tuple(left[1:]))
    if right[:1] == [PROGRAM]:
        _parse(page, line, right[1:])
        return Command(page, line, text, Sort.PRINT, tuple(right[1:]))
    verb = _verb(left[1:])
    if piped:
        if right[:1] != ["oc"]:
            raise NoCommandError(f"{page}:{line}: a reader copies one command, without a shell around it: {text}")
        _takes_a_file(page, line, right)
        return Command(page, line, text, Sort.TALK, tuple(left[1:]))
    for sort, verbs in ((Sort.READ, _READS), (Sort.WRITE, _WRITES), (Sort.TALK, _TALKS)):
        if verb in verbs:
            return Command(page, line, text, sort, tuple(left[1:]))
    raise NoCommandError(f"{page}:{line}: verb {verb!r} is not known here: {text}")


def _pipe(words: list[str]) -> tuple[list[str], bool, list[str]]:
    for sign in ("|", ">"):
        if sign in words:
            cut = words.index(sign)
            return words[:cut], sign == "|", words[cut + 1 :]
    return words, False, []


def _verb(words: list[str]) -> str:
    left = iter(words)
    for word in left:
        if word in _VALUED:
            next(left, "")
        elif not word.startswith("-"):
            return word
    return ""


def _parse(page: str, line: int, words: list[str]) -> None:
    """Let the program's own parser judge; a placeholder such as REGISTRY is a word like any other."""
    try:
        operator.parser(cli.COMMANDS).parse_args(words)
    except SystemExit:
        raise NoCommandError(f"{page}:{line}: {PROGRAM} does not understand {' '.join(words)}") from None


def _takes_a_file(page: str, line: int, words: list[str]) -> None:
    verb = _verb(words[1:])
    if verb not in {"apply", "delete", "create"} or words[-2:] != ["-f", "-"]:
        raise NoCommandError(f"{page}:{line}: what is printed goes into oc apply or oc delete with -f -")


def has_placeholder(command: Command) -> bool:
    """Is there a word in capital letters, or a variable, that a reader has to replace?"""
    open_text = re.sub(r"'[^']*'", "", command.text)
    return "$" in open_text or bool(_PLACEHOLDER.search(open_text))
