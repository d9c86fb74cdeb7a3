"""`plan --manifests DIR`: what the manifests of a repository ask of the cluster, before anybody applies them.

For a pipeline: the manifest of Infrastructure `cluster` takes the place of TARGET, and the live cluster judges it.
There may be several (a list, the same in two files), as long as they agree. What the API server would refuse or drop is
told with file and line here, so that nobody learns it from the cluster. Whoever owns the field in Git also takes the
wish back there: a manifest without it is an answer, not an error.

`manifest_files` finds the documents, `plan` and `judging` say what would come of them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import yaml

from topology_api.vocabulary import Topology

from ..files import read as wrongs
from . import arguments, manifest_files

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable

    from . import answers

STANDARD_INPUT: Final = "-"
"""What stands for it on the command line."""
_GROUP: Final = "config.openshift.io"
_API_VERSION: Final = f"{_GROUP}/v1"
_KIND: Final = "Infrastructure"
_NAME: Final = "cluster"
_LISTS: Final = {"List": "v1", f"{_KIND}List": _API_VERSION}
_TAG: Final = "tag:yaml.org,2002:"
_LONGEST_QUOTE: Final = 60
_NESTED: Final = 4
"""Lists in lists; one is all that anybody writes."""


class ManifestError(Exception):
    """The manifests cannot be judged; `problems` has everything that is wrong, one a line."""

    def __init__(self, problems: Iterable[wrongs.Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda one: (str(one.place), one.line or 0)))
        super().__init__("\n".join(str(one) for one in self.problems))


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest of Infrastructure `cluster`. `wish` is None when it has no spec.desiredTopology."""

    place: pathlib.Path
    line: int
    wish: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the manifests of a folder ask for, all of them the same."""

    folder: str
    manifests: tuple[Manifest, ...]
    skipped: tuple[manifest_files.Skipped, ...] = ()

    @property
    def wish(self) -> str | None:
        """What spec.desiredTopology is there; None when they have none."""
        return self.manifests[0].wish

    def answer(self) -> answers.Manifest:
        """As `-o json` has it."""
        return {
            "folder": self.folder,
            "desiredTopology": self.wish,
            "files": [{"file": str(one.place), "line": one.line} for one in self.manifests],
            "skipped": [{"file": one.file, "why": one.why} for one in self.skipped],
        }


def wanted(folder: pathlib.Path) -> Wanted:
    """What the manifests of a folder ask for; "-" is standard input. Raises ManifestError."""
    files = manifest_files.stream() if str(folder) == STANDARD_INPUT else manifest_files.read(folder)
    looking = _Looking(files)
    for document in files.documents:
        looking.at(document.node, document)
    if files.problems:
        raise ManifestError(files.problems)
    if not looking.manifests:
        raise ManifestError([wrongs.Problem(folder, None, _nothing(files))])
    if len({one.wish for one in looking.manifests}) > 1:
        problems = [wrongs.Problem(one.place, one.line, f"this one {_asks(one.wish)}") for one in looking.manifests]
        told = "the manifests of Infrastructure cluster differ: name the folder of one cluster"
        raise ManifestError([*problems, wrongs.Problem(folder, None, f"{told}, or render it and give it as -")])
    return Wanted(str(folder), tuple(looking.manifests), tuple(files.skipped))


def _nothing(files: manifest_files.Files) -> str:
    rest = "".join(f"; {one.file} {one.why}" for one in files.skipped[:3])
    counted = f"{files.count} file{'' if files.count == 1 else 's'} of YAML or JSON"
    return f"no manifest of Infrastructure cluster ({_API_VERSION}) in {counted}{rest}"


def _asks(wish: str | None) -> str:
    return "has no spec.desiredTopology" if wish is None else f"asks for {wish}"


@dataclass(slots=True)
class _Looking:
    """Looks at documents and notes what it finds in `manifests`, and what is wrong where the files note theirs."""

    files: manifest_files.Files
    manifests: list[Manifest] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def at(self, node: yaml.Node, document: manifest_files.Document, depth: int = 0) -> None:
        """Look at an object, and into a list."""
        if not isinstance(node, yaml.MappingNode) or id(node) in self.seen:
            return
        self.seen.add(id(node))
        kind, version = _text(_get(node, "kind")), _text(_get(node, "apiVersion"))
        if kind in _LISTS and version == _LISTS[kind]:
            items = _get(node, "items")
            if isinstance(items, yaml.SequenceNode) and depth < _NESTED:
                for item in items.value:
                    self.at(item, document, depth + 1)
        elif kind == _KIND and version is not None and version.partition("/")[0] == _GROUP:
            self._infrastructure(node, document, version)

    def _infrastructure(self, node: yaml.MappingNode, document: manifest_files.Document, version: str) -> None:
        line = document.line(node)
        if self._unclear(node, document, ""):
            return
        metadata = _get(node, "metadata")
        if isinstance(metadata, yaml.MappingNode) and self._unclear(metadata, document, "metadata"):
            return
        name = _text(_get(metadata, "name"))
        why = "" if name == _NAME else f"is an Infrastructure named {_quoted(name or '')}, not {_NAME}"
        why = why or ("" if version == _API_VERSION else f"has apiVersion {_quoted(version)}, not {_API_VERSION}")
        if why:
            self.files.skipped.append(manifest_files.Skipped(f"{document.place}:{line}", why))
            return
        status, spec = _get(node, "status"), _get(node, "spec")
        if status is not None and not _is_empty(status):
            told = "sets status, which an apply does not write: the operators do. Remove it from the manifest"
            self._wrong(document, status, told)
        if spec is not None and not isinstance(spec, yaml.MappingNode) and not _is_null(spec):
            self._wrong(document, spec, f"spec is {_shown(spec)}; wanted a mapping")
            return
        if isinstance(spec, yaml.MappingNode) and self._unclear(spec, document, "spec"):
            return
        wish = _get(spec, "desiredTopology")
        if wish is not None and not _is_null(wish) and (problem := _no_wish(wish)):
            self._wrong(document, wish, problem)
            return
        found = None if wish is None or _is_null(wish) else _text(wish)
        self.manifests.append(Manifest(document.place, document.line(wish or node), found))

    def _unclear(self, node: yaml.MappingNode, document: manifest_files.Document, where: str) -> bool:
        """Is there a key twice, or one that is no text? What such a manifest means depends on who reads it."""
        keys: set[str] = set()
        for key, _ in node.value:
            told = _unclear_key(key, keys)
            if told:
                self._wrong(document, key, f"{where}: {told}" if where else told)
                return True
            keys.add(str(key.value))
        return False

    def _wrong(self, document: manifest_files.Document, node: yaml.Node, text: str) -> None:
        self.files.wrong(document.place, text, document.line(node))


def _unclear_key(key: yaml.Node, before: set[str]) -> str:
    if isinstance(key, yaml.ScalarNode) and key.tag == f"{_TAG}merge":
        return "a merge key is not read here: write it out"
    if not isinstance(key, yaml.ScalarNode) or key.tag != f"{_TAG}str":
        return f"a key is {_shown(key)}; wanted a text"
    return f"the key {_quoted(key.value)} stands here twice" if key.value in before else ""


def _no_wish(node: yaml.Node) -> str:
    """What is wrong with a spec.desiredTopology; empty when it is a legal wish."""
    text = _text(node)
    if text is None:
        return f"spec.desiredTopology is {_shown(node)}; wanted one of {', '.join(Topology)}"
    try:
        arguments.target(text)
    except argparse.ArgumentTypeError as error:
        return f"spec.desiredTopology: {error}"
    return ""


def _get(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    pairs = ((one, child) for one, child in node.value if isinstance(one, yaml.ScalarNode))
    return next((child for one, child in pairs if one.value == key and one.tag == f"{_TAG}str"), None)


def _text(node: yaml.Node | None) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}str" else None


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}null"


def _is_empty(node: yaml.Node) -> bool:
    return _is_null(node) or (isinstance(node, yaml.CollectionNode) and not node.value)


def _shown(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        kind = node.tag.removeprefix(_TAG)
        return f"{_quoted(str(node.value))}, which reads as {kind}" if kind != "str" else _quoted(str(node.value))
    # Two braces of a template are a mapping whose key is a mapping.
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping, or a template that has not been rendered"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "...")
