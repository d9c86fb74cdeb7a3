"""Makes docs/api.md and the tables of docs/api: every word, field and figure that others can see and script against.

A table cannot know more than the code, nor less: fields come from the schema of the CRD, parameters of checks from the
model of the transition definitions, these and operands from `bindata`, words, metrics and alerts from `explained`. What
needs more words is written by hand, around the marks between which each table is put.
"""

import itertools
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import yaml

import explained
from kubectl_topology.commands.explain import Explanation
from topology_api import crd, vocabulary
from topology_controller.definitions import load, model, registry
from topology_controller.definitions import operands as matrices
from topology_controller.report import metrics

_MARK = "<!-- made by `make generate`: {} -->"
_END = "<!-- until here -->"
_BLOCK = re.compile(r"<!-- made by `make generate`: ([\w ]+) -->\n.*?<!-- until here -->\n", re.DOTALL)
_KINDS = ("fields", "states", "checks", "transitions", "reports", "metrics", "programs")
_PAGES = ("api.md", *(f"api/{kind}.md" for kind in _KINDS))
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_FEW = 8
"""Values of a label that are listed; of more only the label is named."""
_BOUNDS = (
    ("minLength", "at least {} character"),
    ("maxLength", "at most {} characters"),
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
)
_LIMITS = (("exclusiveMinimum", "more than {:g}"), ("minimum", "at least {:g}"), ("maximum", "at most {:g}"))


class MarksError(Exception):
    """The pages have not exactly the marks between which the tables are put."""


def pages(transitions_folder: pathlib.Path, docs: pathlib.Path) -> dict[pathlib.Path, str]:
    """Return the whole pages: those below `docs` with every table as it has to be.

    Raises MarksError, explained.UndescribedError for a word without a meaning, load.DefinitionError for damaged
    definitions.
    """
    texts = {name: (docs / name).read_text(encoding="utf-8") for name in _PAGES}
    marks = [mark for text in texts.values() for mark in _BLOCK.findall(text)]
    if sorted(marks) != sorted(_TABLES):
        wanted = sorted(set(_TABLES) ^ set(marks)) or sorted(mark for mark in _TABLES if marks.count(mark) > 1)
        raise MarksError(f"docs/api.md and docs/api have these marks not once, or too many: {', '.join(wanted)}")
    facts = Facts(load.load(transitions_folder))

    def block(match: re.Match[str]) -> str:
        table = _contents(texts) if match[1] == _CONTENTS else _TABLES[match[1]](facts)
        return f"{_MARK.format(match[1])}\n\n{table.strip()}\n\n{_END}\n"

    return {docs / name: _BLOCK.sub(block, text) for name, text in texts.items()}


class Facts:
    """What the tables are made of: the definitions, and the explanation of every name by its kind."""

    def __init__(self, transitions: load.Transitions) -> None:
        self.transitions = transitions
        self.advice = explained.advice()
        self._kinds: dict[str, list[Explanation]] = {}
        for explanation in explained.explanations(transitions):
            self._kinds.setdefault(explanation["kind"], []).append(explanation)

    def of(self, kind: str) -> list[Explanation]:
        """The explanations of a kind, in their order."""
        return self._kinds[kind]


def _contents(texts: Mapping[str, str]) -> str:
    """A row for each page: its title, and what its headings are."""
    rows = []
    for name, text in texts.items():
        headings = [f"[{title}]({name}#{title.lower().replace(' ', '-')})" for title in _HEADING.findall(text)]
        if headings:
            rows.append((f"[{text.splitlines()[0][2:]}]({name})", ", ".join(headings)))
    return _table(("page", "what it has"), rows)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _meanings(*kinds: str, head: str = "") -> Callable[[Facts], str]:
    """The table of names and meanings of these kinds; of several the kind is a column."""
    shown: tuple[Literal["kind", "meaning"], ...] = ("kind", "meaning") if len(kinds) > 1 else ("meaning",)

    def table(facts: Facts) -> str:
        items = (item for name in kinds for item in facts.of(name))
        rows = ((f"`{item['name']}`", *(item[part] for part in shown)) for item in items)
        return _table((head or kinds[0], *shown), rows)

    return table


