"""`cluster-topology-operator render`: what an install-config leads to, before there is a cluster.

The rules are those of `install_config`; here a file becomes its numbers, each with its line, and the answer becomes
text, JSON or YAML. The file is an install-config.yaml, or ConfigMap cluster-config-v1 of a cluster (kube-system). It is
full of secrets: only what topologies follow from is ever quoted. Other keys are left to the installer.
"""

from __future__ import annotations

import json
import os
import pathlib
import textwrap
from typing import TYPE_CHECKING, Any, Final

import yaml

from topology_controller.definitions import read

from . import install_config

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_FILE: Final = 1024 * 1024
"""Bytes; a ConfigMap cannot hold more."""
STANDARD_INPUT: Final = pathlib.Path("standard input")
KEYS: Final = ("platform", "controlPlane", "compute", "arbiter", "baseDomain", "pullSecret", "networking")
"""An install-config has one of these at least; the first four are what topologies follow from."""
_IN_CLUSTER: Final = ("data", "install-config")


def command(file: str, rule: str | None, output: str) -> str:
    """What is printed for a path, or "-" for standard input. Raises read.DefinitionError."""
    place = STANDARD_INPUT if file == "-" else pathlib.Path(file)
    rules = tuple(install_config.Rule) if rule is None else (install_config.Rule(rule),)
    answer = examine(_read(place), place, rules)
    if output == "text":
        return text(answer)
    if output == "json":
        return json.dumps(answer, indent=2) + "\n"
    return yaml.safe_dump(answer, sort_keys=False, width=120)


def examine(raw: bytes, place: pathlib.Path, rules: Sequence[install_config.Rule]) -> dict[str, Any]:
    """Say what an install-config leads to, as JSON has it (docs/development/render.md). Raises read.DefinitionError."""
    document = _install_config(raw, place)
    if not any(key in document.value for key in KEYS):
        keys = f"found none of its keys; wanted at least one of {', '.join(KEYS)}"
        raise _refusal(place, document.line(()), f"is no install-config: {keys}")
    try:
        machines = install_config.machines(document.value)
    except install_config.ContradictionError as error:
        problems = [read.Problem(place, document.line(field), why) for field, why in error.wrong.items()]
        problems.sort(key=lambda problem: (problem.line or 0, problem.text))
        raise read.DefinitionError(tuple(problems)) from None
    counted = []
    for count in machines.counts:
        head = {"field": read.spell(count.field), "line": document.lines.get(count.field)}
        counted.append({**head, "pool": count.pool, "replicas": count.replicas, "default": count.default})
    outcomes = {}
    for rule in rules:
        outcome = install_config.outcome(machines, rule)
        control_plane, infrastructure = outcome.control_plane.value, outcome.infrastructure.value
        pair = {"controlPlaneTopology": control_plane, "infrastructureTopology": infrastructure}
        outcomes[rule.value] = {**pair, "mastersSchedulable": outcome.masters_schedulable, "shape": outcome.shape.value}
    return {
        "installConfig": str(place),
        "machines": {
            "controlPlane": machines.control_plane,
            "arbiters": machines.arbiters,
            "workers": machines.workers,
            "counted": counted,
        },
        "rules": outcomes,
        "differences": install_config.differences(machines),
        "notes": install_config.notes(machines),
    }


def text(answer: dict[str, Any]) -> str:
    """The answer for a person."""
    machines = answer["machines"]
    nouns = {"controlPlane": "control-plane node", "arbiters": "arbiter", "workers": "worker"}
    numbers = ", ".join(f"{machines[key]} {noun}{'' if machines[key] == 1 else 's'}" for key, noun in nouns.items())
    lines = [f"{answer['installConfig']}: {numbers}"]
    for count in machines["counted"]:
        origin = count["default"] or f"{count['replicas']} ({count['pool']}, line {count['line']})"
        lines.append(f"  {count['field']}: {origin}")
    lines += ["", *_table(answer)]
    for item in answer["differences"]:
        rules = f"{item['released']} by the released rule, {item['proposed']} by the proposed one"
        lines += ["", f"{item['field']} differs: {rules}.", *_wrapped(item["meaning"], indent="  ")]
    if not answer["differences"]:
        lines += ["", "The released and the proposed rule agree."]
    for note in answer["notes"]:
        lines += ["", *_wrapped(f"Note: {note}")]
    return "\n".join(lines) + "\n"


def _table(answer: dict[str, Any]) -> list[str]:
    differ = {item["field"]: "differs" for item in answer["differences"]}
    outcomes = list(answer["rules"].values())
    rows = [["", *answer["rules"], ""]]
    for field in outcomes[0]:
        cells = [json.dumps(outcome[field]).strip('"') for outcome in outcomes]
        rows.append([field, *cells, differ.get(field, "")])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _wrapped(paragraph: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        paragraph, 100, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


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


def _install_config(raw: bytes, place: pathlib.Path) -> read.Document:
    """The parsed install-config; its lines are those of the file. Raises read.DefinitionError."""
    try:
        outer = read.parse(raw, strict=False)
    except read.YamlError as error:
        raise _refusal(place, error.line, str(error)) from None
    kind = outer.value.get("kind")
    if kind == "ConfigMap":
        return _out_of_cluster(outer, raw, place)
    if kind not in (None, "InstallConfig"):
        actual = repr(kind) if isinstance(kind, str) else "no text"
        problem = f"kind: found {actual}; wanted an install-config, or ConfigMap cluster-config-v1"
        raise _refusal(place, outer.line(("kind",)), f"is no install-config: {problem}")
    return outer


def _out_of_cluster(outer: read.Document, raw: bytes, place: pathlib.Path) -> read.Document:
    data = outer.value.get(_IN_CLUSTER[0])
    inner = data.get(_IN_CLUSTER[1]) if isinstance(data, dict) else None
    start = outer.line(_IN_CLUSTER)
    if not isinstance(inner, str):
        key = ".".join(_IN_CLUSTER)
        problem = f"is no install-config: this ConfigMap has no text under {key}; wanted cluster-config-v1"
        raise _refusal(place, start, problem)
    # Written as a block, its lines follow the key one by one; otherwise (a quoted text) the key is all there is.
    own = [line.strip() for line in inner.splitlines()]
    below = [line.strip() for line in raw.decode("utf-8").splitlines()[start:]]
    block = below[: len(own)] == own
    try:
        parsed = read.parse(inner.encode("utf-8", "surrogatepass"), strict=False)
    except read.YamlError as error:
        raise _refusal(place, start + (error.line or 0) if block else start, error.problem) from None
    return read.Document(parsed.value, {path: start + line if block else start for path, line in parsed.lines.items()})


def _refusal(place: pathlib.Path, line: int | None, problem: str) -> read.DefinitionError:
    return read.DefinitionError((read.Problem(place, line, problem),))
