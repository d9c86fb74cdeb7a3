"""`cluster-topology-operator render`: what an install-config leads to, before there is a cluster.

The rules are those of `topology_api.install_config`, which reads nothing; here a file becomes its numbers, each with
its line, and what was found out becomes text, JSON or YAML. The file is an install-config.yaml, or ConfigMap
cluster-config-v1 of a cluster (namespace kube-system), which holds the one that the cluster was made from.

An install-config is full of secrets. Only what topologies follow from is ever quoted; every other value stays unseen,
also in a complaint. Keys that nobody knows are left to the installer, which knows more of them every release. Only one
that looks like a misspelt key of ours is refused: overlooking it would mean the default, and a wrong answer.

Neighbours: `files` has YAML with lines, `cli` the flags.
"""

from __future__ import annotations

import difflib
import json
import os
import pathlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import yaml

from topology_api import install_config

from .files import nodes
from .files import problems as wrongs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from topology_api.install_config import Path

LARGEST_FILE: Final = 1024 * 1024
"""Bytes; a ConfigMap cannot hold more."""
STANDARD_INPUT: Final = pathlib.Path("standard input")

_KEYS: Final = ("platform", "controlPlane", "compute", "arbiter")
_SAYS_THAT_IT_IS_ONE: Final = (*_KEYS, "baseDomain", "pullSecret", "networking")
_QUOTED: Final = re.compile(r"""(['"]).{3,}\1""", re.DOTALL)
_TAGS: Final = "binary|bool|float|int|merge|null|set|timestamp|value"
_TAGGED: Final = re.compile(rf"(?<=the tag )\S+|(?<=reads as )(?!(?:{_TAGS})\b)[^;]+", re.DOTALL)
_OURS: Final = ("the key ", "is not a mapping")
"""How those sentences begin that quote a key or an example, no value."""
_HIDDEN: Final = "(not shown)"
_IN_CLUSTER: Final = "install-config"