# -- fields


def _fields(schema: dict[str, Any], prefix: str) -> str:
    return _table(("field", "type", "values and bounds", "meaning"), _rows(schema, prefix))


def _rows(schema: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        inner = field.get("items") or field
        shown = field["type"] if inner is field else f"list of {inner['type']}"
        needed = ", required" if name in required else ""
        yield f"`{path}`", shown + needed, _bounds(field, inner), field.get("description", "")
        if inner["type"] == "object":
            yield from _rows(inner, path if inner is field else f"{path}[]")


def _bounds(field: dict[str, Any], inner: dict[str, Any]) -> str:
    bounds = [f"`{value}`" for value in inner.get("enum", ())]
    if inner.get("format") == "date-time":
        bounds.append("RFC 3339")
    bounds += [words.format(field[key]) for key, words in _BOUNDS if key in field]
    keys = field.get("x-kubernetes-list-map-keys")
    if keys:
        bounds.append("keyed by " + " and ".join(f"`{key}`" for key in keys))
    return ", ".join(bounds)


# -- words


def _checks(facts: Facts) -> str:
    rows = []
    for item in facts.of("check"):
        traits = registry.TRAITS[vocabulary.CheckName(item["name"])]
        names = sorted(traits.parameters)
        parameters = ", ".join(f"*`{name}`*" if name in traits.required else f"`{name}`" for name in names)
        stage = "both" if " and " in item["detail"] else item["detail"]
        rows.append((f"`{item['name']}`", stage, parameters, item["meaning"]))
    return _table(("check", "stage", "parameters", "Met when"), rows)


def _parameter_meanings(facts: Facts) -> str:
    schema = model.CheckSpec.model_json_schema()["properties"]
    rows = []
    for item in facts.of("parameter"):
        field = schema[item["name"]]["anyOf"][0]
        takers = ", ".join(f"`{taker}`" for taker in item["detail"].removeprefix("of ").split(", "))
        limits = [text.format(field[key]) for key, text in _LIMITS if key in field]
        rows.append((f"`{item['name']}`", takers, ", ".join([field["type"], *limits]), item["meaning"]))
    return _table(("parameter", "of", "values", "meaning"), rows)


def _reasons(facts: Facts) -> str:
    every = tuple(vocabulary.ConditionType)
    rows = []
    for item in facts.of("reason"):
        on = vocabulary.REASON_CONDITIONS[vocabulary.Reason(item["name"])]
        rows.append((f"`{item['name']}`", "all" if on == every else ", ".join(on), item["meaning"]))
    return _table(("reason", "on", "meaning"), rows)


# -- definitions and metrics


def _definitions(facts: Facts) -> str:
    transitions = facts.transitions
    rows = []
    for definition in transitions.definitions:
        source = f"{definition.source.control_plane}, infrastructure {' or '.join(definition.source.infrastructure)}"
        rows.append(
            (
                f"`{definition.name}`",
                source,
                f"{definition.target.control_plane}, infrastructure {definition.target.infrastructure}",
                str(definition.workers),
                ", ".join(definition.platforms),
                f"{definition.convergence.settle_seconds} s, {definition.convergence.deadline_minutes} min",
                definition.summary,
            )
        )
    heads = ("definition", "from", "to", "dedicated workers", "platforms", "settle, deadline", "summary")
    asked = _table(
        ("definition", "preflight", "convergence"),
        (
            (f"`{definition.name}`", _asked(definition.preflight), _asked(definition.convergence.checks))
            for definition in transitions.definitions
        ),
    )
    return f"{_table(heads, rows)}\nWhat each asks:\n\n{asked}"


def _asked(specs: Iterable[model.CheckSpec]) -> str:
    questions = []
    for spec in specs:
        given = spec.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"check"})
        text = ", ".join(f"{name}: {str(value).lower()}" for name, value in given.items())
        questions.append(f"`{spec.check.value}`" + (f" ({text})" if text else ""))
    return ", ".join(questions)


