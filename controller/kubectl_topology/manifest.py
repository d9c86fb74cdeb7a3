"""`plan -f FILE|-`: what the manifest of Infrastructure `cluster` in a file, or in a stream, asks for.

YAML or JSON, several documents, lists. Only a document that says `kind: Infrastructure` is taken apart, so others may
be large, or templates. What the API server would refuse or drop is reported with file and line. Who owns the field in
Git also cancels the request there, so a manifest without it is an answer, not an error.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import pathlib
import re
import sys
from typing import TYPE_CHECKING, Final, TypeGuard

import yaml

from topology_api.vocabulary import Topology
from topology_controller.definitions import read as yaml_files

from . import arguments, errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import answers

STANDARD_INPUT: Final = "-"
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file."""
LARGEST_DOCUMENT: Final = 1024 * 1024
"""Characters; etcd takes no larger object, but this may be a list of several."""
_GROUP: Final = "config.openshift.io"
_API_VERSION: Final = f"{_GROUP}/v1"
_LISTS: Final = {"List": "v1", "InfrastructureList": _API_VERSION}
_CONCERNS_US: Final = re.compile(r"""\bkind["']?\s*:\s*["']?Infrastructure(?:List)?\b""")
_MARK: Final = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_TAG: Final = "tag:yaml.org,2002:"


def read(source: str) -> answers.Manifest:
    """What the manifests in a file ask for, all of them the same; "-" is standard input. Raises InputError."""
    place = "standard input" if source == STANDARD_INPUT else source
    problems: list[str] = []
    skipped: list[answers.Skipped] = []
    manifests: list[tuple[int, str | None]] = []
    for above, text in _documents(_read(source, place)):
        document, line, problem = _parsed(text)
        if problem:
            problems.append(f"{place}:{above + line}: {problem}")
        for node in _infrastructures(document):
            name, version = _string(_get(_get(node, "metadata"), "name")) or "", _string(_get(node, "apiVersion")) or ""
            faults = [f"{place}:{above + _line(faulty)}: {problem}" for faulty, problem in _faults(node)]
            desired = _get(_get(node, "spec"), "desiredTopology")
            if (name, version) != ("cluster", _API_VERSION):
                why = f"has apiVersion {yaml_files.quote(version)}, not {_API_VERSION}"
                why = why if name == "cluster" else f"is an Infrastructure named {yaml_files.quote(name)}, not cluster"
                skipped.append({"file": f"{place}:{above + _line(node)}", "why": why})
            elif faults:
                problems += faults
            else:
                manifests.append((above + _line(desired or node), _string(desired)))
    if not problems and not manifests:
        besides = "".join(f"; {other['file']} {other['why']}" for other in skipped[:3])
        problems = [f"{place}: no manifest of Infrastructure cluster ({_API_VERSION}){besides}"]
    if not problems and len({desired for _, desired in manifests}) > 1:
        problems = [f"{place}: the manifests of Infrastructure cluster differ"]
        for line, topology in manifests:
            asks = f"asks for {topology}" if topology else "has no spec.desiredTopology"
            problems.append(f"{place}:{line}: this one {asks}")
    if problems:
        raise errors.InputError(problems)
    return {
        "folder": source,
        "desiredTopology": manifests[0][1],
        "files": [{"file": place, "line": line} for line, _ in manifests],
        "skipped": skipped,
    }


def _read(source: str, place: str) -> str:
    own = contextlib.nullcontext(sys.stdin.buffer) if source == STANDARD_INPUT else None
    try:
        with own or pathlib.Path(source).open("rb") as stream:
            raw = stream.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise errors.InputError([f"{place}: is larger than {LARGEST} bytes"])
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise errors.InputError([f"{place}: cannot be read: {error.strerror or error}"]) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise errors.InputError([f"{place}:{line}: is not UTF-8 text"]) from error


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """The documents that could be ours, cut at the marks of YAML, each with the number of lines above it."""
    above = 0
    for begin, end in itertools.pairwise([0, *(mark.start() for mark in _MARK.finditer(text)), len(text)]):
        document = text[begin:end]
        if _CONCERNS_US.search(document):
            # Outside of strings, which have none in JSON, PyYAML takes no tab.
            yield above, document.replace("\t", " ") if document.lstrip("-\r\n ").startswith("{") else document
        above += document.count("\n")


def _parsed(text: str) -> tuple[yaml.Node | None, int, str]:
    """A document, or none, the line of what is wrong with it, and that."""
    if len(text) > LARGEST_DOCUMENT:
        return None, 1, f"this document is larger than {LARGEST_DOCUMENT} characters"
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader), 0, ""
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = f"{error.problem or error.context}. If it is a template, render it first"
        return None, mark.line + 1 if mark else 1, f"cannot be parsed: {what}"
    except RecursionError:
        return None, 1, "cannot be parsed: nested too deeply"
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        return None, 1, f"cannot be parsed: {' '.join(str(error).split())}"


def _infrastructures(document: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    nodes: list[yaml.Node | None] = [document]
    if _string(_get(document, "apiVersion")) == _LISTS.get(_string(_get(document, "kind")) or "", "no list"):
        items = _get(document, "items")
        nodes = items.value if isinstance(items, yaml.SequenceNode) else []
    for node in nodes:
        group = (_string(_get(node, "apiVersion")) or "").partition("/")[0]
        if isinstance(node, yaml.MappingNode) and _string(_get(node, "kind")) == "Infrastructure" and group == _GROUP:
            yield node


def _faults(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, str]]:
    """What the API server would refuse, drop, or read in another way than the next program."""
    metadata, spec, status = (_get(node, name) for name in ("metadata", "spec", "status"))
    for where, mapping in (("", node), ("metadata: ", metadata), ("spec: ", spec)):
        keys: set[str] = set()
        for key, _ in mapping.value if isinstance(mapping, yaml.MappingNode) else []:
            text = _string(key)
            if text is None:
                yield key, f"{where}a key is {_described(key)}; wanted a text"
            elif text in keys:
                yield key, f"{where}the key {yaml_files.quote(text)} stands here twice"
            else:
                keys.add(text)
    if _is_there(spec) and not isinstance(spec, yaml.MappingNode):
        yield spec, f"spec is {_described(spec)}; wanted a mapping"
    if _is_there(desired := _get(spec, "desiredTopology")):
        text = _string(desired)
        try:
            if text is None:
                yield desired, f"spec.desiredTopology is {_described(desired)}; wanted one of {', '.join(Topology)}"
            else:
                arguments.target(text)
        except argparse.ArgumentTypeError as error:
            yield desired, f"spec.desiredTopology: {error}"
    if _is_there(status) and status.value:
        yield status, "sets status, which an apply does not write: the operators do. Remove it from the manifest"


def _get(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((child for name, child in pairs if _string(name) == key), None)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _string(node: yaml.Node | None) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}str" else None


def _is_there(node: yaml.Node | None) -> TypeGuard[yaml.Node]:
    return node is not None and node.tag != f"{_TAG}null"


def _described(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        text, kind = yaml_files.quote(str(node.value)), node.tag.removeprefix(_TAG)
        return text if kind == "str" else f"{text}, which reads as {kind}"
    # Two braces of a template are a mapping whose key is a mapping.
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping, or a template that has not been rendered"