class Output(StrEnum):
    """Forms of the answer."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class InstallConfigError(Exception):
    """The file is no install-config, or one that the installer refuses; `problems` has everything, one a line."""

    def __init__(self, problems: Iterable[wrongs.Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda one: (one.line or 0, one.text)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass(frozen=True, slots=True)
class Report:
    """What a file leads to. `lines` says where each pool was counted; `rules` are those that were asked for."""

    place: pathlib.Path
    machines: install_config.Machines
    lines: dict[Path, int]
    rules: tuple[install_config.Rule, ...]
    differences: tuple[install_config.Difference, ...]
    notes: tuple[str, ...]


def command(file: str, rule: str | None, output: str) -> str:
    """The answer to a command line: what is printed, with its last line ended.

    `file` is a path, or "-" for standard input. Raises InstallConfigError.
    """
    place = STANDARD_INPUT if file == "-" else pathlib.Path(file)
    rules = tuple(install_config.Rule) if rule is None else (install_config.Rule(rule),)
    report = examine(_read(place), place, rules)
    if output == Output.TEXT:
        return text(report)
    if output == Output.JSON:
        return json.dumps(document(report), indent=2) + "\n"
    return yaml.safe_dump(document(report), sort_keys=False, width=120)


def examine(raw: bytes, place: pathlib.Path, rules: Sequence[install_config.Rule]) -> Report:
    """Say what an install-config leads to. Raises InstallConfigError."""
    parsed = _install_config(raw, place)
    reading = _Reading(parsed, place)
    config = reading.config()
    try:
        machines = install_config.machines(config)
    except install_config.ContradictionError as error:
        reading.contradicted(error.contradictions)
        raise InstallConfigError(reading.problems) from None
    if reading.problems:
        raise InstallConfigError(reading.problems)
    lines = {one.field: parsed.line(one.field) for one in machines.counts if one.field in parsed.lines}
    return Report(
        place=place,
        machines=machines,
        lines=lines,
        rules=tuple(rules),
        differences=install_config.differences(machines),
        notes=install_config.notes(config, machines),
    )


def document(report: Report) -> dict[str, Any]:
    """The answer as JSON has it; docs/render.md describes it."""
    rules: dict[str, Any] = {}
    for rule in report.rules:
        found = install_config.outcome(report.machines, rule)
        rules[rule.value] = {
            "controlPlaneTopology": found.control_plane.value,
            "infrastructureTopology": found.infrastructure.value,
            "mastersSchedulable": found.masters_schedulable,
            "shape": found.shape.value,
        }
    counted = [
        {
            "field": install_config.spell(one.field),
            "line": report.lines.get(one.field),
            "pool": one.pool,
            "replicas": one.replicas,
            "default": one.default,
        }
        for one in report.machines.counts
    ]
    return {
        "installConfig": str(report.place),
        "machines": {
            "controlPlane": report.machines.control_plane,
            "arbiters": report.machines.arbiters,
            "workers": report.machines.workers,
            "counted": counted,
        },
        "rules": rules,
        "differences": [
            {"field": one.field, "released": one.released.value, "proposed": one.proposed.value, "meaning": one.meaning}
            for one in report.differences
        ],
        "notes": list(report.notes),
    }


def text(report: Report) -> str:
    """The answer for a person."""
    found = report.machines
    counts = (
        _count(found.control_plane, "control-plane node"),
        _count(found.arbiters, "arbiter"),
        _count(found.workers, "worker"),
    )
    lines = [
        f"{report.place}: {', '.join(counts)}",
        *(f"  {_origin(one, report.lines.get(one.field))}" for one in found.counts),
        "",
        *_table(report),
    ]
    for one in report.differences:
        lines += ["", f"{one.field} differs: {one.released} by the released rule, {one.proposed} by the proposed one."]
        lines += _wrapped(one.meaning)
    if not report.differences:
        lines += ["", "The released and the proposed rule agree."]
    for note in report.notes:
        lines += ["", *_wrapped(f"Note: {note}", indent="")]
    return "\n".join(lines) + "\n"


def _origin(count: install_config.Count, line: int | None) -> str:
    where = install_config.spell(count.field)
    if count.default:
        return f"{where}: {count.default}"
    return f"{where}: {count.replicas} ({count.pool}, line {line})"


def _table(report: Report) -> list[str]:
    differ = {one.field for one in report.differences}
    outcomes = [install_config.outcome(report.machines, rule) for rule in report.rules]
    rows = [
        ["", *(rule.value for rule in report.rules)],
        ["controlPlaneTopology", *(one.control_plane.value for one in outcomes)],
        ["infrastructureTopology", *(one.infrastructure.value for one in outcomes)],
        ["mastersSchedulable", *(str(one.masters_schedulable).lower() for one in outcomes)],
        ["shape", *(one.shape.value for one in outcomes)],
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    told = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        told.append("  ".join([*cells, "differs" if row[0] in differ else ""]).rstrip())
    return told


def _wrapped(told: str, indent: str = "  ", width: int = 100) -> list[str]:
    import textwrap  # noqa: PLC0415 - only people read wrapped text

    return textwrap.wrap(
        told, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _read(place: pathlib.Path) -> bytes:
    try:
        # The descriptor, because sys.stdin is a text, and None where there is no standard input.
        with os.fdopen(0, "rb", closefd=False) if place is STANDARD_INPUT else place.open("rb") as opened:
            raw = opened.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise _refusal(place, None, f"cannot be read: {why or error}") from None
    if len(raw) > LARGEST_FILE:
        raise _refusal(place, None, f"is larger than {LARGEST_FILE} bytes")
    return raw


def _install_config(raw: bytes, place: pathlib.Path) -> nodes.Document:
    """The parsed install-config; its lines are those of the file."""
    outer = nodes.parse(raw)
    _refuse_broken(outer, place)
    kind = outer.value.get("kind")
    if kind == "ConfigMap":
        return _out_of_cluster(outer, raw, place)
    if kind not in (None, "InstallConfig"):
        found = repr(kind) if isinstance(kind, str) else "no text"
        told = f"is no install-config: kind: found {found}; wanted an install-config, or ConfigMap cluster-config-v1"
        raise _refusal(place, outer.line(("kind",)), told)
    return outer


def _out_of_cluster(outer: nodes.Document, raw: bytes, place: pathlib.Path) -> nodes.Document:
    path: nodes.Path = ("data", _IN_CLUSTER)
    data = outer.value.get("data")
    inner = data.get(_IN_CLUSTER) if isinstance(data, dict) else None
    start = outer.line(path)
    if not isinstance(inner, str):
        told = f"is no install-config: this ConfigMap has no text under {nodes.spell(path)}; wanted cluster-config-v1"
        raise _refusal(place, start, told)
    # Written as a block, its lines follow the key one by one; otherwise (a quoted text) the key is all there is.
    own = [one.strip() for one in inner.splitlines()]
    below = [one.strip() for one in raw.decode("utf-8").splitlines()[start:]]
    block = below[: len(own)] == own
    parsed = nodes.parse(inner.encode())
    parsed.lines = {path: start + line if block else start for path, line in parsed.lines.items()}
    parsed.problems = [(start + line if block and line is not None else start, told) for line, told in parsed.problems]
    _refuse_broken(parsed, place)
    return parsed


def _refuse_broken(parsed: nodes.Document, place: pathlib.Path) -> None:
    """Complain of what is not YAML as we read it, without quoting: it may come from anywhere, and be a secret."""
    problems = []
    for line, told in parsed.problems:
        hidden = _TAGGED.sub(_HIDDEN, told)
        if not told.startswith(_OURS):
            hidden = _QUOTED.sub(_HIDDEN, hidden)
        problems.append(wrongs.Problem(place, line, hidden))
    if problems:
        raise InstallConfigError(problems)


def _refusal(place: pathlib.Path, line: int | None, told: str) -> InstallConfigError:
    return InstallConfigError([wrongs.Problem(place, line, told)])


class _Reading:
    """Takes the numbers out of a parsed install-config, and notes what has the wrong form."""

    def __init__(self, parsed: nodes.Document, place: pathlib.Path) -> None:
        self._parsed = parsed
        self._place = place
        self._refused: list[Path] = []
        self.problems: list[wrongs.Problem] = []

    def config(self) -> install_config.InstallConfig:
        """What topologies follow from. What has the wrong form is left out, and is in `problems`."""
        whole = self._parsed.value
        misspelt = self._misspelt((), whole, _KEYS)
        if not misspelt and not any(key in whole for key in _SAYS_THAT_IT_IS_ONE):
            wanted = f"at least one of {', '.join(_SAYS_THAT_IT_IS_ONE)}"
            self.refuse((), f"is no install-config: found none of its keys; wanted {wanted}")
            return install_config.InstallConfig()
        control_plane = self._mapping(("controlPlane",))
        self._misspelt(("controlPlane",), control_plane, ("replicas",))
        platform, hosts = self._platform()
        return install_config.InstallConfig(
            control_plane=control_plane.get("replicas"),
            compute=self._compute(),
            arbiter=self._arbiter(),
            fencing=len(self._list(("controlPlane", "fencing"), "credentials")),
            platform=platform,
            hosts=hosts,
        )

    def refuse(self, path: Path, told: str) -> None:
        """Note a problem at a path, or at the closest thing around it that exists."""
        about = f"{nodes.spell(path)}: " if path else ""
        self._refused.append(path)
        self.problems.append(wrongs.Problem(self._place, self._parsed.line(path), about + told))

    def contradicted(self, contradictions: Iterable[install_config.Contradiction]) -> None:
        """Note what the installer refuses, but for what has the wrong form anyway."""
        wrong = tuple(self._refused)
        for one in contradictions:
            if not any(one.field[: len(path)] == path for path in wrong):
                self.refuse(one.field, f"found {one.found}; wanted {one.wanted}")

    def _at(self, path: Path) -> Any:
        found = self._parsed.value
        for part in path:
            if isinstance(part, int):
                found = found[part]
            elif isinstance(found, dict):
                found = found.get(part)
            else:
                return None
        return found

    def _mapping(self, path: Path) -> dict[str, Any]:
        found = self._at(path)
        if found is None or isinstance(found, dict):
            return found or {}
        self.refuse(path, f"found {self._parsed.found(path)}; wanted a mapping")
        return {}

    def _list(self, parent: Path, key: str) -> list[Any]:
        found = self._mapping(parent).get(key)
        if found is None or isinstance(found, list):
            return found or []
        # Credentials are the one list here whose content must not be quoted.
        self.refuse((*parent, key), "found something else; wanted a list")
        return []

    def _compute(self) -> tuple[install_config.Pool, ...] | None:
        found = self._at(("compute",))
        if found is None:
            return None
        if not isinstance(found, list):
            self.refuse(("compute",), f"found {self._parsed.found(('compute',))}; wanted a list of pools")
            return None
        pools = []
        for index in range(len(found)):
            pool = self._mapping(("compute", index))
            self._misspelt(("compute", index), pool, ("replicas",))
            pools.append(install_config.Pool(pool.get("name"), pool.get("replicas")))
        return tuple(pools)

    def _arbiter(self) -> install_config.Pool | None:
        if self._at(("arbiter",)) is None:
            return None
        pool = self._mapping(("arbiter",))
        self._misspelt(("arbiter",), pool, ("replicas",))
        return install_config.Pool(pool.get("name"), pool.get("replicas"))

    def _platform(self) -> tuple[str | None, bool]:
        named = sorted(name for name, found in self._mapping(("platform",)).items() if found is not None)
        if len(named) > 1:
            self.refuse(("platform",), f"found {' and '.join(named)}; wanted one platform")
        if len(named) != 1:
            return None, False
        hosts = "baremetal" in named and bool(self._mapping(("platform", "baremetal")).get("hosts"))
        return named[0], hosts

    def _misspelt(self, path: Path, found: dict[str, Any], keys: tuple[str, ...]) -> bool:
        """Refuse keys that are almost ours: overlooked, they would mean the default."""
        wrong = False
        folded = {key.casefold(): key for key in keys if key not in found}
        for key in found:
            close = difflib.get_close_matches(key.casefold(), folded, n=1, cutoff=0.85)
            if close and key not in keys:
                self.refuse((*path, key), f"found a key {key!r}; wanted {folded[close[0]]!r}")
                self._refused.append((*path, folded[close[0]]))
                wrong = True
        return wrong