def _operands(facts: Facts) -> str:
    sources = {item["name"]: item["source"] for item in facts.of("check")}
    rows: list[tuple[str, ...]] = []
    for group in facts.transitions.matrix.groups:
        follows = "control plane" if group.follows == "controlPlane" else group.follows
        source = sources[group.check]
        if not group.operands:
            rows.append((f"`{group.check}`", "every MachineConfigPool", follows, "", "", source))
        for replicas, operands in itertools.groupby(group.operands, lambda operand: operand.replicas):
            figures = _figures(replicas)
            shown = ", ".join(map(_operand, operands))
            capability = f"; capability `{group.capability}`" if group.capability else ""
            goes_by = follows if isinstance(replicas, dict) or not replicas else ""
            rows.append((f"`{group.check}`", shown + capability, goes_by, *figures, source))
    return _table(("check", "operand", "goes by", "SR", "HA", "source"), rows)


def _operand(operand: matrices.Operand) -> str:
    place = (
        f"{operand.namespace}/{operand.name}"
        if operand.namespace
        else operand.key.replace(".operator.openshift.io", "")
    )
    return f"{operand.kind if operand.namespace else ''} {place}".strip() + (" (optional)" if operand.optional else "")


def _figures(replicas: object) -> tuple[str, str]:
    if isinstance(replicas, dict):
        return tuple(  # type: ignore[return-value]  # two topologies are asked for
            str(replicas[topology])
            for topology in (vocabulary.Topology.SINGLE_REPLICA, vocabulary.Topology.HIGHLY_AVAILABLE)
        )
    words = {"perControlPlaneNode": "nodes", "perConfiguration": "as configured"}.get(str(replicas), "")
    return words, words


def _metrics(facts: Facts) -> str:
    rows = []
    names = facts.advice["metric"].names
    for family in sorted(metrics.FAMILIES, key=lambda family: family.name):
        advice = names.get(family.name, explained.Advice())
        meaning = " ".join(filter(None, (family.help, advice.note))).replace("<", "&lt;").replace(">", "&gt;")
        rows.append((f"`{family.name}`", family.type, _labels(family.labels), meaning, advice.absent or "never"))
    return _table(("metric", "type", "labels", "meaning", "absent"), rows)


def _labels(labels: Mapping[str, frozenset[str] | None]) -> str:
    phases: Sequence[str] = list(vocabulary.Phase)
    shown = []
    for label, values in labels.items():
        few = sorted(values) if values is not None and len(values) <= _FEW else []
        listed = ", ".join(sorted(few, key=lambda value: value in phases and phases.index(value)))
        shown.append(f"`{label}`" + (f" ({listed})" if listed else ""))
    return ", ".join(shown).replace("<", "&lt;").replace(">", "&gt;")


_CONTENTS = "contents"
_OF_NAMES = yaml.safe_load(pathlib.Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_TABLES: dict[str, Callable[[Facts], str]] = {
    _CONTENTS: lambda _: "",
    "request": lambda _: _fields({"properties": {crd.DESIRED: crd.desired_schema()}}, "spec"),
    "record": lambda _: _fields(crd.record_schema(), ""),
    "columns": lambda facts: _table(
        ("column", "field"), ((f"`{item['name']}`", f"`{item['detail']}`") for item in facts.of("column"))
    ),
    "checks": _checks,
    "parameters": _parameter_meanings,
    "operands": _operands,
    "reasons": _reasons,
    "transitions": _definitions,
    "metrics": _metrics,
    "alerts": lambda facts: _table(
        ("alert", "severity", "what to do"),
        (
            (f"`{item['name']}`", item["detail"], f"[runbook](../runbooks/{item['name']}.md)")
            for item in facts.of("alert")
        ),
    ),
    **{mark: _meanings(*table["of"], head=table.get("head", "")) for mark, table in _OF_NAMES.items()},
}
