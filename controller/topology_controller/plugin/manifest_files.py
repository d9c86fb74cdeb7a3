"""The files of a folder of manifests, cut into documents: those that could be an Infrastructure, and no others.

A repository holds much that is none of our business: templates that are not YAML before they are rendered, bundles of
megabytes, links. So a document is taken apart only when it has the words `kind: Infrastructure`, and everything is
bounded: what is beyond a bound is a problem when it could hold what is looked for, never passed over in silence. Links
are followed inside of the folder, each folder is entered once, and nothing but plain files is opened.

A document is given as composed YAML nodes, which know their lines; JSON is made into such nodes. `manifest` says what
they ask for.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import re
import stat
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import yaml

from ..files import read as wrongs

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_FILE: Final = 16 * 1024 * 1024
"""Bytes."""
LARGEST_DOCUMENT: Final = 1024 * 1024
"""Bytes; etcd takes no larger object, but this may be a list of several."""
MOST_ENTRIES: Final = 50_000
DEEPEST: Final = 32
STANDARD_INPUT: Final = pathlib.Path("standard input")

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_COULD_BE: Final = re.compile(rb"""\bkind["']?\s*:\s*["']?Infrastructure(?:List)?\b""")
_CUT: Final = re.compile(rb"^(?:---|\.\.\.)(?=\s|\Z)", re.MULTILINE)
_PIECE: Final = 1024 * 1024
_OVERLAP: Final = 100
_TAG: Final = "tag:yaml.org,2002:"
_TEMPLATE: Final = "If it is a template, render it first"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not looked at, and why."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document that could be an Infrastructure. Its nodes count lines from `above`, the lines before it."""

    place: pathlib.Path
    above: int
    node: yaml.Node

    def line(self, node: yaml.Node) -> int:
        """The line of a node in its file, from 1."""
        return self.above + int(node.start_mark.line) + 1


@dataclass(slots=True)
class Files:
    """What a folder holds. `count` is the number of files with manifests in them, ours or not."""

    documents: list[Document] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[wrongs.Problem] = field(default_factory=list)
    count: int = 0

    def wrong(self, place: pathlib.Path, text: str, line: int | None = None) -> None:
        """Note a problem."""
        self.problems.append(wrongs.Problem(place, line, text))


def read(folder: pathlib.Path) -> Files:
    """Everything in a folder and below that could be an Infrastructure.

    Never raises: what is wrong is in `problems`. A file in the place of the folder is looked at whatever its name.
    """
    files = Files()
    for place in _walked(folder, files):
        files.count += 1
        raw = _raw(place, files)
        if raw is not None:
            _take_apart(place, raw, files)
    return files


def stream() -> Files:
    """The same of what standard input brings, such as the output of kustomize."""
    files = Files(count=1)
    raw = sys.stdin.buffer.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        files.wrong(STANDARD_INPUT, f"is larger than {LARGEST_FILE} bytes")
    else:
        _take_apart(STANDARD_INPUT, raw, files)
    return files


def _walked(folder: pathlib.Path, files: Files) -> Iterator[pathlib.Path]:
    """Every plain file whose name says YAML or JSON, in the order of names. Hidden ones are nobody's manifests."""
    root = pathlib.Path(os.path.realpath(folder))
    entered: set[tuple[int, int]] = set()
    todo = [(folder, 0)]
    entries = 0
    while todo:
        place, depth = todo.pop()
        try:
            found = place.stat()
            if (found.st_dev, found.st_ino) in entered:
                continue
            entered.add((found.st_dev, found.st_ino))
            if stat.S_ISREG(found.st_mode):
                yield place
                continue
            names = sorted(place.iterdir()) if stat.S_ISDIR(found.st_mode) else []
        except OSError as error:
            files.wrong(place, f"cannot be read: {error.strerror or error}")
            continue
        entries += len(names)
        if entries > MOST_ENTRIES or (names and depth > DEEPEST):
            bound = f"{MOST_ENTRIES} files" if entries > MOST_ENTRIES else f"{DEEPEST} folders in each other"
            files.wrong(place, f"there are more than {bound}: name the folder of one cluster")
            return
        inside = [one for one in names if not one.name.startswith(".") and _of_interest(one, root, files)]
        todo += [(one, depth + 1) for one in reversed(inside)]


def _of_interest(place: pathlib.Path, root: pathlib.Path, files: Files) -> bool:
    wanted = place.suffix.lower() in _SUFFIXES
    try:
        if not place.is_symlink():
            return wanted or place.is_dir()
        target = pathlib.Path(os.path.realpath(place, strict=True))
        wanted = wanted or target.is_dir()
        why = "" if target.is_relative_to(root) else "is a link that leads out of the folder"
    except OSError:
        why = "is a link that leads nowhere"
    if wanted and why:
        files.skipped.append(Skipped(str(place), why))
    return wanted and not why


def _raw(place: pathlib.Path, files: Files) -> bytes | None:
    """The content of a file; None when there is nothing in it for us."""
    try:
        with place.open("rb") as opened:
            raw = opened.read(LARGEST_FILE)
            rest = opened.read(_PIECE)
            if not rest:
                return raw if _COULD_BE.search(raw) else None
            while rest and _COULD_BE.search(raw) is None:
                raw, rest = raw[-_OVERLAP:] + rest, opened.read(_PIECE)
    except OSError as error:
        files.wrong(place, f"cannot be read: {error.strerror or error}")
        return None
    if _COULD_BE.search(raw):
        files.wrong(place, f"is larger than {LARGEST_FILE} bytes, and there is an Infrastructure in it")
    return None


def _take_apart(place: pathlib.Path, raw: bytes, files: Files) -> None:
    """Cut a file at its document marks. What begins in the first column is a mark, whatever is around it."""
    cuts = [0, *(mark.start() for mark in _CUT.finditer(raw)), len(raw)]
    for begin, end in itertools.pairwise(cuts):
        part = raw[begin:end]
        if _COULD_BE.search(part) is None:
            continue
        above = raw.count(b"\n", 0, begin)
        if len(part) > LARGEST_DOCUMENT:
            files.wrong(place, f"this document is larger than {LARGEST_DOCUMENT} bytes", above + 1)
            continue
        try:
            text = part.decode("utf-8-sig" if not begin else "utf-8")
        except UnicodeDecodeError as error:
            files.wrong(place, "is not UTF-8 text", above + part.count(b"\n", 0, error.start) + 1)
            continue
        if place.suffix.lower() == ".json" or _is_json(text):
            _json(place, above, text, files)
        else:
            _yaml(place, above, text, files)


def _is_json(text: str) -> bool:
    body = text.removeprefix("---").lstrip()
    if not body.startswith("{"):
        return False
    try:
        json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return False
    return True


def _yaml(place: pathlib.Path, above: int, text: str, files: Files) -> None:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = above + mark.line + 1 if mark else above + 1
        files.wrong(place, f"is not YAML: {error.problem or error.context}. {_TEMPLATE}", line)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        files.wrong(place, f"is not YAML: {' '.join(str(error).split())}", above + 1)
    except RecursionError:
        files.wrong(place, "is not YAML: nested too deeply", above + 1)
    else:
        if node is not None:
            files.documents.append(Document(place, above, node))


def _json(place: pathlib.Path, above: int, text: str, files: Files) -> None:
    """One object, or several one after the other, as kubectl takes them. Each knows the line that it begins in."""
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    at = len(text) - len(text.removeprefix("---").lstrip())
    while at < len(text):
        line = text.count("\n", 0, at)
        try:
            value, at = decoder.raw_decode(text, at)
            mark = yaml.Mark(str(place), 0, line, 0, None, 0)
            files.documents.append(Document(place, above, _node(value, mark)))
        except json.JSONDecodeError as error:
            files.wrong(place, f"is not JSON: {error.msg}. {_TEMPLATE}", above + error.lineno)
            return
        except (ValueError, RecursionError):
            files.wrong(place, "is not JSON: nested too deeply, or a number that is too long", above + line + 1)
            return
        at += len(text[at:]) - len(text[at:].lstrip())


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of a JSON object, also when a key stands there twice."""


def _node(value: Any, mark: yaml.Mark) -> yaml.Node:
    if isinstance(value, _Pairs):
        pairs = [(yaml.ScalarNode(f"{_TAG}str", key, mark, mark), _node(child, mark)) for key, child in value]
        return yaml.MappingNode(f"{_TAG}map", pairs, mark, mark)
    if isinstance(value, list):
        return yaml.SequenceNode(f"{_TAG}seq", [_node(child, mark) for child in value], mark, mark)
    if isinstance(value, str):
        return yaml.ScalarNode(f"{_TAG}str", value, mark, mark, '"')
    kind = "null" if value is None else "bool" if isinstance(value, bool) else "float"
    return yaml.ScalarNode(f"{_TAG}{kind}", json.dumps(value), mark, mark)
